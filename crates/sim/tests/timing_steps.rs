//! Tight gates: each parameter's share in unloaded response times, calculated by hand to the
//! picosecond. `timing.rs` has the whole times.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use accelflow_sim::config::PARAMETERS;

use crate::common::own_keys;
use crate::common::unloaded::{INTERRUPTED, Row, accelerated, check_steps, uniq_id_plan};

/// Steps from [`crate::common::unloaded::reference`].
const STEPS: &[Row] = &[
    // Latencies: as often as the response waits for them.
    ("core.enqueue_ns", 50.0, 51.0, [0, 0, 0, 0, 1_000, 0]),
    ("core.notice_ns", 50.0, 51.0, [0, 0, 0, 0, 1_000, 0]),
    (
        "core.context_switch_ns",
        1_000.0,
        1_001.0,
        [1_000, 15_000, 3_000, 6_000, 1_000, 1_000],
    ),
    (
        "core.interrupt_ns",
        1_333.0,
        1_334.0,
        [0, 8_000, 2_000, 0, 0, 0],
    ),
    ("core.submit_ns", 800.0, 801.0, [0, 8_000, 2_000, 0, 0, 0]),
    ("cohort.poll_ns", 20.0, 21.0, [0, 0, 0, 6_000, 0, 0]),
    ("cohort.pop_ns", 150.0, 151.0, [0, 0, 0, 6_000, 0, 0]),
    ("cohort.push_ns", 100.0, 101.0, [0, 0, 0, 6_000, 0, 0]),
    ("cohort.engine_ns", 100.0, 101.0, [0, 0, 0, 6_000, 0, 0]),
    // Its core has nothing else to do, and one entry at a time.
    ("cohort.poll_period_ns", 5_000.0, 6_000.0, [0; 6]),
    ("cohort.queue_entries", 64.0, 1.0, [0; 6]),
    (
        "relief.latency_ns",
        1_500.0,
        1_501.0,
        [0, 0, 9_000, 0, 0, 0],
    ),
    ("dispatcher.plain", 15.0, 16.0, [0, 0, 0, 0, 8 * 400, 0]),
    ("dispatcher.branch", 7.0, 8.0, [0, 0, 0, 0, 400, 0]),
    ("dispatcher.end", 20.0, 21.0, [0, 0, 0, 0, 400, 0]),
    (
        "accelerator.scratchpad_latency_ns",
        10.0,
        11.0,
        accelerated(18_000),
    ),
    ("network.dma_setup_ns", 10.0, 11.0, accelerated(9_000)),
    ("network.hop_cycles", 3.0, 4.0, accelerated(HOPS * 400)),
    (
        "network.inter_chiplet_cycles",
        60.0,
        61.0,
        accelerated(CROSSINGS * 400),
    ),
    // The read, the write and two walks of four levels; only the first walk misses.
    ("memory.llc_cycles", 36.0, 37.0, accelerated(10 * 400)),
    ("memory.snoop_cycles", 36.0, 37.0, accelerated(400)),
    ("memory.invalidate_cycles", 36.0, 37.0, accelerated(400)),
    ("memory.dram_latency_ns", 50.0, 51.0, accelerated(4_000)),
    ("tlb.hit_cycles", 2.0, 3.0, accelerated(2 * 400)),
    ("network.notification_cycles", 80.0, 81.0, accelerated(400)),
    // Sizes and rates: the slowest part of each way counts.
    (
        "network.entry_overhead_bytes",
        104.0,
        120.0,
        accelerated(8 * 400),
    ),
    (
        "network.link_bytes",
        16.0,
        8.0,
        accelerated(8 * 27_600 + 25_000),
    ),
    (
        "network.inter_chiplet_gb_per_s",
        64.0,
        20.0,
        accelerated(27_600 + 27_600),
    ),
    ("memory.dram_gb_per_s", 102.4, 20.0, [0; 6]),
    (
        "memory.llc_bytes_per_cycle",
        64.0,
        8.0,
        accelerated(27_600 + 25_000),
    ),
    // A level less: one that misses, 2 x (8 + 3) hops from LdB's IOMMU, and one that does not, 2 x
    // 8 hops and two crossings from Ser's.
    (
        "tlb.walk_levels",
        4.0,
        3.0,
        accelerated(-(22 * 1_200 + 14_400 + 50_000) - (16 * 1_200 + 2 * 24_000 + 14_400)),
    ),
    // The nine operations of an idle server, each with an interrupt and the service.
    (
        "tlb.faults_per_million",
        0.0,
        1e6,
        accelerated(9 * (1_333_000 + 2_000_000)),
    ),
    // Hand-overs: three hops and three crossings more before LdB, two hops fewer and three
    // crossings more after Ser. Ser is a hop nearer to its links, and so to the slice that it asks
    // and to its IOMMU.
    (
        "network.chiplets",
        2.0,
        6.0,
        accelerated((3 - 2 - 2 - 2) * 1_200 + 6 * 24_000),
    ),
    (
        "accelerator.scratchpad_gb_per_s",
        100.0,
        50.0,
        accelerated(18 * 10_000),
    ),
    (
        "dispatcher.ipc",
        1.0,
        0.5,
        [0, 0, 0, 0, 400 * (8 * 15 + 7 + 20), 0],
    ),
    ("speedup.TCP", 3.5, 7.0, accelerated(-2_000_000)),
    ("speedup.Encr", 6.6, 3.3, accelerated(1_000_000)),
    ("speedup.Decr", 6.6, 3.3, accelerated(1_000_000)),
    ("speedup.RPC", 20.5, 10.25, accelerated(4_000_000)),
    ("speedup.Ser", 3.8, 1.9, accelerated(1_000_000)),
    ("speedup.Dser", 3.8, 1.9, accelerated(1_000_000)),
    ("speedup.LdB", 8.1, 4.05, accelerated(1_000_000)),
    ("speedup.own", 10.0, 5.0, [0; 6]),
    // Not on this request's way, or never short of it.
    ("speedup.Cmp", 15.2, 7.6, [0; 6]),
    ("speedup.Dcmp", 4.1, 8.2, [0; 6]),
    ("core.transform_ns_per_kib", 1_000.0, 1_001.0, [0; 6]),
    ("dispatcher.transform", 12.0, 13.0, [0; 6]),
    ("dispatcher.load_atm", 12.0, 13.0, [0; 6]),
    // Nothing waits behind the one entry of a dispatcher.
    ("dispatcher.busy", 1.0, 0.0, [0; 6]),
    ("dispatcher.transform_gb_per_s", 0.0, 1.0, [0; 6]),
    ("atm.latency_ns", 0.0, 1.0, [0; 6]),
    ("atm.ports", 1.0, 2.0, [0; 6]),
    ("relief.occupancy_ns", 130.0, 131.0, [0; 6]),
    // The manager resolves Dser's branch in 7 instructions, and the core is left alone.
    (
        "relief.fallback",
        0.0,
        1.0,
        [0, 0, 2_800 - INTERRUPTED as i64, 0, 0, 0],
    ),
    // The core submits the rest of the chain after Dser's branch.
    ("relief.resubmission", 0.0, 1.0, [0, 0, 1_500_000, 0, 0, 0]),
    // A seventh row and column: the port is a hop further from LdB and from the slice, and so are
    // the IOMMUs: 1 + 2 + 8 + 2 + 8 hops.
    ("core.count", 36.0, 37.0, accelerated(21 * 1_200)),
    ("memory.llc_slice_kib", 2_048.0, 32.0, [0; 6]),
    ("memory.llc_ways", 16.0, 8.0, [0; 6]),
    ("memory.core_fill_gb_per_s", 0.15, 0.16, [0; 6]),
    ("memory.tenant_gb_per_s", 0.0, 1.0, [0; 6]),
    ("tlb.entries", 128.0, 4.0, [0; 6]),
    ("tlb.ways", 4.0, 1.0, [0; 6]),
    ("tlb.page_kib", 4.0, 8.0, [0; 6]),
    ("tlb.walkers", 4.0, 1.0, [0; 6]),
    ("tlb.walk_cache_entries", 32.0, 0.0, [0; 6]),
    ("tlb.fault_service_ns", 2_000.0, 2_001.0, [0; 6]),
    ("relief.queue_entries", 64.0, 1.0, [0; 6]),
    ("relief.deadline_ratio", 5.0, 1.0, [0; 6]),
    ("accelerator.pes", 8.0, 1.0, [0; 6]),
    ("accelerator.input_entries", 64.0, 1.0, [0; 6]),
    ("accelerator.output_entries", 64.0, 1.0, [0; 6]),
    ("accelerator.overflow_entries", 256.0, 0.0, [0; 6]),
    ("accelerator.inline_bytes", 2_048.0, 1_000.0, [0; 6]),
    ("network.dma_engines", 10.0, 1.0, [0; 6]),
    ("accelerator.instances", 1.0, 2.0, [0; 6]),
    ("accelerator.enqueue_attempts", 3.0, 1.0, [0; 6]),
    ("accelerator.wipe_gb_per_s", 100.0, 1.0, [0; 6]),
    ("accelerator.initialise_gb_per_s", 100.0, 1.0, [0; 6]),
    ("accelerator.scratchpad_bytes", 65_536.0, 1_024.0, [0; 6]),
    // All payloads are alike, so each has the mean speedup.
    ("accelerator.speedup_half_bytes", 0.0, 1_000.0, [0; 6]),
    // Each of two messages took 2 us before.
    (
        "accelerator.rpc_message_ns",
        0.0,
        2_150.0,
        accelerated(300_000),
    ),
    // Dser and Ser load it: 1,200 B over 40 GB/s.
    (
        "accelerator.service_state_bytes",
        0.0,
        1_200.0,
        accelerated(STATE_OF_DSER + STATE_OF_SER - MEMORY),
    ),
    // Each of nine operations: an interrupt and its handling.
    (
        "exception.per_million",
        0.0,
        1_000_000.0,
        accelerated(9 * (1_333_000 + 1_000_000)),
    ),
    ("exception.handling_ns", 1_000.0, 1_001.0, [0; 6]),
    ("exception.fall_back_share", 0.0, 1.0, [0; 6]),
    ("scheduling.policy", 0.0, 1.0, [0; 6]),
    ("scheduling.policy", 1.0, 2.0, [0; 6]),
    ("scheduling.policy", 2.0, 3.0, [0; 6]),
    ("tenant.max_traces", 0.0, 1.0, [0; 6]),
    ("tenant.shaping_order", 0.0, 1.0, [0; 6]),
    ("tcp.timeout_us", 10_000_000.0, 1.0, [0; 6]),
    ("tcp.parking", 0.0, 1.0, [0; 6]),
    ("tcp.parking", 0.0, 2.0, [0; 6]),
    // Application logic over 1.19, operations in software over its root, switches, interrupts and
    // submissions over its fourth root; accelerators and queues in memory as before.
    (
        "core.generation",
        2.0,
        3.0,
        [
            -1_596_639 - 10_404_360 - 42_556,
            -1_596_639 - 15 * 42_556 - 8 * (56_728 + 34_045),
            -1_596_639 - 3 * 42_556 - 2 * (56_728 + 34_045),
            -1_596_639 - 6 * 42_556,
            -1_596_639 - 42_556,
            -1_596_639 - 42_556,
        ],
    ),
    // A single request meets idle cores, but in software another one than the core that it was
    // steered to and has its thread.
    ("core.balancing", 0.0, 1.0, [1_000_000, 0, 0, 0, 0, 0]),
    // The first request of a service finds no core that had one.
    ("core.cold_code_ns", 0.0, 1_000.0, [1_000_000; 6]),
    ("core.balancing", 0.0, 5.0, [1_000_000, 0, 0, 0, 0, 0]),
    ("core.function_map_depth", 1.0, 2.0, [0; 6]),
    ("core.interrupt_policy", 0.0, 2.0, [0; 6]),
    // Its own core is the first of equals, and nothing else waits for it.
    ("core.software_balancing", 0.0, 1.0, [0; 6]),
    ("tenant.isolation", 0.0, 1.0, [0; 6]),
    // Two payloads of 1,000 B, which count as 91 fields, in 57.7 ns instead of 1 us each, and two
    // movements of 40 ns fewer. Cohort's core has not gone back to polling by the end of so short
    // an operation.
    (
        "accelerator.rpc_processor",
        0.0,
        1.0,
        [0, -1_964_624, -1_964_624, -830_400, -1_964_624, -1_964_624],
    ),
    ("accelerator.rpc_payload_ns", 3.0, 4.0, [0; 6]),
    ("accelerator.rpc_payload_gb_per_s", 16.0, 1.0, [0; 6]),
    ("accelerator.rpc_field_ns", 0.25, 1.0, [0; 6]),
    ("accelerator.rpc_field_bytes", 11.0, 1.0, [0; 6]),
    ("accelerator.rpc_schema_map_entries", 64.0, 0.0, [0; 6]),
    ("accelerator.rpc_memory_bytes", 0.0, 1.0, [0; 6]),
    ("accelerator.rpc_reservation_ratio", 4.0, 8.0, [0; 6]),
    ("accelerator.rpc_retry_after_ns", 10_000.0, 1.0, [0; 6]),
    ("accelerator.rpc_retries", 3.0, 0.0, [0; 6]),
    ("accelerator.fallback", 0.0, 1.0, [0; 6]),
    ("accelerator.reuse", 0.0, 1.0, [0; 6]),
    ("accelerator.reuse_speed", 1.0, 0.5, [0; 6]),
    ("core.time_slice_ns", 0.0, 3_000.0, [0; 6]),
    // An idle core wakes up; core 0 looks after a whole number of periods, which is later than
    // the notification.
    ("core.notification", 0.0, 1.0, [0; 6]),
    ("core.notification", 0.0, 2.0, [0, 0, 0, 0, 500_000, 0]),
    ("core.wake_ns", 500.0, 501.0, [0; 6]),
    (
        "core.notice_period_ns",
        1_000_000.0,
        2_000_000.0,
        [0, 0, 0, 0, 1_000_000_000, 0],
    ),
    // The base has no gain.
    ("core.tax_gain", 0.5, 1.0, [0; 6]),
    ("core.system_gain", 0.25, 1.0, [0; 6]),
    // A manager that is occupied for longer than its latency answers when it is free.
    (
        "relief.occupancy_ns",
        1_500.0,
        1_501.0,
        [0, 0, 9_000, 0, 0, 0],
    ),
    // Half a gigahertz less: 100 ps more a cycle for hops of 3, crossings of 60, ten slices, a
    // snoop and an invalidation of 36, two lookups of 2 and a notification of 80, and for 147
    // instructions; entries at 32 GB/s take 34.5 ns, the result 31.25 ns.
    (
        "core.clock_ghz",
        2.5,
        2.0,
        [
            0,
            SLOWER_WIRES,
            SLOWER_WIRES,
            SLOWER_WIRES,
            SLOWER_WIRES + 147 * 100,
            SLOWER_WIRES,
        ],
    ),
    // Links so wide that only the six moves between neighbours on a chiplet are theirs: 6.9 ns,
    // 3.45 ns.
    ("network.link_bytes", 64.0, 128.0, accelerated(-6 * 3_450)),
    (
        "core.context_switch_ns",
        0.0,
        1.0,
        [1_000, 15_000, 3_000, 6_000, 1_000, 1_000],
    ),
];

