//! The inputs of the analytic model of the RPC layer.

/// The RPC layer of one service, in cycles of a core for one request.
///
/// The default is the microservice UniqueId; [`crate::cerebros::PARAMETERS`] has the sources of its
/// numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RpcLayer {
    /// The whole layer on a core.
    pub cycles: f64,
    /// The share of payload manipulation.
    pub payload_share: f64,
    /// The share of dispatch; headers are the rest.
    pub dispatch_share: f64,
    /// Header tasks of a request, including nested RPCs.
    pub header_tasks: u32,
    /// Payload tasks.
    pub payload_tasks: u32,
    /// Cycles of the accelerator for all header and payload tasks.
    pub accelerator_cycles: f64,
    /// Sequential traversals of the chip's network per offload.
    pub traversals: u32,
    /// Cycles of one traversal.
    pub traversal_cycles: f64,
    /// Traversals per offload if the invocation contains the data.
    pub coalesced_traversals: u32,
    /// Cycles of one traversal of a network of low diameter.
    pub low_diameter_cycles: f64,
}
