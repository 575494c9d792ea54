//! The interface of executors of traces.

use crate::error::Failure;
use crate::outcome::{Conversation, Message, Outcome};
use crate::peer::Peer;

/// An executor, which runs traces to completion. Accelerators run on the calling thread
/// ([`Executor`](crate::Executor)) or on workers of their own
/// ([`PooledExecutor`](crate::PooledExecutor)).
pub trait RunTraces {
    /// Runs the trace `name` on `message` until the trace, its tails and all its forks have ended.
    ///
    /// # Errors
    /// [`Failure`] with the first error of any step, in the order of inline execution. The
    /// connections return to `conversation` in any case.
    fn run_trace(
        &mut self,
        name: &str,
        message: &Message<'_>,
        conversation: &mut Conversation,
        peer: Box<dyn Peer + Send>,
    ) -> Result<Outcome, Box<Failure>>;
}
