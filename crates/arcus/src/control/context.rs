//! Contexts: mixes of flows that share a platform, each flow with its route, message size and share
//! of the traffic. The platform's capacity is profiled for each context.

use accelflow_units::Bytes;

use super::route::{RouteEntry, Traffic};
use super::thresholds::LEAST_PERMILLE;
use crate::{Arrivals, Flow, Path};

/// One flow of a [`Context`]: its route, its message size and its share of the traffic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pattern {
    /// The route of the flow's messages.
    pub route: RouteEntry,
    /// The size of each message or, if the flow's messages are cut into segments, of each segment.
    pub size: Bytes,
    /// The flow's share of all bytes that the context's flows send, in thousandths.
    /// [`Context::new`] raises shares to at least 10, since smaller shares take long to simulate
    /// and have little effect. So the shares of a context may add up to more than 1,000; their
    /// proportions count.
    pub permille: u32,
}

/// A mix of flows that share the platform (section 4.3). The platform's capacity depends on the
/// mix.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Context {
    patterns: Vec<Pattern>,
}

impl Context {
    /// Creates the context of `flows`, with shares in proportion to the flows' rates, but at least
    /// 10 thousandths each.
    pub fn new(flows: &[Traffic]) -> Context {
        let total: f64 = flows.iter().map(|flow| flow.gbit_per_s).sum();
        let pattern = |flow: &Traffic| Pattern {
            route: flow.route.clone(),
            size: flow.size,
            permille: ((flow.gbit_per_s / total * 1_000.0).round() as u32).max(LEAST_PERMILLE),
        };
        Context::of(flows.iter().map(pattern).collect())
    }

    /// Creates the context of flows with the given patterns. Their order does not matter.
    pub fn of(mut patterns: Vec<Pattern>) -> Context {
        patterns.sort();
        Context { patterns }
    }

    /// The number of contexts of up to `most` of `patterns` patterns that [`Context::all`] returns.
    /// It is exact up to 2^53, and beyond that rounded to 53 bits.
    pub(super) fn count(patterns: usize, most: usize) -> f64 {
        // Binomial coefficients: of the patterns, and of the sums on the grid between the shares.
        let chosen = |of: usize, count: usize| {
            (0..count).fold(1.0, |product, done| {
                product * (of.saturating_sub(done)) as f64 / (done + 1) as f64
            })
        };
        let counts = (1..=most.max(1))
            .map(|members| chosen(patterns, members) * chosen(GRID_POINTS, members - 1));
        counts.sum()
    }

    /// All contexts of up to `most` of the patterns, with the shares of every grid point. The
    /// patterns are in the order of [`corners`].
    pub(super) fn all(patterns: &[(RouteEntry, Bytes)], most: usize) -> Vec<Context> {
        let mut found = Vec::new();
        let mut chosen: Vec<Vec<usize>> =
            (0..patterns.len()).map(|pattern| vec![pattern]).collect();
        while let Some(members) = chosen.pop() {
            for shares in grid_points(members.len()) {
                let each = members
                    .iter()
                    .zip(shares)
                    .map(|(member, permille)| Pattern {
                        route: patterns[*member].0.clone(),
                        size: patterns[*member].1,
                        permille,
                    });
                found.push(Context::of(each.collect()));
            }
            let last = members[members.len() - 1];
            if members.len() < most {
                let longer =
                    (last + 1..patterns.len()).map(|more| [&members[..], &[more]].concat());
                chosen.extend(longer);
            }
        }
        found
    }

    /// The flows as a profile runs them, each with a backlog.
    pub(super) fn flows(&self) -> Vec<Flow> {
        let flow = |(vm, pattern): (usize, &Pattern)| {
            let path = pattern.route.path;
            let flow = Flow::new(vm, path, pattern.size, Arrivals::Backlogged);
            let flow = Flow {
                queue_limit: 64,
                port: (path == Path::InlineTx).then_some(0),
                ..flow
            };
            flow.through(&pattern.route.accelerators)
                .by_engine(pattern.route.engine)
                .with_weight(f64::from(pattern.permille))
        };
        self.patterns.iter().enumerate().map(flow).collect()
    }

    /// The patterns of the context: one for each flow, sorted by route, message size and share of
    /// the traffic.
    pub fn patterns(&self) -> &[Pattern] {
        &self.patterns
    }
}

/// The capacity of a platform for the flows of one [`Context`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capacity {
    /// The total rate of the context's flows, in gigabits per second, if every flow always has
    /// messages to send and the flows share the platform in the context's proportions.
    pub gbit_per_s: f64,
}

/// The running sums of the shares on the grid, in thousandths. They are every twentieth of the
/// whole, and finer near the ends, where a small part of the traffic may cost as much as all other
/// traffic.
const GRID: [u32; 27] = [
    0, 10, 20, 30, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 550, 600, 650, 700, 750, 800,
    850, 900, 950, 970, 980, 990, 1000,
];

