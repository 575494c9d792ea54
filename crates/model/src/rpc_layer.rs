//! The inputs of the analytic model of the RPC layer.

/// The costs of the RPC layer of one service, in cycles of a core per request.
///
/// The default is the microservice UniqueId; [`crate::cerebros::PARAMETERS`] has the sources of its
/// numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RpcLayer {
    /// The cycles of the whole layer, if a core does it in software.
    pub cycles: f64,
    /// The share of these cycles that payloads take, from 0 to 1.
    pub payload_share: f64,
    /// The share of these cycles that dispatch takes, from 0 to 1; headers take the rest.
    pub dispatch_share: f64,
    /// The number of header tasks per request, nested RPCs included.
    pub header_tasks: u32,
    /// The number of payload tasks per request, nested RPCs included.
    pub payload_tasks: u32,
    /// The cycles that the accelerator needs for all header and payload tasks of a request.
    pub accelerator_cycles: f64,
    /// The traversals of the chip's network, one after another, to hand one task to the shared
    /// accelerator.
    pub traversals: u32,
    /// The cycles of one traversal of the chip's network.
    pub traversal_cycles: f64,
    /// The traversals to hand over one task if the request to the accelerator contains the data
    /// ([`Design::Coalesced`](crate::cerebros::Design::Coalesced)).
    pub coalesced_traversals: u32,
    /// The cycles of one traversal of a chip network of low diameter.
    pub low_diameter_cycles: f64,
}
