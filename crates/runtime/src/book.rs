//! The record of one run of a trace: its visits (accelerator calls, forks, joins and so on),
//! messages and connections. Those of parallel arms are in the order in which a single thread
//! executes the arms, one after another.

use std::ops::DerefMut;

use accelflow_accel::{Call, Job};
use accelflow_trace::{Accel, Fault, Format, JoinArm, Joins, Visit};

use crate::caller::{ERROR_TRACES, error_reply};
use crate::error::{Cause, Failure, TraceError};
use crate::execution::{Connection, Execution, ReadFacts};
use crate::outcome::{Arrival, Conversation, Detail, Outcome, Sent, Step};
use crate::peer::Peer;

/// The largest number of visits in one run of a trace. A visit is an accelerator call, a
/// transformation, a fork, a join, the start of a trace or a notification. Without this limit,
/// every run would still end, but traces that fork again and again could make it very long.
pub const MAX_VISITS: usize = 100_000;

/// The record of one run: visits, steps, sent messages and arrivals, in the order of inline
/// execution.
pub(crate) struct Book<P, C> {
    pub(crate) peer: P,
    pub(crate) conversation: C,
    pub(crate) detail: Detail,
    pub(crate) outcome: Outcome,
    joins: Joins<Execution>,
    /// The number of executions started so far.
    arms: usize,
    /// Whether a TLS record of the conversation's own session may have left this process.
    exposed: bool,
    /// The number of visits so far.
    visited: usize,
    /// The trace that could not be entered.
    entering: Option<String>,
}

impl<P: Peer, C: DerefMut<Target = Conversation>> Book<P, C> {
    pub(crate) fn new(peer: P, conversation: C, detail: Detail) -> Book<P, C> {
        Book {
            peer,
            conversation,
            detail,
            outcome: Outcome::default(),
            joins: Joins::default(),
            arms: 1,
            exposed: false,
            visited: 0,
            entering: None,
        }
    }

    /// The number of visits so far, which is the index of the next one.
    pub(crate) fn visited(&self) -> usize {
        self.visited
    }

    /// Records a visit. Fails at the limit of visits.
    pub(crate) fn visit(&mut self, visit: &Visit) -> Result<(), Cause> {
        if self.visited == MAX_VISITS {
            let message = format!(
                "steps of the run (accelerator calls, forks, ends of traces) = over {MAX_VISITS}: \
                 must be at most {MAX_VISITS}; shorten the chain of traces or its forks"
            );
            return Err(Cause::new("too_many_visits", message));
        }
        self.visited += 1;
        if self.detail == Detail::Steps {
            self.outcome.visits.push(visit.clone());
        }
        Ok(())
    }

    /// Enters a trace. An error subtrace switches to the connection of the service's caller.
    pub(crate) fn enter(&mut self, name: &str, execution: &mut Execution) -> Result<(), Cause> {
        if !(execution.begun && ERROR_TRACES.contains(&name)) {
            return Ok(());
        }
        let Some(caller) = &mut self.conversation.caller else {
            self.entering = Some(name.to_owned());
            let message =
                "the error subtrace replies to the service's caller, but this run has no caller";
            return Err(Cause::new("no_caller", message));
        };
        let (call, body) = error_reply(&caller.call, &execution.job);
        let session = std::mem::take(&mut caller.session);
        self.put_back(execution, true);
        self.outcome.hand_over(execution);
        execution.job = Job {
            affinity: execution.job.affinity,
            ..Job::send(body, Format::Json, Call::Thrift(call), session)
        };
        execution.connection = Connection::Caller;
        execution.sent = false;
        Ok(())
    }

