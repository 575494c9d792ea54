//! The profile table: Capacity(t, X, N) by context.

use std::collections::BTreeMap;

use accelflow_units::Bytes;

use super::route::{RouteEntry, Traffic};
use super::thresholds::{
    ENOUGH, FEW, LEAST_PERMILLE, LONGEST, MESSAGES, MOST, WATCHED, WATCHED_STORAGE,
};
use crate::{
    Arrivals, Flow, Mechanism, Order, Path, Platform, PlatformError, RunResult, Settings, simulate,
};

/// A flow in a context.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pattern {
    /// Its route.
    pub route: RouteEntry,
    /// The size of the units that reach the accelerators: messages or segments.
    pub size: Bytes,
    /// Its part of the traffic of the context, in thousandths. At least 10, since smaller parts
    /// take long to measure and have little effect.
    pub permille: u32,
}

/// A context: all flows that share the platform.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Context {
    patterns: Vec<Pattern>,
}

impl Context {
    /// The context of this traffic, in the proportions of its rates.
    pub fn new(flows: &[Traffic]) -> Context {
        let total: f64 = flows.iter().map(|flow| flow.gbit_per_s).sum();
        let pattern = |flow: &Traffic| Pattern {
            route: flow.route.clone(),
            size: flow.size,
            permille: ((flow.gbit_per_s / total * 1_000.0).round() as u32).max(LEAST_PERMILLE),
        };
        Context::of(flows.iter().map(pattern).collect())
    }

    /// The context of these patterns.
    pub fn of(mut patterns: Vec<Pattern>) -> Context {
        patterns.sort();
        Context { patterns }
    }

    /// The flows as a profile runs them, each with a backlog.
    fn flows(&self) -> Vec<Flow> {
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

    /// The flows, sorted.
    pub fn patterns(&self) -> &[Pattern] {
        &self.patterns
    }
}

/// The capacity of a context.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capacity {
    /// The total rate of all flows in the proportions of the context, each with a backlog, in
    /// gigabits per second.
    pub gbit_per_s: f64,
}

/// The tag of a context: whether it can keep its promises (section 4.3, 1 bit).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// The context can deliver all promises.
    SloFriendly,
    /// The context cannot keep its promises, and must be avoided.
    SloViolating,
}

impl Tag {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Tag::SloFriendly => "SLO-Friendly",
            Tag::SloViolating => "SLO-Violating",
        }
    }
}

/// A combination of flows in a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Combination {
    /// The indices of its flows in the list of candidates.
    pub members: Vec<usize>,
    /// The sum of its flows' rates, in gigabits per second.
    pub asked_gbit_per_s: f64,
    /// The capacity of the platform for this combination.
    pub capacity: Capacity,
    /// Whether the capacity is enough.
    pub tag: Tag,
}

/// The capacity of each context on a platform, found by simulation in advance or on demand.
#[derive(Clone, Debug)]
pub struct ProfileTable {
    platform: Platform,
    entries: BTreeMap<Context, Capacity>,
}

impl ProfileTable {
    /// The largest number of combinations of one sweep, including the empty one.
    pub const MOST_COMBINATIONS: usize = 2_000;

    /// Creates an empty table for `platform`.
    pub fn new(platform: Platform) -> ProfileTable {
        ProfileTable {
            platform,
            entries: BTreeMap::new(),
        }
    }

    /// The platform.
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// The profiled contexts and their capacities.
    pub fn entries(&self) -> impl Iterator<Item = (&Context, &Capacity)> {
        self.entries.iter()
    }

    /// Adds a capacity that was measured before on an equal platform.
    pub fn insert(&mut self, context: Context, capacity: Capacity) {
        self.entries.insert(context, capacity);
    }

    /// The offline sweep: profiles every combination of up to `most` candidates, in the proportions
    /// of their rates. A candidate is the traffic of a flow on one route. Candidates for which
    /// `together` is false, such as two routes of one flow, are not combined.
    ///
    /// # Errors
    /// [`PlatformError::OutOfRange`] for more than [`ProfileTable::MOST_COMBINATIONS`], and the
    /// errors of [`Platform::check`].
    pub fn sweep(
        &mut self,
        candidates: &[Vec<Traffic>],
        most: usize,
        together: impl Fn(usize, usize) -> bool,
    ) -> Result<Vec<Combination>, PlatformError> {
        let mut chosen: Vec<Vec<usize>> = vec![Vec::new()];
        let mut next = 0;
        while next < chosen.len() {
            let members = chosen[next].clone();
            let from = members.last().map_or(0, |last| last + 1);
            let longer = (from..candidates.len()).filter(|more| {
                members.len() < most && members.iter().all(|member| together(*member, *more))
            });
            chosen.extend(longer.map(|more| [&members[..], &[more]].concat()));
            next += 1;
            let count = chosen.len() as f64;
            let good = chosen.len() <= ProfileTable::MOST_COMBINATIONS;
            PlatformError::unless(good, "combinations", count, "at most 2000: lower --most")?;
        }
        let combined = chosen.into_iter().skip(1);
        combined
            .map(|members| {
                let all = members
                    .iter()
                    .flat_map(|member| candidates[*member].clone());
                let traffic: Vec<Traffic> = all.collect();
                let context = Context::new(&traffic);
                let asked_gbit_per_s = traffic.iter().map(|flow| flow.gbit_per_s).sum();
                Ok(Combination {
                    members,
                    asked_gbit_per_s,
                    capacity: self.capacity(&context)?,
                    tag: self.tag(&context, asked_gbit_per_s)?,
                })
            })
            .collect()
    }

