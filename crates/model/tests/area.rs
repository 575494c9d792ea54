//! The areas of AccelFlow, section VI, to the printed digit, and how they scale.

#![allow(clippy::unwrap_used)]

use accelflow_model::area::{ACCELERATORS, Area, AreaInputs, Group, PARAMETERS};
use accelflow_model::power::{Activity, Hardware, Power, PowerInputs};

fn area(changes: &[(&str, f64)]) -> Area {
    let mut inputs = AreaInputs::default();
    for (name, value) in changes {
        inputs.set(name, *value).unwrap();
    }
    Area::new(inputs).unwrap()
}

fn printed(value: f64) -> String {
    format!("{value:.1}")
}

#[test]
fn every_printed_area_comes_out_to_the_digit() {
    let area = area(&[]);
    let part = |name| area.part_mm2(name).unwrap();
    for (name, paper) in [
        ("cores", "83.1"),
        ("LLC", "38.2"),
        ("core network", "1.0"),
        ("Ser", "0.6"),
        ("Dser", "0.9"),
        ("Cmp", "9.1"),
        ("Dcmp", "5.2"),
        ("TCP", "9.1"),
        ("Encr", "9.1"),
        ("Decr", "9.1"),
        ("RPC", "0.9"),
        ("LdB", "0.9"),
        ("A-DMA engines", "1.3"),
        ("accelerator network", "0.4"),
    ] {
        assert_eq!(printed(part(name)), paper, "{name}");
    }
    assert_eq!(printed(part("queues") + part("dispatchers")), "3.4");
    assert_eq!(printed(area.group_mm2(Group::Baseline)), "122.3");
    assert_eq!(printed(area.accelerators_mm2()), "44.9");
    assert_eq!(printed(area.group_mm2(Group::Orchestration)), "5.1");
    assert_eq!(printed(area.total_mm2()), "172.3");
}

#[test]
fn the_shares_are_the_papers_and_2_9_is_the_difference_of_the_rounded_two() {
    let area = area(&[]);
    let both = 1.0 - area.group_mm2(Group::Baseline) / area.total_mm2();
    assert_eq!(printed(100.0 * both), "29.0");
    assert_eq!(printed(100.0 * area.accelerators_share()), "26.1");
    assert_eq!(printed(29.0 - 26.1), "2.9");
    assert_eq!(format!("{:.2}", 100.0 * area.orchestration_share()), "2.96");
}

#[test]
fn the_queues_hold_2_4_megabytes() {
    assert_eq!(area(&[]).queue_bytes(), 9.0 * 128.0 * 2_100.0);
    assert_eq!(printed(area(&[]).queue_bytes() / 1e6), "2.4");
    assert_ne!(
        printed(area(&[("input_entries", 60.0)]).queue_bytes() / 1e6),
        "2.4"
    );
}

#[test]
fn each_part_grows_with_what_it_is_said_to_and_with_nothing_else() {
    let base = area(&[]);
    for (change, doubled) in [
        (("cores", 72.0), vec!["cores", "LLC", "core network"]),
        (
            ("pes", 16.0),
            vec![
                "Ser", "Dser", "Cmp", "Dcmp", "TCP", "Encr", "Decr", "RPC", "LdB",
            ],
        ),
        (("entry_bytes", 4_200.0), vec!["queues"]),
        (("adma_engines", 20.0), vec!["A-DMA engines"]),
    ] {
        let changed = area(&[change]);
        for (before, after) in base.parts().iter().zip(changed.parts()) {
            let factor = if doubled.contains(&before.name) {
                2.0
            } else {
                1.0
            };
            assert_eq!(after.mm2, factor * before.mm2, "{change:?} {}", before.name);
        }
    }
    let twice = area(&[("instances", 2.0)]);
    assert_eq!(twice.accelerators_mm2(), 2.0 * base.accelerators_mm2());
    assert_eq!(
        twice.group_mm2(Group::Baseline),
        base.group_mm2(Group::Baseline)
    );
    assert_eq!(
        twice.part_mm2("A-DMA engines"),
        base.part_mm2("A-DMA engines")
    );
    assert_eq!(
        twice.part_mm2("queues"),
        base.part_mm2("queues").map(|mm2| 2.0 * mm2)
    );
}

