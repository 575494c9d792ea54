//! The interface of load-balancing policies.

/// A rule that chooses a core for each message.
///
/// Contract: `pick` returns an index into `loads`, or `None` exactly if `loads` is empty. The
/// result of `pick` depends only on its arguments and on earlier calls.
pub trait BalancingPolicy: Send {
    /// The name of the balancing policy, for reports.
    fn name(&self) -> &'static str;

    /// Picks a core for a message and returns the core's index in `loads`. `loads` is the number of
    /// messages that each core has to process. Messages with equal `key` have affinity to the same
    /// core.
    fn pick(&mut self, key: u64, loads: &[u32]) -> Option<usize>;
}
