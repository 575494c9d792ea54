//! Parameters that separate and limit tenants.

/// The parameters that separate and limit tenants, which are customers that share the server
/// (AccelFlow, section IV.D).
#[derive(Clone, Debug, PartialEq)]
pub struct TenantConfig {
    /// Largest number of traces that a tenant may run at the same time; 0 for no limit. Arms of
    /// forks count as traces but never wait, so more may run.
    pub max_traces: u64,
    /// The order in which the waiting traces of a tenant with a traffic shaper get tokens.
    pub shaping_order: ShapingOrder,
    /// Whether tenants share the processing elements and queue entries of accelerators.
    pub isolation: Isolation,
}

/// Whether tenants share the processing elements and queue entries of accelerators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// All tenants use all processing elements and queue entries (AccelFlow, section IV.D).
    #[default]
    Shared,
    /// Processing elements and queue entries are divided evenly among the tenants. No tenant may
    /// use the share of another. With several tenants, a simulation refuses orchestrators whose
    /// accelerators share the queue of a central manager.
    Reserved,
}

impl Isolation {
    /// Both choices, indexed by the numeric value of the parameter `tenant.isolation`.
    pub const ALL: [Isolation; 2] = [Isolation::Shared, Isolation::Reserved];
}

/// The order in which the waiting traces (sequences of operations) of a tenant get tokens from the
/// tenant's traffic shaper, a token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapingOrder {
    /// Traces get tokens in the order in which they request them.
    Asking,
    /// Traces of requests that have already begun get tokens before the first traces of new
    /// requests. Within each group, traces get tokens in the order in which they request them.
    BegunFirst,
}

impl ShapingOrder {
    /// Both choices, indexed by the numeric value of the parameter `tenant.shaping_order`.
    pub const ALL: [ShapingOrder; 2] = [ShapingOrder::Asking, ShapingOrder::BegunFirst];
}
