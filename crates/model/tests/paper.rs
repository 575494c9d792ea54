//! Every figure of the Accelerometer paper that is arithmetic on stated inputs, to its last digit.
//! The paper cuts digits off instead of rounding: 15.7756 % is printed as 15.7 %.

use accelflow_model::accelerometer::{
    CyclesPerSecond, Design, HostCost, Interpolation, Kernel, MeanCycles, OffloadsPerSecond,
    Placement, Queueing, Scaling, Scenario, ScenarioResult, Selection, SizeCdf, Threading,
    Transfer,
};

/// A row of Table 6 or 7: C in 10^9 cycles, alpha, n, o0, L, o1, A.
struct Row(f64, f64, f64, f64, f64, f64, Option<f64>);

const AES_NI: Row = Row(2.0, 0.165844, 298_951.0, 10.0, 3.0, 0.0, Some(6.0));
const ENCRYPTION: Row = Row(2.3, 0.19154, 101_863.0, 0.0, 2_530.0, 0.0, None);
const INFERENCE: Row = Row(2.5, 0.52, 10.0, 25e6, 0.0, 12_500.0, Some(1.0));
const ON_CHIP: Row = Row(2.3, 0.15, 15_008.0, 0.0, 0.0, 0.0, Some(5.0));
const OFF_CHIP_SYNC: Row = Row(2.3, 0.15, 9_629.0, 0.0, 2_300.0, 0.0, Some(27.0));
const OFF_CHIP_SYNC_OS: Row = Row(2.3, 0.15, 3_986.0, 0.0, 2_300.0, 5_750.0, Some(27.0));
const OFF_CHIP_ASYNC: Row = Row(2.3, 0.15, 9_769.0, 0.0, 2_300.0, 0.0, Some(27.0));
const MEMORY_COPY: Row = Row(2.3, 0.1512, 1_473_681.0, 0.0, 0.0, 0.0, Some(4.0));
const ALLOCATION: Row = Row(2.0, 0.055, 51_695.0, 0.0, 0.0, 0.0, Some(1.5));

/// All of Feed1's compressions in a second (Table 7, on-chip).
const COMPRESSIONS: f64 = 15_008.0;

fn scenario(row: &Row, threading: Threading, placement: Placement) -> Scenario {
    let Row(giga, share, offloads, setup, transfer, switch, acceleration) = *row;
    Scenario {
        host: CyclesPerSecond(giga * 1e9),
        kernels: vec![Kernel {
            name: String::new(),
            design: Design::new(threading, placement, None).expect("a design"),
            share,
            offloads: OffloadsPerSecond(offloads),
            setup: MeanCycles(setup),
            transfer: Transfer {
                fixed: MeanCycles(transfer),
                per_byte: MeanCycles(0.0),
            },
            thread_switch: MeanCycles(switch),
            acceleration,
            queue: Queueing::Mean(MeanCycles(0.0)),
            host_cost: HostCost {
                cycles_per_byte: None,
                complexity: 1.0,
            },
            sizes: None,
            selection: Selection::All,
            rides_on: None,
        }],
    }
}

fn evaluate(row: &Row, threading: Threading, placement: Placement) -> ScenarioResult {
    scenario(row, threading, placement)
        .evaluate()
        .expect("an outcome")
}

fn off_chip(row: &Row, threading: Threading) -> Scenario {
    let mut scenario = scenario(row, threading, Placement::OffChip);
    scenario.kernels[0].selection = Selection::OutOf(OffloadsPerSecond(COMPRESSIONS));
    scenario
}

/// The gain in per cent, cut after `digits` as the paper prints it.
fn printed(ratio: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (100.0 * (ratio - 1.0) * scale).floor() / scale
}

#[test]
fn case_studies_of_table_6() {
    let aes = evaluate(&AES_NI, Threading::Sync, Placement::OnChip);
    assert_eq!(printed(aes.speedup, 1), 15.7);
    let off_chip = evaluate(&ENCRYPTION, Threading::AsyncNoResponse, Placement::OffChip);
    assert_eq!(printed(off_chip.speedup, 1), 8.6);
    let remote = evaluate(
        &INFERENCE,
        Threading::AsyncDistinctThread,
        Placement::Remote,
    );
    assert_eq!(printed(remote.speedup, 2), 72.39);
}

/// Without A, what depends on it is unknown and the rest is not.
#[test]
fn encryption_without_a_has_no_latency() {
    let outcome = evaluate(&ENCRYPTION, Threading::AsyncNoResponse, Placement::OffChip);
    assert_eq!(outcome.latency_reduction, None);
    let error = scenario(&ENCRYPTION, Threading::Sync, Placement::OffChip).evaluate();
    assert_eq!(
        error.unwrap_err().to_string(),
        "acceleration_ratio = missing: must be given, since the host waits for the accelerator"
    );
}

