//! The observers of a server's requests: metrics, spans, recordings and error reports.

use std::sync::Arc;
use std::time::Duration;

use accelflow_runtime::thread_time;

use super::metrics::Metrics;
use super::recorder::Recorder;
use super::reports::Reports;
use super::telemetry::Spans;

/// Metrics and error reports, and spans and recordings if they are enabled.
pub(crate) struct Observers {
    pub(crate) metrics: Arc<Metrics>,
    /// The reports of errors.
    pub(crate) reports: Reports,
    /// The spans, if they are enabled.
    pub(crate) spans: Option<Spans>,
    /// The costs of requests, if they are recorded.
    pub(crate) recorder: Option<Arc<Recorder>>,
}

impl Observers {
    /// Whether the costs of requests are recorded.
    pub(crate) fn records(&self) -> bool {
        self.recorder.is_some()
    }

    /// Calls `work` and returns its processor time; zero unless requests are recorded.
    pub(crate) fn timed<T>(&self, work: impl FnOnce() -> T) -> (T, Duration) {
        match self.records() {
            true => timed(work),
            false => (work(), Duration::ZERO),
        }
    }
}

/// Calls `work` and returns the processor time that it took on this thread.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = thread_time();
    let done = work();
    (done, thread_time().saturating_sub(start))
}
