//! Tight gates: unloaded response times calculated by hand to the picosecond. `timing_steps.rs` has
//! each parameter's share in them, `capacity.rs` what happens when resources run out.

#![allow(clippy::unwrap_used)]

use accelflow_units::Time;
use accelflow_workload::services::{Chain, Phase, Service};

use crate::common::unloaded::{
    CONTEXT_SWITCH, INTERRUPTED, accelerated, check_steps, one_slice, reference, uniq_id_plan,
};
use crate::common::{fixed_plan, receive, response, round_cost, set};

// Times in picoseconds of the base server at 2.4 GHz, by hand.
/// 10 ns + 1,000 B at 100 GB/s, into the scratchpad and out of it.
const PADS: u64 = 2 * 20_000;
const TCP: u64 = 2_000_000 + PADS;
const RPC: u64 = 2_000_000 + PADS;
/// Decr, Encr, Dser, Ser, LdB.
const OTHER: u64 = 1_000_000 + PADS;
/// The way of a request to the core, and of a response from it.
const COMPUTE_IN: u64 = TCP + OTHER + RPC + OTHER + OTHER;
const COMPUTE_OUT: u64 = OTHER + RPC + OTHER + TCP;
/// 10 ns to program an engine, and 1,102 B over links of 38.4 GB/s.
const MOVE: u64 = 10_000 + 28_698;
/// 3 cycles.
const HOP: u64 = 1_250;
/// 60 cycles.
const CROSSING: u64 = 25_000;
/// TCP, Decr, RPC, Dser are neighbours; Dser is 1 + 2 hops and a crossing from LdB.
const WIRES_IN: u64 = 4 * MOVE + 3 * HOP + 3 * HOP + CROSSING;
/// Ser to RPC 4 hops, RPC to Encr 3, Encr to TCP 1.
const WIRES_OUT: u64 = 3 * MOVE + 8 * HOP;
/// 36 cycles, of the slice and of the cores that it asks.
const SLICE: u64 = 15_000;
const SNOOP: u64 = 15_000;
/// From the slice to the controller 3 hops away and back, and the memory.
const DRAM: u64 = 2 * 3 * HOP + 50_000;
/// A TLB's 2 cycles, and 2 hops to the IOMMU and back.
const TLB_MISS: u64 = 834 + 2 * 2 * HOP;
/// An entry of a page table, 8 hops from the IOMMU.
const TABLE: u64 = 2 * 8 * HOP + SLICE;
/// The entry for Ser from memory, 10 hops and a crossing away. Ser's walk finds in the cache what
/// LdB's has brought there.
const FROM_MEMORY: u64 =
    MOVE + TLB_MISS + 4 * (TABLE + 2 * CROSSING) + 2 * (10 * HOP + CROSSING) + SLICE + SNOOP;
/// The result of LdB: 1,000 B over the same links, to a slice 6 hops away.
const TO_MEMORY: u64 = 10_000 + TLB_MISS + 4 * (TABLE + DRAM) + 6 * HOP + 26_042 + SLICE + SNOOP;
/// 80 cycles.
const NOTIFICATION: u64 = 33_334;
const APPLICATION: u64 = 10_000_000;

/// What every system with accelerators takes.
const ACCELERATED: u64 = COMPUTE_IN
    + WIRES_IN
    + TO_MEMORY
    + NOTIFICATION
    + CONTEXT_SWITCH
    + APPLICATION
    + FROM_MEMORY
    + COMPUTE_OUT
    + WIRES_OUT;

/// A look and the entry that it finds.
const TAKEN: u64 = 20_000 + 150_000;
/// An entry that is added, and seen by the accelerator.
const PUT: u64 = 100_000 + 100_000;

#[test]
fn an_unloaded_request_takes_the_sum_of_its_parts() {
    let on_cores = 2 * 7_000_000 + 2 * 41_000_000 + 2 * 6_600_000 + 2 * 3_800_000 + 8_100_000;
    // 15 instructions after TCP, Decr, RPC; 22 with Dser's branch; 35 at the end; 15 three times.
    let dispatchers = 3 * 6_250 + 9_167 + 14_583 + 3 * 6_250;
    let expected = [
        ("ideal", ACCELERATED),
        ("accelflow", ACCELERATED + dispatchers + 50_000 + 50_000),
        // TCP-Decr and RPC-Encr are linked, and Dser-LdB, but Dser branches. At the five other
        // hand-overs the core looks, takes and puts, and the engine looks. The chain's start is
        // half of that, LdB's end the other half.
        (
            "cohort_polling",
            ACCELERATED + PUT + 5 * (TAKEN + CONTEXT_SWITCH + PUT) + TAKEN,
        ),
        // To the letter, the core is interrupted and submits at each of the five, and the chains'
        // ends interrupt it.
        (
            "cohort",
            ACCELERATED + 800_000 + 5 * INTERRUPTED + 1_333_000,
        ),
        // The manager sees eight completions and a submission, the core Dser's branch and the
        // chains' ends.
        (
            "per_acc_type_q",
            ACCELERATED + 800_000 + 9 * 1_500_000 + INTERRUPTED + 1_333_000,
        ),
        // Four completions before LdB and three after Ser are handed on by the core.
        (
            "cpu_centric",
            ACCELERATED + 800_000 + 7 * INTERRUPTED + 1_333_000,
        ),
        ("non_acc", CONTEXT_SWITCH + on_cores + APPLICATION),
    ];
    let plan = uniq_id_plan(1_000);
    for (id, picoseconds) in expected {
        let found = response(&one_slice(), &plan, id);
        assert_eq!(found, Time::from_ps(picoseconds), "{id}");
    }
}

