//! The interface of load-balancing policies.

/// A rule that chooses a core for each message.
///
/// Contract: `pick` returns an index into `loads`, or `None` exactly if `loads` is empty. Its
/// result depends only on its arguments and on earlier calls.
pub trait BalancingPolicy: Send {
    /// The policy's name, for reports.
    fn name(&self) -> &'static str;

    /// Picks a core for a message with affinity key `key`; `loads` has the number of messages of
    /// each core.
    fn pick(&mut self, key: u64, loads: &[u32]) -> Option<usize>;
}
