//! Designs, break-even sizes, size distributions and services with several accelerators.

use accelflow_model::accelerometer::batch::{BreakEven, Column, Costs, Sweep};
use accelflow_model::accelerometer::{
    Coefficients, CyclesPerSecond, Design, HostCost, Interpolation, Kernel, Limit, Lucrative,
    MeanCycles, Offload, OffloadsPerSecond, Placement, Point, Queueing, Scaling, Scenario,
    Selection, SizeCdf, Threading, Transfer,
};
use proptest::prelude::*;

fn design(threading: Threading, placement: Placement, waits: Option<bool>) -> Design {
    Design::new(threading, placement, waits).expect("a design")
}

/// alpha 0.4, A 4, n/C 1e-4, o0 100, L + Q 500, o1 1,000: every term has a value of its own.
const POINT: Point = Point {
    kernel_share: 0.4,
    offload_rate: accelflow_model::accelerometer::OffloadsPerCycle(1e-4),
    setup: MeanCycles(100.0),
    interface: MeanCycles(500.0),
    thread_switch: MeanCycles(1_000.0),
    acceleration: 4.0,
};

/// Each design's two ratios, written out by hand: 0.6 + [0.1] + 0.01 + [0.05] + switches x 0.1.
#[test]
fn eight_equations() {
    use Placement::*;
    use Threading::*;
    for (threading, placement, waits, host, request) in [
        (Sync, OnChip, None, 0.76, 0.76),
        (Sync, Remote, None, 0.76, 0.76),
        (SyncOs, OffChip, None, 0.86, 0.86),
        (SyncOs, OffChip, Some(false), 0.81, 0.86),
        (SyncOs, Remote, None, 0.81, 0.86),
        (AsyncSameThread, OnChip, None, 0.66, 0.76),
        (AsyncSameThread, OffChip, Some(false), 0.61, 0.76),
        (AsyncDistinctThread, OffChip, None, 0.76, 0.86),
        (AsyncDistinctThread, Remote, None, 0.71, 0.86),
        (AsyncNoResponse, OffChip, None, 0.66, 0.76),
        (AsyncNoResponse, Remote, None, 0.61, 0.61),
    ] {
        let design = design(threading, placement, waits);
        let (speedup, latency) = (POINT.speedup(design), POINT.latency_reduction(design));
        assert!((1.0 / speedup - host).abs() < 1e-12, "{design:?} {speedup}");
        assert!(
            (1.0 / latency - request).abs() < 1e-12,
            "{design:?} {latency}"
        );
    }
}

