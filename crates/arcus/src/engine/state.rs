//! The events of a run, and the state of its messages, flows and accelerators.

use std::collections::VecDeque;

use accelflow_kernel::Stream;
use accelflow_shaping::Segment;
use accelflow_units::{Bytes, Time};

use super::controller::Counters;
use crate::hardware::{Operation, Packet};
use crate::{Arrivals, Flow, FlowResult, Path};

/// An event of a run. Its numbers are those of flows, jobs, messages, accelerators and SSDs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// The next message, or burst, of a flow arrives.
    Arrive(usize),
    /// A client of a flow sends its next message.
    Send(usize),
    /// The host's answer of this size to a message that was sent at this time.
    Answer(usize, Bytes, Time),
    /// A message is through its port.
    Ported(usize, u32),
    /// The software thread's next round.
    Round,
    /// The device has received a message that the shaping thread has released.
    Known(usize, u32),
    /// The shaper lets something pass.
    Grant,
    /// A segment is through the shaper.
    Released(Segment),
    /// The second shaper lets something pass.
    Inject,
    /// A result is through the second shaper.
    Injected(u32),
    /// The wire towards the host (true) or from it is free.
    WireFree(bool),
    /// A packet is at the host.
    AtHost(u32, Packet, Bytes, bool),
    /// A packet is at the device.
    AtDevice(u32, Bytes, bool),
    /// Credits are back.
    Credits(Packet, Bytes),
    /// The host's data for a request is ready to go down.
    Answered(u32, Bytes),
    /// An accelerator is free.
    Free(usize),
    /// A job has passed an accelerator's pipeline.
    Computed(u32),
    /// A job has left by its port, or is visible to the host, or acknowledged by the storage.
    Done(u32),
    /// A unit of a storage device is free.
    UnitFree(usize, Operation),
    /// A read's data has crossed its device's link.
    DataReady(u32),
    /// The controller must be called.
    Control,
}

/// A message on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlight {
    pub(super) arrived: Time,
    pub(super) size: Bytes,
    pub(super) sequence: u64,
    /// The number of the message's jobs that are not done.
    pub(super) jobs: u32,
    /// Whether the whole message has been dispatched.
    pub(super) whole: bool,
}

/// A unit ready to pass: a message, the rest of one, or a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ready {
    pub(super) message: u32,
    /// Bytes not yet dispatched.
    pub(super) left: Bytes,
    /// The size that the accelerator's rate depends on.
    pub(super) basis: Bytes,
    /// Whether the unit is the last of its message.
    pub(super) last: bool,
    pub(super) sequence: u64,
}

/// A burst of a message that the interface has dispatched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) flow: usize,
    pub(super) message: u32,
    pub(super) route: u32,
    pub(super) stage: usize,
    /// Bytes as dispatched.
    pub(super) size: Bytes,
    /// Bytes after the accelerators so far.
    pub(super) data: Bytes,
    pub(super) basis: Bytes,
    pub(super) last: bool,
    /// Bytes still to arrive over the link.
    pub(super) coming: Bytes,
    /// Bytes reserved at the way out.
    pub(super) reserved: Bytes,
}

/// The route of a flow's messages.
#[derive(Clone, Debug)]
pub(super) struct Route {
    pub(super) accelerators: Vec<usize>,
    pub(super) engine: usize,
    pub(super) path: Path,
    pub(super) port: Option<usize>,
}

pub(super) struct FlowState {
    pub(super) spec: Flow,
    /// Whether messages still arrive.
    pub(super) present: bool,
    pub(super) routes: Vec<Route>,
    pub(super) sizes: Stream,
    pub(super) times: Stream,
    /// The time when the next message arrives, if its port is free.
    pub(super) due: Time,
    /// Messages that have arrived and are not fully dispatched.
    pub(super) queued: usize,
    /// Messages of this flow in the port.
    pub(super) in_port: usize,
    /// The times when messages were sent that wait in the network for space in the device's buffer.
    pub(super) held_back: VecDeque<Time>,
    /// The flow whose messages this flow's messages answer.
    pub(super) asker: Option<usize>,
    /// Messages that the host's software holds.
    pub(super) held: VecDeque<u32>,
    pub(super) ready: VecDeque<Ready>,
    /// The flow's virtual finish time in weighted fair order.
    pub(super) finish: f64,
    pub(super) counters: Counters,
    pub(super) result: FlowResult,
}

