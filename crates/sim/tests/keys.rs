//! Every parameter of the server is one: moved by a step, it changes a simulation. `timing.rs` and
//! `capacity.rs` say by how much; here no key of the table may be without effect, or without a row.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::Arc;

use accelflow_shaping::{FlowConfig, Registers, Unit};
use accelflow_sim::config::PARAMETERS;
use accelflow_sim::plan::Plan;
use accelflow_sim::{Config, Load};
use accelflow_trace::{Directions, Image, Kind, Node, templates};
use accelflow_units::Time;
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::profile::{Cost, PaperOptions, Profile, RemoteWaits};
use accelflow_workload::services::{Chain, Phase, Service};
use accelflow_workload::sizes::{PayloadSizes, SizePreset};
use accelflow_workload::suites::social_network;

use crate::common::{image, own_keys, run, set};

/// Key, its value and the value a step on, the system, and what makes the step matter.
type Row = (
    &'static str,
    f64,
    f64,
    &'static str,
    &'static [(&'static str, f64)],
);

const AF: &str = "accelflow";
const NONE: &[(&str, f64)] = &[];
/// So few elements and entries that operations wait, spill and fall back.
const SCARCE: &[(&str, f64)] = &[
    ("accelerator.pes", 1.0),
    ("accelerator.input_entries", 2.0),
    ("accelerator.overflow_entries", 2.0),
    ("network.dma_engines", 2.0),
];
const ONE_ELEMENT: &[(&str, f64)] = &[("accelerator.pes", 1.0)];
const REUSED: &[(&str, f64)] = &[("accelerator.pes", 1.0), ("accelerator.reuse", 1.0)];
const WHOLE: &[(&str, f64)] = &[("accelerator.rpc_processor", 1.0)];
/// Memory for a few messages.
const LITTLE_MEMORY: &[(&str, f64)] = &[
    ("accelerator.rpc_processor", 1.0),
    ("accelerator.rpc_memory_bytes", 30_000.0),
];
/// Affinity, and code that leaves the caches.
const AFFINITY: &[(&str, f64)] = &[("core.balancing", 5.0), ("core.cold_code_ns", 100.0)];
const FEW_CORES: &[(&str, f64)] = &[("core.count", 4.0)];
const NEWER: &[(&str, f64)] = &[("core.generation", 3.0)];
const EXCEPTIONS: &[(&str, f64)] = &[("exception.per_million", 50_000.0)];
/// A cache of one slice that holds next to nothing, so that most data comes from memory.
const SMALL_CACHE: &[(&str, f64)] = &[
    ("memory.llc_slice_kib", 64.0),
    ("memory.llc_slices", 1.0),
    ("memory.llc_ways", 4.0),
];

/// Of shaped tenants alone.
const SHAPING_ORDER: &str = "tenant.shaping_order";

