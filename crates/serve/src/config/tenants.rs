//! The settings of a server's tenants, and their checks.

use std::time::Duration;

use accelflow_runtime::Priority;
use accelflow_shaping::control::{ControlError, ControlSettings, LatencySlo};
use accelflow_shaping::{Registers, ShapingError};
use accelflow_units::{Bytes, Time};
use ipnet::IpNet;
use rustls::pki_types::ServerName;

use super::time_limit::MAX_TIME_LIMIT;

/// The clock frequency, in Hz, by which the token buckets in [`Shaping`] are refilled: 1 MHz
/// (assumed), since operating systems wake threads with no higher precision. ARCUS's FPGA has 250
/// MHz.
pub const SHAPING_CLOCK_HZ: u64 = 1_000_000;

/// The limits on a tenant's traffic: in requests, in bytes, and in accelerator time. Each limit is
/// a token bucket, given by the registers of ARCUS's traffic shaper with a clock of
/// [`SHAPING_CLOCK_HZ`]. A field that is `None` sets no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shaping {
    /// The registers of a token bucket from which each request takes one token.
    pub requests: Option<Registers>,
    /// The registers of a token bucket from which each received byte of a request takes one token.
    /// A request larger than the bucket empties the bucket several times.
    pub bytes: Option<Registers>,
    /// The registers of a token bucket whose tokens are nanoseconds of accelerator time: the
    /// processor time that the server spends on a request outside of the request's handler. At
    /// admission, a request takes tokens for the predicted time, which the server learns from
    /// earlier requests of about the same size. At the request's end, the difference to the actual
    /// time is charged or returned. So one limit applies to requests of any size.
    pub time: Option<Registers>,
}

/// The settings of a server's control plane, which admits or refuses tenants' SLOs: the available
/// accelerator time in seconds per second, the share of this time that tenants may use, and the
/// period after which SLOs are checked. If the cores do the accelerators' work, the available time
/// is the number of cores.
pub type Control = ControlSettings;

/// A service-level objective (SLO) that a tenant requests: a rate of requests, which must be met in
/// most of the periods that the control plane checks, and optionally a latency percentile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TenantSlo {
    /// The promised rate, in requests per second: above 0 and at most 10^9.
    pub requests_per_s: f64,
    /// The mean accelerator time of a request, 1 ns to 10 s. If `None`, this time is predicted from
    /// [`TenantSlo::size`].
    pub time: Option<Time>,
    /// The message size, in bytes, for which the rate is promised. The SLO's accelerator time then
    /// follows the measured time of requests of this size: it rises only while the control plane
    /// has capacity left, and never falls below its value at admission. If `None`, the SLO keeps
    /// the accelerator time in [`TenantSlo::time`].
    pub size: Option<Bytes>,
    /// The share of the control plane's periods in which the rate must be met: at least 0.5 and
    /// below 1.
    pub periods: f64,
    /// The promised latency percentile; `None` promises no latency. Latency is the time from a
    /// request's admission to its answer, including the handler.
    pub latency: Option<LatencySlo>,
}

impl TenantSlo {
    /// Creates an SLO that promises `requests_per_s` requests per second in 99 % of the periods
    /// that the control plane checks, and no latency. [`TenantSlo::time`] or [`TenantSlo::size`]
    /// must be set before use, so that the server knows the accelerator time of a request.
    pub const fn new(requests_per_s: f64) -> TenantSlo {
        TenantSlo {
            requests_per_s,
            time: None,
            size: None,
            periods: 0.99,
            latency: None,
        }
    }
}

/// A tenant of a server, a customer whose clients share the server with others: the tenant's name,
/// how its clients are recognized, its limits and its SLO.
#[derive(Clone, Debug)]
pub struct Tenant {
    /// The tenant's name, in metrics and for methods such as
    /// [`Running::reshape`](crate::Running::reshape). Not empty, and unique among the server's
    /// tenants.
    pub name: String,
    /// The IP networks from which the tenant's clients connect. A connection that matches several
    /// tenants belongs to the first of them in the list.
    pub networks: Vec<IpNet>,
    /// The identities of the tenant's clients, as an alternative to networks: the DNS names (upper
    /// and lower case are equal) and whole URIs that client certificates prove
    /// ([`TlsIdentity::for_known_clients`](crate::TlsIdentity::for_known_clients)).
    pub identities: Vec<String>,
    /// The limits on the tenant's traffic.
    pub shaping: Shaping,
    /// The SLO that the tenant requests at the start of a server with a control plane, if any.
    pub slo: Option<TenantSlo>,
    /// The largest number of the tenant's concurrent traces (AccelFlow, section IV.D); 0 for no
    /// limit. The same number also limits the concurrent calls and storage accesses of the tenant's
    /// handlers; these are counted together, but apart from the traces.
    pub max_traces: usize,
    /// The largest number of the tenant's open connections; 0 for only the server's limit.
    /// A connection whose request waits for the tenant's other limits stays open. Without this
    /// limit, a tenant whose requests wait could occupy all of the server's connections.
    pub max_connections: usize,
    /// The priority of the tenant's requests, for queues ordered by priority.
    pub priority: Priority,
    /// The time within which the tenant's requests should be answered, for queues ordered by
    /// deadline; above 0. `None` gives them no deadline.
    pub due_within: Option<Duration>,
}

impl Tenant {
    /// Creates a tenant whose clients connect from `networks`. The tenant has no limits and no SLO.
    pub fn new(name: &str, networks: Vec<IpNet>) -> Tenant {
        Tenant {
            name: name.to_owned(),
            networks,
            identities: Vec::new(),
            shaping: Shaping::default(),
            slo: None,
            max_traces: 0,
            max_connections: 0,
            priority: Priority::Normal,
            due_within: None,
        }
    }
}

