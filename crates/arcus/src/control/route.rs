//! Routes of flows through the platform, and the traffic on them.

use accelflow_units::Bytes;

use crate::Path;

/// A route of a flow: its path, the accelerators on the path, and the DMA engine that moves the
/// data.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RouteEntry {
    /// The accelerators on the route, as indices of `Platform::accelerators`, in the order in which
    /// messages pass them. Empty for a route to the storage only.
    pub accelerators: Vec<usize>,
    /// The index of the DMA engine, from 0.
    pub engine: usize,
    /// The path of the messages between host, network, accelerators and storage.
    pub path: Path,
}

impl RouteEntry {
    /// Creates a route on `path` with DMA engine 0, through the accelerator with this index, or
    /// through none.
    pub fn new(accelerator: impl Into<Option<usize>>, path: Path) -> RouteEntry {
        RouteEntry {
            accelerators: accelerator.into().into_iter().collect(),
            engine: 0,
            path,
        }
    }

    /// The index of the first accelerator on the route; `None` for a route to the storage only.
    pub fn accelerator(&self) -> Option<usize> {
        self.accelerators.first().copied()
    }

    /// Returns whether the two routes have an accelerator in common, or both go only to the
    /// storage.
    pub fn meets(&self, other: &RouteEntry) -> bool {
        match (self.accelerators.is_empty(), other.accelerators.is_empty()) {
            (true, true) => true,
            _ => self
                .accelerators
                .iter()
                .any(|accelerator| other.accelerators.contains(accelerator)),
        }
    }
}

/// The traffic of a flow on one route, in messages or segments of one size.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    /// The route that the messages or segments take.
    pub route: RouteEntry,
    /// The size of each message or, if messages are cut, of each segment.
    pub size: Bytes,
    /// The rate of the traffic in gigabits per second. Where only the proportions between flows
    /// matter, all rates may be multiplied by the same factor.
    pub gbit_per_s: f64,
}

/// Adds traffic to the entry of its route and size, so that a profile merges flows with equal
/// routes and sizes.
pub(super) fn add(flows: &mut Vec<Traffic>, traffic: Traffic) {
    let same = |other: &&mut Traffic| other.route == traffic.route && other.size == traffic.size;
    match flows.iter_mut().find(same) {
        Some(entry) => entry.gbit_per_s += traffic.gbit_per_s,
        None => flows.push(traffic),
    }
}

/// The number of whole segments before the last one of a message of `size`, and the size of the
/// last, from 1 byte to a whole segment.
pub(super) fn cut(size: Bytes, segment: Bytes) -> (u64, Bytes) {
    let before = (size.get() - 1) / segment.get();
    (before, Bytes(size.get() - before * segment.get()))
}
