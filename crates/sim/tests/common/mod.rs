//! What the tests of the simulator share: services with exact costs, servers without friction.

#![allow(clippy::unwrap_used, dead_code)]

pub(crate) mod services;
pub(crate) mod unloaded;

use accelflow_sim::config::PARAMETERS;
use accelflow_sim::orchestrators::orchestrator;
use accelflow_sim::plan::Plan;
use accelflow_sim::stats::SimulationResult;
use accelflow_sim::{Config, Load, Run, simulate};
use accelflow_trace::{Accel, Image, templates};
use accelflow_units::{Bytes, Time};
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::profile::{
    Direction, Profile, RecordedChain, RecordedPhase, RecordedService, RecordedStep, Recording,
    RecordingOptions,
};
use accelflow_workload::services::{Chain, Operation, Phase, PhaseWalk, Service};
use accelflow_workload::sizes::{PayloadSizes, SizeDistribution};

/// The identifiers of all orchestrators, in the order of the paper.
pub(crate) const ALL: [&str; 6] = [
    "non_acc",
    "cpu_centric",
    "relief",
    "cohort",
    "accelflow",
    "ideal",
];

/// The identifiers of all systems: those and the ladder's.
pub(crate) const SYSTEMS: [&str; 13] = [
    "non_acc",
    "cpu_centric",
    "relief",
    "cohort",
    "cohort_polling",
    "per_acc_type_q",
    "direct_list",
    "direct",
    "cntr_flow",
    "accelflow",
    "accelflow_deadline",
    "accelflow_edf",
    "ideal",
];

/// The smallest cost that a recording may give: a picosecond.
pub(crate) const NOTHING_NS: f64 = 0.001;

pub(crate) fn image() -> Image {
    templates().unwrap().link().unwrap()
}

/// `T1`, whose payload is compressed or not.
pub(crate) fn receive(compressed: i64) -> Phase {
    Phase::one(Chain::new("T1").with("T1", "compressed", compressed))
}

/// What answers with a unique identifier: T1, application logic, T2.
pub(crate) fn uniq_id() -> Service {
    let path = vec![receive(0), Phase::Cpu, Phase::one(Chain::new("T2"))];
    Service::new("UniqId", "ComposeUniqueId", path).unwrap()
}

/// Receives a message and does nothing else: T1 alone.
pub(crate) fn sink() -> Service {
    Service::new("Sink", "Receive", vec![receive(0)]).unwrap()
}

/// A profile with the costs on a core that `cost_ns` gives each operation, payloads of `bytes`
/// everywhere and application phases of `app_ns`.
pub(crate) fn profile(
    service: &Service,
    app_ns: f64,
    bytes: u64,
    options: &RecordingOptions,
    cost_ns: &dyn Fn(&Operation) -> f64,
) -> Profile {
    profile_on(&image(), service, app_ns, bytes, options, cost_ns)
}

/// The same with traces of one's own.
pub(crate) fn profile_on(
    image: &Image,
    service: &Service,
    app_ns: f64,
    bytes: u64,
    options: &RecordingOptions,
    cost_ns: &dyn Fn(&Operation) -> f64,
) -> Profile {
    let recording = recording_on(image, service, app_ns, bytes, cost_ns);
    Profile::from_recording(&recording, std::slice::from_ref(service), image, options).unwrap()
}

/// A recording with such costs and sizes.
pub(crate) fn recording(
    service: &Service,
    app_ns: f64,
    bytes: u64,
    cost_ns: &dyn Fn(&Operation) -> f64,
) -> Recording {
    recording_on(&image(), service, app_ns, bytes, cost_ns)
}

fn recording_on(
    image: &Image,
    service: &Service,
    app_ns: f64,
    bytes: u64,
    cost_ns: &dyn Fn(&Operation) -> f64,
) -> Recording {
    let step = |operation: &Operation| RecordedStep {
        trace: operation.trace.clone(),
        accelerator: operation.accel.name().to_owned(),
        direction: if operation.receives {
            Direction::Receive
        } else {
            Direction::Send
        },
        input_bytes: bytes,
        output_bytes: bytes,
        facts: Default::default(),
        cost_ns: cost_ns(operation),
        cost_quantiles_ns: Vec::new(),
        by_size: Vec::new(),
        samples: 1,
    };
    let phase = |walk: &PhaseWalk| match walk {
        PhaseWalk::Cpu => RecordedPhase::Cpu {
            app_ns: Some(app_ns),
            app_quantiles_ns: Vec::new(),
            samples: 1,
        },
        PhaseWalk::Traces(chains) => RecordedPhase::Chains(
            chains
                .iter()
                .map(|chain| RecordedChain {
                    steps: chain.operations.iter().map(step).collect(),
                })
                .collect(),
        ),
    };
    let mut recording = Recording::new("by hand", "2026-01-01");
    recording.services.push(RecordedService {
        calibration: None,
        outside: None,
        service: service.name().to_owned(),
        requests: Vec::new(),
        phases: service.walk(image).unwrap().iter().map(phase).collect(),
    });
    recording
}