/// Hand-overs 6 + 8, LdB's result 6 and its walk 2 x 2 + 4 x 2 x (8 + 3), Ser's entry 2 x 10 and
/// its walk 2 x 2 + 4 x 2 x 8.
const HOPS: i64 = 14 + 6 + 92 + 20 + 68;
/// Dser to LdB, Ser's entry twice, its walk eight times.
const CROSSINGS: i64 = 1 + 2 + 8;
const SLOWER_WIRES: i64 =
    100 * (HOPS * 3 + CROSSINGS * 60 + 12 * 36 + 2 * 2 + 80) + 8 * 6_900 + 6_250;

/// At 2.5 GHz: from the IOMMU's port to the slice, and back, and through it.
const PORT_TO_SLICE: i64 = 2 * (24_000 + 8 * 1_200) + 14_400;
/// From the slice to the controller and back, and the memory.
const MEMORY: i64 = 2 * 3 * 1_200 + 50_000;
/// Dser, a hop from the port, misses in its TLB and everywhere else: tables and state come from
/// memory. LdB's walk then finds the highest level in the cache, for a memory access less.
const STATE_OF_DSER: i64 =
    800 + 2 * 1_200 + 4 * (PORT_TO_SLICE + MEMORY) + PORT_TO_SLICE + 2 * 1_200 + MEMORY + 30_000;