/// The error of an invalid tenant, of an unknown tenant, or of the control plane.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TenantError {
    /// A tenant's name is empty or used twice.
    #[error(
        "tenant {number}: name = '{name}': must not be empty, and must differ from the names of \
         earlier tenants"
    )]
    Name {
        /// The index of the tenant in the list of tenants, from 0.
        number: usize,
        /// The name as given.
        name: String,
    },
    /// The tenant with this name has no networks and no identities, so that no connection can
    /// match.
    #[error("tenant '{0}': must have at least one network or identity")]
    NoNetworkOrIdentity(String),
    /// The tenant with this name has identities, but the server does not require client
    /// certificates.
    #[error("tenant '{0}': has identities, but the server does not require client certificates")]
    NoClientCertificates(String),
    /// A tenant's identity is neither a DNS name nor a URI.
    #[error("tenant '{name}': identity = '{identity}': must be a DNS name without '*', or a URI")]
    Identity {
        /// The tenant's name.
        name: String,
        /// The invalid identity, as given.
        identity: String,
    },
    /// A tenant's [`Tenant::due_within`] is 0 or too long.
    #[error("tenant '{name}': due_within = {due:?}: must be above 0 and at most {} seconds", MAX_TIME_LIMIT.as_secs())]
    Due {
        /// The tenant's name.
        name: String,
        /// The value of [`Tenant::due_within`] as given.
        due: Duration,
    },
    /// The list has too many tenants: this many, but fewer than 65,535 are allowed.
    #[error("tenants = {0}: must be below {max}", max = u16::MAX)]
    TooMany(usize),
    /// No tenant has this name.
    #[error("tenant = '{name}': must be one of {known}")]
    Unknown {
        /// The name as given.
        name: String,
        /// The names of all tenants of the server, or the text that it has none.
        known: String,
    },
    /// An SLO of the tenant with this name needs a control plane, which the server does not have.
    #[error("tenant '{0}': an SLO needs a control plane, but the server has none")]
    NoControlPlane(String),
    /// The tenant with this name is given a limit on accelerator time, but the server's control
    /// plane sets these limits.
    #[error(
        "tenant '{0}': the limit in accelerator time must be left out, since the server's control \
         plane sets it"
    )]
    TimeLimitUnderControl(String),
    /// A tenant requests an SLO without [`TenantSlo::time`], and this time cannot be predicted:
    /// [`TenantSlo::size`] is `None` too, or the server has not measured any request yet.
    #[error("tenant '{name}': {}", unmeasured(size))]
    Unmeasured {
        /// The tenant's name.
        name: String,
        /// The size of the requests in bytes ([`TenantSlo::size`]), if it was given.
        size: Option<u64>,
    },
    /// The control plane refuses an SLO or its own settings.
    #[error(transparent)]
    Slo(#[from] ControlError),
    /// A shaping register has an invalid value.
    #[error(transparent)]
    Shaping(#[from] ShapingError),
}

/// The name of the tenant of all connections that match no other tenant.
pub(crate) const OTHERS: &str = "";

/// Checks that tenants' SLOs and limits are valid with, or without, a control plane.
pub(crate) fn check_control(tenants: &[Tenant], controlled: bool) -> Result<(), TenantError> {
    let asks = |tenant: &Tenant| tenant.slo.is_some();
    let limits = |tenant: &Tenant| tenant.shaping.time.is_some();
    let name = |tenant: &Tenant| tenant.name.clone();
    match controlled {
        true => {
            let found = tenants.iter().find(|tenant| limits(tenant));
            found.map_or(Ok(()), |tenant| {
                Err(TenantError::TimeLimitUnderControl(name(tenant)))
            })
        }
        false => {
            let found = tenants.iter().find(|tenant| asks(tenant));
            found.map_or(Ok(()), |tenant| {
                Err(TenantError::NoControlPlane(name(tenant)))
            })
        }
    }
}

/// Checks that tenants can be distinguished and that their settings are in range.
pub(crate) fn check(tenants: &[Tenant]) -> Result<(), TenantError> {
    if tenants.len() >= usize::from(u16::MAX) {
        return Err(TenantError::TooMany(tenants.len()));
    }
    for (number, tenant) in tenants.iter().enumerate() {
        let name = &tenant.name;
        let known = tenants[..number].iter().any(|other| other.name == *name);
        if name == OTHERS || known {
            let name = name.clone();
            return Err(TenantError::Name { number, name });
        }
        if tenant.networks.is_empty() && tenant.identities.is_empty() {
            return Err(TenantError::NoNetworkOrIdentity(name.clone()));
        }
        let is_name = |identity: &&String| {
            let dns_name = ServerName::try_from(identity.as_str());
            identity.contains(':') || dns_name.is_ok_and(|name| is_dns_name(&name))
        };
        if let Some(identity) = tenant.identities.iter().find(|identity| !is_name(identity)) {
            let (name, identity) = (name.clone(), identity.clone());
            return Err(TenantError::Identity { name, identity });
        }
        if let Some(due) = tenant.due_within
            && (due.is_zero() || due > MAX_TIME_LIMIT)
        {
            let name = name.clone();
            return Err(TenantError::Due { name, due });
        }
    }
    Ok(())
}

fn unmeasured(size: &Option<u64>) -> String {
    match size {
        Some(size) => format!(
            "accelerator time of requests of {size} bytes is left out: must be given, since no \
             request was measured yet"
        ),
        None => {
            "accelerator time of a request is left out: must be given, unless its size is given"
                .to_owned()
        }
    }
}

fn is_dns_name(name: &ServerName<'_>) -> bool {
    matches!(name, ServerName::DnsName(_))
}
