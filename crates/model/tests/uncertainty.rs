//! Intervals and sensitivities.

use accelflow_model::accelerometer::uncertainty::{
    Distribution, Field, Uncertain, quantile, sample, tornado,
};
use accelflow_model::accelerometer::{
    Approximation, CyclesPerSecond, Design, HostCost, Interpolation, Kernel, MeanCycles,
    OffloadsPerSecond, Placement, Queueing, Scenario, Selection, SizeCdf, Threading, Transfer,
};

fn scenario() -> Scenario {
    Scenario {
        host: CyclesPerSecond(1e9),
        kernels: vec![Kernel {
            name: "k".to_owned(),
            design: Design::new(Threading::Sync, Placement::OffChip, None).expect("a design"),
            share: 0.5,
            offloads: OffloadsPerSecond(0.0),
            setup: MeanCycles(0.0),
            transfer: Transfer::default(),
            thread_switch: MeanCycles(0.0),
            acceleration: Some(2.0),
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

fn uncertain(field: Field, distribution: Distribution) -> Uncertain {
    Uncertain {
        kernel: 0,
        field,
        distribution,
    }
}

/// With an ideal accelerator the speedup is 1 / (1 - alpha), so its quantiles are those of alpha.
#[test]
fn quantiles_follow_the_input() {
    let mut ideal = scenario();
    ideal.kernels[0].acceleration = Some(f64::INFINITY);
    for (distribution, expected) in [
        (
            Distribution::Uniform { min: 0.2, max: 0.4 },
            [0.21, 0.3, 0.39],
        ),
        (
            // Median and 5 % of the triangle: 0.2 + sqrt(u x 0.3 x 0.2).
            Distribution::Triangular {
                min: 0.2,
                mode: 0.4,
                max: 0.5,
            },
            [
                0.2 + 0.003_f64.sqrt(),
                0.2 + 0.03_f64.sqrt(),
                0.5 - 0.0015_f64.sqrt(),
            ],
        ),
        (
            Distribution::Normal {
                mean: 0.3,
                sd: 0.05,
            },
            [0.3 - 1.6449 * 0.05, 0.3, 0.3 + 1.6449 * 0.05],
        ),
    ] {
        let inputs = [uncertain(Field::KernelShare, distribution)];
        let samples = sample(&ideal, &inputs, 100_000, 7).unwrap();
        for (share, expected) in [0.05, 0.5, 0.95].into_iter().zip(expected) {
            let alpha = 1.0 - 1.0 / quantile(&samples.speedup, share).unwrap();
            assert!((alpha - expected).abs() < 0.002, "{alpha} {expected}");
        }
    }
}

#[test]
fn a_seed_decides_every_bit_and_inputs_have_their_own_dice() {
    let share = uncertain(
        Field::KernelShare,
        Distribution::Uniform { min: 0.2, max: 0.4 },
    );
    let speed = uncertain(
        Field::Acceleration,
        Distribution::Uniform { min: 2.0, max: 3.0 },
    );
    let run = |seed| sample(&scenario(), &[share, speed], 100, seed).unwrap();
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
    assert_eq!(run(1).latency_reduction, run(1).speedup);
}

#[test]
fn impossible_draws_are_counted_and_refused_if_there_are_no_others() {
    let half = uncertain(
        Field::KernelShare,
        Distribution::Uniform { min: 0.5, max: 1.5 },
    );
    let samples = sample(&scenario(), &[half], 10_000, 1).unwrap();
    assert!((samples.rejected as f64 - 5_000.0).abs() < 300.0);
    assert_eq!(samples.speedup.len() + samples.rejected, 10_000);
    assert!(samples.why_rejected.is_some());
    let all = uncertain(
        Field::KernelShare,
        Distribution::Uniform { min: 1.1, max: 1.5 },
    );
    let error = sample(&scenario(), &[all], 10, 1).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("every random draw is refused, the last one for"),
        "{error}"
    );
    let none = uncertain(Field::Setup, Distribution::Uniform { min: 2.0, max: 1.0 });
    let error = sample(&scenario(), &[none], 10, 1).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("= min 2, max 1: must have finite min and max, and min below max"),
        "{error}"
    );
}

#[test]
fn a_bad_range_is_refused_with_the_name_of_its_kernel() {
    let mut two = scenario();
    let second = Kernel {
        name: "b".to_owned(),
        ..two.kernels[0].clone()
    };
    two.kernels.push(second);
    let bad = |kernel, field| Uncertain {
        kernel,
        field,
        distribution: Distribution::Uniform { min: 3.0, max: 2.0 },
    };
    for (input, place) in [
        (bad(0, Field::Acceleration), "k.acceleration_ratio"),
        (bad(1, Field::Acceleration), "b.acceleration_ratio"),
        (bad(0, Field::HostCycles), "host_cycles_per_s"),
    ] {
        let error = sample(&two, &[input], 10, 1).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{place} = min 3, max 2: must have finite min and max, and min below max")
        );
    }
}

#[test]
fn quantiles_interpolate() {
    assert_eq!(quantile(&[], 0.5), None);
    assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.5), Some(2.0));
    assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.75), Some(3.0));
    assert_eq!(quantile(&[1.0, 2.0, 4.0], 1.0), Some(4.0));
}