#[test]
fn on_chip_recommendations_of_fig_20() {
    for (row, digits, expected) in [
        (&ON_CHIP, 1, 13.6),
        (&MEMORY_COPY, 1, 12.7),
        (&ALLOCATION, 2, 1.86),
    ] {
        let outcome = evaluate(row, Threading::Sync, Placement::OnChip);
        assert_eq!(printed(outcome.speedup, digits), expected);
        assert_eq!(outcome.latency_reduction, Some(outcome.speedup));
    }
    let ideal = evaluate(&ON_CHIP, Threading::Sync, Placement::OnChip).ideal_speedup;
    assert_eq!(printed(ideal, 1), 17.6);
}

#[test]
fn off_chip_recommendations_of_fig_20() {
    let sync = off_chip(&OFF_CHIP_SYNC, Threading::Sync)
        .evaluate()
        .unwrap();
    assert_eq!(printed(sync.speedup, 0), 9.0);
    assert_eq!(format!("{:.2}", 100.0 * (sync.speedup - 1.0)), "9.06");
    assert_eq!(format!("{:.4}", sync.kernels[0].lucrative_share), "0.6416");
    let asynchronous = off_chip(&OFF_CHIP_ASYNC, Threading::AsyncSameThread)
        .evaluate()
        .unwrap();
    assert_eq!(printed(asynchronous.speedup, 1), 9.6);
    assert_eq!(printed(asynchronous.latency_reduction.unwrap(), 1), 9.2);
    let os = off_chip(&OFF_CHIP_SYNC_OS, Threading::SyncOs);
    assert_eq!(printed(os.evaluate().unwrap().speedup, 1), 1.6);
}

/// Equation (5) states one thread switch; Fig. 20 was made with two.
#[test]
fn latency_of_sync_os_with_one_and_two_switches() {
    let mut os = off_chip(&OFF_CHIP_SYNC_OS, Threading::SyncOs);
    let latency = |s: &Scenario| s.evaluate().unwrap().latency_reduction.unwrap();
    assert_eq!(printed(latency(&os), 1), 2.5);
    let design = os.kernels[0].design;
    os.kernels[0].design = design.with_latency_switches(2).unwrap();
    assert_eq!(printed(latency(&os), 1), 1.4);
    assert_eq!(printed(latency(&os), 2), 1.46);
}

/// C_b is not printed. From the printed 425 B, equation (2) gives 5.62 cycles a byte; the sizes
/// from which on the other two designs pay then follow, and a distribution that has Table 7's
/// numbers of offloads above those three sizes must lead to Table 7 and Fig. 20.
#[test]
fn selection_from_sizes_gives_table_7() {
    let cycles_per_byte = 2_300.0 * 27.0 / 26.0 / 425.0;
    let below = |n: f64| 1.0 - n / COMPRESSIONS;
    let sizes = vec![
        (1.0, 0.0),
        (2_300.0 / cycles_per_byte, below(9_769.0)),
        (425.0, below(9_629.0)),
        ((2_300.0 + 2.0 * 5_750.0) / cycles_per_byte, below(3_986.0)),
        // Offloads above all three: as large as makes alpha of them.
        (24_000.0, 1.0),
    ];
    for (row, threading, break_even, n, gain) in [
        (&OFF_CHIP_SYNC, Threading::Sync, 425.0, 9_629.0, 9.0),
        (&OFF_CHIP_SYNC_OS, Threading::SyncOs, 2_455.6, 3_986.0, 1.6),
        (
            &OFF_CHIP_ASYNC,
            Threading::AsyncSameThread,
            409.3,
            9_769.0,
            9.6,
        ),
    ] {
        let mut scenario = scenario(row, threading, Placement::OffChip);
        let kernel = &mut scenario.kernels[0];
        kernel.offloads = OffloadsPerSecond(COMPRESSIONS);
        kernel.host_cost.cycles_per_byte = Some(cycles_per_byte);
        kernel.sizes = Some(SizeCdf::new(sizes.clone(), Interpolation::Linear).unwrap());
        kernel.selection = Selection::Lucrative(Scaling::Offloads);
        let outcome = scenario.evaluate().unwrap();
        let kernel = &outcome.kernels[0];
        let from = kernel.pays_in_speedup.unwrap().from_bytes;
        assert!((from - break_even).abs() < 0.05, "{from} {break_even}");
        assert!(
            (kernel.offloads.0 - n).abs() < 1e-6,
            "{:?}",
            kernel.offloads
        );
        assert_eq!(printed(outcome.speedup, 1), gain);
    }
}

/// Section 5: with an on-chip accelerator and no overhead, every offload of 1 B or more pays.
#[test]
fn on_chip_pays_from_the_first_byte() {
    let mut scenario = scenario(&ON_CHIP, Threading::Sync, Placement::OnChip);
    scenario.kernels[0].host_cost.cycles_per_byte = Some(5.62);
    let outcome = scenario.evaluate().unwrap();
    assert_eq!(outcome.kernels[0].pays_in_speedup.unwrap().from_bytes, 0.0);
}