#[test]
fn one_accelerator_may_have_sizes_of_its_own() {
    let base = area(&[]);
    // By the change, how often as large each part is that changes.
    let instances = 11.0 / 9.0;
    let entries = (9.0 * 128.0 + 128.0) / (9.0 * 128.0);
    for (change, expected) in [
        (("pes.TCP", 16.0), vec![("TCP", 2.0)]),
        (
            ("instances.Ser", 3.0),
            vec![
                ("Ser", 3.0),
                ("queues", instances),
                ("dispatchers", instances),
                ("accelerator network", instances),
            ],
        ),
        (("input_entries.LdB", 192.0), vec![("queues", entries)]),
        (("output_entries.Cmp", 192.0), vec![("queues", entries)]),
    ] {
        let changed = area(&[change]);
        for (before, after) in base.parts().iter().zip(changed.parts()) {
            let factor = expected.iter().find(|(name, _)| *name == before.name);
            let factor = factor.map_or(1.0, |(_, factor)| *factor);
            let off = after.mm2 / (factor * before.mm2) - 1.0;
            assert!(off.abs() < 1e-12, "{change:?} {}", before.name);
        }
        let told: Vec<_> = changed
            .rows()
            .filter(|(it, _)| it.key == change.0)
            .collect();
        assert_eq!(told.len(), 1, "{change:?} is not among the inputs in use");
        assert!(base.rows().all(|(it, _)| it.key != change.0));
    }
    for none in [
        "instances.TCP",
        "pes.TCP",
        "input_entries.TCP",
        "output_entries.TCP",
    ] {
        assert_eq!(area(&[(none, 0.0)]).part_mm2("TCP"), Some(0.0), "{none}");
    }
    let both = area(&[("pes", 4.0), ("pes.TCP", 8.0)]);
    assert_eq!(both.part_mm2("TCP"), base.part_mm2("TCP"));
    assert_eq!(
        both.part_mm2("Cmp"),
        base.part_mm2("Cmp").map(|mm2| mm2 / 2.0)
    );
    assert_eq!(
        area(&[("instances.TCP", 2.0)]).queue_bytes(),
        base.queue_bytes() * 10.0 / 9.0
    );
}

#[test]
fn an_accelerator_that_is_not_there_takes_no_area_and_no_power() {
    let base = area(&[]);
    let without = area(&[("instances.TCP", 0.0)]);
    assert_eq!(without.part_mm2("TCP"), Some(0.0));
    assert_eq!(without.queue_bytes(), base.queue_bytes() * 8.0 / 9.0);
    assert_eq!(without.instances(), 8.0);
    let of_others = base.accelerators_mm2() - base.part_mm2("TCP").unwrap();
    assert!((without.accelerators_mm2() - of_others).abs() < 1e-9);

    let none: Vec<(String, f64)> = ACCELERATORS
        .iter()
        .map(|name| (format!("instances.{name}"), 0.0))
        .collect();
    let none: Vec<(&str, f64)> = none.iter().map(|(key, value)| (&key[..], *value)).collect();
    let bare = area(&none);
    let power = Power::new(PowerInputs::default(), &bare).unwrap();
    assert_eq!(power.accelerators_w(), [0.0; ACCELERATORS.len()]);
    let activity = Activity {
        window_s: 1.0,
        busy_core_s: 1.0,
        ..Activity::default()
    };
    let energy = power.energy(Hardware::AccelFlow, &activity).unwrap();
    assert!(energy.total_j().is_finite() && energy.accelerators_j == 0.0);
}

#[test]
fn impossible_inputs_are_refused_with_what_is_allowed() {
    let mut inputs = AreaInputs::default();
    for (name, value, said) in [
        (
            "pes",
            0.0,
            "pes = 0: must be a whole number from 1 to 1024 PEs",
        ),
        (
            "pes",
            1.5,
            "pes = 1.5: must be a whole number from 1 to 1024 PEs",
        ),
        (
            "Cmp_mm2",
            -1.0,
            "Cmp_mm2 = -1: must be a number from 0 to 10000 mm2",
        ),
        (
            "Cmp_mm2",
            f64::NAN,
            "Cmp_mm2 = NaN: must be a number from 0 to 10000 mm2",
        ),
    ] {
        assert_eq!(inputs.set(name, value).unwrap_err().to_string(), said);
    }
    assert_eq!(
        inputs.set("entry_byte", 1.0).unwrap_err().to_string(),
        "parameter = 'entry_byte': must be the key of a parameter, \
         did you mean entry_bytes?"
    );
    inputs.set("dispatcher_mm2", 0.9).unwrap();
    assert!(
        Area::new(inputs)
            .unwrap_err()
            .to_string()
            .contains("16.2 mm2")
    );
}

#[test]
fn the_table_of_inputs_is_sound() {
    assert_eq!(PARAMETERS.faults(AreaInputs::default), Vec::<String>::new());
}
