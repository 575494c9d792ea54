//! A running server.

use std::cell::Cell;
use std::fmt;
use std::mem::forget;
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use accelflow_parameters::Refusal;
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
use crate::transport::tls::identity::TlsIdentity;

/// A running server. Dropping it stops the server without a grace period. In a child process that
/// was forked while the server ran, stopping and dropping have no effect, since the parent goes on
/// serving.
pub struct Running {
    /// The process that serves.
    process: u32,
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
            process: std::process::id(),
            shared,
            listener,
            address,
            threads,
        }
    }

    /// Returns the address on which the server listens. If port 0 was requested, the address has
    /// the port that the system chose.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address of the port for operators, which serves metrics and recordings
    /// ([`Config::admin`](crate::Config)); `None` if the server has no such port.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.threads.admin.as_ref().map(Admin::address)
    }

    /// Returns the server's counters and histograms in the text format of Prometheus.
    pub fn metrics(&self) -> String {
        self.shared.metrics_text()
    }

    /// Replaces the traffic limits of the tenant named `tenant` by `shaping`. The new limits also
    /// apply to waiting requests. A token bucket for a limit that the tenant did not have starts
    /// full; the other buckets keep their tokens. On a server with a control plane (which admits
    /// SLOs), the limit on accelerator time does not change, since the control plane sets it.
    ///
    /// # Errors
    /// [`TenantError::Unknown`] if no tenant has the name, and
    /// [`TenantError::TimeLimitUnderControl`] if `shaping` limits accelerator time on a server with
    /// a control plane.
    pub fn reshape(&self, tenant: &str, shaping: Shaping) -> Result<(), TenantError> {
        let admission = &self.shared.admission;
        match &admission.tenants {
            Some(tenants) => tenants.reshape(tenant, shaping, admission.controlled.is_some()),
            None => Err(TenantError::Unknown {
                name: tenant.to_owned(),
                known: "the server's tenants, but the server has none".to_owned(),
            }),
        }
    }

    /// Requests an SLO for the tenant named `tenant` from the server's control plane, which admits
    /// or refuses SLOs. The new SLO replaces the tenant's current one.
    ///
    /// # Errors
    /// [`TenantError::Slo`], with the remaining capacity, if the SLO is refused.
    /// [`TenantError::Unmeasured`] if `slo` does not give the accelerator time of a request
    /// ([`TenantSlo::time`]) and the server cannot predict this time. [`TenantError::Unknown`] if
    /// no tenant has the name. [`TenantError::NoControlPlane`] if the server has no control plane.
    /// After an error, the tenant keeps its current SLO.
    pub fn set_slo(&self, tenant: &str, slo: TenantSlo) -> Result<(), TenantError> {
        self.controlled(tenant)?.promise(tenant, slo)
    }

    /// Removes the SLO of the tenant named `tenant`. Returns whether the tenant had an SLO.
    ///
    /// # Errors
    /// [`TenantError::Unknown`] if no tenant has the name, and [`TenantError::NoControlPlane`] if
    /// the server has no control plane.
    pub fn remove_slo(&self, tenant: &str) -> Result<bool, TenantError> {
        self.controlled(tenant)?.release(tenant)
    }

    /// Returns the status of each tenant: the SLO, the accelerator time that the tenant recently
    /// used (in seconds per second), and in how many of the control plane's periods the SLO was
    /// missed. The last entry is for connections without a tenant. Empty if the server has no
    /// control plane.
    pub fn slo_status(&self) -> Vec<TenantStatus> {
        let controlled = self.shared.admission.controlled.as_ref();
        controlled.map_or_else(Vec::new, |controlled| controlled.status())
    }

    /// Returns the page `/slo` of the operators' port as JSON: the status of
    /// [`Running::slo_status`] and the accelerator time that is not promised yet, in seconds per
    /// second. `None` without a control plane.
    pub fn slo_page(&self) -> Option<String> {
        let controlled = self.shared.admission.controlled.as_ref();
        controlled.map(|controlled| controlled.page().to_string())
    }

    fn controlled(&self, tenant: &str) -> Result<&Controlled, TenantError> {
        let controlled = self.shared.admission.controlled.as_ref();
        let none = || TenantError::NoControlPlane(tenant.to_owned());
        Ok(controlled.ok_or_else(none)?.as_ref())
    }

    /// Replaces the traces (programs of accelerator calls) with which the server receives and
    /// answers later requests. Returns the number of replacements so far, including this one. A
    /// request in progress is answered with the traces that were current when the request arrived,
    /// so no request is lost.
    ///
    /// # Errors
    /// [`ServeError::OwnTraces`] if the new traces cannot serve requests. The server then keeps the
    /// old traces.
    pub fn set_traces(&self, traces: ServerTraces) -> Result<u64, ServeError> {
        self.shared.traces.replace(Some(traces))
    }

    /// Restores the default traces, like [`Running::set_traces`]. Returns the number of
    /// replacements so far, including this one.
    ///
    /// # Errors
    /// None in practice.
    pub fn remove_traces(&self) -> Result<u64, ServeError> {
        self.shared.traces.replace(None)
    }

    /// Reads the server's trace file again, and replaces the traces by its present contents, like
    /// [`Running::set_traces`].
    ///
    /// # Errors
    /// [`ServeError::OwnTraces`] if the server has no trace file, the file cannot be read, or its
    /// traces cannot serve requests.
    pub fn reload_traces(&self) -> Result<u64, ServeError> {
        self.shared.traces.reload()
    }

    /// Replaces the certificate and the private key of a server with TLS, and the authorities that
    /// sign its clients' certificates if the server requires these, for example when a certificate
    /// has been renewed. Later connections use `identity`. Open connections go on, and no request
    /// is lost.
    ///
    /// # Errors
    /// [`ServeError::Setting`] if the server was started without TLS, or if `identity` requires
    /// client certificates and the identity at the start did not, or the reverse.
    pub fn set_tls(&self, identity: TlsIdentity) -> Result<(), ServeError> {
        let slot = self.shared.admission.identity.as_ref();
        let allowed = "must be None, since the server was started without TLS";
        let slot = slot.ok_or_else(|| Refusal::new("tls", "given", allowed))?;
        Ok(slot.replace(identity)?)
    }

    /// Returns a recording of some functions, from which the simulator can read their costs. For
    /// each function, the recording has the costs of the latest requests that took the function's
    /// most common path, and the facts (values that branches of traces test) of all requests whose
    /// paths have as many phases and chains of traces as the most common path. `services` has pairs
    /// of names: the function's name, such as `Service.method`, and the service's name in the
    /// recording. `machine` (free text) and `date` (`YYYY-MM-DD`) are stored in the recording.
    /// Requests over connections without TLS are recorded too, but with traces that no service of
    /// the simulator has, so the simulator cannot use them.
    ///
    /// The cost of TCP is the cost of the accelerator call plus the processor time of the system
    /// calls. The cost of a handler is the wall time until its answer or, if the handler started
    /// traces or called [`Promise::worked`](crate::Promise::worked), the processor time of the
    /// handler's thread before, between and after the traces, plus the time given to `worked`.
    ///
    /// # Errors
    /// [`RecordingError`] if recording is off, a function has had no successful request, or the
    /// date or the name of a service is not allowed.
    pub fn recording(
        &self,
        services: &[(&str, &str)],
        machine: &str,
        date: &str,
    ) -> Result<Recording, RecordingError> {
        self.shared.recording(services, machine, date)
    }

    /// Returns the paths (sequences of traces and application phases) that recorded requests to
    /// `function` have taken, the most common one first. `function` is the whole name:
    /// `Service.method`, or `package.Service.Method` for gRPC. At most 16 different paths of a
    /// function are recorded. A path that becomes common later replaces the rarest one, whose
    /// recorded requests are lost. Empty if recording is off or the function has had no successful
    /// request.
    pub fn recorded_paths(&self, function: &str) -> Vec<RecordedPath> {
        let recorder = self.shared.observers.recorder.as_ref();
        recorder.map_or_else(Vec::new, |recorder| recorder.paths(function))
    }

    /// Stops the server: stops listening, waits up to `grace` for requests that have begun to
    /// arrive, and closes the connections that are then still open. Returns how many of these
    /// connections had a request without an answer. With telemetry, also sends the last spans, for
    /// which it takes at most the unused part of `grace` or a quarter of a second, whichever is
    /// longer.
    pub fn stop(mut self, grace: Duration) -> usize {
        self.halt(grace, &|| true)
    }

    /// Stops the server like [`Running::stop`], but with a grace period that also ends once `waits`
    /// returns false. The calling thread calls `waits` about every 50 ms during the grace period.
    /// `waits` can, for example, look for a signal.
    pub fn stop_while(mut self, grace: Duration, waits: impl Fn() -> bool) -> usize {
        self.halt(grace, &waits)
    }

    fn halt(&mut self, grace: Duration, waits: &dyn Fn() -> bool) -> usize {
        let Some(accept) = self.threads.accept.take() else {
            return 0;
        };
        if std::process::id() != self.process {
            // A forked child has the parent's socket, but none of its threads to wait for.
            forget((accept, self.threads.admin.take(), self.threads.watch.take()));
            return 0;
        }
        let (shared, admission) = (&self.shared, &self.shared.admission);
        admission.stopping.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for connections, and those that wait for messages.
        let _ = SockRef::from(&*self.listener).shutdown(Shutdown::Both);
        let _ = accept.join();
        let deadline = Instant::now() + grace.min(MAX_TIME_LIMIT);
        let is_cut_short = Cell::new(false);
        let waits = || {
            is_cut_short.set(is_cut_short.get() || !waits());
            !is_cut_short.get()
        };
        let gateway = shared.endpoint.gateway();
        if let Some(gateway) = gateway {
            gateway.stop();
        }
        admission.places.each(|place| {
            // Active HTTP/2 streams still need both directions of their connection.
            let speaks = gateway.is_some_and(|gateway| gateway.speaks_http2(place.address));
            // The rest of a request may still be on its way. Its connection ends after it.
            if !speaks && !place.has_request() {
                place.socket.shut_down(Shutdown::Read);
            }
        });
        let cut_off = admission.places.clear(deadline, &waits, || {
            if let Some(tenants) = &admission.tenants {
                tenants.close();
            }
        });
        if let Some(gateway) = gateway {
            gateway.workers.close();
        }
        if let Some(spans) = &shared.observers.spans {
            let left = deadline.saturating_duration_since(Instant::now());
            spans.flush(left, &waits);
        }
        self.threads.admin = None;
        self.threads.watch = None;
        cut_off
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.halt(Duration::ZERO, &|| true);
    }
}