    /// Records a call that `execution` has made.
    pub(crate) fn called(
        &mut self,
        execution: &mut Execution,
        trace: &str,
        accel: Accel,
        step: Option<Step>,
    ) {
        self.outcome.steps.extend(step);
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
            // The message that Ser wrote may be for another peer, as when a database read follows a
            // cache miss.
            self.put_back(execution, true);
        }
    }

    /// Passes the response to the execution that sent the request.
    pub(crate) fn respond(&mut self, execution: &mut Execution, response: Vec<u8>) {
        self.outcome.hand_over(execution);
        execution.job.bytes = response;
        execution.job.answers = match &execution.job.call {
            Call::Thrift(call) => Some(call.function),
            _ => None,
        };
        execution.job.call = expected(&execution.job.call);
        execution.job.direction = accelflow_accel::Direction::Receive;
    }

    /// Returns the number and the join arm of a new execution that the execution at `join_arm`
    /// forks.
    pub(crate) fn fork(&mut self, join_arm: Option<JoinArm>) -> (usize, Option<JoinArm>) {
        let join_arm = self.joins.fork(join_arm);
        (self.number(), join_arm)
    }

    /// Returns the number and the join arm of a new execution that `execution` scatters. A join
    /// waits for both.
    pub(crate) fn scatter(&mut self, execution: &mut Execution) -> (usize, Option<JoinArm>) {
        let [own, other] = self.joins.scatter(execution.join_arm);
        execution.join_arm = Some(own);
        (self.number(), Some(other))
    }

    fn number(&mut self) -> usize {
        self.arms += 1;
        self.arms - 1
    }

    /// Handles the arrival of an execution at a join. All but the last wait. The last one continues
    /// with the first arm's job, which then has the payloads of all arms in order.
    pub(crate) fn meet(&mut self, last: Execution) -> Result<Option<Execution>, Cause> {
        let join_arm = last.join_arm.ok_or(Fault::NoJoin)?;
        let arm = last.arm;
        let Some((arms, outer)) = self.joins.arrive(join_arm, last) else {
            return Ok(None);
        };
        let mut arms = arms.into_iter();
        let Some(mut first) = arms.next() else {
            return Ok(None);
        };
        let mut others = Vec::with_capacity(arms.len());
        for mut other in arms {
            self.put_back(&mut other, true);
            others.push(other.job);
        }
        (first.arm, first.join_arm) = (arm, outer);
        match first.job.join(&others) {
            Ok(()) => Ok(Some(first)),
            Err(error) => {
                self.put_back(&mut first, false);
                Err(error.into())
            }
        }
    }

    /// Corrects the last visit: the execution at the join was the last to arrive.
    pub(crate) fn note_join(&mut self) {
        if let Some(last) = self.outcome.visits.last_mut() {
            *last = Visit::Join;
        }
    }

    /// Records the end of an execution that notifies the core.
    pub(crate) fn arrive(&mut self, mut execution: Execution, trace: &str) -> Arrival {
        self.exposed |= matches!(execution.connection, Connection::Given);
        self.put_back(&mut execution, true);
        self.outcome.hand_over(&mut execution);
        Arrival {
            trace: trace.to_owned(),
            arm: execution.arm,
            job: execution.job,
        }
    }

    /// Returns an execution's session to its owner. After an error, the two ends of a lent
    /// connection may have different sequence numbers, so the peer must open a new connection.
    pub(crate) fn put_back(&mut self, execution: &mut Execution, intact: bool) {
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

    /// Ends the run with the error of the visit `step` of `trace`. The second value is true if the
    /// conversation's own connection cannot be restored.
    pub(crate) fn fail(
        &mut self,
        execution: Option<Execution>,
        trace: &str,
        cause: Cause,
        step: usize,
    ) -> (Box<Failure>, bool) {
        let at_joins = std::mem::take(&mut self.joins).into_waiting();
        for mut execution in execution.into_iter().chain(at_joins) {
            self.put_back(&mut execution, false);
        }
        let error = TraceError {
            reason: cause.reason,
            // A failure to enter a trace is reported for the trace to be entered.
            trace: self.entering.take().unwrap_or_else(|| trace.to_owned()),
            step: Some(step),
            accelerator: cause.accelerator,
            message: cause.message,
        };
        let outcome = std::mem::take(&mut self.outcome);
        let failure = Failure {
            error,
            visits: outcome.visits,
            arrivals: outcome.arrivals,
        };
        (Box::new(failure), self.exposed)
    }
}

impl Outcome {
    /// Adds facts to the record of the last step of `trace`: those that a branch has read from the
    /// step's output.
    pub(crate) fn add_facts(&mut self, trace: &str, facts: ReadFacts) {
        if facts.is_empty() {
            return;
        }
        let step = self.steps.iter_mut().rfind(|step| step.trace == trace);
        if let Some(step) = step {
            step.facts.extend(facts);
        }
    }

    /// Moves the packets of the last message sent into its record, unless the record already has a
    /// copy.
    fn hand_over(&mut self, execution: &mut Execution) {
        if let Some(sent) = self.without_packets(execution) {
            sent.bytes = std::mem::take(&mut execution.job.bytes);
        }
    }

    /// Like [`Outcome::hand_over`], but copies the packets, which the execution still needs.
    pub(crate) fn lend(&mut self, execution: &Execution) {
        if let Some(sent) = self.without_packets(execution) {
            sent.bytes = execution.job.bytes.clone();
        }
    }

    fn without_packets(&mut self, execution: &Execution) -> Option<&mut Sent> {
        let last = self.sent.last_mut().filter(|_| execution.sent);
        last.filter(|sent| sent.bytes.is_empty())
    }
}

/// The kind of message to expect in response to `call`. For RPC, the header states the kind.
fn expected(call: &Call) -> Call {
    match call {
        Call::Http(http) => Call::Http(http.response(http.status)),
        Call::Grpc(grpc) => Call::Grpc(grpc.response(grpc.codec)),
        Call::Thrift(_) | Call::None => Call::None,
        Call::Storage(_) => call.clone(),
    }
}