#[test]
fn contradictory_designs_are_refused() {
    for (threading, placement, waits, part) in [
        (Threading::Sync, Placement::OffChip, false, "must be true"),
        (Threading::SyncOs, Placement::OnChip, false, "must be true"),
        (Threading::SyncOs, Placement::Remote, true, "must be false"),
    ] {
        let error = Design::new(threading, placement, Some(waits)).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
    let design = design(Threading::SyncOs, Placement::OffChip, None);
    assert!(design.with_latency_switches(3).is_err());
}

const SYNC: Coefficients = Coefficients {
    accelerator: 1.0,
    interface: 1.0,
    switches: 0.0,
};

fn offload(complexity: f64, transfer: f64, per_byte: f64) -> Offload {
    Offload {
        cycles_per_byte: 4.0,
        complexity,
        setup: MeanCycles(50.0),
        transfer: MeanCycles(transfer),
        transfer_per_byte: MeanCycles(per_byte),
        queue: MeanCycles(0.0),
        thread_switch: MeanCycles(0.0),
        acceleration: 2.0,
    }
}

#[test]
fn break_even_sizes_in_closed_form() {
    // 4 g (1 - 1/2) > 50 + 150, and its square and square root.
    assert_eq!(offload(1.0, 150.0, 0.0).lucrative(SYNC).from_bytes, 100.0);
    assert_eq!(offload(2.0, 150.0, 0.0).lucrative(SYNC).from_bytes, 10.0);
    assert_eq!(
        offload(0.5, 150.0, 0.0).lucrative(SYNC).from_bytes,
        10_000.0
    );
    // 2 g > 50 + g, and a transfer that costs as much as it saves.
    assert_eq!(offload(1.0, 0.0, 1.0).lucrative(SYNC).from_bytes, 50.0);
    assert!(offload(1.0, 0.0, 2.0).lucrative(SYNC).is_never());
    // 2 g^2 = g + 50, and 2 sqrt(g) = 50 + g, which has no solution.
    let root = (1.0 + 401.0_f64.sqrt()) / 4.0;
    assert!((offload(2.0, 0.0, 1.0).lucrative(SYNC).from_bytes - root).abs() < 1e-12);
    assert!(offload(0.5, 0.0, 1.0).lucrative(SYNC).is_never());
    // 2 sqrt(g) > 50 + g / 100: sqrt(g) between 100 -+ sqrt(5,000).
    let window = offload(0.5, 0.0, 0.01).lucrative(SYNC);
    assert!((window.from_bytes.sqrt() - (100.0 - 5_000_f64.sqrt())).abs() < 1e-9);
    assert!((window.to_bytes.sqrt() - (100.0 + 5_000_f64.sqrt())).abs() < 1e-9);
    // So close to linear that the turning points are beyond 8 EiB: as if linear.
    for complexity in [0.999, 1.001] {
        let near = offload(complexity, 0.0, 1.0).lucrative(SYNC);
        assert!((near.from_bytes / 50.0 - 1.0).abs() < 0.01, "{near:?}");
        assert_eq!(near.to_bytes, f64::INFINITY);
        assert!(offload(complexity, 0.0, 2.5).lucrative(SYNC).is_never());
    }
    // An accelerator that is no faster never pays for who waits for it.
    let slow = Offload {
        acceleration: 1.0,
        ..offload(1.0, 150.0, 0.0)
    };
    assert!(slow.lucrative(SYNC).is_never());
}

proptest! {
    /// The range is where the gain is positive, on both sides of both borders.
    #[test]
    fn range_is_where_the_gain_is_positive(
        cycles_per_byte in 0.01_f64..100.0,
        complexity in 0.3_f64..3.0,
        setup in 0.0_f64..1e4,
        per_byte in 0.0_f64..10.0,
        acceleration in 0.5_f64..100.0,
        bytes in 0.1_f64..1e6,
    ) {
        let offload = Offload {
            cycles_per_byte, complexity, setup: MeanCycles(setup), transfer: MeanCycles(1.0),
            transfer_per_byte: MeanCycles(per_byte), queue: MeanCycles(2.0),
            thread_switch: MeanCycles(0.0), acceleration,
        };
        let range = offload.lucrative(SYNC);
        let near = |border: f64| (bytes / border - 1.0).abs() < 1e-9;
        prop_assume!(!near(range.from_bytes) && !near(range.to_bytes));
        prop_assert_eq!(range.contains(bytes), offload.gain(SYNC, bytes).0 > 0.0);
    }

    /// A batch gives the bits of one evaluation at a time.
    #[test]
    fn batch_is_point_by_point(shares in prop::collection::vec(0.0_f64..=1.0, 1..50)) {
        let design = design(Threading::SyncOs, Placement::OffChip, None);
        let costs = Costs {
            setup: Column::One(100.0), transfer: Column::One(300.0), queue: Column::One(200.0),
            thread_switch: Column::One(1_000.0), acceleration: Column::One(4.0),
        };
        let sweep = Sweep {
            host: Column::One(2e9), kernel_share: Column::Each(shares.clone()),
            offloads: Column::One(2e5), costs,
        };
        let mut out = (vec![0.0; shares.len()], vec![0.0; shares.len()]);
        sweep.evaluate(design, 0, &mut out.0, &mut out.1).unwrap();
        for (index, kernel_share) in shares.into_iter().enumerate() {
            let offload_rate = OffloadsPerSecond(2e5) / CyclesPerSecond(2e9);
            let point = Point { kernel_share, offload_rate, ..POINT };
            prop_assert_eq!(out.0[index], point.speedup(design));
            prop_assert_eq!(out.1[index], point.latency_reduction(design));
        }
    }
}

#[test]
fn batch_names_the_column_and_the_index() {
    let costs = Costs {
        setup: Column::One(0.0),
        transfer: Column::One(2_300.0),
        queue: Column::One(0.0),
        thread_switch: Column::One(0.0),
        acceleration: Column::Each(vec![27.0, 0.0]),
    };
    let mut out = (vec![0.0; 2], vec![0.0; 2]);
    let mut sweep = Sweep {
        host: Column::One(2.3e9),
        kernel_share: Column::One(0.15),
        offloads: Column::One(9_629.0),
        costs: costs.clone(),
    };
    let design = design(Threading::Sync, Placement::OffChip, None);
    let error = sweep
        .evaluate(design, 0, &mut out.0, &mut out.1)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "acceleration_ratio[1] = 0: must be above 0 (inf for an ideal accelerator)"
    );
    let error = sweep
        .evaluate(design, 40, &mut out.0, &mut out.1)
        .unwrap_err();
    assert!(error.to_string().contains("[41] = 0"), "{error}");
    sweep.costs.acceleration = Column::Each(vec![27.0; 3]);
    let error = sweep
        .evaluate(design, 0, &mut out.0, &mut out.1)
        .unwrap_err();
    assert!(
        error.to_string().contains("each of the 2 points"),
        "{error}"
    );
    let sizes = BreakEven {
        cycles_per_byte: Column::Each(vec![5.62, 5.62]),
        complexity: Column::Each(vec![1.0, 2.0]),
        transfer_per_byte: Column::One(0.0),
        costs: Costs {
            acceleration: Column::One(27.0),
            ..costs
        },
    };
    sizes.evaluate(SYNC, 0, &mut out.0, &mut out.1).unwrap();
    assert_eq!(out.0[0].round(), 425.0);
    assert!((out.0[1] * out.0[1] / out.0[0] - 1.0).abs() < 1e-12);
    assert_eq!(out.1, [f64::INFINITY; 2]);
}

