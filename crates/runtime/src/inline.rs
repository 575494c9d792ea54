//! Inline execution: the calling thread follows a trace and performs every step itself.

use std::cell::RefCell;
use std::collections::VecDeque;

use accelflow_trace::{Accel, Field, JoinArm, Visit, Walker};

use crate::bodies::Bodies;
use crate::book::Book;
use crate::error::{Cause, Failure};
use crate::execution::{Execution, read_fact};
use crate::guard::guard;
use crate::outcome::{Conversation, Detail, Message, Outcome};
use crate::peer::Peer;

/// The state of one run.
pub(crate) struct Run<'r, B> {
    walker: Walker<'r>,
    bodies: &'r mut B,
    book: Book<&'r mut dyn Peer, &'r mut Conversation>,
    current: Option<Execution>,
    waiting: VecDeque<Execution>,
}

impl<'r, B: Bodies> Run<'r, B> {
    pub(crate) fn new(
        walker: Walker<'r>,
        bodies: &'r mut B,
        detail: Detail,
        peer: &'r mut dyn Peer,
        conversation: &'r mut Conversation,
    ) -> Run<'r, B> {
        Run {
            walker,
            bodies,
            book: Book::new(peer, conversation, detail),
            current: None,
            waiting: VecDeque::new(),
        }
    }

    /// Runs all executions to their ends. The error says whether the conversation's own connection
    /// cannot be restored.
    pub(crate) fn follow(
        mut self,
        payload: Vec<u8>,
        message: &Message<'_>,
    ) -> Result<Outcome, (Box<Failure>, bool)> {
        let session = std::mem::take(&mut self.book.conversation.session);
        self.current = Some(Execution::first(payload, message, session));
        while let Some(trace) = self.walker.trace() {
            let step = self.book.visited();
            if let Err(cause) = self.visit(trace) {
                return Err(self.book.fail(self.current.take(), trace, cause, step));
            }
        }
        Ok(self.book.outcome)
    }

    /// Performs the next visit.
    fn visit(&mut self, trace: &'r str) -> Result<(), Cause> {
        let Some(execution) = &mut self.current else {
            return Err(Cause::new("no_execution", "no execution is in progress"));
        };
        let job = &execution.job;
        let read = RefCell::default();
        let facts = |field: Field<'_>| read_fact(job, field, &read);
        let visit = self.walker.advance(&facts);
        self.book.outcome.add_facts(trace, read.into_inner());
        let Some(visit) = visit? else {
            return Ok(());
        };
        self.book.visit(&visit)?;
        match visit {
            Visit::Enter(name) => self.book.enter(&name, execution),
            Visit::Call { accel, receives } => self
                .call(trace, accel, receives)
                .map_err(|cause| cause.at(accel)),
            Visit::Transform(change) => {
                self.book.outcome.lend(execution);
                guard(|| self.bodies.transform(change, &mut execution.job))
            }
            Visit::Fork => {
                let place = self.book.fork(execution.join_arm);
                self.start(place);
                Ok(())
            }
            Visit::Scatter => {
                let place = self.book.scatter(execution);
                self.start(place);
                Ok(())
            }
            Visit::Wait | Visit::Join => self.meet(),
            Visit::Notify => {
                self.notify(trace);
                Ok(())
            }
        }
    }

    fn call(&mut self, trace: &str, accel: Accel, receives: bool) -> Result<(), Cause> {
        let Some(execution) = &mut self.current else {
            return Ok(());
        };
        let book = &mut self.book;
        if receives && execution.sent {
            let job = &execution.job;
            let response = book.peer.exchange(&job.call, &job.bytes)?;
            book.respond(execution, response);
        } else {
            book.outcome.lend(execution);
            execution.prepare(accel, receives, &mut book.peer)?;
        }
        let input_bytes = execution.job.bytes.len();
        let image = self.walker.image();
        guard(|| match image.kind(accel) {
            Some(kind) => self.bodies.run_own(kind, &mut execution.job),
            None => self.bodies.run(accel, &mut execution.job),
        })?;
        execution.called(accel, receives);
        let step = (book.detail == Detail::Steps)
            .then(|| execution.describe(trace, (accel, receives), input_bytes, image));
        book.called(execution, trace, accel, step);
        Ok(())
    }

    fn start(&mut self, (arm, join_arm): (usize, Option<JoinArm>)) {
        if let Some(execution) = &self.current {
            self.waiting.push_back(Execution {
                arm,
                join_arm,
                ..execution.fork()
            });
        }
    }

    fn meet(&mut self) -> Result<(), Cause> {
        let Some(last) = self.current.take() else {
            return Ok(());
        };
        self.current = match self.book.meet(last)? {
            Some(joined) => Some(joined),
            None => self.waiting.pop_front(),
        };
        Ok(())
    }

    fn notify(&mut self, trace: &str) {
        if let Some(execution) = self.current.take() {
            let arrival = self.book.arrive(execution, trace);
            self.book.outcome.arrivals.push(arrival);
        }
        self.current = self.waiting.pop_front();
    }
}
