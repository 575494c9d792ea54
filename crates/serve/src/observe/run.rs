//! The result of one run of a trace: its outcome, and the costs of its steps.

use std::time::{Duration, Instant};

use accelflow_runtime::{Outcome, Step};
use accelflow_trace::Accel;

/// A run of a trace: its outcome, and the costs of its steps without the socket's part.
pub(crate) struct TraceRun {
    pub(crate) outcome: Outcome,
    /// The costs in nanoseconds, one for each step; empty if the steps were not timed.
    pub(crate) costs_ns: Vec<f64>,
    /// The start and duration of each step; empty unless spans are enabled.
    pub(crate) times: Vec<(Instant, Duration)>,
    /// The time of the steps that ran on threads other than the caller's, if a tenant may be
    /// charged.
    pub(crate) elsewhere: Duration,
}

impl TraceRun {
    /// Adds the operating system's part to the cost of the TCP step.
    pub(crate) fn add_socket(&mut self, spent: Duration) {
        let tcp = |step: &Step| step.accel == Accel::Tcp;
        let place = self.outcome.steps.iter().position(tcp);
        if let Some(cost) = place.and_then(|place| self.costs_ns.get_mut(place)) {
            *cost += nanoseconds(spent);
        }
    }
}

/// A duration in nanoseconds, exact below 2^53 ns (104 days).
pub(crate) fn nanoseconds(spent: Duration) -> f64 {
    spent.as_nanos() as f64
}
