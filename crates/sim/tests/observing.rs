//! What observers see of the hardware adds up to what results say, and changes nothing.

#![allow(clippy::unwrap_used)]

use std::collections::{HashMap, HashSet};

use accelflow_sim::orchestrators::orchestrator;
use accelflow_sim::plan::Plan;
use accelflow_sim::stats::{Part, SimulationResult};
use accelflow_sim::{
    Activity, Config, HardwareEvent, Load, Observer, Queue, Run, Seen, ServerShape, UnitName,
    simulate, simulate_observed,
};
use accelflow_trace::AtmAddress;
use accelflow_units::Time;
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::profile::{PaperOptions, Profile};
use accelflow_workload::sizes::{PayloadSizes, SizePreset};
use accelflow_workload::suites::social_network;

use crate::common::{SYSTEMS, image};

fn plan() -> Plan {
    let (image, services) = (image(), social_network().unwrap());
    let profile = Profile::paper(&services, &image, &PaperOptions::default()).unwrap();
    let sizes = PayloadSizes::preset(SizePreset::SocialNetwork);
    Plan::new(&profile, &image, &sizes).unwrap()
}

/// A server with too little of everything, so that all queues are used.
fn config() -> Config {
    let mut config = Config::default();
    for (key, value) in [
        ("accelerator.pes", 2.0),
        ("accelerator.input_entries", 4.0),
        ("accelerator.overflow_entries", 4.0),
        ("accelerator.output_entries", 2.0),
        ("exception.per_million", 10_000.0),
    ] {
        config.set(key, value).unwrap();
    }
    config
}

/// Adds up what the hardware does.
#[derive(Default)]
struct Sums {
    shape: Option<ServerShape>,
    begun: HashMap<u32, Time>,
    /// When the waits for answers began.
    awaited: HashMap<u32, Time>,
    running: HashMap<UnitName, u64>,
    elements: Time,
    dispatching: HashMap<UnitName, Time>,
    dispatchers: Time,
    manager: Time,
    lengths: HashMap<Queue, usize>,
    last: Time,
}

impl Observer for Sums {
    fn see(&mut self, seen: &Seen) {
        assert!(seen.at >= self.last);
    }

    fn begin(&mut self, server: &ServerShape) {
        self.shape = Some(server.clone());
    }

    fn follows_hardware(&self) -> bool {
        true
    }

    fn act(&mut self, activity: &Activity) {
        let at = activity.at;
        assert!(at >= self.last, "time does not go back");
        self.last = at;
        let job = activity.of.and_then(|of| of.job);
        match activity.what {
            HardwareEvent::Operates(unit) => {
                assert_eq!(self.begun.insert(job.unwrap(), at), None);
                let running = self.running.entry(unit).or_default();
                *running += 1;
                let shape = self.shape.as_ref().unwrap();
                let most = shape.units.iter().find(|shape| shape.unit == unit).unwrap();
                assert!(*running <= most.elements, "{unit:?}");
            }
            HardwareEvent::Freed(unit) => {
                self.elements += at - self.begun.remove(&job.unwrap()).unwrap();
                *self.running.get_mut(&unit).unwrap() -= 1;
            }
            HardwareEvent::Dispatches(unit) => {
                if let Some(from) = self.dispatching.remove(&unit) {
                    self.dispatchers += at - from;
                }
                if job.is_some() {
                    self.dispatching.insert(unit, at);
                }
            }
            HardwareEvent::Manages { from, until } => self.manager += until - from,
            HardwareEvent::Carries { link, from, until } => {
                assert!(link < self.shape.as_ref().unwrap().links.len());
                assert!(at <= from && from < until);
            }
            HardwareEvent::Length(queue, length) => {
                assert_ne!(self.lengths.insert(queue, length), Some(length));
            }
            HardwareEvent::Awaits { .. } => {
                assert_eq!(self.awaited.insert(job.unwrap(), at), None);
            }
            HardwareEvent::Spends {
                part, from, until, ..
            } => {
                assert!(from <= until && until <= at);
                if part == Part::Remote {
                    assert_eq!(self.awaited.remove(&job.unwrap()), Some(from));
                }
            }
            HardwareEvent::Continues { strand, after } => assert_ne!(strand, after),
            HardwareEvent::Runs { .. } | HardwareEvent::Moves(_) => {}
        }
    }
}