/// Ser, two hops from the port, misses in its TLB; the rest is known.
const STATE_OF_SER: i64 = 800 + 4 * 1_200 + PORT_TO_SLICE + PORT_TO_SLICE + 4 * 1_200 + 30_000;

/// A time of its own for one accelerator, 3 us. Two messages pass TCP and RPC, in 2 us each before;
/// the others have one operation, of 1 us; nothing is compressed.
const OWN_TIMES: &[Row] = &[
    (
        "mean_operation_ns.TCP",
        0.0,
        3_000.0,
        accelerated(2_000_000),
    ),
    (
        "mean_operation_ns.Encr",
        0.0,
        3_000.0,
        accelerated(2_000_000),
    ),
    (
        "mean_operation_ns.Decr",
        0.0,
        3_000.0,
        accelerated(2_000_000),
    ),
    (
        "mean_operation_ns.RPC",
        0.0,
        3_000.0,
        accelerated(2_000_000),
    ),
    (
        "mean_operation_ns.Ser",
        0.0,
        3_000.0,
        accelerated(2_000_000),
    ),
    (
        "mean_operation_ns.Dser",
        0.0,
        3_000.0,
        accelerated(2_000_000),
    ),
    ("mean_operation_ns.Cmp", 0.0, 3_000.0, [0; 6]),
    ("mean_operation_ns.Dcmp", 0.0, 3_000.0, [0; 6]),
    ("mean_operation_ns.own", 0.0, 3_000.0, [0; 6]),
    (
        "mean_operation_ns.LdB",
        0.0,
        3_000.0,
        accelerated(2_000_000),
    ),
];

