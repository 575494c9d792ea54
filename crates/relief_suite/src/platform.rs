//! The parameters of the simulated system-on-chip: accelerators, transfers and the manager.

use accelflow_parameters::Refusal;
use accelflow_units::{Bandwidth, Bytes, Time};

use crate::dag::Kind;

/// The cost of the manager, which schedules tasks under RELIEF and FCFS: the events that keep the
/// manager busy, and for how long each event does so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manager {
    /// Each interrupt keeps the manager busy for this time. There is an interrupt at the end of
    /// each transfer and of each computation (as in the artifact that RELIEF's authors released).
    PerInterrupt(Time),
    /// Each completed task keeps the manager busy for this time. Transfers take no time of the
    /// manager (as in the text of AccelFlow's paper).
    PerTask(Time),
}

/// The longest charge of a manager, in us.
const MOST_MANAGER_US: f64 = 1e6;

/// The time `us` of a manager's charge.
fn manager_time(us: f64) -> Result<Time, Refusal> {
    match (0.0..=MOST_MANAGER_US).contains(&us) {
        true => Ok(Time::from_ns_f64(us * 1e3)),
        false => {
            let allowed = format!("must be from 0 to {MOST_MANAGER_US}");
            Err(Refusal::number("manager_us", us, allowed))
        }
    }
}

impl Manager {
    /// Creates the cost of a manager that is busy for `us` microseconds at each interrupt.
    ///
    /// # Errors
    /// [`Refusal`] for a time outside 0 to 1,000,000 us.
    pub fn per_interrupt_us(us: f64) -> Result<Manager, Refusal> {
        manager_time(us).map(Manager::PerInterrupt)
    }

    /// Creates the cost of a manager that is busy for `us` microseconds at each completed task.
    ///
    /// # Errors
    /// [`Refusal`] for a time outside 0 to 1,000,000 us.
    pub fn per_task_us(us: f64) -> Result<Manager, Refusal> {
        manager_time(us).map(Manager::PerTask)
    }

    /// The time of one charge.
    pub(crate) fn time(self) -> Time {
        match self {
            Manager::PerInterrupt(time) | Manager::PerTask(time) => time,
        }
    }

    /// Returns this way of charging with another time.
    pub(crate) fn with_time(self, time: Time) -> Manager {
        match self {
            Manager::PerInterrupt(_) => Manager::PerInterrupt(time),
            Manager::PerTask(_) => Manager::PerTask(time),
        }
    }
}

/// The place where AccelFlow keeps results of 64 KB, which do not fit in a queue entry of 2 KB: a
/// larger entry, or memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// In queue entries as large as RELIEF's scratchpads. A-DMA engines fill the entries while the
    /// processing elements compute.
    InQueue,
    /// In memory, with a pointer in the queue entry. The input dispatcher fetches the data when a
    /// processing element takes the task; meanwhile, the element computes nothing.
    ByPointer,
}

impl Payload {
    /// Both places where AccelFlow can keep large results. In
    /// [`PARAMETERS`](crate::parameters::PARAMETERS), a place's index in this list, 0 or 1, stands
    /// for the place.
    pub const ALL: [Payload; 2] = [Payload::InQueue, Payload::ByPointer];
}

/// The order in which AccelFlow's input dispatchers take entries whose inputs have all arrived
/// (AccelFlow, section IV.A).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The entry that became ready first.
    Fifo,
    /// The entry of the graph with the earliest deadline.
    Deadline,
}

impl Order {
    /// Both orders in which input dispatchers can take entries. In
    /// [`PARAMETERS`](crate::parameters::PARAMETERS), an order's index in this list, 0 or 1, stands
    /// for the order.
    pub const ALL: [Order; 2] = [Order::Fifo, Order::Deadline];
}

/// The parameters of the simulated system-on-chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    /// The number of accelerators of each kind, indexed by [`Kind::index`].
    pub units: [usize; Kind::COUNT],
    /// The time to move 64 KiB from memory to a scratchpad.
    pub load: Time,
    /// The time to move 64 KiB from a scratchpad to memory.
    pub store: Time,
    /// The time to move 64 KiB from one scratchpad to another.
    pub forward: Time,
    /// What keeps the manager busy under RELIEF and FCFS, and for how long.
    pub manager: Manager,
    /// Where AccelFlow keeps results of 64 KB, which exceed a queue entry.
    pub payload: Payload,
    /// The order in which AccelFlow's input dispatchers take entries whose inputs have all arrived.
    pub order: Order,
    /// The time that AccelFlow's output dispatcher takes to start the transfer of a result to
    /// memory or to one consumer.
    pub dispatch: Time,
    /// The number of AccelFlow's A-DMA engines.
    pub adma_engines: usize,
    /// The number of entries of each of AccelFlow's input queues. There is a queue for each
    /// accelerator; accelerators of the same kind use their entries together.
    pub queue_entries: usize,
    /// The latency between a queue and the scratchpad of a processing element under AccelFlow.
    pub queue_latency: Time,
    /// The bandwidth between a queue and the scratchpad of a processing element under AccelFlow.
    pub queue_bandwidth: Bandwidth,
}

pub(crate) const QUEUE_BANDWIDTH: Bandwidth = match Bandwidth::from_bytes_per_s(100_000_000_000) {
    Some(rate) => rate,
    None => unreachable!(),
};

impl Default for Platform {
    fn default() -> Platform {
        Platform {
            units: [1; Kind::COUNT],
            load: Time::from_ns(11_800),
            store: Time::from_ns(6_300),
            forward: Time::from_ns(10_300),
            manager: Manager::PerInterrupt(Time::from_us(2)),
            payload: Payload::InQueue,
            order: Order::Fifo,
            dispatch: Time::from_ns(18),
            adma_engines: 10,
            queue_entries: 64,
            queue_latency: Time::from_ns(10),
            queue_bandwidth: QUEUE_BANDWIDTH,
        }
    }
}

impl Platform {
    /// The time of a transfer of `bytes`, if 64 KiB take `whole`.
    pub(crate) fn part(whole: Time, bytes: Bytes) -> Time {
        let of = u128::from(whole.as_ps()) * u128::from(bytes.get());
        Time::from_ps(u64::try_from(of.div_ceil(64 * 1024)).unwrap_or(u64::MAX))
    }
}
