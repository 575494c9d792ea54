//! Ends a run of a trace: notifies the core, and lets another run begin.

use std::sync::Arc;

use accelflow_units::Time;

use super::handle::{Finished, Shared, ended};
use super::pace::TraceWork;
use super::runs::Running;
use crate::bookmark::Bookmark;
use crate::error::Failure;
use crate::outcome::{Conversation, Outcome};

/// Ends a run when it is dropped: notifies the core, and lets another run begin.
pub(super) struct Ending(Option<Open>);

struct Open {
    trace: String,
    mark: Bookmark,
    shared: Arc<Shared>,
    known: Arc<TraceWork>,
    running: Running,
}

impl Ending {
    pub(super) fn new(
        trace: String,
        mark: Bookmark,
        shared: Arc<Shared>,
        known: Arc<TraceWork>,
        running: Running,
    ) -> Ending {
        Ending(Some(Open {
            trace,
            mark,
            shared,
            known,
            running,
        }))
    }

    pub(super) fn completed(mut self, outcome: Outcome, conversation: Conversation, work: Time) {
        if let Some(open) = self.0.take() {
            open.known.learn(&open.trace, work);
            let finished = Finished {
                result: Ok(outcome),
                conversation,
            };
            tell(&open.shared, open.running, finished);
        }
    }

    /// Ends the run with a failure. `sent` is true if the conversation's own connection cannot be
    /// restored.
    pub(super) fn failed(
        mut self,
        failure: Box<Failure>,
        sent: bool,
        mut conversation: Conversation,
    ) {
        if let Some(open) = self.0.take() {
            let Open {
                mark,
                shared,
                running,
                ..
            } = open;
            if !sent {
                mark.restore(&mut conversation.session);
            }
            let result = Err(failure);
            tell(
                &shared,
                running,
                Finished {
                    result,
                    conversation,
                },
            );
        }
    }
}

/// Frees the run's place, then reports the end of the run.
fn tell(shared: &Shared, running: Running, finished: Finished) {
    drop(running);
    shared.finish(finished);
}

/// Reports a run that was lost because a peer panicked.
impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(open) = self.0.take() {
            let mut finished = ended(
                "lost",
                "the run ended without a result because its peer panicked",
            );
            if let Err(failure) = &mut finished.result {
                failure.error.trace.clone_from(&open.trace);
            }
            tell(&open.shared, open.running, finished);
        }
    }
}
