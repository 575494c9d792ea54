//! Running traces one after the other on the calling thread.

use accelflow_accel::tcp::TcpSession;
use accelflow_accel::{AccelError, Ensemble, Session};
use accelflow_trace::{Image, Walker, is_name};
use zeroize::Zeroize;

use crate::bodies::Bodies;
use crate::error::{Cause, Counters, Failure, TraceError};
use crate::execution::Run;
use crate::outcome::{Conversation, Detail, Message, Outcome};
use crate::peer::Peer;

/// Runs the traces of a trace memory on bytes.
#[derive(Debug)]
pub struct Executor<B = Ensemble> {
    image: Image,
    bodies: B,
    detail: Detail,
    counters: Counters,
}

impl Executor {
    /// Software bodies with default settings, balancing round robin over `cores` cores.
    ///
    /// # Errors
    /// Those of [`Ensemble::with_cores`].
    pub fn with_cores(image: Image, cores: usize) -> Result<Executor, AccelError> {
        Ok(Executor::new(image, Ensemble::with_cores(cores)?))
    }
}

impl<B: Bodies> Executor<B> {
    /// An executor of the traces of `image` over `bodies`, with the templates' error subtraces.
    pub fn new(image: Image, bodies: B) -> Executor<B> {
        Executor {
            image,
            bodies,
            detail: Detail::default(),
            counters: Counters::default(),
        }
    }

    /// Sets how much outcomes contain. Default [`Detail::Steps`].
    pub fn set_detail(&mut self, detail: Detail) {
        self.detail = detail;
    }

    /// The trace memory.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// Replaces the trace memory, after a trace was registered.
    pub fn set_image(&mut self, image: Image) {
        self.image = image;
    }

    /// The bodies.
    pub fn bodies_mut(&mut self) -> &mut B {
        &mut self.bodies
    }

    /// Counts of how runs have ended so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Runs the trace called `name` to the end of all its executions, tails included.
    ///
    /// # Errors [`Failure`] with the first error of any step. A body that panics is an error like
    /// any other (`panic`). Connections return to `conversation` and `peer` in either case; see
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

    /// As [`Executor::run`], but takes the bytes from `payload` instead of copying them from the
    /// message.
    ///
    /// # Errors As [`Executor::run`]; the payload is lost.
    pub fn run_on(
        &mut self,
        name: &str,
        payload: Vec<u8>,
        message: &Message<'_>,
        conversation: &mut Conversation,
        peer: &mut dyn Peer,
    ) -> Result<Outcome, Box<Failure>> {
        let mark = Bookmark::of(&conversation.session);
        let payload = match &mut conversation.session.tls {
            Some(tls) if message.opened => {
                tls.ahead = payload;
                Vec::new()
            }
            _ => payload,
        };
        let done = self.follow(name, payload, message, conversation, peer);
        match done {
            Ok(outcome) => {
                self.counters.completed += 1;
                Ok(outcome)
            }
            Err((failure, sent)) => {
                if !sent {
                    mark.restore(&mut conversation.session);
                }
                *self
                    .counters
                    .failed
                    .entry(failure.error.reason)
                    .or_default() += 1;
                Err(failure)
            }
        }
    }

    /// The error tells whether something was sent over the conversation's own connection.
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
        Run::new(
            walker,
            self.image.predicates().fields(),
            &mut self.bodies,
            self.detail,
            peer,
            conversation,
        )
        .follow(payload, message)
    }
}

fn unknown_trace(name: &str, image: &Image) -> Failure {
    let known: Vec<&str> = image
        .names()
        .iter()
        .map(String::as_str)
        .filter(|known| is_name(known))
        .collect();
    let known = match known.is_empty() {
        true => "none".to_owned(),
        false => known.join(", "),
    };
    let cause = Cause::new(
        "unknown_trace",
        format!("there is no such trace; known are {known}"),
    );
    Failure {
        error: TraceError {
            reason: cause.reason,
            trace: name.to_owned(),
            step: None,
            accelerator: None,
            message: cause.message,
        },
        visits: Vec::new(),
        arrivals: Vec::new(),
    }
}

/// The state of a connection before a run.
struct Bookmark {
    tcp: Option<TcpSession>,
    /// Record sequence numbers, read and write, and the message that was opened ahead.
    tls: Option<(u64, u64, Vec<u8>)>,
}

impl Bookmark {
    fn of(session: &Session) -> Bookmark {
        let tls = session.tls.as_ref();
        Bookmark {
            tcp: session.tcp.clone(),
            tls: tls.map(|tls| {
                let (read, write) = (tls.read.sequence(), tls.write.sequence());
                (read, write, tls.ahead.clone())
            }),
        }
    }

    /// Sequence numbers of records that never left may be used again: no one saw the ciphertext.
    fn restore(self, session: &mut Session) {
        session.tcp = self.tcp;
        if let (Some(tls), Some((read, write, ahead))) = (&mut session.tls, self.tls) {
            tls.read.resume_at(read);
            tls.write.resume_at(write);
            // Of a message that was opened before the run, this may be the only copy.
            tls.ahead.zeroize();
            tls.ahead = ahead;
        }
    }
}