#[test]
fn distributions_that_are_none_are_refused() {
    for (points, part) in [
        (vec![], "sizes = []: must have at least one point"),
        (
            vec![(8.0, 0.5), (8.0, 1.0)],
            "sizes.bytes[1] = 8: must be a number above 8",
        ),
        (
            vec![(0.0, 1.0)],
            "sizes.bytes[0] = 0: must be a number above 0",
        ),
        (
            vec![(8.0, 0.6), (9.0, 0.5)],
            "cumulative_ratio[1] = 0.5: must be from 0.6 to 1",
        ),
        (vec![(8.0, 0.6), (9.0, 1.5)], "cumulative_ratio[1] = 1.5"),
        (vec![(8.0, f64::NAN)], "cumulative_ratio[0] = NaN"),
        (
            vec![(8.0, 0.5), (9.0, 0.9)],
            "cumulative_ratio[1] = 0.9: must be 1",
        ),
    ] {
        let error = SizeCdf::new(points, Interpolation::Linear).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn moments_of_distributions() {
    let above = |from_bytes| Lucrative {
        from_bytes,
        to_bytes: f64::INFINITY,
    };
    let linear = SizeCdf::new(vec![(100.0, 0.0), (300.0, 1.0)], Interpolation::Linear).unwrap();
    assert_eq!(linear.mean_bytes(), 200.0);
    assert_eq!(linear.share(above(150.0)), 0.75);
    // The mean square of uniform 100 to 300, and the bytes above 150 per offload.
    assert!((linear.mean_power(2.0) - (27e6 - 1e6) / 600.0).abs() < 1e-6);
    assert!((linear.moment(1.0, above(150.0)) - 0.75 * 225.0).abs() < 1e-9);
    let step = SizeCdf::new(vec![(100.0, 0.25), (300.0, 1.0)], Interpolation::Step).unwrap();
    assert_eq!(step.mean_bytes(), 250.0);
    assert_eq!(step.share(above(100.0)), 0.75);
}

fn kernel(name: &str, share: f64) -> Kernel {
    Kernel {
        name: name.to_owned(),
        design: design(Threading::Sync, Placement::OffChip, None),
        share,
        offloads: OffloadsPerSecond(1e5),
        setup: MeanCycles(100.0),
        transfer: Transfer {
            fixed: MeanCycles(300.0),
            per_byte: MeanCycles(0.0),
        },
        thread_switch: MeanCycles(0.0),
        acceleration: Some(10.0),
        queue: Queueing::Mean(MeanCycles(0.0)),
        host_cost: HostCost {
            cycles_per_byte: None,
            complexity: 1.0,
        },
        sizes: None,
        selection: Selection::All,
        rides_on: None,
    }
}

fn service(kernels: Vec<Kernel>) -> Scenario {
    Scenario {
        host: CyclesPerSecond(1e9),
        kernels,
    }
}

/// These shares add up to 1, with a rounding error in either direction.
#[test]
fn shares_of_all_cycles_leave_nothing_but_for_rounding() {
    for shares in [vec![0.05, 0.5, 0.15, 0.2, 0.1], vec![0.6, 0.3, 0.1]] {
        assert_ne!(shares.iter().sum::<f64>(), 1.0);
        let free = |share: &f64| Kernel {
            offloads: OffloadsPerSecond(0.0),
            ..kernel("kernel", *share)
        };
        let mut all = service(shares.iter().map(free).collect());
        let outcome = all.evaluate().unwrap();
        assert_eq!(outcome.ideal_speedup, f64::INFINITY);
        // A tenth of the time, since A is 10.
        assert!((outcome.speedup - 10.0).abs() < 1e-9, "{outcome:?}");
        for kernel in &mut all.kernels {
            kernel.acceleration = Some(f64::INFINITY);
        }
        assert_eq!(all.evaluate().unwrap().speedup, f64::INFINITY);
        all.kernels[0].share += 1e-9;
        let error = all.evaluate().unwrap_err();
        assert_eq!(error.place, "sum of kernel_share_ratio");
    }
}

#[test]
fn several_accelerators_add_their_times() {
    let mut second = kernel("encryption", 0.2);
    second.design = design(Threading::AsyncNoResponse, Placement::Remote, None);
    let outcome = service(vec![kernel("compression", 0.3), second])
        .evaluate()
        .unwrap();
    // 0.5 + 0.03 + 0.04 for the first, and 0.01 for the second, whose latency is elsewhere.
    assert!((1.0 / outcome.speedup - 0.58).abs() < 1e-12);
    assert!((1.0 / outcome.latency_reduction.unwrap() - 0.58).abs() < 1e-12);
    assert_eq!(outcome.ideal_speedup, 2.0);
    let outside = outcome.kernels[1].outside_service.unwrap();
    assert!((outside - (0.02 + 0.03)).abs() < 1e-12, "{outside}");
    let error = service(vec![kernel("a", 0.6), kernel("b", 0.5)])
        .evaluate()
        .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("sum of kernel_share_ratio = 1.1"),
        "{error}"
    );
}

#[test]
fn losses_add_up_and_name_the_limit() {
    let mut slow = kernel("k", 0.3);
    slow.acceleration = Some(5.0);
    let outcome = service(vec![slow]).evaluate().unwrap();
    let (losses, after) = (outcome.kernels[0].losses, 1.0 / outcome.speedup);
    let sum = losses.not_offloaded + losses.accelerator + losses.setup + losses.transfer;
    assert!((0.7 + sum - after).abs() < 1e-12);
    assert_eq!(outcome.kernels[0].limit, Limit::Accelerator);
    let mut moving = kernel("k", 0.3);
    moving.transfer.fixed = MeanCycles(900.0);
    assert_eq!(
        service(vec![moving]).evaluate().unwrap().kernels[0].limit,
        Limit::Transfer
    );
    let mut ideal = kernel("k", 0.3);
    ideal.offloads = OffloadsPerSecond(0.0);
    ideal.acceleration = Some(f64::INFINITY);
    let outcome = service(vec![ideal]).evaluate().unwrap();
    assert_eq!(outcome.kernels[0].limit, Limit::RestOfService);
    assert_eq!(outcome.speedup, outcome.ideal_speedup);
}

/// Half of the offloads carry 90 % of the bytes: by cycles they are 90 % of the kernel.
#[test]
fn selection_scales_alpha_by_offloads_or_by_cycles() {
    let mut some = kernel("k", 0.3);
    let sizes = vec![(100.0, 0.5), (900.0, 1.0)];
    some.sizes = Some(SizeCdf::new(sizes, Interpolation::Step).unwrap());
    for (scaling, share) in [(Scaling::Offloads, 0.15), (Scaling::Cycles, 0.27)] {
        some.selection = Selection::Lucrative(scaling);
        let outcome = service(vec![some.clone()]).evaluate().unwrap();
        let kernel = &outcome.kernels[0];
        // 0.3e9 cycles for 1e5 offloads of 500 B: 6 cycles a byte; 400 of them are 74 B after A.
        assert!((kernel.cycles_per_byte.unwrap() - 6.0).abs() < 1e-12);
        assert_eq!(
            (kernel.lucrative_share, kernel.paying_share),
            (1.0, Some(1.0))
        );
        let mut dear = some.clone();
        dear.setup = MeanCycles(1_000.0);
        let outcome = service(vec![dear]).evaluate().unwrap();
        let kernel = &outcome.kernels[0];
        assert_eq!((kernel.lucrative_share, kernel.offloads.0), (0.5, 5e4));
        assert_eq!(kernel.paying_share, Some(0.5));
        assert!((kernel.offloaded_share - share).abs() < 1e-12);
        assert!((kernel.offloaded_share_by_cycles.unwrap() - 0.27).abs() < 1e-12);
    }
}

/// A rate of offloads that pay does not say which sizes these have, and so not how many cycles.
#[test]
fn the_cycles_of_offloads_of_unknown_sizes_are_unknown() {
    let mut some = kernel("k", 0.3);
    let sizes = vec![(100.0, 0.5), (900.0, 1.0)];
    some.sizes = Some(SizeCdf::new(sizes, Interpolation::Step).unwrap());
    for (all, share, by_cycles) in [(1.0, 0.3, Some(0.3)), (2.0, 0.15, None)] {
        some.selection = Selection::OutOf(OffloadsPerSecond(all * some.offloads.0));
        let outcome = service(vec![some.clone()]).evaluate().unwrap();
        let kernel = &outcome.kernels[0];
        assert!((kernel.offloaded_share - share).abs() < 1e-12);
        assert_eq!(kernel.offloaded_share_by_cycles, by_cycles);
    }
}

/// L of an interface that is not pipelined is the mean over the offloads that are made.
#[test]
fn transfer_per_byte_follows_the_sizes() {
    let mut some = kernel("k", 0.3);
    some.sizes = Some(SizeCdf::new(vec![(100.0, 0.5), (900.0, 1.0)], Interpolation::Step).unwrap());
    some.transfer.per_byte = MeanCycles(2.0);
    let all = service(vec![some.clone()]).evaluate().unwrap();
    assert_eq!(all.kernels[0].transfer.0, 300.0 + 2.0 * 500.0);
    some.selection = Selection::Lucrative(Scaling::Offloads);
    // 5.4 g > 400 + 2 g only for the larger.
    let picked = service(vec![some.clone()]).evaluate().unwrap();
    assert_eq!(picked.kernels[0].transfer.0, 300.0 + 2.0 * 900.0);
    some.sizes = None;
    some.selection = Selection::All;
    let error = service(vec![some]).evaluate().unwrap_err();
    assert!(
        error.to_string().starts_with("k.sizes = missing"),
        "{error}"
    );
}

#[test]
fn values_out_of_range_name_kernel_and_parameter() {
    type Change = fn(&mut Kernel);
    let cases: [(Change, &str); 9] = [
        (
            |k| k.share = 1.2,
            "k.kernel_share_ratio = 1.2: must be from 0 to 1",
        ),
        (|k| k.share = f64::NAN, "k.kernel_share_ratio = NaN"),
        (
            |k| k.acceleration = Some(0.0),
            "k.acceleration_ratio = 0: must be above 0",
        ),
        (
            |k| k.offloads = OffloadsPerSecond(-1.0),
            "k.offloads_per_s = -1",
        ),
        (
            |k| k.setup = MeanCycles(f64::INFINITY),
            "k.setup_cycles = inf",
        ),
        (
            |k| k.queue = Queueing::List(vec![1.0, -2.0]),
            "k.queue_cycles[1] = -2",
        ),
        (|k| k.queue = Queueing::List(vec![]), "k.queue_cycles = []"),
        (
            |k| k.selection = Selection::OutOf(OffloadsPerSecond(10.0)),
            "k.all_offloads_per_s = 10",
        ),
        (
            |k| k.selection = Selection::Lucrative(Scaling::Offloads),
            "k.sizes = missing",
        ),
    ];
    for (change, part) in cases {
        let mut changed = kernel("k", 0.3);
        change(&mut changed);
        let error = service(vec![changed]).evaluate().unwrap_err();
        assert!(error.to_string().starts_with(part), "{error}");
    }
}