/// What one accelerator has more or fewer of than the others: never short for a single request.
fn own_steps() -> Vec<Row> {
    let steps = [
        ("instances", -1.0, 2.0),
        ("pes", -1.0, 1.0),
        ("input_entries", -1.0, 1.0),
        ("output_entries", -1.0, 1.0),
        ("overflow_entries", -1.0, 0.0),
    ];
    let rows = steps.into_iter().flat_map(|(what, from, to)| {
        let keys = own_keys(what).into_iter();
        keys.map(move |key| (key, from, to, [0; 6]))
    });
    rows.chain(OWN_TIMES.iter().copied()).collect()
}

#[test]
fn each_parameter_counts_as_often_as_it_is_on_the_way() {
    check_steps(&uniq_id_plan(1_000), STEPS);
    check_steps(&uniq_id_plan(1_000), &own_steps());
}

#[test]
fn every_parameter_has_a_step() {
    let own = own_steps();
    let tested: BTreeSet<&str> = STEPS.iter().chain(&own).map(|row| row.0).collect();
    // Which slice and which controller an address has is a hash: see the tests of those. What
    // decides facts and sizes is no time: tests/drawn.rs has its steps.
    let hashed = ["memory.llc_slices", "memory.controllers"];
    let timed = |key: &&str| {
        !hashed.contains(key) && !key.starts_with("facts.") && !key.starts_with("payload.")
    };
    let known = PARAMETERS.parameters().map(|parameter| parameter.key);
    let known: BTreeSet<&str> = known.filter(timed).collect();
    assert_eq!(tested, known);
}
