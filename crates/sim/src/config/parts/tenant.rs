//! Limits of tenants.

/// Limits of tenants (section IV.D).
#[derive(Clone, Debug, PartialEq)]
pub struct TenantConfig {
    /// Largest number of concurrent traces per tenant; 0 for no limit.
    pub max_traces: u64,
    /// The order in which traces of a shaped tenant get tokens.
    pub shaping_order: ShapingOrder,
    /// Whether tenants share elements and queues.
    pub isolation: Isolation,
}

/// Whether tenants share the elements and queues of accelerators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// All tenants use all of them (section IV.D).
    #[default]
    Shared,
    /// Elements and entries are divided evenly among the tenants. No tenant may use another's.
    Reserved,
}

impl Isolation {
    /// Both, indexed by the numeric value of `tenant.isolation`.
    pub const ALL: [Isolation; 2] = [Isolation::Shared, Isolation::Reserved];
}

/// The order in which traces of a tenant behind a traffic shaper get its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapingOrder {
    /// In the order in which they request tokens.
    Asking,
    /// Later traces of requests in progress come before first traces of requests. Within each
    /// group, in the order in which they request tokens.
    BegunFirst,
}

impl ShapingOrder {
    /// Both, indexed by the numeric value of `tenant.shaping_order`.
    pub const ALL: [ShapingOrder; 2] = [ShapingOrder::Asking, ShapingOrder::BegunFirst];
}
