//! Whether a promise was kept.

use accelflow_units::Time;

use super::FlowStatus;
use crate::RunResult;

/// The allowed shortfall of a flow: the paper's 1 %.
pub(super) const TOLERANCE: f64 = 0.01;

/// The verdict of a run on a flow's promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Kept: the flow got its SLO, to within a hundredth.
    Kept,
    /// Missed: it got less, by more than the messages still under way.
    Below,
    /// Undecided: one message is more than a hundredth of the promise in this time.
    TooShort,
    /// No promise.
    NoPromise,
}

impl Verdict {
    /// The name in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Kept => "kept",
            Verdict::Below => "below",
            Verdict::TooShort => "too short",
            Verdict::NoPromise => "no promise",
        }
    }
}

impl FlowStatus {
    /// The verdict of `run` on the promise of this flow, which has this number and always had
    /// something to send.
    pub fn verdict(&self, run: &RunResult, number: usize) -> Verdict {
        let Some(slo) = self.slo_gbit_per_s() else {
            return Verdict::NoPromise;
        };
        let Some(got) = run.gbit_per_s_present(number) else {
            return Verdict::TooShort;
        };
        let present = run.present(number).as_ns_f64();
        let unseen = self.unseen_ns(slo, run, number) / present;
        if got < slo * (1.0 - TOLERANCE - unseen) {
            return Verdict::Below;
        }
        match unseen <= TOLERANCE {
            true => Verdict::Kept,
            false => Verdict::TooShort,
        }
    }

    /// The time for which a flow must be present for a verdict: a hundred times the time of a
    /// message at its SLO, and the latency of its first message. `None` without a promise.
    pub fn shown_within(&self, run: &RunResult, number: usize) -> Option<Time> {
        let slo = self.slo_gbit_per_s()?;
        let needed = self.unseen_ns(slo, run, number) / TOLERANCE;
        Some(Time::from_ns_f64(needed.ceil()))
    }

    /// The time in which a flow may do what a run does not count: a message that is not done at the end, and
    /// for a flow that came while it ran what its first messages took on their way.
    fn unseen_ns(&self, slo: f64, run: &RunResult, number: usize) -> f64 {
        let message = self.request.size.get() as f64 * 8.0 / slo;
        let flow = &run.flows[number];
        let first = match flow.since > run.warmup {
            true => flow
                .completions
                .iter()
                .map(|completion| completion.latency)
                .min(),
            false => None,
        };
        message + first.map_or(0.0, Time::as_ns_f64)
    }
}
