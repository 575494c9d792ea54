//! The inputs of the analytic model of the RPC layer.

/// The costs of the RPC layer of one service, in cycles of a core per request.
///
/// The default is the microservice UniqueId of the Cerebros paper.
/// [`PARAMETERS`](crate::cerebros::PARAMETERS) states the source of each default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RpcLayer {
    /// The cycles of the whole RPC layer per request, if a core does it in software.
    pub cycles: f64,
    /// The share of `cycles` that payloads take, from 0 to 1.
    pub payload_share: f64,
    /// The share of `cycles` that dispatch takes, from 0 to 1. Headers take the rest.
    pub dispatch_share: f64,
    /// The number of header tasks per request, including those of nested RPCs.
    pub header_tasks: u32,
    /// The number of payload tasks per request, including those of nested RPCs.
    pub payload_tasks: u32,
    /// The cycles that the accelerator needs for all header and payload tasks of a request.
    pub accelerator_cycles: f64,
    /// The number of successive traversals of the chip's network that hand one task to the shared
    /// accelerator.
    pub traversals: u32,
    /// The cycles of one traversal of the chip's network.
    pub traversal_cycles: f64,
    /// The number of network traversals that hand over one task if the message to the accelerator
    /// contains the data ([`Design::Coalesced`](crate::cerebros::Design::Coalesced)).
    pub coalesced_traversals: u32,
    /// The cycles of one traversal of a chip network with a low diameter.
    pub low_diameter_cycles: f64,
}
