//! The deadlines of the parts of a request: receiving it, the handler, and sending the response.
//!
//! In AccelFlow (section IV.C), a step of a trace that ends early passes its slack on to later
//! steps. Here, the parts of a request do the same. The time left until the request's deadline is
//! divided among the remaining parts, in proportion to their mean times in earlier requests.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use accelflow_accel::thrift::FunctionId;

/// The weight of a new sample in a moving mean, as for the steps of a trace (assumed).
const SHARE: f64 = 1.0 / 16.0;

/// A part of a request, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Receive,
    Handle,
}

/// Mean times of the parts of requests, in seconds: receiving, handling, responding.
type Means = [f64; 3];

/// The mean times of the requests to each function.
#[derive(Debug, Default)]
pub(crate) struct Paces(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// The means over all functions, for a request whose function is not known yet.
    all: Means,
    by_function: HashMap<usize, Means>,
}

impl Paces {
    /// Returns the deadline of `part` if the deadline of the whole request is `due`.
    pub(crate) fn due(&self, function: Option<FunctionId>, part: Part, due: Instant) -> Instant {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let means = function.and_then(|function| known.by_function.get(&function.0));
        let means = means.unwrap_or(&known.all);
        let rest: f64 = means[part as usize..].iter().sum();
        let left = due.saturating_duration_since(Instant::now());
        match rest > 0.0 {
            true => due - left.mul_f64((1.0 - means[part as usize] / rest).clamp(0.0, 1.0)),
            // Nothing is known yet.
            false => due,
        }
    }

    /// Records the times of the parts of a request.
    pub(crate) fn learn(&self, FunctionId(function): FunctionId, spent: [Duration; 3]) {
        let spent = spent.map(|part| part.as_secs_f64());
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        moved(&mut known.all, spent);
        moved(known.by_function.entry(function).or_default(), spent);
    }
}

/// Moves the means towards a sample; the first sample becomes the means.
fn moved(means: &mut Means, sample: Means) {
    let first = means.iter().sum::<f64>() == 0.0;
    let share = if first { 1.0 } else { SHARE };
    for (mean, sample) in means.iter_mut().zip(sample) {
        *mean += (sample - *mean) * share;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const FUNCTION: FunctionId = FunctionId(3);

    #[test]
    fn the_time_left_is_divided_and_slack_is_passed_on() {
        let paces = Paces::default();
        let now = Instant::now();
        let far = now + 1_000_000 * MS;
        // Nothing is known: each part may take all the time.
        assert_eq!(paces.due(Some(FUNCTION), Part::Receive, far), far);
        paces.learn(FUNCTION, [MS, 3 * MS, 4 * MS]);
        let of = |due: Instant| (due - now).as_secs_f64() / 1_000.0;
        // Receiving gets an eighth of the time. What it does not need goes to the other parts: the
        // handler gets three sevenths of the time that is left.
        let receive = of(paces.due(Some(FUNCTION), Part::Receive, far));
        let handle = of(paces.due(Some(FUNCTION), Part::Handle, far));
        assert!((0.125..0.130).contains(&receive), "{receive}");
        assert!((0.428..0.433).contains(&handle), "{handle}");
        // For an unknown function the mean over all functions is used.
        let unknown = of(paces.due(None, Part::Receive, far));
        assert!((unknown - receive).abs() < 0.005, "{unknown}");
        // An overdue part gets no time.
        assert!(paces.due(Some(FUNCTION), Part::Handle, now) <= now);
        for _ in 0..200 {
            paces.learn(FUNCTION, [4 * MS, 3 * MS, MS]);
        }
        let receive = of(paces.due(Some(FUNCTION), Part::Receive, far));
        assert!((0.49..0.51).contains(&receive), "{receive}");
    }
}
