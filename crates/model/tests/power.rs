//! The powers of AccelFlow, section VII.B.5, and the energy that follows from what a server did.

#![allow(clippy::unwrap_used)]

use accelflow_model::area::{Area, AreaInputs};
use accelflow_model::power::{Activity, Hardware, PARAMETERS, Power, PowerInputs};

fn power(changes: &[(&str, f64)]) -> Power {
    let mut inputs = PowerInputs::default();
    for (name, value) in changes {
        inputs.set(name, *value).unwrap();
    }
    Power::new(inputs, &Area::new(AreaInputs::default()).unwrap()).unwrap()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs().max(1e-30)
}

fn second() -> Activity {
    Activity {
        window_s: 1.0,
        ..Activity::default()
    }
}

#[test]
fn the_four_printed_numbers_give_the_server_and_agree_with_each_other() {
    let power = power(&[]);
    assert_eq!(format!("{:.1}", power.server_max_w()), "403.2");
    assert_eq!(
        format!("{:.1}", power.server_max_by_orchestration_w()),
        "416.7"
    );
    let (low, high) = power.server_max_range_w();
    assert_eq!(
        (format!("{low:.1}"), format!("{high:.1}")),
        ("396.0".into(), "411.5".into())
    );
    assert!((low..high).contains(&power.server_max_w()));
    let share = |watt: f64| format!("{:.1}", 100.0 * watt / power.server_max_w());
    assert_eq!((share(12.5), share(5.0)), ("3.1".into(), "1.2".into()));
    assert!(close(power.baseline_max_w(), power.server_max_w() - 17.5));
}

#[test]
fn the_split_loses_nothing_and_follows_area() {
    let power = power(&[]);
    assert!(close(power.accelerators_w().iter().sum(), 12.5));
    assert!(close(
        power.orchestration_w().iter().map(|(_, w)| w).sum(),
        5.0
    ));
    let [_, dser, cmp, ..] = power.accelerators_w();
    assert!(close(cmp / dser, 9.1 / 0.9));
    // Eighteen dispatchers at an eighth of Dser.
    assert!(close(power.orchestration_w()[1].1, 18.0 * dser / 8.0));
}

#[test]
fn a_server_at_its_maximum_takes_its_maximum_power() {
    let power = power(&[]);
    let pes = 8.0;
    let rates = 18.0 * 2.4e9; // one instruction a cycle in each dispatcher
    let mut all = Activity {
        window_s: 1.0,
        busy_core_s: 36.0,
        busy_pe_s: [pes; 9],
        dispatcher_instructions: rates,
        moved_bytes: 0.0,
    };
    let without_transfers = power.energy(Hardware::AccelFlow, &all).unwrap().total_j();
    let [queues, _, adma, network] = power.orchestration_w().map(|(_, watt)| watt);
    assert!(close(
        without_transfers,
        power.server_max_w() - 0.7 * (queues + adma + network)
    ));
    // Ten A-DMA engines at their peak take the A-DMA engines' dynamic power.
    all.moved_bytes = 10.0 * 38.4e9;
    let adma_only = power.transfer_byte_j() * all.moved_bytes - 0.7 * network * 10.0 / 9.0;
    assert!(close(adma_only, 0.7 * adma));
    assert!(close(
        power.queue_byte_j() * 18.0 * 100e9,
        2.0 * 0.7 * queues
    ));
}

#[test]
fn each_kind_of_work_costs_energy_where_the_hardware_exists_and_only_there() {
    let power = power(&[]);
    let rest = |hardware| power.energy(hardware, &second()).unwrap().total_j();
    assert!(close(
        rest(Hardware::Baseline),
        0.3 * power.baseline_max_w()
    ));
    assert!(rest(Hardware::Accelerators) > rest(Hardware::Baseline));
    assert!(close(
        rest(Hardware::Managed),
        rest(Hardware::Accelerators) + 0.2
    ));
    assert!(close(
        rest(Hardware::AccelFlow) - rest(Hardware::Baseline),
        0.3 * 17.5
    ));

    let dispatch = Activity {
        dispatcher_instructions: 1e6,
        ..second()
    };
    let moved = Activity {
        moved_bytes: 1e6,
        ..second()
    };
    let pes = Activity {
        busy_pe_s: [1e-3; 9],
        ..second()
    };
    for (work, places) in [
        (&dispatch, [false, false, true]),
        (&moved, [false, true, true]),
        (&pes, [false, true, true]),
    ] {
        let systems = [Hardware::Baseline, Hardware::Managed, Hardware::AccelFlow];
        for (hardware, costs) in systems.into_iter().zip(places) {
            let total = power.energy(hardware, work).unwrap().total_j();
            assert_eq!(total > rest(hardware), costs, "{hardware:?} {work:?}");
        }
    }
    let one_core = Activity {
        busy_core_s: 1.0,
        ..second()
    };
    let cores = power.energy(Hardware::Baseline, &one_core).unwrap().cores_j;
    assert!(close(cores, 0.7 * power.baseline_max_w() / 36.0));
}

#[test]
fn energy_of_two_windows_is_the_sum_of_both() {
    let power = power(&[]);
    let once = Activity {
        busy_core_s: 3.0,
        busy_pe_s: [0.25; 9],
        dispatcher_instructions: 5e5,
        moved_bytes: 7e8,
        ..second()
    };
    let twice = Activity {
        window_s: 2.0,
        busy_core_s: 6.0,
        busy_pe_s: [0.5; 9],
        dispatcher_instructions: 1e6,
        moved_bytes: 1.4e9,
    };
    let joules = |a| power.energy(Hardware::AccelFlow, a).unwrap().total_j();
    assert!(close(joules(&twice), 2.0 * joules(&once)));
}

