//! The interface of load-balancing policies.

/// A rule by which the load balancer LdB chooses a core for each message.
///
/// Contract: `pick` returns an index into `loads`, or `None` exactly if `loads` is empty. The
/// result of `pick` depends only on its arguments and on earlier calls.
pub trait BalancingPolicy: Send {
    /// Returns the name of the balancing policy, for reports.
    fn name(&self) -> &'static str;

    /// Picks a core for a message and returns the core's index in `loads`. `loads` has, for each
    /// core, the number of messages that it has to process. `key` is the message's
    /// [`Job::affinity`](crate::Job::affinity); a policy may keep messages with equal `key` on the
    /// same core.
    fn pick(&mut self, key: u64, loads: &[u32]) -> Option<usize>;
}
