//! One run: the executions of a trace and what they hold.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

use accelflow_accel::{Call, Direction, Job, Session};
use accelflow_trace::{Accel, Fault, Field, Joins, Operand, Seat, Transform, Visit, Walker};

use crate::bodies::Bodies;
use crate::caller::{ERROR_TRACES, error_reply};
use crate::error::{Cause, Failure, TraceError};
use crate::outcome::{Arrival, Conversation, Detail, Message, Outcome, Sent, Step};
use crate::peer::Peer;

/// The largest number of visits of one run. Every trace ends, but chains of traces that fork may be
/// very long.
pub const MAX_VISITS: usize = 100_000;

/// An execution: the queue entry that moves from accelerator to accelerator.
struct Execution {
    job: Job,
    arm: usize,
    /// Its place among the executions that a join waits for.
    seat: Option<Seat>,
    connection: Connection,
    /// Whether it has called an accelerator.
    begun: bool,
    /// Whether the last call sent `job.bytes`, which a response may follow.
    sent: bool,
}

/// The owner of the connection whose session is in an execution's job.
enum Connection {
    /// No connection yet: the peer lends one when the execution sends.
    None,
    /// The conversation's connection.
    Given,
    /// A connection that the peer has lent for messages of this kind.
    Lent(Call),
    /// The connection of the service's caller.
    Caller,
}

impl Execution {
    fn first(payload: Vec<u8>, message: &Message<'_>, session: Session) -> Execution {
        let connection = match is_empty(&session) {
            true => Connection::None,
            false => Connection::Given,
        };
        // Receiving TCP turns the direction around.
        let mut job = Job::send(payload, message.format, message.call.clone(), session);
        job.record = message.record.clone();
        job.affinity = message.affinity;
        Execution {
            job,
            arm: 0,
            seat: None,
            connection,
            begun: false,
            sent: false,
        }
    }
}

fn is_empty(session: &Session) -> bool {
    session.tcp.is_none() && session.tls.is_none()
}

/// The state of one run.
pub(crate) struct Run<'r, B> {
    walker: Walker<'r>,
    fields: &'r [String],
    bodies: &'r mut B,
    detail: Detail,
    peer: &'r mut dyn Peer,
    conversation: &'r mut Conversation,
    current: Option<Execution>,
    waiting: VecDeque<Execution>,
    joins: Joins<Execution>,
    arms: usize,
    /// Whether anyone may have seen a record that the conversation's own session protected.
    exposed: bool,
    /// The number of visits so far.
    visited: usize,
    /// The trace that is being entered.
    entering: Option<String>,
    outcome: Outcome,
}

