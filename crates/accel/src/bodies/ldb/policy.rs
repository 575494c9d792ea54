//! The interface of load-balancing policies.

/// A rule that chooses a core for each message.
///
/// Contract: `pick` returns an index into `loads`, or `None` exactly if `loads` is empty. It is
/// deterministic in its arguments and the calls before.
pub trait BalancingPolicy: Send {
    /// The policy's name, for reports.
    fn name(&self) -> &'static str;

    /// Picks a core for a message with affinity key `key`; `loads` are the cores' messages.
    fn pick(&mut self, key: u64, loads: &[u32]) -> Option<usize>;
}
