//! Assembly of the waterfalls of chosen requests from the events that an observer sees.

use std::collections::BTreeMap;

use accelflow_sim::stats::Part;
use accelflow_sim::{
    Activity, Execution, HardwareEvent, RequestEvent, Seen, Strand, UnitName, Wait,
};
use accelflow_units::Time;
use rustc_hash::FxHashMap;

use super::resource::Resource;
use super::waterfall::{Segment, Waterfall};

/// The index of a service, and the index of a request to this service.
pub(crate) type RequestKey = (usize, u64);

/// Makes the waterfalls of chosen requests.
#[derive(Default)]
pub(crate) struct Assembler {
    open: FxHashMap<RequestKey, Open>,
}

struct Open {
    waterfall: Waterfall,
    /// By piece of the waterfall, the piece that came before: its start waited for the end of that.
    before: Vec<Option<usize>>,
    /// By strand of the request, its last piece, or that of the strand that it goes on from.
    last: FxHashMap<Strand, usize>,
    /// By trace, the times when hardware began to work on it, since its last segment.
    begun: FxHashMap<u32, Vec<(Time, Begun)>>,
    /// By trace, the wait for an answer that has not come, which ends where it begins.
    awaited: BTreeMap<u32, Segment>,
}

/// The work that hardware began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begun {
    Dispatcher,
    Dma,
    Manager,
    Core,
}

impl Assembler {
    /// Takes an event of a request. Returns the waterfall of a request that `chosen` selects when
    /// it has its response, or ends without one.
    pub(crate) fn see(
        &mut self,
        seen: &Seen,
        chosen: impl Fn(RequestKey) -> bool,
    ) -> Option<Waterfall> {
        let key = (seen.service, seen.request);
        match seen.what {
            RequestEvent::Arrived if chosen(key) => {
                let open = Open {
                    waterfall: Waterfall {
                        service: seen.service,
                        request: seen.request,
                        server: 0,
                        arrived: seen.at,
                        ended: seen.at,
                        error: false,
                        timed_out: false,
                        segments: Vec::new(),
                    },
                    before: Vec::new(),
                    last: FxHashMap::default(),
                    begun: FxHashMap::default(),
                    awaited: BTreeMap::new(),
                };
                self.open.insert(key, open);
                None
            }
            RequestEvent::Responded { error, .. } => {
                let mut ended = self.open.remove(&key)?.end(seen.at);
                ended.error = error;
                Some(ended)
            }
            RequestEvent::Terminated { .. } => {
                let mut ended = self.open.remove(&key)?.end(seen.at);
                ended.timed_out = true;
                Some(ended)
            }
            _ => None,
        }
    }

    /// Takes an activity of the hardware.
    pub(crate) fn act(&mut self, activity: &Activity) {
        let Some(of) = activity.of else { return };
        let Some(open) = self.open.get_mut(&(of.service, of.request)) else {
            return;
        };
        open.waterfall.server = activity.server;
        let at = activity.at;
        match activity.what {
            HardwareEvent::Dispatches(_) => open.begins(of, at, Begun::Dispatcher),
            HardwareEvent::Moves(_) => open.begins(of, at, Begun::Dma),
            HardwareEvent::Manages { from, .. } => open.begins(of, from, Begun::Manager),
            HardwareEvent::Runs { .. } => open.begins(of, at, Begun::Core),
            HardwareEvent::Awaits { callee } => open.awaits(of, at, callee),
            HardwareEvent::Continues { strand, after } => open.continues(strand, after),
            HardwareEvent::Spends {
                part,
                from,
                until,
                wait,
                callee,
                core,
                unit,
            } => open.spends(of, (from, until), (part, wait), (core, unit, callee)),
            _ => {}
        }
    }

    /// The arrival of the oldest request that is open.
    pub(crate) fn oldest(&self) -> Option<Time> {
        let open = self.open.values();
        open.map(|open| open.waterfall.arrived).min()
    }
}

impl Open {
    /// The waterfall of a request that ends at `at`.
    fn end(self, at: Time) -> Waterfall {
        let mut waterfall = self.waterfall;
        waterfall.ended = at;
        let mut next = self.last.get(&Strand::Request).copied();
        while let Some(index) = next {
            waterfall.segments[index].critical = true;
            next = self.before[index];
        }
        let open = self.awaited.into_values();
        waterfall.finish(open.map(|wait| Segment { until: at, ..wait }));
        waterfall
    }