const ROWS: &[Row] = &[
    ("accelerator.instances", 1.0, 2.0, AF, ONE_ELEMENT),
    ("accelerator.enqueue_attempts", 3.0, 4.0, AF, SCARCE),
    ("accelerator.pes", 1.0, 2.0, AF, NONE),
    ("accelerator.input_entries", 2.0, 3.0, AF, SCARCE),
    ("accelerator.output_entries", 1.0, 2.0, AF, ONE_ELEMENT),
    ("accelerator.inline_bytes", 2_048.0, 2_049.0, AF, NONE),
    ("accelerator.overflow_entries", 2.0, 3.0, AF, SCARCE),
    ("accelerator.scratchpad_latency_ns", 10.0, 11.0, AF, NONE),
    ("accelerator.scratchpad_gb_per_s", 100.0, 99.0, AF, NONE),
    ("accelerator.scratchpad_bytes", 65_536.0, 8_192.0, AF, NONE),
    ("accelerator.wipe_gb_per_s", 100.0, 99.0, AF, ONE_ELEMENT),
    (
        "accelerator.initialise_gb_per_s",
        100.0,
        99.0,
        AF,
        ONE_ELEMENT,
    ),
    ("accelerator.service_state_bytes", 0.0, 1.0, AF, ONE_ELEMENT),
    ("accelerator.speedup_half_bytes", 0.0, 1.0, AF, NONE),
    ("accelerator.rpc_message_ns", 0.0, 1.0, AF, NONE),
    ("accelerator.rpc_processor", 0.0, 1.0, AF, NONE),
    ("accelerator.rpc_payload_ns", 3.0, 4.0, AF, WHOLE),
    ("accelerator.rpc_payload_gb_per_s", 16.0, 15.0, AF, WHOLE),
    ("accelerator.rpc_field_ns", 0.25, 0.5, AF, WHOLE),
    ("accelerator.rpc_field_bytes", 11.0, 10.0, AF, WHOLE),
    ("accelerator.rpc_schema_map_entries", 64.0, 4.0, AF, WHOLE),
    ("accelerator.rpc_memory_bytes", 0.0, 30_000.0, AF, WHOLE),
    (
        "accelerator.rpc_reservation_ratio",
        4.0,
        8.0,
        AF,
        LITTLE_MEMORY,
    ),
    (
        "accelerator.rpc_retry_after_ns",
        10_000.0,
        11_000.0,
        AF,
        LITTLE_MEMORY,
    ),
    ("accelerator.rpc_retries", 3.0, 0.0, AF, LITTLE_MEMORY),
    ("accelerator.reuse", 0.0, 1.0, AF, ONE_ELEMENT),
    ("accelerator.reuse_speed", 1.0, 0.9, AF, REUSED),
    ("accelerator.fallback", 0.0, 1.0, AF, ONE_ELEMENT),
    (
        "cohort.poll_period_ns",
        5_000.0,
        4_000.0,
        "cohort_polling",
        FEW_CORES,
    ),
    ("cohort.poll_ns", 20.0, 21.0, "cohort_polling", NONE),
    ("cohort.pop_ns", 150.0, 151.0, "cohort_polling", NONE),
    ("cohort.push_ns", 100.0, 101.0, "cohort_polling", NONE),
    ("cohort.engine_ns", 100.0, 101.0, "cohort_polling", NONE),
    (
        "cohort.queue_entries",
        1.0,
        2.0,
        "cohort_polling",
        FEW_CORES,
    ),
    ("core.count", 4.0, 5.0, AF, NONE),
    ("core.clock_ghz", 2.4, 2.5, AF, NONE),
    ("core.enqueue_ns", 50.0, 51.0, AF, NONE),
    ("core.cold_code_ns", 0.0, 100.0, AF, NONE),
    ("core.function_map_depth", 1.0, 4.0, AF, AFFINITY),
    ("core.notice_ns", 50.0, 51.0, AF, NONE),
    ("core.context_switch_ns", 1_000.0, 1_001.0, AF, NONE),
    ("core.interrupt_ns", 1_333.0, 1_334.0, "cpu_centric", NONE),
    ("core.submit_ns", 800.0, 801.0, "relief", NONE),
    (
        "core.transform_ns_per_kib",
        1_000.0,
        1_001.0,
        "relief",
        NONE,
    ),
    ("core.balancing", 0.0, 1.0, AF, FEW_CORES),
    ("core.balancing", 1.0, 2.0, AF, FEW_CORES),
    ("core.balancing", 2.0, 3.0, AF, FEW_CORES),
    ("core.balancing", 3.0, 4.0, AF, FEW_CORES),
    ("core.software_balancing", 0.0, 1.0, "non_acc", FEW_CORES),
    ("core.time_slice_ns", 0.0, 10_000.0, AF, FEW_CORES),
    ("core.interrupt_policy", 0.0, 1.0, "cpu_centric", FEW_CORES),
    ("core.interrupt_policy", 1.0, 2.0, "cpu_centric", FEW_CORES),
    ("core.notification", 0.0, 1.0, AF, NONE),
    ("core.notification", 1.0, 2.0, AF, NONE),
    ("core.notice_period_ns", 0.0, 1.0, AF, NONE),
    (
        "core.wake_ns",
        500.0,
        501.0,
        AF,
        &[("core.notification", 2.0)],
    ),
    ("core.generation", 2.0, 3.0, AF, NONE),
    ("core.tax_gain", 0.5, 0.6, "non_acc", NEWER),
    ("core.system_gain", 0.25, 0.26, "cpu_centric", NEWER),
    ("dispatcher.plain", 15.0, 16.0, AF, NONE),
    ("dispatcher.branch", 7.0, 8.0, AF, NONE),
    ("dispatcher.load_atm", 12.0, 13.0, AF, NONE),
    ("dispatcher.end", 20.0, 21.0, AF, NONE),
    ("dispatcher.transform", 12.0, 13.0, AF, NONE),
    ("dispatcher.ipc", 1.0, 1.1, AF, NONE),
    ("dispatcher.busy", 1.0, 0.0, AF, NONE),
    ("dispatcher.transform_gb_per_s", 0.0, 4.0, AF, NONE),
    ("atm.latency_ns", 0.0, 1.0, AF, NONE),
    ("atm.ports", 1.0, 2.0, AF, &[("atm.latency_ns", 1_000.0)]),
    ("exception.per_million", 0.0, 1_000.0, AF, NONE),
    ("exception.handling_ns", 1_000.0, 1_001.0, AF, EXCEPTIONS),
    ("exception.fall_back_share", 0.0, 0.5, AF, EXCEPTIONS),
    ("facts.cache_miss", 0.0375, 0.5, AF, NONE),
    ("facts.cache_miss_where_common", 0.59, 0.2, AF, NONE),
    ("facts.not_found", 0.01, 0.5, AF, NONE),
    ("facts.write_exception", 0.001, 0.5, AF, NONE),
    ("facts.rpc_exception", 0.01, 0.5, AF, NONE),
    ("facts.other_form", 0.1, 0.5, AF, NONE),
    ("memory.llc_slices", 36.0, 35.0, AF, NONE),
    ("memory.llc_slice_kib", 64.0, 72.0, AF, SMALL_CACHE),
    ("memory.llc_ways", 4.0, 2.0, AF, SMALL_CACHE),
    ("memory.llc_cycles", 36.0, 37.0, AF, NONE),
    ("memory.llc_bytes_per_cycle", 4.0, 3.0, AF, NONE),
    ("memory.snoop_cycles", 36.0, 37.0, AF, NONE),
    ("memory.invalidate_cycles", 36.0, 37.0, AF, NONE),
    ("memory.core_fill_gb_per_s", 0.15, 5.0, AF, SMALL_CACHE),
    ("memory.controllers", 4.0, 3.0, AF, SMALL_CACHE),
    ("memory.dram_gb_per_s", 10.0, 9.0, AF, SMALL_CACHE),
    ("memory.dram_latency_ns", 50.0, 51.0, AF, NONE),
    ("memory.tenant_gb_per_s", 0.0, 1.0, AF, NONE),
    ("network.dma_engines", 1.0, 2.0, AF, NONE),
    ("network.dma_setup_ns", 10.0, 11.0, AF, NONE),
    ("network.hop_cycles", 3.0, 4.0, AF, NONE),
    ("network.link_bytes", 16.0, 15.0, AF, NONE),
    ("network.chiplets", 1.0, 2.0, AF, NONE),
    ("network.chiplets", 2.0, 3.0, AF, NONE),
    ("network.chiplets", 3.0, 4.0, AF, NONE),
    ("network.chiplets", 4.0, 6.0, AF, NONE),
    ("network.inter_chiplet_cycles", 60.0, 61.0, AF, NONE),
    ("network.inter_chiplet_gb_per_s", 20.0, 19.0, AF, NONE),
    ("network.notification_cycles", 80.0, 81.0, AF, NONE),
    ("network.entry_overhead_bytes", 102.0, 103.0, AF, NONE),
    ("payload.compression_ratio", 2.36, 2.46, AF, NONE),
    ("relief.latency_ns", 1_500.0, 1_501.0, "relief", NONE),
    ("relief.occupancy_ns", 130.0, 131.0, "relief", NONE),
    ("relief.fallback", 0.0, 1.0, "relief", NONE),
    ("relief.resubmission", 0.0, 1.0, "relief", NONE),
    ("relief.queue_entries", 2.0, 3.0, "relief", ONE_ELEMENT),
    ("relief.deadline_ratio", 5.0, 1.0, "relief", ONE_ELEMENT),
    ("scheduling.policy", 0.0, 1.0, AF, ONE_ELEMENT),
    ("scheduling.policy", 1.0, 2.0, AF, ONE_ELEMENT),
    ("scheduling.policy", 2.0, 3.0, AF, ONE_ELEMENT),
    // What fills two input entries waits in the overflow area, in the order of the policy, too.
    ("scheduling.policy", 0.0, 1.0, AF, SCARCE),
    ("speedup.TCP", 3.5, 3.6, AF, NONE),
    ("speedup.Encr", 6.6, 6.7, AF, NONE),
    ("speedup.Decr", 6.6, 6.7, AF, NONE),
    ("speedup.RPC", 20.5, 20.6, AF, NONE),
    ("speedup.Ser", 3.8, 3.9, AF, NONE),
    ("speedup.Dser", 3.8, 3.9, AF, NONE),
    ("speedup.Cmp", 15.2, 15.3, AF, NONE),
    ("speedup.Dcmp", 4.1, 4.2, AF, NONE),
    ("speedup.LdB", 8.1, 8.2, AF, NONE),
    ("speedup.own", 10.0, 10.1, AF, NONE),
    ("tcp.timeout_us", 10.0, 9.0, AF, NONE),
    ("tcp.parking", 0.0, 1.0, "relief", SCARCE),
    ("tcp.parking", 0.0, 2.0, AF, SCARCE),
    ("tenant.max_traces", 1.0, 2.0, AF, NONE),
    (SHAPING_ORDER, 0.0, 1.0, AF, NONE),
    ("tenant.isolation", 0.0, 1.0, AF, NONE),
    ("tlb.entries", 8.0, 12.0, AF, NONE),
    ("tlb.ways", 4.0, 1.0, AF, &[("tlb.entries", 8.0)]),
    ("tlb.hit_cycles", 2.0, 3.0, AF, NONE),
    ("tlb.page_kib", 4.0, 8.0, AF, NONE),
    ("tlb.walkers", 1.0, 2.0, AF, &[("tlb.entries", 4.0)]),
    ("tlb.walk_levels", 4.0, 3.0, AF, NONE),
    ("tlb.walk_cache_entries", 32.0, 0.0, AF, NONE),
    ("payload.heaps", 0.0, 1.0, AF, NONE),
    ("tlb.faults_per_million", 334.0, 20_000.0, AF, NONE),
    (
        "tlb.fault_service_ns",
        2_000.0,
        2_001.0,
        AF,
        &[("tlb.faults_per_million", 50_000.0)],
    ),
];

