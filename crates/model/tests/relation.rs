//! alpha C = n C_b E(g^beta): inputs that say one thing twice must agree, and vary together.

#![allow(clippy::unwrap_used)]

use accelflow_model::accelerometer::uncertainty::{
    Distribution, Field, Swing, Uncertain, sample, tornado,
};
use accelflow_model::accelerometer::{
    CyclesPerSecond, Design, HostCost, Interpolation, Kernel, MeanCycles, OffloadsPerSecond,
    Placement, Queueing, RELATION_TOLERANCE, Scaling, Scenario, Selection, SizeCdf, Threading,
    Transfer,
};

/// 1,000 offloads of 500 or 1,500 bytes a second at 200 cycles a byte are 0.2 of 1e9 cycles.
fn scenario() -> Scenario {
    let sizes = SizeCdf::new(vec![(500.0, 0.5), (1_500.0, 1.0)], Interpolation::Step);
    Scenario {
        host: CyclesPerSecond(1e9),
        kernels: vec![Kernel {
            name: "k".to_owned(),
            design: Design::new(Threading::Sync, Placement::OffChip, None).unwrap(),
            share: 0.2,
            offloads: OffloadsPerSecond(1_000.0),
            setup: MeanCycles(0.0),
            transfer: Transfer {
                fixed: MeanCycles(20_000.0),
                per_byte: MeanCycles(0.0),
            },
            thread_switch: MeanCycles(0.0),
            acceleration: Some(4.0),
            queue: Queueing::Mean(MeanCycles(0.0)),
            host_cost: HostCost {
                cycles_per_byte: Some(200.0),
                complexity: 1.0,
            },
            sizes: Some(sizes.unwrap()),
            selection: Selection::All,
            rides_on: None,
        }],
    }
}

fn changed(change: impl Fn(&mut Kernel)) -> Scenario {
    let mut scenario = scenario();
    change(&mut scenario.kernels[0]);
    scenario
}

/// C / C_S of equation (1) with this alpha and so many offloads.
fn speedup(share: f64, offloads: f64) -> f64 {
    1.0 / (1.0 - share + share / 4.0 + offloads * 20_000.0 / 1e9)
}

fn swing(swings: &[Swing], field: Field) -> &Swing {
    swings.iter().find(|swing| swing.field == field).unwrap()
}

fn near(found: Option<f64>, expected: f64) {
    assert!(
        (found.unwrap() - expected).abs() < 1e-12,
        "{found:?} {expected}"
    );
}

#[test]
fn inputs_given_twice_must_agree() {
    scenario().evaluate().unwrap();
    for factor in [1e5, 1e-5, 1.3, 0.7] {
        let contradiction = changed(|k| k.host_cost.cycles_per_byte = Some(200.0 * factor));
        let error = contradiction.evaluate().unwrap_err();
        assert_eq!(
            (error.place.as_str(), error.value.as_str()),
            ("k.kernel_share_ratio", "0.2")
        );
        assert!(
            error.allowed.starts_with(
                "must agree with the other fields to a factor of 1.25: 1000 offloads a second"
            ),
            "{error}"
        );
    }
    let edge = RELATION_TOLERANCE - 0.001;
    for factor in [edge, 1.0 / edge] {
        changed(|k| k.host_cost.cycles_per_byte = Some(200.0 * factor))
            .evaluate()
            .unwrap();
        changed(|k| k.share = 0.2 * factor).evaluate().unwrap();
    }
    assert!(changed(|k| k.share = 0.0).evaluate().is_err());
    assert!(
        changed(|k| k.offloads = OffloadsPerSecond(0.0))
            .evaluate()
            .is_err()
    );
    // Without one of them, it follows.
    changed(|k| {
        k.host_cost.cycles_per_byte = None;
        k.share = 0.9;
    })
    .evaluate()
    .unwrap();
    changed(|k| {
        k.sizes = None;
        k.share = 0.9;
    })
    .evaluate()
    .unwrap();
}

/// alpha is of all offloads, so those that do not pay count too.
#[test]
fn the_share_is_of_all_offloads() {
    let out_of = changed(|k| {
        k.selection = Selection::OutOf(OffloadsPerSecond(1_000.0));
        k.offloads = OffloadsPerSecond(400.0);
    });
    let outcome = out_of.evaluate().unwrap();
    assert!((outcome.kernels[0].offloaded_share - 0.08).abs() < 1e-12);
    let mut derived = out_of;
    derived.kernels[0].host_cost.cycles_per_byte = None;
    let outcome = derived.evaluate().unwrap();
    assert!((outcome.kernels[0].cycles_per_byte.unwrap() - 200.0).abs() < 1e-9);
}

