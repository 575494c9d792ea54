//! An executor that runs traces one after the other on the calling thread.

use std::sync::Arc;

use accelflow_accel::{AccelError, Ensemble};
use accelflow_trace::{Image, Walker};

use crate::bodies::Bodies;
use crate::bookmark::{Bookmark, open_ahead};
use crate::error::{Counters, Failure, unknown_trace};
use crate::inline::Run;
use crate::outcome::{Conversation, Detail, Message, Outcome};
use crate::peer::Peer;
use crate::run_traces::RunTraces;

/// Runs traces (short programs of accelerator calls) on real messages. The calling thread does all
/// work, with the accelerators `B`.
#[derive(Debug)]
pub struct Executor<B = Ensemble> {
    image: Arc<Image>,
    bodies: B,
    detail: Detail,
    counters: Counters,
}

impl Executor {
    /// Creates an executor for the traces in the trace memory `image`, with software accelerators
    /// and default settings. LdB, the load balancer, assigns messages to `cores` cores round robin.
    ///
    /// # Errors
    /// The errors of [`Ensemble::with_cores`].
    pub fn with_cores(image: Image, cores: usize) -> Result<Executor, AccelError> {
        Ok(Executor::new(image, Ensemble::with_cores(cores)?))
    }
}

impl<B: Bodies> Executor<B> {
    /// Creates an executor that runs the traces in the trace memory `image` on the accelerators
    /// `bodies`. Replies of the traces in [`ERROR_TRACES`](crate::ERROR_TRACES) go to the service's
    /// caller ([`Conversation::caller`]).
    pub fn new(image: impl Into<Arc<Image>>, bodies: B) -> Executor<B> {
        Executor {
            image: image.into(),
            bodies,
            detail: Detail::default(),
            counters: Counters::default(),
        }
    }

    /// Sets how much the [`Outcome`] of each run records. The default, [`Detail::Steps`], records
    /// everything.
    pub fn set_detail(&mut self, detail: Detail) {
        self.detail = detail;
    }

    /// The trace memory whose traces the executor runs.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// Replaces the trace memory, for example by a memory with an additional trace. Later runs use
    /// the new memory.
    pub fn set_image(&mut self, image: impl Into<Arc<Image>>) {
        self.image = image.into();
    }

    /// The accelerators that the executor calls, so that the caller can change their settings.
    pub fn bodies_mut(&mut self) -> &mut B {
        &mut self.bodies
    }

    /// The numbers of runs of traces by this executor so far: those completed, and those that
    /// failed for each reason.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Runs the trace `name` on `message` until the trace, the traces that follow it (its tails)
    /// and all its forks (parallel arms) have ended.
    ///
    /// # Errors
    /// [`Failure`] with the first error of any step. A panic in an accelerator's code is such an
    /// error (`panic`). The connections return to `conversation` and `peer` in all cases; see
    /// [`Conversation::session`].
    pub fn run(
        &mut self,
        name: &str,
        message: &Message<'_>,
        conversation: &mut Conversation,
        peer: &mut dyn Peer,
    ) -> Result<Outcome, Box<Failure>> {
        self.run_on(name, message.bytes.to_vec(), message, conversation, peer)
    }

    /// Runs a trace like [`Executor::run`], but takes the message's bytes from `payload` instead of
    /// copying `message.bytes`.
    ///
    /// # Errors
    /// The errors of [`Executor::run`]. The payload is then lost.
    pub fn run_on(
        &mut self,
        name: &str,
        payload: Vec<u8>,
        message: &Message<'_>,
        conversation: &mut Conversation,
        peer: &mut dyn Peer,
    ) -> Result<Outcome, Box<Failure>> {
        let mark = Bookmark::of(&conversation.session);
        let payload = open_ahead(&mut conversation.session, payload, message.opened);
        let done = self.follow(name, payload, message, conversation, peer);
        match done {
            Ok(outcome) => {
                self.counters.count(Ok(()));
                Ok(outcome)
            }
            Err((failure, sent)) => {
                if !sent {
                    mark.restore(&mut conversation.session);
                }
                self.counters.count(Err(failure.error.reason));
                Err(failure)
            }
        }
    }

    /// Runs all executions. The error says whether anything was sent over the conversation's own
    /// connection.
    fn follow(
        &mut self,
        name: &str,
        payload: Vec<u8>,
        message: &Message<'_>,
        conversation: &mut Conversation,
        peer: &mut dyn Peer,
    ) -> Result<Outcome, (Box<Failure>, bool)> {
        let Some(walker) = Walker::new(&self.image, name) else {
            return Err((Box::new(unknown_trace(name, &self.image)), false));
        };
        self.bodies.begin(name, message.terms);
        Run::new(walker, &mut self.bodies, self.detail, peer, conversation).follow(payload, message)
    }
}

impl<B: Bodies> RunTraces for Executor<B> {
    fn run_trace(
        &mut self,
        name: &str,
        message: &Message<'_>,
        conversation: &mut Conversation,
        mut peer: Box<dyn Peer + Send>,
    ) -> Result<Outcome, Box<Failure>> {
        self.run(name, message, conversation, &mut peer)
    }
}