impl<'r, B: Bodies> Run<'r, B> {
    pub(crate) fn new(
        walker: Walker<'r>,
        fields: &'r [String],
        bodies: &'r mut B,
        detail: Detail,
        peer: &'r mut dyn Peer,
        conversation: &'r mut Conversation,
    ) -> Run<'r, B> {
        Run {
            walker,
            fields,
            bodies,
            detail,
            peer,
            conversation,
            current: None,
            waiting: VecDeque::new(),
            joins: Joins::default(),
            arms: 1,
            exposed: false,
            visited: 0,
            entering: None,
            outcome: Outcome {
                arrivals: Vec::new(),
                visits: Vec::new(),
                steps: Vec::new(),
                sent: Vec::new(),
            },
        }
    }

    /// Runs all executions to their ends. The error tells whether the conversation's own connection
    /// has been used irrevocably.
    pub(crate) fn follow(
        mut self,
        payload: Vec<u8>,
        message: &Message<'_>,
    ) -> Result<Outcome, (Box<Failure>, bool)> {
        let session = std::mem::take(&mut self.conversation.session);
        self.current = Some(Execution::first(payload, message, session));
        while let Some(trace) = self.walker.trace() {
            if let Err((cause, step)) = self.visit(trace) {
                return Err(self.fail(trace, cause, step));
            }
        }
        Ok(self.outcome)
    }

    /// Makes the next visit. The error is the cause and the step's index.
    fn visit(&mut self, trace: &'r str) -> Result<(), (Cause, usize)> {
        let step = self.visited;
        let Some(execution) = &mut self.current else {
            return Err((
                Cause::new("no_execution", "nothing is being executed"),
                step,
            ));
        };
        let job = &execution.job;
        let read = RefCell::default();
        let facts = |field: Field<'_>| read_fact(job, field, &read);
        let visit = self.walker.advance(&facts);
        self.outcome.add_facts(trace, read.into_inner());
        let visit = match visit.map_err(|fault| (fault.into(), step))? {
            Some(visit) => visit,
            None => return Ok(()),
        };
        if step == MAX_VISITS {
            let message = format!("the run is longer than {MAX_VISITS} visits");
            return Err((Cause::new("too_many_visits", message), step));
        }
        self.visited += 1;
        if self.detail == Detail::Steps {
            self.outcome.visits.push(visit.clone());
        }
        let done = match visit {
            Visit::Enter(name) => {
                let done = self.enter(&name);
                self.entering = done.is_err().then_some(name);
                done
            }
            Visit::Call { accel, receives } => self
                .call(trace, accel, receives)
                .map_err(|cause| cause.at(accel)),
            Visit::Transform(change) => self.transform(change),
            Visit::Fork => {
                let seat = self.current.as_ref().and_then(|execution| execution.seat);
                let seat = self.joins.fork(seat);
                self.fork(seat)
            }
            Visit::Scatter => self.scatter(),
            Visit::Wait | Visit::Join => self.meet(),
            Visit::Notify => self.notify(trace),
        };
        done.map_err(|cause| (cause, step))
    }

    /// Enters a trace. An error subtrace switches to the connection of the service's caller.
    fn enter(&mut self, name: &str) -> Result<(), Cause> {
        let Some(mut execution) = self.current.take() else {
            return Ok(());
        };
        if execution.begun && ERROR_TRACES.contains(&name) {
            let Some(caller) = &mut self.conversation.caller else {
                self.current = Some(execution);
                let message = "it answers the service's caller, but the run has none";
                return Err(Cause::new("no_caller", message));
            };
            let (call, body) = error_reply(&caller.call, &execution.job);
            let session = std::mem::take(&mut caller.session);
            self.put_back(&mut execution, true);
            self.outcome.hand_over(&mut execution);
            execution.job = Job {
                affinity: execution.job.affinity,
                ..Job::send(
                    body,
                    accelflow_trace::Format::Json,
                    Call::Thrift(call),
                    session,
                )
            };
            execution.connection = Connection::Caller;
            execution.sent = false;
        }
        self.current = Some(execution);
        Ok(())
    }

    fn call(&mut self, trace: &str, accel: Accel, receives: bool) -> Result<(), Cause> {
        self.prepare(accel, receives)?;
        let Some(execution) = &mut self.current else {
            return Ok(());
        };
        let input_bytes = execution.job.bytes.len();
        let kind = self.walker.image().kind(accel);
        guard(|| match kind {
            Some(kind) => self.bodies.run_own(kind, &mut execution.job),
            None => self.bodies.run(accel, &mut execution.job),
        })?;
        execution.begun = true;
        execution.sent = accel == Accel::Tcp && !receives;
        if self.detail == Detail::Steps {
            let mut step = describe(execution, trace, accel, receives, input_bytes, self.fields);
            step.own = kind.cloned();
            self.outcome.steps.push(step);
        }
        if execution.sent {
            self.exposed |= matches!(execution.connection, Connection::Given);
            let job = &execution.job;
            self.outcome.sent.push(Sent {
                trace: trace.to_owned(),
                call: job.call.clone(),
                // The packets are moved here once the execution no longer needs them.
                bytes: match self.detail {
                    Detail::Steps => job.bytes.clone(),
                    Detail::Results => Vec::new(),
                },
            });
        }
        if accel == Accel::Ser && matches!(execution.connection, Connection::Lent(_)) {
            // What Ser wrote may be for another peer: a find in the database after a miss in
            // the cache.
            if let Some(mut execution) = self.current.take() {
                self.put_back(&mut execution, true);
                self.current = Some(execution);
            }
        }
        Ok(())
    }

    /// Gets the message that TCP receives, or a connection to send on.
    fn prepare(&mut self, accel: Accel, receives: bool) -> Result<(), Cause> {
        let Some(execution) = &mut self.current else {
            return Ok(());
        };
        if receives {
            if execution.sent {
                let job = &execution.job;
                let response = self.peer.exchange(&job.call, &job.bytes)?;
                self.outcome.hand_over(execution);
                execution.job.bytes = response;
                execution.job.call = expected(&execution.job.call);
            } else if execution.begun {
                let message = "it waits for a response, but nothing was sent before";
                return Err(Cause::new("no_message", message));
            }
            execution.job.direction = Direction::Receive;
            return Ok(());
        }
        self.outcome.lend(execution);
        let job = &mut execution.job;
        if accel == Accel::Tcp {
            job.direction = Direction::Send;
        }
        let sends = matches!(accel, Accel::Tcp | Accel::Encr);
        if sends && matches!(execution.connection, Connection::None) {
            job.session = self.peer.lend(&job.call)?;
            execution.connection = Connection::Lent(job.call.clone());
        }
        Ok(())
    }

    fn transform(&mut self, change: Transform) -> Result<(), Cause> {
        match &mut self.current {
            Some(execution) => {
                self.outcome.lend(execution);
                guard(|| self.bodies.transform(change, &mut execution.job))
            }
            None => Ok(()),
        }
    }

    /// The new execution has a copy of the payload and no connection: two holders of one set of
    /// write keys would use a nonce twice.
    fn fork(&mut self, seat: Option<Seat>) -> Result<(), Cause> {
        if let Some(execution) = &self.current {
            self.waiting.push_back(Execution {
                job: execution.job.fork(Session::default()),
                arm: self.arms,
                seat,
                connection: Connection::None,
                begun: true,
                sent: false,
            });
            self.arms += 1;
        }
        Ok(())
    }

    /// Forks; a join waits for both executions.
    fn scatter(&mut self) -> Result<(), Cause> {
        let Some(execution) = &mut self.current else {
            return Ok(());
        };
        let [own, other] = self.joins.scatter(execution.seat);
        execution.seat = Some(own);
        self.fork(Some(other))
    }

    /// The current execution has come to a join. It waits there, unless it is the last: then it
    /// goes on with the first arm's job, which has the payloads of all, in the order of the arms.
    fn meet(&mut self) -> Result<(), Cause> {
        let Some(last) = self.current.take() else {
            return Ok(());
        };
        let seat = last.seat.ok_or(Fault::NoJoin)?;
        let arm = last.arm;
        let Some((arms, outer)) = self.joins.arrive(seat, last) else {
            self.current = self.waiting.pop_front();
            return Ok(());
        };
        let mut arms = arms.into_iter();
        let Some(mut first) = arms.next() else {
            return Ok(());
        };
        let mut others = Vec::with_capacity(arms.len());
        for mut other in arms {
            self.put_back(&mut other, true);
            others.push(other.job);
        }
        (first.arm, first.seat) = (arm, outer);
        let done = first.job.join(&others);
        self.current = Some(first);
        Ok(done?)
    }

    fn notify(&mut self, trace: &str) -> Result<(), Cause> {
        if let Some(mut execution) = self.current.take() {
            self.exposed |= matches!(execution.connection, Connection::Given);
            self.put_back(&mut execution, true);
            self.outcome.hand_over(&mut execution);
            self.outcome.arrivals.push(Arrival {
                trace: trace.to_owned(),
                arm: execution.arm,
                job: execution.job,
            });
        }
        self.current = self.waiting.pop_front();
        Ok(())
    }

    /// Returns an execution's session to its owner. After an error the two ends of a lent
    /// connection may disagree on sequence numbers, so the peer must open a new one.
    fn put_back(&mut self, execution: &mut Execution, intact: bool) {
        let session = std::mem::take(&mut execution.job.session);
        match std::mem::replace(&mut execution.connection, Connection::None) {
            Connection::None => {}
            Connection::Given => self.conversation.session = session,
            Connection::Lent(call) => self.peer.take_back(&call, intact.then_some(session)),
            Connection::Caller => {
                if let Some(caller) = &mut self.conversation.caller {
                    caller.session = session;
                }
            }
        }
    }

    fn fail(mut self, trace: &str, cause: Cause, step: usize) -> (Box<Failure>, bool) {
        let at_joins = std::mem::take(&mut self.joins).into_waiting();
        for mut execution in self.current.take().into_iter().chain(at_joins) {
            self.put_back(&mut execution, false);
        }
        let error = TraceError {
            reason: cause.reason,
            trace: self.place(trace),
            step: Some(step),
            accelerator: cause.accelerator,
            message: cause.message,
        };
        let failure = Failure {
            error,
            visits: self.outcome.visits,
            arrivals: self.outcome.arrivals,
        };
        (Box::new(failure), self.exposed)
    }

    /// The trace that a step belongs to; an entry belongs to the trace entered.
    fn place(&self, trace: &str) -> String {
        match &self.entering {
            Some(name) => name.clone(),
            None => trace.to_owned(),
        }
    }
}

