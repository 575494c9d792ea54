//! The choice of requests for a timeline, with the times of their arrivals and responses.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use accelflow_sim::{Observer, RequestEvent, Seen};
use accelflow_units::Time;
use rustc_hash::FxHashMap;

use super::assembler::RequestKey;

/// A selection of requests of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Selection {
    /// The window in which they arrive.
    pub(crate) window: (Time, Option<Time>),
    /// Indices of their services; all if empty.
    pub(crate) services: Vec<usize>,
    /// Their numbers within their services; all if empty.
    pub(crate) numbers: Vec<u64>,
    /// The number of slowest requests of each service; all if `None`.
    pub(crate) slowest: Option<usize>,
}

/// The times of arrivals and responses of requests, or of their ends without a response.
pub(crate) type Fate = FxHashMap<RequestKey, (Time, Time)>;

/// The slowest requests, the fastest of them on top: response time, number, arrival.
type Slowest = BinaryHeap<Reverse<(Time, u64, Time)>>;

/// Finds the requests of a selection.
pub(crate) struct Fates<'s> {
    selection: &'s Selection,
    /// The largest number of requests that are kept.
    most: usize,
    open: FxHashMap<RequestKey, Time>,
    kept: Fate,
    /// Number of requests of the selection.
    pub(crate) found: u64,
    /// By service, the slowest so far.
    slowest: FxHashMap<usize, Slowest>,
}

impl Selection {
    /// Whether it selects only some of the requests in its window.
    pub(crate) fn is_filter(&self) -> bool {
        !self.services.is_empty() || !self.numbers.is_empty() || self.slowest.is_some()
    }

    fn has(&self, (service, number): RequestKey, arrived: Time) -> bool {
        let (from, until) = self.window;
        arrived >= from
            && until.is_none_or(|until| arrived < until)
            && (self.services.is_empty() || self.services.contains(&service))
            && (self.numbers.is_empty() || self.numbers.contains(&number))
    }
}

impl<'s> Fates<'s> {
    pub(crate) fn new(selection: &'s Selection, most: usize) -> Fates<'s> {
        Fates {
            selection,
            most,
            open: FxHashMap::default(),
            kept: Fate::default(),
            found: 0,
            slowest: FxHashMap::default(),
        }
    }

    /// The requests of the selection, [`Fates::most`] at most.
    pub(crate) fn finish(mut self) -> Fate {
        for (service, heap) in self.slowest {
            for Reverse((response, number, arrived)) in heap {
                self.kept
                    .insert((service, number), (arrived, arrived + response));
            }
        }
        self.kept
    }

    fn ends(&mut self, key: RequestKey, arrived: Time, at: Time) {
        let Some(slowest) = self.selection.slowest else {
            self.found += 1;
            if self.kept.len() < self.most {
                self.kept.insert(key, (arrived, at));
            }
            return;
        };
        let heap = self.slowest.entry(key.0).or_default();
        heap.push(Reverse((at - arrived, key.1, arrived)));
        if heap.len() > slowest {
            heap.pop();
        } else {
            self.found += 1;
        }
    }
}

impl Observer for Fates<'_> {
    fn see(&mut self, seen: &Seen) {
        let key = (seen.service, seen.request);
        match seen.what {
            RequestEvent::Arrived if self.selection.has(key, seen.at) => {
                self.open.insert(key, seen.at);
            }
            RequestEvent::Responded { .. } | RequestEvent::Terminated { .. } => {
                if let Some(arrived) = self.open.remove(&key) {
                    self.ends(key, arrived, seen.at);
                }
            }
            _ => {}
        }
    }
}
