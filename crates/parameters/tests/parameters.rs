//! Parameters, tables and refusals, for any kind of parameter.

#![allow(clippy::unwrap_used)]

use accelflow_parameters::{
    Choice, Kind, Parameter, Provenance, Refusal, Row, Table, any_of, number_text, quoted, similar,
};
use proptest::prelude::*;

const NAMED: &[Choice] = &[
    Choice::named(0.0, "least_loaded", "the least loaded"),
    Choice::named(1.0, "random", "any"),
    Choice::named(2.0, "round_robin", "in turns"),
];
const NUMBERS: &[Choice] = &[
    Choice::number(1.0),
    Choice::number(2.0),
    Choice::number(6.0),
];

/// Holds its values as parameters give them.
#[derive(Clone, Debug, Default, PartialEq)]
struct Server {
    values: [f64; 5],
}

const fn parameter(key: &'static str, unit: &'static str, kind: Kind, default: f64) -> Parameter {
    Parameter {
        key,
        unit,
        kind,
        default,
        provenance: Provenance::Assumed,
        source: "no source",
        why: "For tests.",
    }
}

const TABLE: Table<Server> = Table::new(&[
    &[
        Row {
            parameter: parameter("core.clock_ghz", "GHz", Kind::number(0.1, 10.0), 2.4),
            get: |server| server.values[0],
            set: |server, value| server.values[0] = value,
        },
        Row {
            parameter: parameter("core.count", "cores", Kind::whole(1.0, 1024.0), 36.0),
            get: |server| server.values[1],
            set: |server, value| server.values[1] = value,
        },
        Row {
            parameter: parameter("core.balancing", "", Kind::Choice(NAMED), 2.0),
            get: |server| server.values[2],
            set: |server, value| server.values[2] = value,
        },
    ],
    &[
        Row {
            parameter: parameter("network.chiplets", "chiplets", Kind::Choice(NUMBERS), 2.0),
            get: |server| server.values[3],
            set: |server, value| server.values[3] = value,
        },
        Row {
            parameter: parameter("network.torus", "", Kind::Switch, 0.0),
            get: |server| server.values[4],
            set: |server, value| server.values[4] = value,
        },
        Row {
            parameter: parameter("network.layers", "layers", Kind::Fixed, 1.0),
            get: |_| 1.0,
            set: |_, _| {},
        },
    ],
]);

fn base() -> Server {
    let mut server = Server::default();
    TABLE.set_defaults(&mut server);
    server
}

/// A value beside a range.
const AS_ALL: &[Choice] = &[Choice::named(-1.0, "as_all", "the number of all")];

#[test]
fn a_value_beside_a_range_has_a_name() {
    let pes = parameter("pes.TCP", "PEs", Kind::whole_or(0.0, 16.0, AS_ALL), -1.0);
    assert_eq!(pes.allowed(), "a whole number from 0 to 16 PEs, or as_all");
    assert_eq!(
        (pes.text(-1.0), pes.text(3.0)),
        ("as_all".into(), "3".into())
    );
    assert_eq!(pes.number_of("as-all"), Ok(-1.0));
    let refused = pes.check(-2.0).unwrap_err().to_string();
    assert_eq!(
        refused,
        "pes.TCP = -2: must be a whole number from 0 to 16 PEs, or as_all (the number of all)"
    );
}