/// Receives compressed data, which it writes to a database: T1 with Dcmp, T8 and T7, T2.
fn store() -> Service {
    let write = Chain::new("T8").with("T7", "exception", 0);
    let path = vec![
        receive(1),
        Phase::Cpu,
        Phase::one(write),
        Phase::Cpu,
        Phase::one(Chain::new("T2")),
    ];
    Service::new("StoreP", "StorePost", path).unwrap()
}

#[test]
fn transformations_branches_and_parked_traces_count_once_each() {
    let plan = fixed_plan(&store(), 10_000.0, 1_000, &round_cost);
    check_steps(
        &plan,
        &[
            // Before Dcmp, and in T7. (T1's second branch needs no Dcmp to be known.)
            ("dispatcher.branch", 7.0, 8.0, [0, 0, 0, 0, 2 * 400, 0]),
            ("dispatcher.transform", 12.0, 13.0, [0, 0, 0, 0, 400, 0]),
            ("dispatcher.load_atm", 12.0, 13.0, [0, 0, 0, 0, 400, 0]),
            // 1,000 B at 4 GB/s, and at 2.5 GB/s.
            (
                "dispatcher.transform_gb_per_s",
                0.0,
                4.0,
                [0, 0, 0, 0, 250_000, 0],
            ),
            (
                "dispatcher.transform_gb_per_s",
                4.0,
                2.5,
                [0, 0, 0, 0, 150_000, 0],
            ),
            // The one word that the tail of T8 leads to.
            ("atm.latency_ns", 0.0, 7.0, [0, 0, 0, 0, 7_000, 0]),
            ("dispatcher.end", 20.0, 21.0, [0, 0, 0, 0, 2 * 400, 0]),
            // T1 6, T8 3, T7 4, T2 up to TCP 3.
            ("dispatcher.plain", 15.0, 16.0, [0, 0, 0, 0, 16 * 400, 0]),
            (
                "relief.latency_ns",
                1_500.0,
                1_501.0,
                [0, 0, 18_000, 0, 0, 0],
            ),
            // 1,000 B of 1,024, where no dispatcher transforms.
            (
                "core.transform_ns_per_kib",
                1_000.0,
                2_024.0,
                [1_000_000, 1_000_000, 1_000_000, 1_000_000, 0, 0],
            ),
            // T1 5, T8 2, T7 3, T2 3, and two ends; what follows TCP's send is not waited for.
            (
                "core.interrupt_ns",
                1_333.0,
                1_334.0,
                [0, 15_000, 4_000, 0, 0, 0],
            ),
            ("core.enqueue_ns", 50.0, 51.0, [0, 0, 0, 0, 2_000, 0]),
            (
                "network.notification_cycles",
                80.0,
                81.0,
                accelerated(2 * 400),
            ),
            ("speedup.Dcmp", 4.1, 2.05, accelerated(1_000_000)),
        ],
    );
}

#[test]
fn payload_beyond_a_queue_entry_is_read_from_and_written_to_memory() {
    // At 2.5 GHz, without hops and walks: 2,048 B into and out of the scratchpad take 30.48 ns
    // each, and meanwhile the 1,024 B beyond it: a lookup of 0.8 ns, 25.6 ns on links, 14.4 ns in a
    // slice, a crossing of 24 ns there and one back; or there alone and 14.4 ns to invalidate
    // copies. Entries of 2,048 + 104 B take 53.8 ns, the result of 2,048 B 51.2 ns. Against
    // payloads of 1,000 B.
    let (load, store) = (800 + 25_600 + 14_400, 800 + 25_600 + 14_400 + 14_400);
    let (load_across, store_across) = (load + 2 * 24_000, store + 24_000);
    let operations = 8 * (load_across + store_across) + load + store - 18 * 20_000;
    let hardware = operations + 8 * 26_200 + 26_200;
    let mut config = reference();
    set(
        &mut config,
        &[("network.hop_cycles", 0.0), ("tlb.walk_levels", 0.0)],
    );
    let plans = [1_000, 3_072].map(uniq_id_plan);
    let expected = [
        ("non_acc", 0),
        ("cpu_centric", hardware),
        // All hand-overs but that after Dser, which branches anyway, come to need the core.
        ("per_acc_type_q", hardware + 6 * INTERRUPTED),
        // So do those over links: TCP-Decr and RPC-Encr.
        ("cohort", hardware + 2 * INTERRUPTED),
        (
            "cohort_polling",
            hardware + 2 * (TAKEN + CONTEXT_SWITCH + PUT),
        ),
        ("accelflow", hardware),
        ("ideal", hardware),
    ];
    for (id, picoseconds) in expected {
        let [small, large] = plans.each_ref().map(|plan| response(&config, plan, id));
        assert_eq!(large - small, Time::from_ps(picoseconds), "{id}");
    }
}
