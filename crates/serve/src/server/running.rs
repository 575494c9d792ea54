//! A server that listens.

use std::fmt;
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use accelflow_workload::profile::Recording;
use socket2::SockRef;

use super::shared::Shared;
use super::tenants::settings::{Shaping, TenantError};
use super::traces::ServerTraces;
use crate::error::ServeError;
use crate::observe::admin::Admin;
use crate::observe::recorder::{RecordedPath, RecordingError};
use crate::time_limit::MAX_TIME_LIMIT;

/// A server that listens. Dropping it stops it without grace.
pub struct Running {
    shared: Arc<Shared>,
    listener: Arc<TcpListener>,
    address: SocketAddr,
    accept: Option<JoinHandle<()>>,
    admin: Option<Admin>,
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Running {
    pub(crate) fn new(
        shared: Arc<Shared>,
        listener: Arc<TcpListener>,
        address: SocketAddr,
        accept: JoinHandle<()>,
        admin: Option<Admin>,
    ) -> Running {
        Running {
            shared,
            listener,
            address,
            accept: Some(accept),
            admin,
        }
    }

    /// The address that it listens on, with the port that the system chose if 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of the operators' port, if there is one.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin.as_ref().map(Admin::address)
    }

    /// The counters and histograms in the text format of Prometheus.
    pub fn metrics(&self) -> String {
        self.shared.metrics_text()
    }

    /// Replaces a tenant's shaping from now on. Waiting requests use the new registers. A new
    /// bucket starts full, and an existing one keeps its tokens.
    ///
    /// # Errors
    /// [`TenantError::Unknown`].
    pub fn reshape(&self, tenant: &str, shaping: Shaping) -> Result<(), TenantError> {
        match &self.shared.admission.tenants {
            Some(tenants) => tenants.reshape(tenant, shaping),
            None => Err(TenantError::Unknown {
                name: tenant.to_owned(),
                known: "none".to_owned(),
            }),
        }
    }

    /// Replaces the traces that requests are served with; returns how often traces were replaced.
    /// Requests in progress are answered with the traces that received them, and none is lost.
    ///
    /// # Errors
    /// [`ServeError::OwnTraces`] for traces that do not fit the server, which keeps the old ones.
    pub fn set_traces(&self, traces: ServerTraces) -> Result<u64, ServeError> {
        self.shared.traces.replace(Some(traces))
    }

    /// Restores the default traces; otherwise as [`Running::set_traces`].
    ///
    /// # Errors
    /// None in practice.
    pub fn remove_traces(&self) -> Result<u64, ServeError> {
        self.shared.traces.replace(None)
    }

    /// Reads the trace file again and replaces the traces; otherwise as [`Running::set_traces`].
    ///
    /// # Errors
    /// [`ServeError::OwnTraces`], also if there is no such file.
    pub fn reload_traces(&self) -> Result<u64, ServeError> {
        self.shared.traces.reload()
    }

    /// A recording of the latest requests to some functions, each on its most common path:
    /// `services` maps names as in `Service.method` to their names in the recording. A connection
    /// without TLS takes traces that no service of the simulator has.
    ///
    /// The cost of TCP is that of its step and the processor time of the system calls; that of a
    /// handler is the wall time of the call.
    ///
    /// # Errors
    /// [`RecordingError`].
    pub fn recording(
        &self,
        services: &[(&str, &str)],
        machine: &str,
        date: &str,
    ) -> Result<Recording, RecordingError> {
        self.shared.recording(services, machine, date)
    }

    /// All paths that requests to `function` have taken, the most common one first. Empty without
    /// recording, and for a function that was never called.
    pub fn recorded_paths(&self, function: &str) -> Vec<RecordedPath> {
        let recorder = self.shared.observers.recorder.as_ref();
        recorder.map_or_else(Vec::new, |recorder| recorder.paths(function))
    }

    /// Stops listening, waits up to `grace` for requests that have begun to arrive, and closes the
    /// remaining connections. Returns how many had to be cut off.
    pub fn stop(mut self, grace: Duration) -> usize {
        self.halt(grace)
    }

    fn halt(&mut self, grace: Duration) -> usize {
        let Some(accept) = self.accept.take() else {
            return 0;
        };
        let (shared, admission) = (&self.shared, &self.shared.admission);
        admission.stopping.store(true, Ordering::Release);
        // Wakes the thread that waits for connections, and those that wait for messages.
        let _ = SockRef::from(&*self.listener).shutdown(Shutdown::Both);
        let _ = accept.join();
        let deadline = Instant::now() + grace.min(MAX_TIME_LIMIT);
        let gateway = shared.endpoint.gateway();
        if let Some(gateway) = gateway {
            gateway.stop();
        }
        admission.places.each(|place| {
            // Active HTTP/2 streams still need both directions of their connection.
            if !gateway.is_some_and(|gateway| gateway.speaks_http2(place.address)) {
                let _ = place.stream.shutdown(Shutdown::Read);
            }
        });
        let cut_off = admission.places.clear(deadline, || {
            if let Some(tenants) = &admission.tenants {
                tenants.close();
            }
        });
        if let Some(gateway) = gateway {
            gateway.workers.close();
        }
        if let Some(spans) = &shared.observers.spans {
            spans.flush();
        }
        self.admin = None;
        cut_off
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.halt(Duration::ZERO);
    }
}
