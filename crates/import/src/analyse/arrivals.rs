//! The times at which requests arrived, from which the services' request rates are calculated.

use super::sample::Sample;

/// The starts of requests, of which the first and the last are known exactly.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    /// The first and the last start, each with the trace it is from.
    ends: Option<[(u64, String); 2]>,
    /// The starts in ns, less the one that was added first.
    after_ns: Sample,
    origin_ns: u64,
}

/// The time in which requests arrived.
#[derive(Debug)]
pub(crate) struct Window {
    /// The rate in requests per second that each request adds.
    pub(crate) per_request_rps: f64,
    /// The trace whose start is far from those of nearly all others, so that it was left out.
    pub(crate) far: Option<String>,
}

/// The fewest starts of which some may count as far from the others.
const ENOUGH: usize = 50;
/// The share of the starts, at either end, that may be far from the others.
const FAR_SHARE: f64 = 0.02;
/// A start is far if the time from the first to the last start is this many times the time that the
/// other starts take.
const FAR: f64 = 10.0;

impl Arrivals {
    /// Adds the start of a request of the trace at `place`.
    pub(super) fn add(&mut self, start_ns: u64, place: &str) {
        match &mut self.ends {
            None => {
                self.origin_ns = start_ns;
                self.ends = Some([start_ns, start_ns].map(|start| (start, place.to_owned())));
            }
            Some([first, _]) if start_ns < first.0 => *first = (start_ns, place.to_owned()),
            Some([_, last]) if start_ns > last.0 => *last = (start_ns, place.to_owned()),
            Some(_) => {}
        }
        self.after_ns
            .add((i128::from(start_ns) - i128::from(self.origin_ns)) as f64);
    }

    /// The time in which the requests arrived; `None` if all started at the same time.
    ///
    /// A few starts that are far from the others are left out: a host with a wrong clock would
    /// lower all rates.
    pub(crate) fn window(&self) -> Option<Window> {
        let [first, last] = self.ends.as_ref()?;
        let whole_s = (last.0 - first.0) as f64 / 1e9;
        if whole_s <= 0.0 {
            return None;
        }
        let sorted = self.after_ns.sorted();
        let skipped = (sorted.len() as f64 * FAR_SHARE) as usize;
        let most = sorted.get(skipped).zip(sorted.iter().nth_back(skipped));
        let most_s = most.map_or(0.0, |(from, to)| (to - from) / 1e9);
        let is_far = sorted.len() >= ENOUGH && most_s > 0.0 && whole_s > FAR * most_s;
        if !is_far {
            // Between n starts there are n - 1 times.
            let count = self.after_ns.mean.count as f64;
            return Some(Window {
                per_request_rps: (count - 1.0) / count / whole_s,
                far: None,
            });
        }
        let share = (sorted.len() - 1 - 2 * skipped) as f64 / sorted.len() as f64;
        let from_ns = self.origin_ns as f64 + sorted[skipped];
        let is_early = from_ns - first.0 as f64 > last.0 as f64 - from_ns - most_s * 1e9;
        Some(Window {
            per_request_rps: share / most_s,
            far: Some(if is_early { &first.1 } else { &last.1 }.clone()),
        })
    }
}
