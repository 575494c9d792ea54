//! Executions of traces: the queue entries that move from accelerator to accelerator.

use std::cell::RefCell;

use accelflow_accel::{Call, Direction, Job, Session};
use accelflow_trace::{Accel, Field, Image, JoinArm, Operand};

use crate::error::Cause;
use crate::outcome::{Message, Step};
use crate::peer::Peer;

/// An execution: the queue entry that moves from accelerator to accelerator.
pub(crate) struct Execution {
    pub(crate) job: Job,
    pub(crate) arm: usize,
    /// The place of this execution among those that a join waits for.
    pub(crate) join_arm: Option<JoinArm>,
    pub(crate) connection: Connection,
    /// Whether the execution has called an accelerator.
    pub(crate) begun: bool,
    /// Whether the last call sent `job.bytes`. A response may follow.
    pub(crate) sent: bool,
}

/// The owner of the connection whose session is in an execution's job.
pub(crate) enum Connection {
    /// No connection yet. The peer lends one when the execution sends.
    None,
    /// The conversation's connection.
    Given,
    /// A connection that the peer has lent for messages of this kind.
    Lent(Call),
    /// The connection of the service's caller.
    Caller,
}

impl Execution {
    pub(crate) fn first(payload: Vec<u8>, message: &Message<'_>, session: Session) -> Execution {
        let connection = match session.tcp.is_none() && session.tls.is_none() {
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
            join_arm: None,
            connection,
            begun: false,
            sent: false,
        }
    }

    /// Creates a second execution with a copy of the payload and no connection. Two executions with
    /// the same write keys would use a nonce twice.
    pub(crate) fn fork(&self) -> Execution {
        Execution {
            job: self.job.fork(Session::default()),
            arm: 0,
            join_arm: None,
            connection: Connection::None,
            begun: true,
            sent: false,
        }
    }

    /// Prepares a call that does not receive a response. `peer` lends the connection for sending.
    pub(crate) fn prepare<P: Peer>(
        &mut self,
        accel: Accel,
        receives: bool,
        peer: &mut P,
    ) -> Result<(), Cause> {
        if receives {
            if self.begun {
                let message = "the trace waits for a response before it has sent a message";
                return Err(Cause::new("no_message", message));
            }
            self.job.direction = Direction::Receive;
            return Ok(());
        }
        if accel == Accel::Tcp {
            self.job.direction = Direction::Send;
        }
        let sends = matches!(accel, Accel::Tcp | Accel::Encr);
        if sends && matches!(self.connection, Connection::None) {
            self.job.session = peer.lend(&self.job.call)?;
            self.connection = Connection::Lent(self.job.call.clone());
        }
        Ok(())
    }

    /// Updates the state after a call.
    pub(crate) fn called(&mut self, accel: Accel, receives: bool) {
        self.begun = true;
        self.sent = accel == Accel::Tcp && !receives;
    }

    /// Returns the record of a call.
    pub(crate) fn describe(
        &self,
        trace: &str,
        (accel, receives): (Accel, bool),
        input_bytes: usize,
        image: &Image,
    ) -> Step {
        let (job, known) = (&self.job, &self.job.facts);
        let fields = image.predicates().fields();
        let facts = fields
            .iter()
            .filter_map(|name| Some((name.clone(), known.get(name)?)));
        Step {
            trace: trace.to_owned(),
            accel,
            own: image.kind(accel).cloned(),
            receives,
            direction: job.direction,
            arm: self.arm,
            input_bytes,
            output_bytes: job.bytes.len(),
            facts: facts.collect(),
        }
    }
}

/// Facts that a branch has read of a payload, by name.
pub(crate) type ReadFacts = Vec<(String, i64)>;

/// Reads a fact of `job`. Adds it to `read` if it comes from the payload of this step alone.
pub(crate) fn read_fact(job: &Job, field: Field<'_>, read: &RefCell<ReadFacts>) -> Option<i64> {
    let operand = field.operand();
    let value = job.read(operand)?;
    if !matches!(operand, Operand::Field(_)) {
        read.borrow_mut().push((field.name.to_owned(), value));
    }
    Some(value)
}