/// Reads a fact of `job`, and notes in `read` what only the payload of this step tells.
fn read_fact(job: &Job, field: Field<'_>, read: &RefCell<Vec<(String, i64)>>) -> Option<i64> {
    let operand = field.operand();
    let value = job.read(operand)?;
    if !matches!(operand, Operand::Field(_)) {
        read.borrow_mut().push((field.name.to_owned(), value));
    }
    Some(value)
}

impl Outcome {
    /// Adds facts that a branch has read of the output of the last step of `trace` to its record.
    fn add_facts(&mut self, trace: &str, facts: Vec<(String, i64)>) {
        if facts.is_empty() {
            return;
        }
        let step = self.steps.iter_mut().rfind(|step| step.trace == trace);
        if let Some(step) = step {
            step.facts.extend(facts);
        }
    }

    /// Moves the packets of the last message sent into its record, unless it has a copy: the
    /// execution no longer needs them.
    fn hand_over(&mut self, execution: &mut Execution) {
        if let Some(sent) = self.without_packets(execution) {
            sent.bytes = std::mem::take(&mut execution.job.bytes);
        }
    }

    /// Copies them, where the execution still needs them; else as [`Outcome::hand_over`].
    fn lend(&mut self, execution: &Execution) {
        if let Some(sent) = self.without_packets(execution) {
            sent.bytes = execution.job.bytes.clone();
        }
    }