#[test]
fn a_tornado_varies_what_is_independent_and_the_rest_follows() {
    let swings = tornado(&scenario(), &[], 0.1);
    let fields: Vec<Field> = swings.iter().map(|swing| swing.field).collect();
    assert_eq!(fields.len(), 4, "{fields:?}");
    // More offloads of the same sizes are more work; so are dearer bytes.
    let offloads = swing(&swings, Field::Offloads);
    near(offloads.low.1, speedup(0.18, 900.0));
    near(offloads.high.1, speedup(0.22, 1_100.0));
    let cost = swing(&swings, Field::CyclesPerByte);
    near(cost.low.1, speedup(0.18, 1_000.0));
    near(cost.high.1, speedup(0.22, 1_000.0));
    for field in [Field::Transfer, Field::Acceleration] {
        swing(&swings, field);
    }
}

#[test]
fn without_cycles_per_byte_the_share_is_an_input() {
    let measured = changed(|k| k.host_cost.cycles_per_byte = None);
    let swings = tornado(&measured, &[], 0.1);
    let fields: Vec<Field> = swings.iter().map(|swing| swing.field).collect();
    assert!(!fields.contains(&Field::CyclesPerByte));
    for never in [Field::HostCycles, Field::Complexity] {
        assert!(!fields.contains(&never));
    }
    near(
        swing(&swings, Field::KernelShare).high.1,
        speedup(0.22, 1_000.0),
    );
    near(
        swing(&swings, Field::Offloads).high.1,
        speedup(0.2, 1_100.0),
    );
}

#[test]
fn uncertain_inputs_vary_and_derived_values_follow() {
    let range = |field, min, max| Uncertain {
        kernel: 0,
        field,
        distribution: Distribution::Uniform { min, max },
    };
    let share = range(Field::KernelShare, 0.1, 0.3);
    let swings = tornado(&scenario(), &[share], 0.1);
    near(
        swing(&swings, Field::KernelShare).high.1,
        speedup(0.3, 1_000.0),
    );
    assert!(
        !swings
            .iter()
            .any(|swing| swing.field == Field::CyclesPerByte)
    );
    // As in the draws, an uncertain share follows from nothing: the cost of a byte does.
    near(
        swing(&swings, Field::Offloads).high.1,
        speedup(0.2, 1_100.0),
    );
    let host = range(Field::HostCycles, 5e8, 2e9);
    let swings = tornado(&scenario(), &[host], 0.1);
    // Twice the cycles for the same work: half the share, half the offloads for each cycle.
    near(
        swing(&swings, Field::HostCycles).high.1,
        speedup(0.1, 500.0),
    );
    // No draw is refused for what follows from it, and none contradicts the rest.
    for input in [share, host, range(Field::Offloads, 500.0, 2_000.0)] {
        let samples = sample(&scenario(), &[input], 500, 3).unwrap();
        assert_eq!((samples.rejected, samples.speedup.len()), (0, 500));
    }
    let samples = sample(
        &scenario(),
        &[range(Field::Offloads, 500.0, 2_000.0)],
        500,
        3,
    )
    .unwrap();
    let (least, most) = (samples.speedup[0], samples.speedup[499]);
    // Speedup rises with offloads that pay; with alpha held it would fall.
    assert!(speedup(0.1, 500.0) <= least && most <= speedup(0.4, 2_000.0));
    assert!(most > speedup(0.35, 1_750.0));
}

#[test]
fn ranges_that_contradict_each_other_are_refused() {
    let range = |field| Uncertain {
        kernel: 0,
        field,
        distribution: Distribution::Uniform { min: 0.1, max: 0.3 },
    };
    let both = [range(Field::KernelShare), range(Field::CyclesPerByte)];
    let error = sample(&scenario(), &both, 10, 1).unwrap_err().to_string();
    assert!(
        error.starts_with(
            "k.cycles_per_byte = a range: must be left out, since kernel_share_ratio is a range too"
        ),
        "{error}"
    );
    let unit = [range(Field::Complexity)];
    let error = sample(&scenario(), &unit, 10, 1).unwrap_err().to_string();
    assert!(
        error.starts_with(
            "k.complexity_exponent = a range: must be a number, since the exponent sets the unit"
        ),
        "{error}"
    );
    let derived = changed(|k| k.host_cost.cycles_per_byte = None);
    assert_eq!(sample(&derived, &unit, 10, 1).unwrap().rejected, 0);
}

/// What pays depends on C_b, and alpha goes with it.
#[test]
fn selection_by_size_varies_with_its_share() {
    let picks = changed(|k| k.selection = Selection::Lucrative(Scaling::Cycles));
    let swings = tornado(&picks, &[], 0.1);
    assert!(
        swings
            .iter()
            .all(|swing| swing.low.1.is_some() && swing.high.1.is_some())
    );
}
