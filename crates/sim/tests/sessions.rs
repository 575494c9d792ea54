//! Orchestrators that begin a session for each simulation: state, failures, and order of queues.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use accelflow_sim::compare::{Comparison, Placement, SystemResult, compare};
use accelflow_sim::config::DispatchPolicy;
use accelflow_sim::orchestrators::{
    Completion, Decision, Links, Orchestrator, PolicyError, Properties, QueueName, Session,
    Simulated, Waiting, orchestrator,
};
use accelflow_sim::plan::Plan;
use accelflow_sim::{Config, Load, Run, SimError, simulate};
use accelflow_trace::Accel;
use accelflow_units::Time;
use accelflow_workload::arrivals::ArrivalProcess;

use crate::common::{fixed_plan, round_cost, uniq_id};

/// The place of the entry that leaves a queue.
type Choose = fn(&[Waiting]) -> Result<usize, PolicyError>;

/// AccelFlow with an order of queues, which counts its sessions.
struct Ordered {
    choose: Choose,
    /// Decisions until one fails.
    decisions: usize,
    sessions: AtomicUsize,
}

impl Ordered {
    fn by(choose: Choose) -> Ordered {
        Ordered {
            choose,
            decisions: usize::MAX,
            sessions: AtomicUsize::new(0),
        }
    }
}

fn native() -> &'static dyn Orchestrator {
    orchestrator("accelflow").unwrap()
}

impl Orchestrator for Ordered {
    fn id(&self) -> &str {
        "ordered"
    }

    fn paper_name(&self) -> &str {
        "Ordered"
    }

    fn properties(&self, config: &Config) -> Properties {
        native().properties(config)
    }

    fn decide(&self, completion: &Completion, config: &Config, links: &Links) -> Decision {
        native().decide(completion, config, links)
    }

    fn session(&self, simulated: &Simulated<'_>) -> Result<Option<Box<dyn Session>>, PolicyError> {
        assert_eq!(simulated.services, ["UniqId"]);
        self.sessions.fetch_add(1, Ordering::Relaxed);
        Ok(Some(Box::new(InOrder {
            choose: self.choose,
            decisions: self.decisions,
            config: simulated.config.clone(),
            links: simulated.links.clone(),
        })))
    }

    fn takes_turns(&self) -> bool {
        true
    }
}

struct InOrder {
    choose: Choose,
    decisions: usize,
    config: Config,
    links: Links,
}

impl Session for InOrder {
    fn properties(&mut self) -> Result<Properties, PolicyError> {
        Ok(native().properties(&self.config))
    }

    fn decide(&mut self, completion: &Completion) -> Result<Decision, PolicyError> {
        let left = self.decisions.checked_sub(1);
        self.decisions = left.ok_or_else(|| PolicyError::new("no decision is left"))?;
        Ok(native().decide(completion, &self.config, &self.links))
    }

    fn orders_queues(&self) -> bool {
        true
    }

    fn needs_deadlines(&self) -> bool {
        true
    }

    fn choose(
        &mut self,
        queue: &QueueName,
        waiting: &[Waiting],
        now: Time,
    ) -> Result<usize, PolicyError> {
        assert!(Accel::ALL.contains(&queue.accel) && !waiting.is_empty());
        assert!(waiting.iter().all(|entry| entry.arrived <= now));
        assert!(waiting.iter().all(|entry| entry.expected > Time::ZERO));
        (self.choose)(waiting)
    }
}

fn first(_: &[Waiting]) -> Result<usize, PolicyError> {
    Ok(0)
}

fn earliest(waiting: &[Waiting]) -> Result<usize, PolicyError> {
    let place = (0..waiting.len()).min_by_key(|&place| waiting[place].due);
    Ok(place.unwrap())
}

/// A server whose queues and overflow areas are used.
fn config(policy: DispatchPolicy) -> Config {
    let mut config = Config::default();
    config.accelerator.pes = 1;
    config.accelerator.input_entries = 3;
    config.scheduling.policy = policy;
    config
}

fn plan() -> Plan {
    fixed_plan(&uniq_id(), 5_000.0, 1_024, &round_cost)
}