    fn without_packets(&mut self, execution: &Execution) -> Option<&mut Sent> {
        let last = self.sent.last_mut().filter(|_| execution.sent);
        last.filter(|sent| sent.bytes.is_empty())
    }
}

/// The record of a call that `execution` has made.
fn describe(
    execution: &Execution,
    trace: &str,
    accel: Accel,
    receives: bool,
    input_bytes: usize,
    fields: &[String],
) -> Step {
    let (job, known) = (&execution.job, &execution.job.facts);
    let facts = fields
        .iter()
        .filter_map(|name| Some((name.clone(), known.get(name)?)));
    Step {
        trace: trace.to_owned(),
        accel,
        own: None,
        receives,
        direction: job.direction,
        arm: execution.arm,
        input_bytes,
        output_bytes: job.bytes.len(),
        facts: facts.collect(),
    }
}

/// The kind of message as which a response to `call` is read. RPC finds its kind in the header.
fn expected(call: &Call) -> Call {
    match call {
        Call::Http(http) => Call::Http(http.response(http.status)),
        Call::Grpc(grpc) => Call::Grpc(grpc.response(grpc.codec)),
        Call::Thrift(_) | Call::None => Call::None,
        Call::Storage(_) => call.clone(),
    }
}

/// Calls a body and turns a panic into an error. Bodies keep no state between jobs but scratch
/// memory, which the next job overwrites, so they can go on.
fn guard<E: Into<Cause>>(body: impl FnOnce() -> Result<(), E>) -> Result<(), Cause> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(done) => done.map_err(Into::into),
        Err(payload) => {
            let text = payload
                .downcast_ref::<&str>()
                .map(|text| (*text).to_owned())
                .or_else(|| payload.downcast_ref::<String>().cloned());
            let text = text.unwrap_or_else(|| "no message".to_owned());
            Err(Cause::new("panic", format!("the body panicked: {text}")))
        }
    }
}
