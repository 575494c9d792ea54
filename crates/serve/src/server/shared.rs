//! The state that all connections of a running server share.

use accelflow_accel::Limits;
use accelflow_workload::profile::Recording;

use super::admission::Admission;
use super::dispatch::Dispatch;
use super::executors::Executors;
use super::places::Place;
use super::protocol::Endpoint;
use super::traces::TraceSlot;
use crate::config::Config;
use crate::observe::observers::Observers;
use crate::observe::recorder::RecordingError;

/// The parts of a running server that its connections share.
pub(crate) struct Shared {
    /// Bounds and time limits.
    pub(crate) config: Config,
    /// The protocol and its interface.
    pub(crate) endpoint: Endpoint,
    /// The admission of connections.
    pub(crate) admission: Admission,
    /// The traces of the server.
    pub(crate) traces: TraceSlot,
    /// The executors of traces.
    pub(crate) executors: Executors,
    /// The dispatch of requests to handlers.
    pub(crate) dispatch: Dispatch,
    /// Metrics, spans, recordings and error reports.
    pub(crate) observers: Observers,
}

impl Shared {
    /// Bounds on messages.
    pub(crate) fn limits(&self) -> &Limits {
        &self.config.limits
    }

    /// Notes that a connection has ended, and frees its place.
    pub(crate) fn ended(&self, place: &Place, reason: &str) {
        let metrics = &self.observers.metrics;
        metrics.connection_ended(reason);
        let left = self.admission.places.give(place);
        metrics.open.set(left as i64);
    }

    /// The counters and histograms in the text format of Prometheus.
    pub(crate) fn metrics_text(&self) -> String {
        let idle = self.admission.places.idle();
        self.observers.metrics.idle.set(idle as i64);
        if let Some(tenants) = &self.admission.tenants {
            self.observers.metrics.tenants_wait(tenants.waiting());
        }
        if let Some(controlled) = &self.admission.controlled {
            self.observers.metrics.tenants_are(&controlled.status());
        }
        self.observers.metrics.text()
    }

    /// A recording of the latest requests to `services`.
    pub(crate) fn recording(
        &self,
        services: &[(&str, &str)],
        machine: &str,
        date: &str,
    ) -> Result<Recording, RecordingError> {
        let recorder = self.observers.recorder.as_ref();
        let recorder = recorder.ok_or(RecordingError::Off)?;
        recorder.recording(services, machine, date)
    }
}