impl FlowState {
    /// The state of a flow without messages yet; `number` selects its random streams.
    pub(super) fn new(flow: &Flow, number: u64, seed: u64) -> FlowState {
        // Streams 0 to 15 are the platform's.
        let stream = |purpose| Stream::new(seed, 16 + 2 * number + purpose);
        FlowState {
            spec: flow.clone(),
            present: true,
            routes: vec![Route {
                accelerators: flow.accelerators.clone(),
                engine: flow.engine,
                path: flow.path,
                port: flow.port,
            }],
            sizes: stream(0),
            times: stream(1),
            due: Time::ZERO,
            queued: 0,
            in_port: 0,
            held_back: VecDeque::new(),
            asker: None,
            held: VecDeque::new(),
            ready: VecDeque::new(),
            finish: 0.0,
            counters: Counters::default(),
            result: FlowResult {
                backlogged: flow.arrivals == Arrivals::Backlogged,
                ..FlowResult::default()
            },
        }
    }
}

/// An accelerator and its queue.
#[derive(Clone, Debug)]
pub(super) struct Station {
    pub(super) queue: Queue,
    pub(super) busy: bool,
    /// Bytes dispatched directly to the accelerator whose processing has not started.
    pub(super) reserved: Bytes,
    /// The virtual finish times in weighted fair order, by flow.
    pub(super) finish: Vec<f64>,
    pub(super) virtual_time: f64,
}

impl Station {
    /// An idle accelerator that `flows` flows share, with a queue of `lanes` lanes.
    pub(super) fn new(flows: usize, lanes: usize) -> Station {
        Station {
            queue: Queue::new(lanes),
            busy: false,
            reserved: Bytes(0),
            finish: vec![0.0; flows],
            virtual_time: 0.0,
        }
    }
}

/// The jobs that wait for an accelerator, in lanes: one for all flows, or one for each. Jobs of a
/// lane stay in order, so that only the fronts of lanes are candidates.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    /// By lane, jobs with their number in the order of their arrivals.
    lanes: Vec<VecDeque<(u64, u32)>>,
    arrived: u64,
}

impl Queue {
    fn new(lanes: usize) -> Queue {
        Queue {
            lanes: vec![VecDeque::new(); lanes],
            arrived: 0,
        }
    }

    /// Gives each of `flows` flows its own lane.
    pub(super) fn widen(&mut self, flows: usize) {
        let lanes = self.lanes.len().max(flows);
        self.lanes.resize_with(lanes, VecDeque::new);
    }

    /// Adds `job` of `flow` behind the others of its lane.
    pub(super) fn push(&mut self, flow: usize, job: u32) {
        let lane = flow % self.lanes.len();
        self.lanes[lane].push_back((self.arrived, job));
        self.arrived += 1;
    }

    /// The first job of each lane that has one: the lane, the number of the job's arrival, and the
    /// job.
    pub(super) fn fronts(&self) -> impl Iterator<Item = (usize, u64, u32)> {
        let fronts = self.lanes.iter().enumerate();
        fronts.filter_map(|(lane, jobs)| jobs.front().map(|&(arrival, job)| (lane, arrival, job)))
    }

    /// Removes the first job of `lane`.
    pub(super) fn remove_front(&mut self, lane: usize) {
        self.lanes[lane].pop_front();
    }
}

/// Which flow is next in turn, and the virtual time of weighted fair queueing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Turn {
    pub(super) next: usize,
    pub(super) virtual_time: f64,
}

/// The flow that is first in turn among the flows that need the same resource.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) rank: (u64, u64),
    pub(super) flow: usize,
    pub(super) room: Room,
    pub(super) size: Bytes,
}

impl Head {
    /// The flow's place in turn; the lowest is first.
    pub(super) fn place(&self) -> ((u64, u64), usize) {
        (self.rank, self.flow)
    }
}

/// The resource in which a message needs space before it may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// The window of reads of an engine.
    Reads(usize),
    /// The memory in front of an accelerator.
    Input(usize),
    /// The output buffer of an engine.
    Egress(usize),
    /// The storage's command queue.
    Commands,
}
