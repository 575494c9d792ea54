//! The intervals of time in which hardware is busy, derived from the activities that a simulated
//! server reports.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use accelflow_sim::{Activity, CoreWork, Execution, HardwareEvent, UnitName};
use accelflow_timeline::Lanes;
use accelflow_units::Time;
use rustc_hash::FxHashMap;

use super::resource::Resource;

/// An interval in which a piece of hardware did one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Busy {
    pub(crate) at: Resource,
    /// The number among equal pieces of hardware: of the element or engine.
    pub(crate) row: usize,
    pub(crate) from: Time,
    pub(crate) until: Time,
    pub(crate) of: Option<Execution>,
    /// The work of a core.
    pub(crate) work: Option<CoreWork>,
}

/// The hardware of one server.
///
/// Elements of an accelerator are alike, as are A-DMA engines: an operation is shown on the first
/// that is free.
#[derive(Default)]
pub(crate) struct Hardware {
    /// The current work of each core and dispatcher.
    current: FxHashMap<Resource, (Time, Option<Execution>, Option<CoreWork>)>,
    /// By trace, the processing element that it occupies.
    operations: FxHashMap<u32, Operation>,
    free: FxHashMap<UnitName, BTreeSet<usize>>,
    engines: Lanes,
    /// Reservations of links, which are made ahead of time: start, link, end, and number of the
    /// interval.
    links: BinaryHeap<Reverse<(Time, usize, Time, u64)>>,
    carried_for: FxHashMap<u64, Execution>,
    carried: u64,
    link_ends: FxHashMap<usize, Time>,
}

#[derive(Clone, Copy)]
struct Operation {
    unit: UnitName,
    row: usize,
    from: Time,
    of: Execution,
}

impl Hardware {
    /// The elements of an accelerator.
    pub(crate) fn has(&mut self, unit: UnitName, elements: u64) {
        self.free.insert(unit, (0..elements as usize).collect());
    }

    /// The intervals that have ended with an activity.
    pub(crate) fn act(&mut self, activity: &Activity, ended: &mut Vec<Busy>) {
        let (at, of) = (activity.at, activity.of);
        match activity.what {
            HardwareEvent::Runs { core, work } => {
                self.change(Resource::Core(core), at, (of, work), work.is_some(), ended);
            }
            HardwareEvent::Dispatches(unit) => {
                self.change(
                    Resource::Dispatcher(unit),
                    at,
                    (of, None),
                    of.is_some(),
                    ended,
                );
            }
            HardwareEvent::Operates(unit) => self.operates(unit, at, of),
            HardwareEvent::Freed(_) => ended.extend(self.freed(at, of)),
            HardwareEvent::Moves(until) => {
                let row = self.engines.place(at.as_ps(), until.as_ps());
                ended.push(Busy {
                    at: Resource::Dma,
                    row,
                    from: at,
                    until,
                    of,
                    work: None,
                });
            }
            HardwareEvent::Manages { from, until } => ended.push(Busy {
                at: Resource::Manager,
                row: 0,
                from,
                until,
                of,
                work: None,
            }),
            HardwareEvent::Carries { link, from, until } => {
                self.carried += 1;
                self.links.push(Reverse((from, link, until, self.carried)));
                if let Some(of) = of {
                    self.carried_for.insert(self.carried, of);
                }
            }
            HardwareEvent::Spends { .. }
            | HardwareEvent::Awaits { .. }
            | HardwareEvent::Continues { .. }
            | HardwareEvent::Length(..) => {}
        }
    }

    /// The intervals of links that begin before `now`, in the order of their beginnings.
    pub(crate) fn links_until(&mut self, now: Time, ended: &mut Vec<Busy>) {
        while let Some(Reverse((from, link, until, number))) = self.links.peek().copied()
            && from < now
        {
            self.links.pop();
            // Links serve one transfer at a time.
            let end = self.link_ends.entry(link).or_default();
            let from = from.max(*end);
            *end = until.max(from);
            ended.push(Busy {
                at: Resource::Link(link),
                row: link,
                from,
                until: until.max(from),
                of: self.carried_for.remove(&number),
                work: None,
            });
        }
    }

    /// The work that runs now at `at`: the start and the request of each.
    pub(crate) fn running(&self, at: Resource) -> Vec<(Time, Option<Execution>)> {
        if let Resource::Elements(unit) = at {
            let here = self
                .operations
                .values()
                .filter(|operation| operation.unit == unit);
            return here
                .map(|operation| (operation.from, Some(operation.of)))
                .collect();
        }
        let current = self.current.get(&at);
        current
            .map(|(from, of, _)| (*from, *of))
            .into_iter()
            .collect()
    }

    fn change(
        &mut self,
        resource: Resource,
        at: Time,
        (of, work): (Option<Execution>, Option<CoreWork>),
        busy: bool,
        ended: &mut Vec<Busy>,
    ) {
        if let Some((from, of, work)) = self.current.remove(&resource) {
            ended.push(Busy {
                at: resource,
                row: 0,
                from,
                until: at,
                of,
                work,
            });
        }
        if busy {
            self.current.insert(resource, (at, of, work));
        }
    }

    fn operates(&mut self, unit: UnitName, from: Time, of: Option<Execution>) {
        let (Some(of), Some(free)) = (of, self.free.get_mut(&unit)) else {
            return;
        };
        let (Some(job), Some(row)) = (of.job, free.pop_first()) else {
            return;
        };
        let operation = Operation {
            unit,
            row,
            from,
            of,
        };
        self.operations.insert(job, operation);
    }

    fn freed(&mut self, until: Time, of: Option<Execution>) -> Option<Busy> {
        let operation = self.operations.remove(&of?.job?)?;
        self.free.get_mut(&operation.unit)?.insert(operation.row);
        Some(Busy {
            at: Resource::Elements(operation.unit),
            row: operation.row,
            from: operation.from,
            until,
            of: Some(operation.of),
            work: None,
        })
    }
}
