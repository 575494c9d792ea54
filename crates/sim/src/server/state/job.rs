//! The execution of a trace, and the data that it needs.

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
    /// Index of the request that the trace belongs to, among the requests that have not ended.
    pub request: RequestId,
    /// The tenant and the service of the request.
    pub owner: Owner,
    /// The priority of the request that the trace belongs to, in queues that are ordered by
    /// priority; a higher value goes first.
    pub priority: u8,
    /// Index, in the service's path, of the phase that the trace belongs to.
    pub phase: u16,
    /// The request's random numbers, from which exceptions and page faults are drawn.
    pub draws: Draws,
    /// The position in the chain up to which the trace has been read.
    pub cursor: Cursor,
    /// The accelerator type of the current operation.
    pub accel: Accel,
    /// The accelerator at which the current operation is, was or will be executed. This
    /// accelerator's type differs from `accel` if another type of accelerator executes the
    /// operation.
    pub unit: Unit,
    /// The current operation: its cost and payload sizes.
    pub operation: Operation,
    /// The data that the trace processes.
    pub payload: Payload,
    /// What the trace does after the current operation.
    pub next_step: NextStep,
    /// The orchestrator's decision about the last completed operation: how long dispatcher, manager
    /// and core are busy with the operation's completion. If `alone` is true, only the dispatcher's
    /// time is valid.
    pub decision: Decision,
    /// Whether the output dispatcher handles the last completed operation alone, without manager
    /// and core.
    pub alone: bool,
    /// Number of words of the trace memory that the output dispatcher has yet to read for its
    /// decision.
    pub reads: u8,
    /// The state of the queue entry that holds the trace.
    pub entry: QueueEntry,
    /// The current or the last transfer of the trace's data by an A-DMA engine.
    pub transfer: Transfer,
    /// The state of the trace's operation in its processing element.
    pub run: ElementRun,
    /// The deadline of the current operation, and the time allowed for later operations.
    pub deadline: Deadline,
    /// The time since the request's arrival, broken down by kind of work or wait. Work of parallel
    /// traces does not count.
    pub path: Path,
    /// Core time of the task that executes the trace in software, with a context switch if one is
    /// needed.
    pub software: Time,
    /// The address of the first word of the trace that a core executes in software; `None` if no
    /// core executes the trace. During the core's task, `cursor` is already at the position where
    /// the execution will end or wait.
    pub in_software: Option<AtmAddress>,
    /// Whether the task that executes the trace in software includes the operation of LdB that
    /// assigns the request to a core. The request may then change its core when the task ends.
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
    /// The address of the first word of the trace.
    pub trace: AtmAddress,
    /// The address of the trace's word in which this position is.
    pub word: AtmAddress,
    /// The position within `word` from which the trace is read next.
    pub mark: PositionMark,
    /// Index of the trace within the chain, from 0.
    pub ordinal: u16,
    /// Index of the compiled form of the chain.
    pub script: u32,
    /// The compiled leg that begins at the position (what a dispatcher reads up to the next
    /// operation); [`LegId::NONE`] if no compiled leg begins there.
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
    /// The next step of the trace: an operation, a wait for a message, or the end.
    pub next: Next,
    /// Whether the trace has reached a join, so that its arms meet at the next operation.
    pub meets: bool,
    /// The place of the execution among the arms of a join; `None` if it is not an arm of a join.
    pub join_arm: Option<JoinArm>,
    /// Whether a tail has led to a trace that begins at once, without waiting for a message. Such a
    /// trace sends an error response.
    pub error: bool,
}

/// The state of a job's queue entry.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueEntry {
    /// The place where the trace waits for a message.
    pub held: Held,
    /// Number of transfers of data that must end before the queue entry is complete.
    pub missing: u8,
    /// Number of times that the core has tried to enqueue the trace and found the queue full.
    pub attempts: u16,
    /// Whether the execution counts as a running trace of its tenant.
    pub counted: bool,
    /// Whether the manager knows of the current operation; used only if the manager has a central
    /// queue.
    pub known: bool,
}

/// The operation on a processing element.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ElementRun {
    /// The time since which the operation's result has waited for an entry of the output queue, or
    /// since which an exception has stopped the processing element.
    pub waits_since: Time,
    /// The time when the operation is expected to end. While an exception stops the operation, this
    /// field holds a duration instead: the time to prepare the processing element when the
    /// operation is resumed.
    pub ends: Time,
    /// Number of operations of the execution that have begun on processing elements.
    pub steps: u16,
}

/// When the steps of a job are due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    /// The time when the current operation is due; [`Time::MAX`] without deadlines.
    pub due: Time,
    /// The time allowed for each further operation, as a multiple of its time on an idle server.
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
    /// Time to prepare the element for the operation when the operation is resumed.
    pub preparation: Time,
    /// Time that the operating system takes to handle the exception, without the time to take the
    /// interrupt.
    pub handling: Time,
    /// Whether the processing element resumes the operation after the exception has been handled.
    /// If not, the core executes the rest of the trace in software.
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
            in_software: None,
            balances: false,
            left: Time::ZERO,
        }
    }

    /// The address of the first word of the trace that runs.
    pub(crate) fn running_trace(&self) -> AtmAddress {
        self.in_software.unwrap_or(self.cursor.trace)
    }

    /// Moves to the beginning of the next trace of its chain.
    pub(crate) fn begin_trace(&mut self, trace: AtmAddress) {
        self.cursor.trace = trace;
        self.cursor.ordinal += 1;
        let Cursor { chain, ordinal, .. } = self.cursor;
        self.draws.begin_trace(self.phase, chain, ordinal);
    }
}