#[test]
fn impossible_activity_and_inputs_are_refused() {
    let power = power(&[]);
    let refused = |activity: &Activity| {
        power
            .energy(Hardware::AccelFlow, activity)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refused(&Activity::default()),
        "window_s = 0: must be a number above 0"
    );
    let busy = Activity {
        busy_core_s: 37.0,
        ..second()
    };
    assert!(refused(&busy).starts_with("busy_core_s = 37: must be from 0 to 36"));
    let negative = Activity {
        moved_bytes: -1.0,
        ..second()
    };
    assert_eq!(
        refused(&negative),
        "moved_bytes = -1: must be a number, 0 or more"
    );
    let mut pes = second();
    pes.busy_pe_s[4] = 9.0;
    assert!(refused(&pes).starts_with("TCP = 9: must be from 0 to 8"));
    for (name, value, said) in [
        ("orchestration_max_w", 400.0, "must stay below the server's"),
        ("orchestration_max_w", 0.5, "the watts of 18 dispatchers"),
    ] {
        let mut inputs = PowerInputs::default();
        inputs.set(name, value).unwrap();
        let area = Area::new(AreaInputs::default()).unwrap();
        let error = Power::new(inputs, &area).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    // The table of inputs allows no 0 by which the model divides.
    let without_clock = PowerInputs {
        dispatcher_clock_ghz: 0.0,
        ..PowerInputs::default()
    };
    let area = Area::new(AreaInputs::default()).unwrap();
    let error = Power::new(without_clock, &area).unwrap_err().to_string();
    assert_eq!(
        error,
        "dispatcher_clock_ghz = 0: must be a number from 0.001 to 10 GHz"
    );
}

/// A server's power follows from that of its accelerators, so that none is possible with 0 W.
#[test]
fn accelerators_take_power() {
    let mut inputs = PowerInputs::default();
    let error = inputs.set("accelerators_max_w", 0.0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "accelerators_max_w = 0: must be a number from 0.000001 to 10000 W"
    );
    // The least of the range is possible: 32.3 uW, of which the orchestration takes a part.
    let least = power(&[("accelerators_max_w", 1e-6), ("orchestration_max_w", 1e-6)]);
    assert!(close(least.server_max_w(), 1e-6 / 0.031));
}

/// Counts have no upper limit, but infinity and NaN are no counts.
#[test]
fn counts_without_a_number_are_refused() {
    let power = power(&[]);
    for amount in [f64::INFINITY, f64::NAN] {
        let instructions = Activity {
            dispatcher_instructions: amount,
            ..second()
        };
        let bytes = Activity {
            moved_bytes: amount,
            ..second()
        };
        for (activity, name) in [
            (instructions, "dispatcher_instructions"),
            (bytes, "moved_bytes"),
        ] {
            let error = power.energy(Hardware::AccelFlow, &activity).unwrap_err();
            assert_eq!(error.place, name);
            assert_eq!(error.allowed, "must be a number, 0 or more");
        }
    }
    let most = Activity {
        moved_bytes: f64::MAX,
        ..second()
    };
    assert!(power.energy(Hardware::AccelFlow, &most).is_ok());
}

#[test]
fn shares_that_round_to_zero_bound_no_power() {
    let mut inputs = PowerInputs::default();
    inputs.set("orchestration_server_share", 0.0003).unwrap();
    let area = Area::new(AreaInputs::default()).unwrap();
    let (low, high) = Power::new(inputs.clone(), &area)
        .unwrap()
        .server_max_range_w();
    // 4.95 W are at least 0.08 % of the server; its upper bound follows from the accelerators
    // alone.
    assert!((low - 4.95 / 0.0008).abs() < 1e-9, "{low}");
    assert!((high - 12.55 / 0.0305).abs() < 1e-9, "{high}");
    inputs.set("accelerators_server_share", 0.0005).unwrap();
    let (_, high) = Power::new(inputs, &area).unwrap().server_max_range_w();
    assert_eq!(high, f64::INFINITY);
}

#[test]
fn the_table_of_inputs_is_sound() {
    assert_eq!(
        PARAMETERS.faults(PowerInputs::default),
        Vec::<String>::new()
    );
}

#[test]
fn private_rpc_accelerators_have_the_printed_ratios_on_16_cores() {
    use accelflow_model::rpc_place::{Place, area_mm2, power_w};
    let of = |cores: f64| {
        let mut inputs = AreaInputs::default();
        inputs.set("cores", cores).unwrap();
        let area = Area::new(inputs).unwrap();
        let power = Power::new(PowerInputs::default(), &area).unwrap();
        Place::ALL.map(|place| (area_mm2(&area, place), power_w(&power, &area, place)))
    };
    let near =
        |ours: f64, exact: f64| assert!((ours / exact - 1.0).abs() < 1e-9, "{ours}, {exact}");
    let [shared, nic, private] = of(16.0);
    near(private.0 / shared.0, 5.0);
    near(private.1 / shared.1, 6.0);
    near(nic.0 / shared.0, 0.5);
    // One for each of 64 cores has 75 % of a core's area: 83.1 mm2 are 36 cores.
    let many = of(64.0);
    near(many[2].0, 0.75 * 83.1 / 36.0);
    near(many[0].0, shared.0);
    near(many[2].1 / many[0].1, 24.0);
}
