//! Accelerators, transfers and managers: every value with its origin.

use accelflow_units::{Bandwidth, Bytes, Time};

use crate::dag::{DagError, Kind};

/// How the manager is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manager {
    /// For each interrupt: the end of a transfer or of a computation (RELIEF's release).
    PerInterrupt(Time),
    /// Once for each completed task, transfers being free (AccelFlow's text).
    PerTask(Time),
}

/// Where AccelFlow keeps results of 64 KB, which no queue entry of 2 KB holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// In entries as large as RELIEF's scratchpads: A-DMA engines fill them while the processing
    /// elements compute.
    InQueue,
    /// In memory, behind the entry's memory pointer: the input dispatcher fetches them before the
    /// processing element starts.
    ByPointer,
}

/// In which order AccelFlow's input dispatchers take ready entries (AccelFlow, section IV.A).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they became ready.
    Fifo,
    /// The graph with the earliest deadline first.
    Deadline,
}

/// The simulated system-on-chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    /// Accelerators of each kind, by [`Kind::index`].
    pub units: [usize; Kind::COUNT],
    /// 64 KiB from memory to a scratchpad.
    pub load: Time,
    /// 64 KiB from a scratchpad to memory.
    pub store: Time,
    /// 64 KiB from one scratchpad to another.
    pub forward: Time,
    /// RELIEF's manager, and that of FCFS.
    pub manager: Manager,
    /// Where AccelFlow keeps results.
    pub payload: Payload,
    /// In which order AccelFlow takes ready entries.
    pub order: Order,
    /// A dispatcher's time for one action on an entry.
    pub dispatch: Time,
    /// A-DMA engines of AccelFlow.
    pub adma_engines: usize,
    /// Entries of an input queue.
    pub queue_entries: usize,
    /// Latency between a queue and a processing element's scratchpad.
    pub queue_latency: Time,
    /// Bandwidth between a queue and a scratchpad.
    pub queue_bandwidth: Bandwidth,
}

const QUEUE_BANDWIDTH: Bandwidth = match Bandwidth::from_bytes_per_s(100_000_000_000) {
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

/// A value of [`Platform::default`] and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name, ending in its unit.
    pub name: &'static str,
    /// The value.
    pub value: &'static str,
    /// paper, derived, measured or assumed.
    pub provenance: &'static str,
    /// The place in the source, or the reason.
    pub source: &'static str,
}

const fn row(
    name: &'static str,
    value: &'static str,
    provenance: &'static str,
    source: &'static str,
) -> Parameter {
    Parameter {
        name,
        value,
        provenance,
        source,
    }
}

const RELEASE: &str = "RELIEF's release: statistics of its gem5 model";

/// Every value that a result depends on, beside the computation times of
/// [`crate::dag::Operation::compute`].
pub const PARAMETERS: &[Parameter] = &[
    row(
        "units_of_each_kind",
        "1",
        "paper",
        "RELIEF's release: one of each of 7 kinds is used",
    ),
    row("load_64KiB_us", "11.8", "paper", RELEASE),
    row("store_64KiB_us", "6.3", "paper", RELEASE),
    row("forward_64KiB_us", "10.3", "paper", RELEASE),
    row(
        "other_sizes",
        "in proportion",
        "derived",
        "the three rates are those of long transfers",
    ),
    row(
        "memory_contention",
        "none",
        "assumed",
        "the times are the least that the release shows",
    ),
    row(
        "interrupt_us",
        "2.0",
        "paper",
        "RELIEF's release; AccelFlow's text has 1.5 us a task",
    ),
    row(
        "submission_us",
        "0",
        "assumed",
        "the host releases a graph's first tasks for nothing",
    ),
    row(
        "dispatch_ns",
        "18",
        "derived",
        "AccelFlow, section VII.B.2: 18 instructions, at 1 GHz",
    ),
    row("adma_engines", "10", "paper", "AccelFlow, Table III"),
    row("queue_entries", "64", "paper", "AccelFlow, Table III"),
    row("queue_latency_ns", "10", "paper", "AccelFlow, Table III"),
    row("queue_gbyte_per_s", "100", "paper", "AccelFlow, Table III"),
    row(
        "order",
        "fifo",
        "paper",
        "AccelFlow, section IV.A: the base design; deadlines are the advanced one",
    ),
    row(
        "payload",
        "in_queue",
        "assumed",
        "entries as large as RELIEF's scratchpads; by_pointer is the other reading",
    ),
];

impl Platform {
    /// # Errors
    /// [`DagError`] for no units of a kind, no A-DMA engines and no queue entries.
    pub fn check(&self) -> Result<(), DagError> {
        for kind in Kind::ALL {
            if !(1..=64).contains(&self.units[kind.index()]) {
                let place = format!("units of {}", kind.name());
                let value = self.units[kind.index()];
                return Err(DagError::new(&place, value, "must be from 1 to 64"));
            }
        }
        for (place, value) in [
            ("adma_engines", self.adma_engines),
            ("queue_entries", self.queue_entries),
        ] {
            if value == 0 {
                return Err(DagError::new(place, value, "must be at least 1"));
            }
        }
        Ok(())
    }

    /// The time in which a transfer of `bytes` is done that takes `whole` for 64 KiB.
    pub(crate) fn part(whole: Time, bytes: Bytes) -> Time {
        let of = u128::from(whole.as_ps()) * u128::from(bytes.get());
        Time::from_ps(u64::try_from(of.div_ceil(64 * 1024)).unwrap_or(u64::MAX))
    }
}