/// What it is the number of, its default and the value a step on, and what makes the step matter.
type OwnRow = (&'static str, f64, f64, &'static [(&'static str, f64)]);

/// Steps of what one accelerator has in place of the number for all, by what it is the number of.
const OWN: [OwnRow; 6] = [
    ("instances", -1.0, 2.0, ONE_ELEMENT),
    ("pes", 0.0, 2.0, ONE_ELEMENT),
    ("input_entries", 0.0, 1.0, ONE_ELEMENT),
    (
        "overflow_entries",
        -1.0,
        0.0,
        &[
            ("accelerator.pes", 1.0),
            ("accelerator.input_entries", 1.0),
            // Few messages are compressed, so these two are slow.
            ("speedup.Cmp", 0.01),
            ("speedup.Dcmp", 0.01),
        ],
    ),
    ("mean_operation_ns", 0.0, 1.0, NONE),
    (
        "output_entries",
        0.0,
        64.0,
        &[
            ("accelerator.output_entries", 1.0),
            ("network.dma_engines", 1.0),
            ("network.dma_setup_ns", 1_000.0),
            ("dispatcher.busy", 0.0),
        ],
    ),
];

fn rows() -> Vec<Row> {
    let own = OWN.into_iter().flat_map(|(what, from, to, enabled)| {
        let keys = own_keys(what).into_iter();
        keys.map(move |key| (key, from, to, AF, enabled))
    });
    ROWS.iter().copied().chain(own).collect()
}

/// The paper's traces, and one that hashes twice.
fn with_own() -> Image {
    let hash = Arc::new(Kind::new("Hash", Directions::Both, vec![]).unwrap());
    let mut library = templates().unwrap();
    let nodes = vec![Node::Kind(hash.clone()), Node::Kind(hash)];
    library.register("hash", nodes).unwrap();
    library.link().unwrap()
}

/// The eight services with facts and waits drawn, of two tenants and three levels, with deadlines,
/// and behind a shaper if `shaped`; with one that calls a custom accelerator if `own`.
fn result(config: &Config, id: &str, shaped: bool, own: bool) -> (Vec<Time>, u64) {
    let mut services = social_network().unwrap();
    let image = if own { with_own() } else { image() };
    if own {
        let hashes = vec![Chain::new("hash"); 16];
        let received = Phase::one(Chain::new("T1").with("T1", "compressed", 0));
        let path = vec![received, Phase::Traces(hashes)];
        services.push(Service::new("Hashes", "Hashes", path).unwrap());
    }
    let options = PaperOptions {
        tcp_cost: Time::from_us(7),
        waits: RemoteWaits::short().spread(),
        kinds: vec![Some(Cost::new(Time::from_us(30), 0.5))],
        ..PaperOptions::default()
    };
    let profile = Profile::paper_like(&services, &social_network().unwrap(), &image, &options);
    let profile = profile.unwrap();
    let sizes = PayloadSizes::preset(SizePreset::Fleet);
    let plan = Plan::new(&profile, &image, &sizes).unwrap();
    let plan = plan.with_odds(&config.facts.odds().unwrap());
    let load = |service: usize| {
        let arrivals = ArrivalProcess::Poisson { rate_rps: 5_000.0 };
        Load::new(service, arrivals, 60, 0)
            .of_tenant(service as u16 % 2)
            .at_priority(service as u8 % 3)
            .within(Time::from_us(300))
    };
    let mut loads: Vec<Load> = (0..services.len()).map(load).collect();
    if shaped {
        // A trace each 40 us.
        let registers = Registers::new(1, 1, 10_000).unwrap();
        let flow = FlowConfig::new(Unit::Operations, registers);
        loads = loads.into_iter().map(|load| load.shaped(flow)).collect();
    }
    let outcome = run(config, &plan, id, &loads, 7);
    let latencies = outcome
        .services
        .iter()
        .flat_map(|service| service.latency.iter());
    // Polling cores are always busy, which alone distinguishes them.
    (latencies.collect(), outcome.core_utilization.to_bits())
}

#[test]
fn a_step_of_any_parameter_changes_the_result() {
    for (key, from, to, id, enabled) in rows() {
        let [before, after] = [from, to].map(|value| {
            let mut config = Config::default();
            set(&mut config, enabled);
            set(&mut config, &[(key, value)]);
            result(&config, id, key == SHAPING_ORDER, key.ends_with(".own"))
        });
        assert!(before != after, "{key} from {from} to {to} does nothing");
    }
}

#[test]
fn every_parameter_has_a_row() {
    let tested: BTreeSet<&str> = rows().iter().map(|row| row.0).collect();
    let known: BTreeSet<&str> = PARAMETERS
        .parameters()
        .map(|parameter| parameter.key)
        .collect();
    assert_eq!(tested, known);
}