fn both(id: &str) -> (SimulationResult, SimulationResult, Sums) {
    let (plan, config) = (plan(), config());
    let arrivals = || ArrivalProcess::Poisson { rate_rps: 4_000.0 };
    let loads: Vec<Load> = (0..3).map(|s| Load::new(s, arrivals(), 60, 6)).collect();
    let run = Run {
        config: &config,
        plan: &plan,
        orchestrator: orchestrator(id).unwrap(),
        loads: &loads,
        seed: 5,
    };
    let mut sums = Sums::default();
    let observed = simulate_observed(&run, &mut sums).unwrap();
    (simulate(&run).unwrap(), observed, sums)
}

#[test]
fn observed_hardware_activity_adds_up_and_results_stay_identical() {
    for id in SYSTEMS {
        let (plain, observed, sums) = both(id);
        assert_eq!(plain.events, observed.events, "{id}");
        assert_eq!(plain.totals, observed.totals, "{id}");
        assert_eq!(plain.orchestration, observed.orchestration, "{id}");
        for (plain, observed) in plain.services.iter().zip(&observed.services) {
            assert_eq!(plain.latency, observed.latency, "{id}");
            assert_eq!(plain.spent, observed.spent, "{id}");
        }
        assert_eq!(sums.elements, plain.totals.element_busy, "{id}");
        assert_eq!(sums.dispatchers, plain.orchestration.dispatchers, "{id}");
        assert_eq!(sums.manager, plain.orchestration.manager, "{id}");
        assert!(sums.begun.is_empty() && sums.dispatching.is_empty(), "{id}");
        let waiting = sums.lengths.values().sum::<usize>();
        assert_eq!(waiting, 0, "{id}: all queues are empty at the end");
    }
}

/// Collects the addresses of the traces on which cores spend time, and of those that wait.
#[derive(Default)]
struct Traces {
    executed: HashSet<AtmAddress>,
    waited: HashSet<AtmAddress>,
}

impl Observer for Traces {
    fn see(&mut self, _: &Seen) {}

    fn follows_hardware(&self) -> bool {
        true
    }

    fn act(&mut self, activity: &Activity) {
        let trace = activity.of.and_then(|of| of.trace);
        match activity.what {
            HardwareEvent::Spends {
                part: Part::Cpu, ..
            } => self.executed.extend(trace),
            HardwareEvent::Spends {
                part: Part::Remote, ..
            } => self.waited.extend(trace),
            _ => {}
        }
    }
}

#[test]
fn a_core_executes_the_trace_that_it_has_begun() {
    let (plan, config, image) = (plan(), Config::default(), image());
    let arrivals = ArrivalProcess::Poisson { rate_rps: 1_000.0 };
    let mut traces = Traces::default();
    let run = Run {
        config: &config,
        plan: &plan,
        orchestrator: orchestrator("non_acc").unwrap(),
        loads: &[Load::new(0, arrivals, 20, 2)],
        seed: 5,
    };
    simulate_observed(&run, &mut traces).unwrap();
    let names = |found: &HashSet<AtmAddress>| {
        let mut names: Vec<_> = found.iter().map(|at| image.name(*at)).collect();
        names.sort_unstable();
        names.join(" ")
    };
    // T9 sends a call and T10 awaits the answer; both take time of a core.
    assert_eq!(names(&traces.executed), "T1 T10 T2 T9+Cmp");
    assert_eq!(names(&traces.waited), "T10");
}
