//! The interface of executors, which run traces to completion.

use crate::error::Failure;
use crate::outcome::{Conversation, Message, Outcome};
use crate::peer::Peer;

/// Runs traces to completion. The steps run on the calling thread ([`Executor`](crate::Executor))
/// or on the accelerators' workers ([`PooledExecutor`](crate::PooledExecutor)).
pub trait RunTraces {
    /// Runs the trace `name` until all its executions, including tails, have ended.
    ///
    /// # Errors
    /// [`Failure`] with the first error of any step, in the order of inline execution.
    /// The conversation's connections return in either case.
    fn run_trace(
        &mut self,
        name: &str,
        message: &Message<'_>,
        conversation: &mut Conversation,
        peer: Box<dyn Peer + Send>,
    ) -> Result<Outcome, Box<Failure>>;
}