    fn awaits(&mut self, of: Execution, at: Time, callee: Option<usize>) {
        if let Some(job) = of.job {
            let wait = Segment {
                from: at,
                until: at,
                part: Part::Remote,
                waits: false,
                at: answers(callee),
                job: of.job,
                trace: of.trace,
                critical: false,
            };
            self.awaited.insert(job, wait);
        }
    }

    fn continues(&mut self, strand: Strand, after: Strand) {
        match self.last.get(&after) {
            Some(&last) => self.last.insert(strand, last),
            None => self.last.remove(&strand),
        };
    }

    /// Adds a piece to a strand.
    fn add(&mut self, strand: Strand, piece: Segment) {
        let before = self.last.insert(strand, self.waterfall.segments.len());
        self.before.push(before);
        self.waterfall.segments.push(piece);
    }

    fn begins(&mut self, of: Execution, at: Time, what: Begun) {
        if let Some(job) = of.job {
            self.begun.entry(job).or_default().push((at, what));
        }
    }

    fn spends(
        &mut self,
        of: Execution,
        (from, until): (Time, Time),
        (part, wait): (Part, Option<Wait>),
        (core, unit, callee): (usize, Option<UnitName>, Option<usize>),
    ) {
        if let (Part::Remote, Some(job)) = (part, of.job) {
            self.awaited.remove(&job);
        }
        let begun = of.job.and_then(|job| self.begun.remove(&job));
        let begun = begun.unwrap_or_default();
        let first = |what: Begun| {
            let times = begun.iter().filter(|(_, begun)| *begun == what);
            times
                .map(|(at, _)| *at)
                .find(|at| (from..=until).contains(at))
        };
        let whole = unit.map(|unit| UnitName { share: 0, ..unit });
        let (at, serves) = match (part, unit) {
            (Part::Queueing, _) => (waited_for(wait, unit, core), until),
            (Part::Accelerator, Some(unit)) => (Resource::Elements(unit), from),
            (Part::Dispatcher, _) => match whole {
                Some(unit) => (
                    Resource::Dispatcher(unit),
                    first(Begun::Dispatcher).unwrap_or(from),
                ),
                None => (Resource::Core(core), from),
            },
            (Part::Manager, _) => (Resource::Manager, first(Begun::Manager).unwrap_or(from)),
            (Part::Communication, _) => match first(Begun::Dma) {
                Some(begun) => (Resource::Dma, begun),
                None => (Resource::Ways, from),
            },
            (Part::Remote, _) => (answers(callee), from),
            (Part::Cores, _) => (Resource::Core(core), first(Begun::Core).unwrap_or(from)),
            (Part::Cpu | Part::Accelerator, _) => (Resource::Core(core), from),
        };
        let piece = |from, until, waits| Segment {
            from,
            until,
            part,
            waits,
            at,
            job: of.job,
            trace: of.trace,
            critical: false,
        };
        let strand = of.job.map_or(Strand::Request, Strand::Trace);
        self.add(strand, piece(from, serves, true));
        self.add(strand, piece(serves, until, false));
    }
}

/// The resource that a request has waited for, with start and end, if the activity is a wait.
pub(crate) fn waited(activity: &Activity) -> Option<(Resource, Time, Time)> {
    match activity.what {
        HardwareEvent::Spends {
            part: Part::Queueing,
            from,
            until,
            wait,
            core,
            unit,
            ..
        } => Some((waited_for(wait, unit, core), from, until)),
        _ => None,
    }
}

/// The resource whose answer a request awaits, with the service if it is simulated.
fn answers(callee: Option<usize>) -> Resource {
    callee.map_or(Resource::Remote, Resource::Callee)
}

/// The resource that a request waits for.
fn waited_for(wait: Option<Wait>, unit: Option<UnitName>, core: usize) -> Resource {
    match (wait, unit) {
        (Some(Wait::Input), Some(unit)) => Resource::Input(unit),
        (Some(Wait::Overflow), Some(unit)) => Resource::Overflow(unit),
        (Some(Wait::Output), Some(unit)) => Resource::Output(unit),
        (Some(Wait::Central), Some(unit)) => Resource::Central(unit.accel),
        (Some(Wait::CentralOverflow), _) => Resource::CentralOverflow,
        (Some(Wait::Tenant), _) => Resource::Tenant,
        _ => Resource::Core(core),
    }
}
