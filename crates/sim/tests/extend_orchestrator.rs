//! The worked example of CONTRIBUTING.md: a user-defined orchestrator.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{fixed_plan, image, round_cost, uniq_id};

// quoted: begin
use accelflow_sim::Config;
use accelflow_sim::orchestrators::{
    Completion, CoreRequests, Decision, Links, Next, Orchestrator, Properties,
};

/// CPU-Centric whose core looks for completions instead of being interrupted by them.
struct Polling;

impl Orchestrator for Polling {
    fn id(&self) -> &'static str {
        "polling"
    }

    fn paper_name(&self) -> &'static str {
        "Polling" // not in the paper: a name for tables
    }

    fn properties(&self, config: &Config) -> Properties {
        Properties {
            start: config.core.submit,
            requests: CoreRequests::RunQueue,
            notified: config.core.notice,
            ..Properties::new(config)
        }
    }

    fn decide(&self, completion: &Completion, config: &Config, _: &Links) -> Decision {
        let kib = completion.size.get() as f64 / 1024.0;
        let transforms = kib * f64::from(completion.transforms);
        match completion.next {
            // The trace waits for the core: it looks, transforms, and starts what comes next.
            Next::Forward(_) => Decision {
                core: config.core.notice
                    + config.core.transform_per_kib.scale(transforms)
                    + config.core.submit,
                ..Decision::default()
            },
            // The trace waits for a message anyway.
            Next::Park => Decision {
                background: config.core.notice,
                ..Decision::default()
            },
            // The end is charged by `notified`.
            Next::End => Decision::default(),
        }
    }
}
// quoted: end

use accelflow_sim::orchestrators::orchestrator;
use accelflow_sim::stats::SimulationResult;
use accelflow_sim::{Load, Run, simulate};
use accelflow_trace::Accel;
use accelflow_workload::arrivals::ArrivalProcess;

const REQUESTS: u64 = 2_000;

fn outcome(orchestrator: &dyn Orchestrator) -> SimulationResult {
    let config = Config::default();
    let plan = fixed_plan(&uniq_id(), 5_000.0, 1_024, &round_cost);
    let loads = [Load::new(
        0,
        ArrivalProcess::Poisson { rate_rps: 20_000.0 },
        REQUESTS,
        0,
    )];
    let run = Run {
        config: &config,
        plan: &plan,
        orchestrator,
        loads: &loads,
        seed: 1,
    };
    simulate(&run).unwrap()
}

#[test]
fn a_run_obeys_the_conservation_laws() {
    let run = outcome(&Polling);
    assert_eq!(run.services[0].completed, REQUESTS);
    assert!(run.totals.drained);
    assert_eq!(run.totals.population_ps, run.totals.latency_ps);
    let counts = accelflow_workload::services::invocations(&uniq_id(), &image()).unwrap();
    for accel in Accel::ALL {
        let index = accel.index();
        let ran = run.totals.on_accelerators[index] + run.totals.on_cores[index];
        assert_eq!(ran, REQUESTS * u64::from(counts.of(accel)), "{accel}");
    }
}

#[test]
fn it_lies_between_its_neighbours() {
    let mean = |orchestrator: &dyn Orchestrator| {
        let run = outcome(orchestrator);
        run.services[0].latency.mean_ps().unwrap()
    };
    let polling = mean(&Polling);
    assert!(mean(orchestrator("ideal").unwrap()) < polling);
    assert!(polling < mean(orchestrator("cpu_centric").unwrap()));
}

#[test]
fn a_seed_gives_the_same_bits() {
    assert_eq!(outcome(&Polling).totals, outcome(&Polling).totals);
}
