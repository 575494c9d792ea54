//! A server that listens.

use std::fmt;
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use accelflow_shaping::control::TenantStatus;
use accelflow_workload::profile::Recording;
use socket2::SockRef;

use super::shared::Shared;
use super::tenants::control::{Controlled, Watch};
use super::tenants::settings::{Shaping, TenantError, TenantSlo};
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
    threads: Threads,
}

/// The threads of a server beside those of its connections.
pub(crate) struct Threads {
    pub(crate) accept: Option<JoinHandle<()>>,
    pub(crate) admin: Option<Admin>,
    pub(crate) watch: Option<Watch>,
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
        threads: Threads,
    ) -> Running {
        Running {
            shared,
            listener,
            address,
            threads,
        }
    }

    /// The address that it listens on, with the port that the system chose if 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of the operators' port, if there is one.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.threads.admin.as_ref().map(Admin::address)
    }

    /// The counters and histograms in the text format of Prometheus.
    pub fn metrics(&self) -> String {
        self.shared.metrics_text()
    }

    /// Replaces a tenant's shaping from now on. Waiting requests use the new registers. A new
    /// bucket starts full, and an existing one keeps its tokens. A control plane keeps setting the
    /// limit in accelerator time.
    ///
    /// # Errors
    /// [`TenantError::Unknown`], and [`TenantError::Controlled`] for a limit in accelerator time on a
    /// server with a control plane.
    pub fn reshape(&self, tenant: &str, shaping: Shaping) -> Result<(), TenantError> {
        let admission = &self.shared.admission;
        match &admission.tenants {
            Some(tenants) => tenants.reshape(tenant, shaping, admission.controlled.is_some()),
            None => Err(TenantError::Unknown {
                name: tenant.to_owned(),
                known: "none".to_owned(),
            }),
        }
    }

    /// Asks the control plane for a promise to a tenant, in the place of the one that it has.
    ///
    /// # Errors
    /// [`TenantError::Slo`] with what is left if it is not given, [`TenantError::Unmeasured`] for a size
    /// of which nothing is known yet, [`TenantError::Unknown`] and [`TenantError::Uncontrolled`]. The
    /// tenant then keeps the promise that it has.
    pub fn set_slo(&self, tenant: &str, slo: TenantSlo) -> Result<(), TenantError> {
        self.controlled(tenant)?.promise(tenant, slo)
    }

    /// Takes a tenant's promise back; whether it had one.
    ///
    /// # Errors
    /// [`TenantError::Unknown`] and [`TenantError::Uncontrolled`].
    pub fn remove_slo(&self, tenant: &str) -> Result<bool, TenantError> {
        self.controlled(tenant)?.release(tenant)
    }

    /// For each tenant, its promise, its use, and the share of periods in which the promise was kept.
    /// The last row is that of connections without a tenant. Empty without a control plane.
    pub fn slo_status(&self) -> Vec<TenantStatus> {
        let controlled = self.shared.admission.controlled.as_ref();
        controlled.map_or_else(Vec::new, |controlled| controlled.status())
    }

    /// The operators' page `/slo`: [`Running::slo_status`] and what is left, as JSON. `None` without a
    /// control plane.
    pub fn slo_page(&self) -> Option<String> {
        let controlled = self.shared.admission.controlled.as_ref();
        controlled.map(|controlled| controlled.page().to_string())
    }

    fn controlled(&self, tenant: &str) -> Result<&Controlled, TenantError> {
        let controlled = self.shared.admission.controlled.as_ref();
        let none = || TenantError::Uncontrolled(tenant.to_owned());
        Ok(controlled.ok_or_else(none)?.as_ref())
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
        let Some(accept) = self.threads.accept.take() else {
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
        self.threads.admin = None;
        self.threads.watch = None;
        cut_off
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.halt(Duration::ZERO);
    }
}
