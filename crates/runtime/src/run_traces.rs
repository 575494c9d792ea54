//! The interface of executors of traces.

use crate::error::Failure;
use crate::outcome::{Conversation, Message, Outcome};
use crate::peer::Peer;

/// An executor: it runs traces (short programs of accelerator calls) to completion. The
/// accelerators run on the calling thread ([`Executor`](crate::Executor)) or on the worker threads
/// of an ensemble ([`PooledExecutor`](crate::PooledExecutor)).
pub trait RunTraces {
    /// Runs the trace `name` on `message` until the trace, its tails and all its forks have ended.
    ///
    /// # Errors
    /// [`Failure`] with the error of the first step that failed, in the order in which one thread
    /// would run the steps. The connections return to `conversation` in any case.
    fn run_trace(
        &mut self,
        name: &str,
        message: &Message<'_>,
        conversation: &mut Conversation,
        peer: Box<dyn Peer + Send>,
    ) -> Result<Outcome, Box<Failure>>;
}