    /// Returns the capacity of a context from the table, or else simulates it now.
    ///
    /// # Errors
    /// The errors of [`Platform::check`].
    pub fn capacity(&mut self, context: &Context) -> Result<Capacity, PlatformError> {
        if let Some(known) = self.entries.get(context) {
            return Ok(*known);
        }
        let measured = self.measure(context)?;
        self.entries.insert(context.clone(), measured);
        Ok(measured)
    }

    /// Whether a context delivers `total` gigabits per second in its proportions.
    ///
    /// # Errors
    /// The errors of [`Platform::check`].
    pub fn tag(&mut self, context: &Context, total: f64) -> Result<Tag, PlatformError> {
        let capacity = self.capacity(context)?.gbit_per_s;
        Ok(match total <= capacity {
            true => Tag::SloFriendly,
            false => Tag::SloViolating,
        })
    }

    /// Returns the rates of a context's flows without shaping, with round robin by message, in
    /// gigabits per second.
    ///
    /// # Errors
    /// The errors of [`Platform::check`].
    pub fn unshaped(&self, context: &Context) -> Result<Vec<f64>, PlatformError> {
        let turns = self.watch(context, &Mechanism::NoShaping)?;
        Ok(rates(&turns).collect())
    }

    fn measure(&self, context: &Context) -> Result<Capacity, PlatformError> {
        // Rates are in proportion, so the flow that falls furthest behind its share limits all.
        let order = Order::InProportion;
        let buffer = 1 << 16;
        let fair = self.watch(context, &Mechanism::Panic { order, buffer })?;
        let shares = context
            .patterns
            .iter()
            .map(|pattern| f64::from(pattern.permille));
        let total: f64 = shares.clone().sum();
        let limits = rates(&fair)
            .zip(shares)
            .map(|(rate, share)| rate * total / share);
        let gbit_per_s = limits.fold(f64::MAX, f64::min);
        Ok(Capacity { gbit_per_s })
    }

    /// Simulates a context until each flow has passed enough messages.
    fn watch(&self, context: &Context, mechanism: &Mechanism) -> Result<RunResult, PlatformError> {
        let flows = context.flows();
        let (warmup, least) = match flows.iter().any(|flow| flow.path.uses_storage()) {
            true => (WATCHED_STORAGE, WATCHED_STORAGE),
            false => (WATCHED / 10, WATCHED),
        };
        let longest = least * LONGEST;
        let mut duration = least;
        loop {
            let settings = Settings {
                warmup,
                ..Settings::lasting(duration)
            };
            let result = simulate(&self.platform, &flows, mechanism, &settings)?;
            let passed = result.flows.iter().map(|flow| flow.completions.len());
            let (total, fewest) = (passed.clone().sum::<usize>(), passed.min().unwrap_or(0));
            let most = if fewest >= FEW { ENOUGH } else { MOST };
            if fewest >= MESSAGES || 2 * total > most || duration >= longest {
                return Ok(result);
            }
            // The time that the slowest flow needs at its present rate, and a quarter more.
            let needed = (MESSAGES * 5 / 4).div_ceil(fewest.max(1));
            let factor = needed.min(most / total.max(1)).max(2);
            duration = (duration * factor as u64).min(longest);
        }
    }
}

/// The rate of each flow in gigabits per second, from the end of its first measured message to that
/// of its last, so that only whole messages count.
fn rates(result: &RunResult) -> impl Iterator<Item = f64> {
    result.flows.iter().map(|flow| {
        let [Some(first), Some(last)] = [flow.completions.first(), flow.completions.last()] else {
            return 0.0;
        };
        let time = last.at.saturating_sub(first.at).as_ns_f64();
        match time > 0.0 {
            true => (flow.bytes() - first.size.get()) as f64 * 8.0 / time,
            false => 0.0,
        }
    })
}
