//! A running server.

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
use super::traces::ServerTraces;
use crate::config::{MAX_TIME_LIMIT, Shaping, TenantError, TenantSlo};
use crate::error::ServeError;
use crate::observe::admin::Admin;
use crate::observe::recorder::{RecordedPath, RecordingError};

/// A running server. Dropping it stops it without a grace period.
pub struct Running {
    shared: Arc<Shared>,
    listener: Arc<TcpListener>,
    address: SocketAddr,
    threads: Threads,
}

/// The threads of a server other than those of its connections.
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

    /// The address on which the server listens. If port 0 was requested, it has the port that the
    /// system chose.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of the operators' port ([`Config::admin`](crate::Config)), if there is one.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.threads.admin.as_ref().map(Admin::address)
    }

    /// The server's counters and histograms in the text format of Prometheus.
    pub fn metrics(&self) -> String {
        self.shared.metrics_text()
    }

    /// Replaces the traffic limits of the tenant with the name `tenant`. Waiting requests use the
    /// new registers. A new bucket starts full, and an existing one keeps its tokens. With a
    /// control plane, the limit in accelerator time remains under its control.
    ///
    /// # Errors
    /// [`TenantError::Unknown`], and [`TenantError::TimeLimitUnderControl`] for a limit in accelerator time on
    /// a server with a control plane.
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

    /// Requests an SLO for a tenant from the control plane, which replaces the tenant's current
    /// SLO.
    ///
    /// # Errors
    /// [`TenantError::Slo`] with the remaining capacity if the SLO is refused,
    /// [`TenantError::Unmeasured`] for a size whose cost has not been measured yet,
    /// [`TenantError::Unknown`] and [`TenantError::NoControlPlane`]. The tenant then keeps its
    /// current SLO.
    pub fn set_slo(&self, tenant: &str, slo: TenantSlo) -> Result<(), TenantError> {
        self.controlled(tenant)?.promise(tenant, slo)
    }

    /// Removes a tenant's SLO. Returns whether it had one.
    ///
    /// # Errors
    /// [`TenantError::Unknown`] and [`TenantError::NoControlPlane`].
    pub fn remove_slo(&self, tenant: &str) -> Result<bool, TenantError> {
        self.controlled(tenant)?.release(tenant)
    }

    /// Returns each tenant's SLO, its use, and the share of periods in which the SLO was met. The
    /// last entry is for connections without a tenant. Empty without a control plane.
    pub fn slo_status(&self) -> Vec<TenantStatus> {
        let controlled = self.shared.admission.controlled.as_ref();
        controlled.map_or_else(Vec::new, |controlled| controlled.status())
    }

    /// Returns the operators' page `/slo`: [`Running::slo_status`] and the remaining capacity, as
    /// JSON. `None` without a control plane.
    pub fn slo_page(&self) -> Option<String> {
        let controlled = self.shared.admission.controlled.as_ref();
        controlled.map(|controlled| controlled.page().to_string())
    }

    fn controlled(&self, tenant: &str) -> Result<&Controlled, TenantError> {
        let controlled = self.shared.admission.controlled.as_ref();
        let none = || TenantError::NoControlPlane(tenant.to_owned());
        Ok(controlled.ok_or_else(none)?.as_ref())
    }

    /// Replaces the traces that serve requests. Returns the number of replacements so far. A
    /// request in progress is answered with the traces that were current when it arrived, so no
    /// request is lost.
    ///
    /// # Errors
    /// [`ServeError::OwnTraces`] for traces that do not fit the server. The server then keeps the
    /// old traces.
    pub fn set_traces(&self, traces: ServerTraces) -> Result<u64, ServeError> {
        self.shared.traces.replace(Some(traces))
    }

    /// Restores the default traces. Returns the number of replacements so far. See
    /// [`Running::set_traces`].
    ///
    /// # Errors
    /// None in practice.
    pub fn remove_traces(&self) -> Result<u64, ServeError> {
        self.shared.traces.replace(None)
    }

    /// Like [`Running::set_traces`], with the present contents of the file that the traces were
    /// read from.
    ///
    /// # Errors
    /// [`ServeError::OwnTraces`] if the server has no trace file, the file cannot be read, or its
    /// traces do not fit the server.
    pub fn reload_traces(&self) -> Result<u64, ServeError> {
        self.shared.traces.reload()
    }

    /// Returns a recording of the latest requests to some functions, each on its most common path.
    /// `services` maps function names such as `Service.method` to names in the recording.
    /// Connections without TLS use traces that no service of the simulator has.
    ///
    /// The cost of TCP is that of its step plus the processor time of the system calls. The cost of
    /// a handler is the wall time of its call; if the handler started traces, it is the processor
    /// time of its thread before, between and after them.
    ///
    /// # Errors
    /// [`RecordingError`] if recording is off, or a function has had no successful request.
    pub fn recording(
        &self,
        services: &[(&str, &str)],
        machine: &str,
        date: &str,
    ) -> Result<Recording, RecordingError> {
        self.shared.recording(services, machine, date)
    }

    /// All paths that requests to `function` have taken, the most common one first. Empty if
    /// recording is off or the function was never called.
    pub fn recorded_paths(&self, function: &str) -> Vec<RecordedPath> {
        let recorder = self.shared.observers.recorder.as_ref();
        recorder.map_or_else(Vec::new, |recorder| recorder.paths(function))
    }

    /// Stops the server: it no longer listens, waits up to `grace` for requests that have begun to
    /// arrive, and closes the remaining connections. Returns the number of connections that were
    /// closed before they had ended.
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
                place.socket.shut_down(Shutdown::Read);
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