fn kinds() -> impl Strategy<Value = Kind> {
    let range = (-1e6..1e6_f64, 0.0..1e6_f64);
    prop_oneof![
        range
            .clone()
            .prop_map(|(min, length)| Kind::number(min, min + length)),
        range.prop_map(|(min, length)| Kind::whole(min.round(), (min + length).round())),
        Just(Kind::whole_or(0.0, 16.0, AS_ALL)),
        Just(Kind::Choice(NAMED)),
        Just(Kind::Choice(NUMBERS)),
        Just(Kind::Switch),
        Just(Kind::Fixed),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_value_is_allowed_or_refused_in_the_one_form(kind in kinds(), value in -3e6..3e6_f64, whole: bool) {
        let value = if whole { value.round() } else { value };
        let (min, max) = kind.range(7.0);
        let found = parameter("some.key", "ns", kind, 7.0).check(value);
        prop_assert_eq!(found.is_ok(), kind.allows(value, 7.0));
        match found {
            Ok(()) => prop_assert!((min..=max).contains(&value)),
            Err(refusal) => {
                let text = refusal.to_string();
                let start = format!("some.key = {}: must be ", number_text(value));
                prop_assert!(text.starts_with(&start), "{}", text);
                prop_assert!(text.contains("ns"), "{}", text);
            }
        }
    }

    #[test]
    fn the_ends_of_a_range_are_allowed_and_nothing_beyond(kind in kinds()) {
        let (min, max) = kind.range(7.0);
        prop_assert!(kind.allows(min, 7.0) && kind.allows(max, 7.0));
        for wrong in [min - 1.0, max + 1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            prop_assert!(!kind.allows(wrong, 7.0), "{}", wrong);
        }
        if kind.is_whole() {
            prop_assert!(!kind.allows(min + 0.5, 7.0));
        }
    }

    #[test]
    fn numbers_are_read_back_from_their_texts(value in any::<f64>()) {
        let read: f64 = number_text(value).parse().unwrap();
        prop_assert!(read == value || (read.is_nan() && value.is_nan()));
    }

    #[test]
    fn a_slip_of_one_letter_is_found(
        key in prop::sample::select(vec!["core.count", "core.balancing", "network.chiplets"]),
        place in 0_usize..4,
        change in 0_usize..3,
    ) {
        // Within the last part, whose letters begin behind the point.
        let at = key.rfind('.').unwrap() + 1 + place;
        let mut letters: Vec<char> = key.chars().collect();
        match change {
            0 => { letters.remove(at); }
            1 => letters.swap(at, at + 1),
            _ => letters.insert(at, 'x'),
        }
        let slip: String = letters.into_iter().collect();
        let known = TABLE.parameters().map(|parameter| parameter.key);
        prop_assert_eq!(similar(&slip, known).first().copied(), Some(key), "{}", slip);
    }
}

#[test]
fn the_table_is_sound() {
    assert_eq!(TABLE.faults(base), Vec::<String>::new());
}

#[test]
fn faults_of_a_table_are_found() {
    const WRONG: Table<Server> = Table::new(&[&[
        Row {
            parameter: parameter("a.size", "", Kind::whole(1.0, 4.0), 5.0),
            get: |server| server.values[0],
            set: |server, value| server.values[0] = value,
        },
        Row {
            parameter: parameter("a.size", "", Kind::number(0.0, 4.0), 0.0),
            get: |server| server.values[1],
            set: |server, value| server.values = [value; 5],
        },
        Row {
            parameter: parameter("a.kind", "", Kind::number(0.0, 4.0), 0.0),
            get: |server| server.values[2].min(3.0),
            set: |server, value| server.values[2] = value,
        },
        Row {
            parameter: Parameter {
                source: "",
                ..parameter(
                    "a.choice",
                    "",
                    Kind::Choice(&[Choice::named(0.0, "one", ""), Choice::named(1.0, "one", "")]),
                    0.0,
                )
            },
            get: |server| server.values[3],
            set: |server, value| server.values[3] = value,
        },
    ]]);
    let faults = WRONG.faults(Server::default).join("\n");
    for expected in [
        "a.size: the default is not allowed",
        "a.size: the configuration does not have the default",
        "a.size: the key is there twice",
        "a.size: setting it changes a.kind",
        "a.kind: 4 is read back as 3",
        "a.choice: has no source",
        "a.choice: the choice one is there twice",
        "a.choice: the choice one is not found by its name",
    ] {
        assert!(faults.contains(expected), "no '{expected}' in\n{faults}");
    }
}

#[test]
fn choices_have_names_and_numbers() {
    let mut server = base();
    for (name, number) in [("random", 1.0), ("Least-Loaded", 0.0), ("round robin", 2.0)] {
        TABLE
            .set_by_name(&mut server, "core.balancing", name)
            .unwrap();
        assert_eq!(TABLE.get(&server, "core.balancing"), Ok(number));
    }
    TABLE
        .set_by_name(&mut server, "network.torus", "on")
        .unwrap();
    assert_eq!(server.values[4], 1.0);
    let balancing = TABLE.parameter("core.balancing").unwrap();
    assert_eq!(balancing.text(1.0), "random");
    assert_eq!(balancing.choice(1.0).unwrap().meaning, "any");
    let chiplets = TABLE.parameter("network.chiplets").unwrap();
    assert_eq!(chiplets.text(6.0), "6");
    assert_eq!(chiplets.choice(6.0).unwrap().label(), "6");
}

#[test]
fn refusals_have_one_form() {
    let mut server = base();
    let mut set = |key: &str, value: f64| TABLE.set(&mut server, key, value).unwrap_err();
    for (refusal, text) in [
        (
            set("core.count", 0.5),
            "core.count = 0.5: must be a whole number from 1 to 1024 cores",
        ),
        (
            set("core.clock_ghz", f64::NAN),
            "core.clock_ghz = NaN: must be a number from 0.1 to 10 GHz",
        ),
        (
            set("core.balancing", 3.0),
            "core.balancing = 3: must be least_loaded, random or round_robin",
        ),
        (
            set("network.chiplets", 5.0),
            "network.chiplets = 5: must be 1, 2 or 6 chiplets",
        ),
        (
            set("network.torus", 2.0),
            "network.torus = 2: must be off or on",
        ),
        (
            set("network.layers", 2.0),
            "network.layers = 2: must be 1 layers: it is a constant of the model",
        ),
        (
            set("balancing", 1.0),
            "parameter = 'balancing': must be the key of a parameter, \
             did you mean core.balancing?",
        ),
        (
            set("warp", 1.0),
            "parameter = 'warp': must be the key of a parameter, such as core.clock_ghz",
        ),
        (
            TABLE
                .set_by_name(&mut base(), "core.balancing", "randon")
                .unwrap_err(),
            "core.balancing = 'randon': must be least_loaded, random or round_robin, \
             did you mean random?",
        ),
        (
            TABLE
                .set_by_name(&mut base(), "core.count", "many")
                .unwrap_err(),
            "core.count = 'many': must be a whole number from 1 to 1024 cores",
        ),
        (
            Refusal::unknown("service", "Logn", ["CPost", "Login"]).within("loads[0]"),
            "loads[0].service = 'Logn': must be CPost or Login, did you mean Login?",
        ),
    ] {
        assert_eq!(refusal.to_string(), text);
    }
    assert_eq!(server, base(), "refused values change nothing");
}

#[test]
fn a_configuration_that_was_written_directly_is_checked() {
    let mut server = base();
    assert_eq!(TABLE.check(&server), Ok(()));
    server.values[3] = 5.0;
    let refusal = TABLE.check(&server).unwrap_err();
    assert_eq!(
        (refusal.place.as_str(), refusal.value.as_str()),
        ("network.chiplets", "5")
    );
}

#[test]
fn similar_names_come_in_the_order_of_likeness() {
    let known = [
        "accelerator.pes",
        "pes.TCP",
        "pes.LdB",
        "core.count",
        "core.clock_ghz",
    ];
    for (name, expected) in [
        ("pes", &["accelerator.pes", "pes.TCP", "pes.LdB"][..]),
        ("acelerator.pes", &["accelerator.pes"]),
        ("accelerator.pse", &["accelerator.pes"]),
        ("Core.Count", &["core.count"]),
        ("cores.count", &["core.count"]),
        ("core", &["core.count", "core.clock_ghz"]),
        ("memory.bandwidth", &[]),
        ("", &[]),
    ] {
        assert_eq!(similar(name, known), expected, "{name}");
    }
}

#[test]
fn enumerations_end_in_or() {
    assert_eq!(any_of::<&str>([]), "");
    assert_eq!(any_of(["a"]), "a");
    assert_eq!(any_of(["a", "b"]), "a or b");
    assert_eq!(any_of(["a", "b", "c"]), "a, b or c");
}

#[test]
fn large_and_small_numbers_have_exponents() {
    for (value, text) in [
        (0.5, "0.5"),
        (65_536.0, "65536"),
        (1e6, "1000000"),
        (1e7, "1e7"),
        (4_294_967_295.0, "4294967295"),
        (1e12, "1e12"),
        (1e-9, "1e-9"),
        (-3.0, "-3"),
    ] {
        assert_eq!(number_text(value), text);
    }
}

#[test]
fn a_word_proposes_the_names_that_begin_with_it() {
    let known = ["rates", "rate_rps", "requests", "rates_rps"];
    assert_eq!(similar("rate", known), ["rate_rps", "rates"]);
}

#[test]
fn very_many_names_are_not_listed() {
    let known: Vec<String> = (0..61).map(|number| format!("Service{number}")).collect();
    let refusal = Refusal::unknown("service", "Servise7", known.iter().map(String::as_str));
    let said = refusal.to_string();
    assert!(
        said.starts_with(
            "service = 'Servise7': must be one of 61 known names, did you mean Service7"
        ),
        "{said}"
    );
    let other = Refusal::unknown("service", "x", known.iter().map(String::as_str));
    assert_eq!(
        other.to_string(),
        "service = 'x': must be one of 61 known names, such as Service0, Service1, Service2"
    );
    let few = &known[..21];
    let said = Refusal::unknown("service", "Servise7", few.iter().map(String::as_str)).to_string();
    assert!(
        said.starts_with(
            "service = 'Servise7': must be one of 21 known names, did you mean Service7"
        ),
        "{said}"
    );
}

#[test]
fn control_characters_are_escaped() {
    let said = Refusal::unknown("name", "a\u{1b}[31mb\u{9b}\n", ["ok"]).to_string();
    assert_eq!(said, "name = 'a\\u{1b}[31mb\\u{9b}\\n': must be ok");
}

#[test]
fn of_a_long_value_a_message_has_the_beginning() {
    let (fits, long) = ("ä".repeat(300), "ä".repeat(5_000));
    assert_eq!(quoted(&fits), format!("'{fits}'"));
    assert_eq!(quoted(&long), format!("'{fits}...'"));
}