/// The number of points of the grid for two patterns, without those of one pattern alone.
pub(crate) const GRID_POINTS: usize = GRID.len() - 2;

/// All points of the grid with `count` shares, none of them zero, in thousandths.
fn grid_points(count: usize) -> Vec<Vec<u32>> {
    let inner = &GRID[1..GRID.len() - 1];
    let mut sums: Vec<Vec<u32>> = vec![Vec::new()];
    for _ in 1..count {
        let longer = sums.iter().flat_map(|sums| {
            let last = sums.last().copied().unwrap_or(0);
            let more = inner.iter().filter(move |sum| **sum > last);
            more.map(move |sum| [&sums[..], &[*sum]].concat())
        });
        sums = longer.collect();
    }
    sums.iter().map(|sums| differences(sums)).collect()
}

/// Returns the points of the grid around `shares`, which add up to 1, in thousandths, each with its
/// weight in a linear interpolation.
///
/// The cells are Kuhn's triangulation in the coordinates of the shares' running sums, so as many
/// points as shares are enough, and neighbouring cells agree on their common faces.
pub(super) fn corners(shares: &[f64]) -> Vec<(Vec<u32>, f64)> {
    let mut sum = 0.0;
    let mut cells: Vec<usize> = Vec::new();
    let mut rest: Vec<(usize, f64)> = Vec::new();
    for (place, share) in shares[..shares.len() - 1].iter().enumerate() {
        sum += 1_000.0 * share;
        // A share that is on the grid up to rounding is on the grid.
        let whole = sum.round();
        let at = if (sum - whole).abs() < 1e-6 {
            whole
        } else {
            sum
        };
        let above = GRID.partition_point(|edge| f64::from(*edge) <= at);
        let cell = above.clamp(1, GRID.len() - 1) - 1;
        let (low, high) = (f64::from(GRID[cell]), f64::from(GRID[cell + 1]));
        cells.push(cell);
        rest.push((place, ((at - low) / (high - low)).clamp(0.0, 1.0)));
    }
    // Equal remainders: the later sum first, so that sums never decrease along a point.
    rest.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    let point = |cells: &[usize]| {
        let sums: Vec<u32> = cells.iter().map(|cell| GRID[*cell]).collect();
        differences(&sums)
    };
    let mut weight = 1.0;
    let mut found = Vec::new();
    for (place, remainder) in rest {
        if weight > remainder {
            found.push((point(&cells), weight - remainder));
        }
        weight = remainder;
        cells[place] += 1;
    }
    if weight > 0.0 {
        found.push((point(&cells), weight));
    }
    found
}

/// The shares whose running sums these are, in thousandths.
fn differences(sums: &[u32]) -> Vec<u32> {
    let mut before = 0;
    let mut found = Vec::with_capacity(sums.len() + 1);
    for &sum in sums.iter().chain(&[1_000]) {
        found.push(sum - before);
        before = sum;
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn corners_surround_the_shares() {
        for shares in [
            vec![1.0],
            vec![0.5, 0.5],
            vec![0.22, 0.39, 0.39],
            vec![0.013, 0.31, 0.077, 0.6],
            vec![0.05, 0.0, 0.95],
            vec![0.0, 0.0, 1.0],
            vec![0.3, 0.7, 0.0],
        ] {
            let found = corners(&shares);
            assert!(found.len() <= shares.len());
            let weights: f64 = found.iter().map(|corner| corner.1).sum();
            assert!((weights - 1.0).abs() < 1e-9);
            for (place, share) in shares.iter().enumerate() {
                let mean: f64 = found
                    .iter()
                    .map(|(parts, weight)| f64::from(parts[place]) * weight / 1_000.0)
                    .sum();
                assert!((mean - share).abs() < 1e-6, "{shares:?}");
            }
            for (parts, _) in found {
                assert_eq!(parts.iter().sum::<u32>(), 1_000);
            }
        }
    }

    #[test]
    fn shares_on_the_grid_are_their_own_corner() {
        assert_eq!(corners(&[0.4, 0.6]), [(vec![400, 600], 1.0)]);
        assert_eq!(corners(&[0.25, 0.25, 0.5]), [(vec![250, 250, 500], 1.0)]);
    }

    #[test]
    fn a_sweep_has_every_point_of_the_grid_once() {
        let pattern = |size| (RouteEntry::new(0, Path::InlineRx), Bytes(size));
        let patterns = [pattern(64), pattern(512), pattern(1_500)];
        let all = 3 + 3 * GRID_POINTS + GRID_POINTS * (GRID_POINTS - 1) / 2;
        assert_eq!(Context::all(&patterns, 3).len(), all);
        assert_eq!(Context::count(patterns.len(), 3), all as f64);
    }
}