#[test]
fn tornado_sorts_by_swing_and_leaves_out_zeros() {
    let swings = tornado(&scenario(), &[], 0.1);
    let fields: Vec<Field> = swings.iter().map(|swing| swing.field).collect();
    assert_eq!(fields[..2], [Field::Acceleration, Field::KernelShare]);
    assert!(!fields.contains(&Field::Setup));
    // alpha from 0.45 to 0.55 with A = 2.
    assert_eq!(swings[1].low.1, Some(1.0 / (0.55 + 0.225)));
    assert!((swings[1].high.1.unwrap() - 1.0 / (0.45 + 0.275)).abs() < 1e-12);
    let wide = uncertain(
        Field::Acceleration,
        Distribution::Uniform {
            min: 1.0,
            max: 10.0,
        },
    );
    assert_eq!(
        tornado(&scenario(), &[wide], 0.1)[0].field,
        Field::Acceleration
    );
}

/// Offloads of 1,000 B that cost the host `per_byte` cycles a byte, and 200 cycles to set up.
fn offloads(per_byte: f64) -> Kernel {
    let mut kernel = scenario().kernels.remove(0);
    kernel.offloads = OffloadsPerSecond(20_000.0);
    kernel.share = 20_000.0 * 1_000.0 * per_byte / 1e9;
    kernel.setup = MeanCycles(200.0);
    kernel.host_cost.cycles_per_byte = Some(per_byte);
    let sizes = SizeCdf::new(vec![(1_000.0, 1.0)], Interpolation::Step);
    kernel.sizes = Some(sizes.expect("one size"));
    kernel
}

/// Two kernels in one offload are one kernel with the work of both, at every number of offloads.
#[test]
fn the_offloads_of_a_rider_are_drawn_with_those_of_its_carrier() {
    let rider = Kernel {
        name: "rider".to_owned(),
        setup: MeanCycles(0.0),
        rides_on: Some("k".to_owned()),
        ..offloads(5.0)
    };
    let host = CyclesPerSecond(1e9);
    let two = Scenario {
        host,
        kernels: vec![offloads(10.0), rider],
    };
    let one = Scenario {
        host,
        kernels: vec![offloads(15.0)],
    };
    let range = Distribution::Uniform {
        min: 10_000.0,
        max: 30_000.0,
    };
    let number = uncertain(Field::Offloads, range);
    let both = [
        number,
        Uncertain {
            kernel: 1,
            ..number
        },
    ];
    let apart = sample(&two, &both, 1_000, 3).unwrap().speedup;
    let together = sample(&one, &[number], 1_000, 3).unwrap().speedup;
    for (apart, together) in apart.iter().zip(&together) {
        assert!((apart - together).abs() < 1e-12, "{apart} {together}");
    }
    // One input, which moves the work of both kernels.
    for inputs in [&both[..], &[]] {
        let swings = tornado(&two, inputs, 0.5);
        let moved: Vec<_> = swings
            .iter()
            .filter(|swing| swing.field == Field::Offloads)
            .collect();
        assert_eq!(moved.len(), 1);
        assert_eq!(moved[0].kernel, 0);
        let swings = tornado(&one, &inputs[..inputs.len().min(1)], 0.5);
        let expected = swings.iter().find(|swing| swing.field == Field::Offloads);
        let expected = expected.unwrap();
        assert!((moved[0].size() - expected.size()).abs() < 1e-12);
    }
}