/// The plan of a service whose payloads are all of `bytes`.
pub(crate) fn fixed_plan(
    service: &Service,
    app_ns: f64,
    bytes: u64,
    cost_ns: &dyn Fn(&Operation) -> f64,
) -> Plan {
    let options = RecordingOptions::default();
    let profile = profile(service, app_ns, bytes, &options, cost_ns);
    let sizes = PayloadSizes::same(SizeDistribution::Fixed(Bytes(bytes)));
    Plan::new(&profile, &image(), &sizes).unwrap()
}

/// Costs on a core that are round times on an accelerator of the base server: 2 us for TCP,
/// 0.1 us for RPC, 1 us for the others.
pub(crate) fn round_cost(operation: &Operation) -> f64 {
    match operation.accel {
        Accel::Tcp => 7_000.0,
        Accel::Rpc => 2_050.0,
        Accel::Encr | Accel::Decr => 6_600.0,
        Accel::Ser | Accel::Dser => 3_800.0,
        Accel::Cmp => 15_200.0,
        Accel::Dcmp => 4_100.0,
        Accel::Ldb => 8_100.0,
        own => panic!("no cost of {own}"),
    }
}

/// The base server with every latency of wires, queues, dispatchers and cores at zero, room for
/// everything, and accelerators as fast as a core.
pub(crate) fn frictionless() -> Config {
    let mut config = Config::default();
    for key in [
        "core.enqueue_ns",
        "core.notice_ns",
        "core.context_switch_ns",
        "core.interrupt_ns",
        "core.submit_ns",
        "accelerator.scratchpad_latency_ns",
        "dispatcher.plain",
        "dispatcher.branch",
        "dispatcher.load_atm",
        "dispatcher.end",
        "network.dma_setup_ns",
        "network.hop_cycles",
        "network.inter_chiplet_cycles",
        "memory.llc_cycles",
        "memory.snoop_cycles",
        "memory.invalidate_cycles",
        "memory.dram_latency_ns",
        "memory.core_fill_gb_per_s",
        "tlb.hit_cycles",
        "tlb.walk_levels",
        "tlb.faults_per_million",
        "network.notification_cycles",
        "network.entry_overhead_bytes",
        "relief.latency_ns",
        "relief.occupancy_ns",
        "cohort.poll_period_ns",
        "cohort.poll_ns",
        "cohort.pop_ns",
        "cohort.push_ns",
        "cohort.engine_ns",
    ] {
        config.set(key, 0.0).unwrap();
    }
    for key in ["accelerator.input_entries", "accelerator.output_entries"] {
        config.set(key, 65_536.0).unwrap();
    }
    config.set("network.dma_engines", 1024.0).unwrap();
    for accel in Accel::ALL {
        config.set(&format!("speedup.{accel}"), 1.0).unwrap();
    }
    config
}

/// Runs `loads` on `plan`.
pub(crate) fn run(
    config: &Config,
    plan: &Plan,
    id: &str,
    loads: &[Load],
    seed: u64,
) -> SimulationResult {
    simulate(&Run {
        config,
        plan,
        orchestrator: orchestrator(id).unwrap(),
        loads,
        seed,
    })
    .unwrap()
}

/// `count` requests of the first service, all at 1 us.
pub(crate) fn together(count: u64) -> Vec<Load> {
    vec![Load::new(
        0,
        ArrivalProcess::Trace(vec![Time::from_us(1); count as usize]),
        count,
        0,
    )]
}

/// The response times of `count` requests that arrive together, in ascending order.
pub(crate) fn responses(config: &Config, plan: &Plan, id: &str, count: u64) -> Vec<Time> {
    let outcome = run(config, plan, id, &together(count), 1);
    let mut times: Vec<Time> = outcome.services[0].latency.iter().collect();
    times.sort_unstable();
    times
}

/// The response time of a single request.
pub(crate) fn response(config: &Config, plan: &Plan, id: &str) -> Time {
    responses(config, plan, id, 1)[0]
}

/// The keys of what one accelerator has in place of the number of `what` for all.
pub(crate) fn own_keys(what: &str) -> Vec<&'static str> {
    let keys = PARAMETERS.parameters().map(|parameter| parameter.key);
    keys.filter(|key| {
        key.strip_prefix(what)
            .is_some_and(|rest| rest.starts_with('.'))
    })
    .collect()
}

/// Sets some parameters.
pub(crate) fn set(config: &mut Config, values: &[(&str, f64)]) {
    for (key, value) in values {
        config.set(key, *value).unwrap();
    }
}

/// The response times of the first service in whole microseconds, in ascending order.
pub(crate) fn whole_us(outcome: &SimulationResult) -> Vec<u64> {
    let latency = outcome.services[0].latency.iter();
    let mut times: Vec<u64> = latency.map(|time| time.as_ps() / 1_000_000).collect();
    times.sort_unstable();
    times
}

/// Asserts that a run has ended all requests, that their times add up, and that each request had
/// `operations` operations, on accelerators or cores.
pub(crate) fn check_conservation(outcome: &SimulationResult, operations: u64) {
    let totals = &outcome.totals;
    assert!(totals.drained);
    assert_eq!(totals.population_ps, totals.latency_ps);
    assert_eq!(totals.spent_ps, totals.latency_ps);
    let requests: u64 = outcome.services.iter().map(|service| service.arrived).sum();
    let done = totals.on_accelerators.iter().chain(&totals.on_cores);
    assert_eq!(done.sum::<u64>(), operations * requests);
}
