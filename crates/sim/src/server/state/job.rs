//! One execution of a trace.

use accelflow_kernel::Attributes;
use accelflow_trace::{Accel, AtmAddress, PositionMark};
use accelflow_units::{Bytes, Time};

use super::draws::Draws;
use super::event::{Transfer, TransferKind};
use super::ids::{LegId, RequestId, Unit};
use super::join::JoinArm;
use super::path::Path;
use super::payload::Payload;
use super::request::Request;
use crate::hardware::Owner;
use crate::orchestrators::{Decision, Next};
use crate::plan::Operation;

/// One execution of a trace: the content of a queue entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    /// The request that the trace belongs to.
    pub request: RequestId,
    /// The tenant and the service of the request.
    pub owner: Owner,
    /// The priority of the request.
    pub priority: u8,
    /// Index of the request's phase.
    pub phase: u16,
    /// The request's random numbers, from which exceptions and page faults are drawn.
    pub draws: Draws,
    /// The position in the chain of traces.
    pub cursor: Cursor,
    /// The accelerator type of the current operation.
    pub accel: Accel,
    /// The accelerator at which the current operation is, was or will be executed. It has the type
    /// of the operation, unless accelerators execute operations of other types.
    pub unit: Unit,
    /// The current operation: its cost and payload sizes.
    pub operation: Operation,
    /// The payload that the trace processes.
    pub payload: Payload,
    /// What follows the current operation.
    pub next_step: NextStep,
    /// The cost of orchestrating the last completion.
    pub decision: Decision,
    /// Whether the output dispatcher handles the last completion alone, without manager and core.
    pub alone: bool,
    /// Number of words of the trace memory that the dispatcher has yet to read.
    pub reads: u8,
    /// The state of the trace's queue entry.
    pub entry: QueueEntry,
    /// The transfer under way, or the last one.
    pub transfer: Transfer,
    /// The state of the trace's operation in its processing element.
    pub run: ElementRun,
    /// The deadline of the current operation.
    pub deadline: Deadline,
    /// The breakdown of the request's time along the path of this trace.
    pub path: Path,
    /// Core time that the trace takes in software.
    pub software: Time,
    /// Whether LdB has run in software, so that the request may change its core when the task ends.
    pub balances: bool,
    /// The time from the current operation to the end of the chain on an idle server; zero unless
    /// the manager has a central queue.
    pub left: Time,
}

/// A position in a chain of traces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    /// Index of the chain within its phase.
    pub chain: u16,
    /// The trace, by the address of its first word.
    pub trace: AtmAddress,
    /// The address of the word that is being read.
    pub word: AtmAddress,
    /// The position within the word.
    pub mark: PositionMark,
    /// Index of the trace within the chain, from 0.
    pub ordinal: u16,
    /// Index of the chain's script.
    pub script: u32,
    /// The compiled leg that begins at the position; [`LegId::NONE`] if no leg begins there.
    pub leg: LegId,
}

impl Cursor {
    /// Whether nothing of the trace has been read.
    pub(crate) fn at_start(&self) -> bool {
        self.word == self.trace && self.mark == PositionMark::START
    }
}

/// The next step of a trace, and its relation to joins and errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NextStep {
    /// The next step of the trace.
    pub next: Next,
    /// Whether the job has reached a join: the arms meet at the next operation.
    pub meets: bool,
    /// The job's place among the arms of a join.
    pub join_arm: Option<JoinArm>,
    /// Whether the trace, reached by a tail, begins at once instead of waiting for a message. It then
    /// sends an error response.
    pub error: bool,
}

/// The state of a job's queue entry.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueEntry {
    /// The place where the job waits for a message.
    pub held: Held,
    /// Number of sources whose data the entry still lacks.
    pub missing: u8,
    /// Number of failed attempts of the core to enqueue the job.
    pub attempts: u16,
    /// Whether the job counts as a running trace of its tenant.
    pub counted: bool,
    /// Whether the manager of a central queue knows of the current operation.
    pub known: bool,
}

/// The operation on a processing element.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ElementRun {
    /// The time since which the result has waited for an output entry, or the element has been
    /// stopped.
    pub waits_since: Time,
    /// The time when the operation is expected to end. While the operation is stopped: the duration
    /// of the preparation that the element needs before it.
    pub ends: Time,
    /// Number of operations that the job has begun.
    pub steps: u16,
}

/// When the steps of a job are due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    /// The time when the current step is due; [`Time::MAX`] without deadlines.
    pub due: Time,
    /// The ratio of the allowed time of a step to its time on an idle server.
    pub stretch: f64,
}

impl Deadline {
    /// No deadline.
    pub(crate) const NONE: Deadline = Deadline {
        due: Time::MAX,
        stretch: 0.0,
    };

    /// The deadline of the next step, which takes `unloaded` on an idle server.
    pub(crate) fn after(&self, unloaded: Time) -> Time {
        self.due + unloaded.scale(self.stretch)
    }

    /// Whether there is a deadline.
    pub(crate) fn is_set(&self) -> bool {
        self.due < Time::MAX
    }
}

/// An exception of an operation, which the hardware cannot handle (AccelFlow, section IV.A).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Exception {
    /// Time that the element needs for preparation before the operation, when the operation is
    /// resumed.
    pub preparation: Time,
    /// Time of the operating system for the exception, without the time to take the interrupt.
    pub handling: Time,
    /// Whether the element resumes the operation afterwards; otherwise the core continues in
    /// software.
    pub resumes: bool,
}

/// Where a job waits for a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Held {
    /// In no queue: the message will request an entry.
    #[default]
    Nowhere,
    /// In an input entry of TCP.
    Input,
    /// In the overflow area of TCP.
    Overflow,
    /// At its core, which will execute the next trace in software.
    Core,
}

impl Job {
    /// A job of `request`, which has the number `id`, at `cursor`. It has not read anything.
    pub(crate) fn new(
        (id, request): (RequestId, &Request),
        attributes: Attributes,
        cursor: Cursor,
        unit: Unit,
        payload: Payload,
    ) -> Job {
        Job {
            request: id,
            owner: request.owner(),
            priority: request.priority,
            phase: request.phase,
            draws: Draws::new(attributes, request.phase, cursor.chain),
            cursor,
            accel: Accel::Tcp,
            unit,
            operation: Operation {
                core: Time::ZERO,
                input: Bytes(0),
                output: Bytes(0),
            },
            payload,
            next_step: NextStep {
                next: Next::End,
                meets: false,
                join_arm: None,
                error: false,
            },
            decision: Decision::default(),
            alone: false,
            reads: 0,
            entry: QueueEntry::default(),
            transfer: Transfer {
                kind: TransferKind::Forward,
                source: None,
            },
            run: ElementRun::default(),
            deadline: Deadline::NONE,
            path: Path::new(Time::ZERO),
            software: Time::ZERO,
            balances: false,
            left: Time::ZERO,
        }
    }

    /// Moves to the beginning of the next trace of its chain.
    pub(crate) fn begin_trace(&mut self, trace: AtmAddress) {
        self.cursor.trace = trace;
        self.cursor.ordinal += 1;
        let Cursor { chain, ordinal, .. } = self.cursor;
        self.draws.begin_trace(self.phase, chain, ordinal);
    }
}