/// Two kernels in one queue, M/M/1, of an accelerator that ten hosts share.
fn sharing() -> Scenario {
    let shared = |name: &str| {
        let mut kernel = scenario().kernels.remove(0);
        name.clone_into(&mut kernel.name);
        kernel.share = 0.2;
        kernel.offloads = OffloadsPerSecond(10_000.0);
        kernel.queue = Queueing::Station {
            servers: 1,
            hosts: 10.0,
            service: Some(MeanCycles(2_000.0)),
            service_scv: Some(1.0),
            approximation: Approximation::Kimura,
            shared: Some("device".to_owned()),
        };
        kernel
    };
    Scenario {
        host: CyclesPerSecond(1e9),
        kernels: vec![shared("a"), shared("b")],
    }
}

/// The speedup of [`sharing`] if hosts use this share of the accelerator: ten use 0.4 of it. The
/// wait is r / (1 - r) times the service time.
fn sharing_speedup(used: f64) -> f64 {
    let wait = 2_000.0 * used / (1.0 - used);
    1.0 / (0.6 + 0.4 / 2.0 + 2.0 * 1e4 / 1e9 * wait)
}

#[test]
fn tornado_has_the_hosts_of_a_queue_once() {
    let two = sharing();
    let swings = tornado(&two, &[], 0.5);
    let hosts: Vec<_> = swings
        .iter()
        .filter(|swing| swing.field == Field::QueueHosts)
        .collect();
    assert_eq!(hosts.len(), 1);
    assert_eq!(
        (hosts[0].kernel, hosts[0].low.0, hosts[0].high.0),
        (0, 5.0, 15.0)
    );
    for (found, used) in [(hosts[0].low.1, 0.2), (hosts[0].high.1, 0.6)] {
        assert!((found.unwrap() - sharing_speedup(used)).abs() < 1e-12);
    }
    // Thirty would overload it.
    let swings = tornado(&two, &[], 2.0);
    let hosts = swings.iter().find(|swing| swing.field == Field::QueueHosts);
    assert_eq!(hosts.unwrap().high, (30.0, None));
}

/// The range of any kernel that shares a queue is the range of its hosts, and the last one counts.
#[test]
fn tornado_has_the_range_of_a_queue_of_any_of_its_kernels() {
    let two = sharing();
    let range = |kernel: usize, min: f64, max: f64| Uncertain {
        kernel,
        ..uncertain(Field::QueueHosts, Distribution::Uniform { min, max })
    };
    for given in [
        vec![range(1, 8.0, 12.0)],
        vec![range(0, 8.0, 12.0)],
        vec![range(0, 2.0, 3.0), range(1, 8.0, 12.0)],
    ] {
        let swings = tornado(&two, &given, 0.5);
        let mut hosts = swings
            .iter()
            .filter(|swing| swing.field == Field::QueueHosts);
        let only = hosts.next().unwrap();
        assert_eq!((only.kernel, hosts.next()), (0, None));
        for (found, (hosts, used)) in [(only.low, (8.0, 0.32)), (only.high, (12.0, 0.48))] {
            assert_eq!(found.0, hosts);
            assert!((found.1.unwrap() - sharing_speedup(used)).abs() < 1e-12);
        }
        // Draws are between the same ends.
        let drawn = sample(&two, &given, 1_000, 1).unwrap().speedup;
        assert!(drawn[0] >= sharing_speedup(0.48) && drawn[999] <= sharing_speedup(0.32));
    }
}