fn loads() -> [Load; 1] {
    let rate_rps = 60_000.0;
    let load = Load::new(0, ArrivalProcess::Poisson { rate_rps }, 2_000, 0);
    [load.within(Time::from_us(200))]
}

fn outcome(system: &dyn Orchestrator, policy: DispatchPolicy) -> Result<String, SimError> {
    let (config, plan, loads) = (config(policy), plan(), loads());
    let run = Run {
        config: &config,
        plan: &plan,
        orchestrator: system,
        loads: &loads,
        seed: 1,
    };
    simulate(&run).map(|outcome| format!("{outcome:?}"))
}

#[test]
fn a_session_that_orders_as_a_policy_does_equals_it() {
    let edf = outcome(native(), DispatchPolicy::Edf).unwrap();
    assert_eq!(
        outcome(&Ordered::by(earliest), DispatchPolicy::Fifo).unwrap(),
        edf
    );
    let last_in_first_out = Ordered::by(|waiting| Ok(waiting.len() - 1));
    assert_ne!(
        outcome(&last_in_first_out, DispatchPolicy::Fifo).unwrap(),
        edf
    );
}

#[test]
fn a_failure_ends_the_run_with_its_error() {
    let mut failing = Ordered::by(first);
    failing.decisions = 7;
    let error = outcome(&failing, DispatchPolicy::Fifo).unwrap_err();
    assert_eq!(error.to_string(), "no decision is left");
    let refusing = Ordered::by(|_| Err(PolicyError::new("no choice")));
    let error = outcome(&refusing, DispatchPolicy::Fifo).unwrap_err();
    assert_eq!(error, SimError::Policy(PolicyError::new("no choice")));
    let beyond = Ordered::by(|waiting| Ok(waiting.len()));
    let error = outcome(&beyond, DispatchPolicy::Fifo).unwrap_err();
    assert_eq!(
        error.to_string(),
        "choose = 1: must be the index of a waiting entry, below 1"
    );
}

fn compared(
    systems: &[&dyn Orchestrator],
    threads: usize,
) -> Result<Option<Vec<SystemResult>>, SimError> {
    let (config, plan) = (config(DispatchPolicy::Fifo), plan());
    compare(
        &Comparison {
            config: &config,
            plan: &plan,
            orchestrators: systems,
            placement: Placement::Isolated,
            arrivals: &ArrivalProcess::Poisson { rate_rps: 9_000.0 },
            own_arrivals: &[],
            rate_shares: &[],
            requests: 300,
            warmup: 0,
            by_rate: false,
            tail_share: 0.0,
            slos: &BTreeMap::new(),
            samples: 0,
            binned: false,
            use_intervals: 0,
            slo_factor: None,
            slo_factors: &BTreeMap::new(),
            tenants: &[],
            priorities: &[],
            shaping: &BTreeMap::new(),
            seed: 1,
            threads,
        },
        &|_, _| true,
    )
}

#[test]
fn each_simulation_has_a_session_and_results_do_not_depend_on_threads() {
    let ordered = Ordered::by(earliest);
    let systems = [native(), &ordered, orchestrator("relief").unwrap()];
    let one = compared(&systems, 1).unwrap().unwrap();
    let ids: Vec<&str> = one
        .iter()
        .map(|result| result.orchestrator.as_str())
        .collect();
    assert_eq!(ids, ["accelflow", "ordered", "relief"]);
    assert_eq!(compared(&systems, 3).unwrap().unwrap(), one);
    assert_eq!(ordered.sessions.load(Ordering::Relaxed), 2);
}

#[test]
fn the_first_that_fails_is_reported_whatever_the_threads() {
    let mut early = Ordered::by(first);
    early.decisions = 100;
    let late = Ordered::by(|_| Err(PolicyError::new("the second")));
    for threads in [1, 4] {
        let error = compared(&[native(), &early, &late], threads).unwrap_err();
        assert_eq!(error.to_string(), "no decision is left");
    }
    assert_eq!(late.sessions.load(Ordering::Relaxed), 0);
}
