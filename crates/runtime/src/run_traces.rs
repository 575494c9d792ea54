//! The interface of executors: they run traces to their ends.

use crate::error::Failure;
use crate::outcome::{Conversation, Message, Outcome};
use crate::peer::Peer;

/// Runs traces to their ends: the calling thread does every step itself
/// ([`Executor`](crate::Executor)), or the accelerators' workers do
/// ([`PooledExecutor`](crate::PooledExecutor)).
pub trait RunTraces {
    /// Runs the trace called `name` to the end of all its executions, tails included.
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
