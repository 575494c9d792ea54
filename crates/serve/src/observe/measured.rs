//! Bodies of accelerators that measure the time of each call.

use std::sync::Arc;
use std::time::{Duration, Instant};

use accelflow_accel::{AccelError, Job};
use accelflow_runtime::{Bodies, Terms};
use accelflow_trace::{Accel, Kind, Transform};

use super::metrics::Metrics;
use super::run::nanoseconds;

/// Bodies that measure the times of their steps.
pub(crate) struct Measured<B> {
    pub(crate) inner: B,
    pub(crate) metrics: Arc<Metrics>,
    /// The times of successful steps in ns since the last take, if requests are recorded.
    pub(crate) costs_ns: Vec<f64>,
    pub(crate) records: bool,
    /// The start and duration of these steps, if spans are enabled.
    pub(crate) times: Vec<(Instant, Duration)>,
    pub(crate) spans: bool,
    /// When the run began, or when its latest step ended.
    pub(crate) last: Instant,
}

impl<B: Bodies> Bodies for Measured<B> {
    fn begin(&mut self, trace: &str, terms: Terms) {
        self.inner.begin(trace, terms);
        self.last = Instant::now();
    }

    fn forget(&mut self) {
        self.inner.forget();
    }

    fn run(&mut self, accel: Accel, job: &mut Job) -> Result<(), AccelError> {
        // Unless single steps are recorded, a step is timed from the end of the previous one. That
        // saves one reading of the clock, and adds a few nanoseconds.
        let start = match self.records || self.spans {
            true => Instant::now(),
            false => self.last,
        };
        let done = self.inner.run(accel, job);
        self.last = Instant::now();
        let spent = self.last - start;
        self.metrics.step(accel, spent);
        if self.records && done.is_ok() {
            self.costs_ns.push(nanoseconds(spent));
        }
        if self.spans && done.is_ok() {
            self.times.push((start, spent));
        }
        done
    }

    fn run_own(&mut self, kind: &Kind, job: &mut Job) -> Result<(), AccelError> {
        let start = Instant::now();
        let done = self.inner.run_own(kind, job);
        self.last = Instant::now();
        let spent = self.last - start;
        self.metrics.own_step(kind.name(), spent);
        if self.records && done.is_ok() {
            self.costs_ns.push(nanoseconds(spent));
        }
        if self.spans && done.is_ok() {
            self.times.push((start, spent));
        }
        done
    }

    fn transform(&mut self, step: Transform, job: &mut Job) -> Result<(), AccelError> {
        self.inner.transform(step, job)
    }
}
