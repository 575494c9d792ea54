//! Several chips in one scenario: what each finds is what it finds alone.

#![allow(clippy::unwrap_used)]

use accelflow_scenario::{ChipFile, RunOptions, Scenario, chip_schema};
use accelflow_sim::config::PARAMETERS;
use proptest::prelude::*;
use serde_json::{Value, json};

fn scenario(changes: Value) -> Scenario {
    let mut document = json!({
        "profile": "paper",
        "orchestrators": ["non_acc", "accelflow"],
        "services": ["UniqId"],
        "rates": "equal",
        "requests": 100,
    });
    for (field, value) in changes.as_object().unwrap() {
        document[field] = value.clone();
    }
    Scenario::from_json(&document.to_string()).unwrap()
}

fn run(scenario: &Scenario) -> Value {
    let options = RunOptions::default();
    let outcome = scenario.check().unwrap().run(&options, &|_, _| true);
    outcome.unwrap().unwrap().to_json()
}

fn hash(changes: Value) -> String {
    scenario(changes).check().unwrap().hash().unwrap()
}

fn refused(changes: Value) -> String {
    let mut document = json!({"profile": "paper"});
    for (field, value) in changes.as_object().unwrap() {
        document[field] = value.clone();
    }
    let found = Scenario::from_json(&document.to_string());
    match found.and_then(|scenario| scenario.check().map(drop)) {
        Ok(()) => panic!("{document} is accepted"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn one_chip_is_as_its_parameters() {
    let chips = json!([{"name": "small", "config": {"accelerator.TCP.pes": 1}}]);
    let with_chip = scenario(json!({"config": {"core.count": 4}, "chips": chips}));
    let without = scenario(json!({"config": {"core.count": 4, "pes.TCP": 1}}));
    assert_eq!(run(&with_chip), run(&without));
    let [one, other] =
        [&with_chip, &without].map(|scenario| scenario.check().unwrap().hash().unwrap());
    assert_eq!(one, other);
}

#[test]
fn several_chips_find_what_each_finds_alone() {
    let common = json!({"core.count": 4, "accelerator.pes": 2});
    let configs = [
        json!({}),
        json!({"accelerator.pes": 1, "speedup.TCP": 2}),
        json!({"accelerator.TCP.instances": 0}),
    ];
    let names = ["plain", "small", "without TCP"];
    let chip = |(name, config): (&&str, &Value)| json!({"name": name, "config": config});
    let chips: Vec<Value> = names.iter().zip(&configs).map(chip).collect();
    let together = run(&scenario(json!({"config": common, "chips": chips})));
    let systems = together["systems"].as_array().unwrap();
    assert_eq!(systems.len(), 6);
    for (index, config) in configs.iter().enumerate() {
        let mut all = common.clone();
        for (key, value) in config.as_object().unwrap() {
            all[key] = value.clone();
        }
        let alone = run(&scenario(json!({"config": all})));
        for system in 0..2 {
            let mut found = systems[2 * index + system].clone();
            let name = found.as_object_mut().unwrap().remove("chip");
            assert_eq!(name, Some(names[index].into()));
            assert_eq!(found, alone["systems"][system]);
        }
    }
    let fallbacks = &systems[5]["services"][0]["fallbacks"];
    assert!(fallbacks["no_accelerator"].as_u64().unwrap() > 0);
    assert!(
        systems[1]["services"][0]["fallbacks"]
            .get("no_accelerator")
            .is_none()
    );
}

#[test]
fn progress_counts_the_requests_of_all_chips() {
    let chips = json!([{"name": "a"}, {"name": "b"}]);
    let seen = std::sync::Mutex::new(Vec::new());
    let options = RunOptions::default();
    let checked = scenario(json!({"chips": chips})).check().unwrap();
    let outcome = checked.run(&options, &|done, all| {
        seen.lock().unwrap().push((done, all));
        true
    });
    assert_eq!(outcome.unwrap().unwrap().chips, ["a", "b"]);
    let seen = seen.into_inner().unwrap();
    assert!(
        seen.iter()
            .all(|&(done, all)| done <= all && all == seen[0].1)
    );
    assert!(seen.is_sorted_by_key(|seen| seen.0));
}

#[test]
fn a_hash_covers_chips_and_is_without_them_as_before() {
    let bare = hash(json!({}));
    assert_eq!(hash(json!({"chips": []})), bare);
    assert_eq!(hash(json!({"chips": [{"name": "any"}]})), bare, "one chip");
    let two = |first: Value, second: Value| {
        let chips = json!([{"name": "a", "config": first}, {"name": "b", "config": second}]);
        hash(json!({"chips": chips}))
    };
    let pes = |pes: u64| json!({"accelerator.pes": pes});
    assert_eq!(
        two(json!({}), pes(4)),
        two(pes(8), pes(4)),
        "8 is the default"
    );
    assert_ne!(two(json!({}), pes(4)), two(pes(4), json!({})), "the order");
    assert_ne!(two(json!({}), pes(4)), two(json!({}), pes(5)));
    let renamed = json!([{"name": "a"}, {"name": "c", "config": pes(4)}]);
    assert_ne!(two(json!({}), pes(4)), hash(json!({"chips": renamed})));
}

#[test]
fn bad_chips_are_refused_by_name() {
    for (chips, message) in [
        (
            json!("a"),
            "chips = 'a': must be a list of at most 64 chips, each {name, config}",
        ),
        (
            json!(["a"]),
            "chips[0] = 'a': must be an object with name and config",
        ),
        (
            json!([{"config": {}}]),
            "chips[0].name = null: must be a string of 1 to 64 characters",
        ),
        (
            json!([{"name": ""}]),
            "chips[0].name = '': must be a string of 1 to 64 characters",
        ),
        (
            json!([{"name": "a\u{1b}[31m"}]),
            "chips[0].name = 'a\\u{1b}[31m': must have no control characters",
        ),
        (
            json!([{"name": "a"}, {"name": "a"}]),
            "chips = 'a': must be given only once",
        ),
        (
            json!([{"name": "a", "cfg": {}}]),
            "chips['a'].field = 'cfg': must be name or config",
        ),
        (
            json!([{"name": "a", "config": {"accelerator.TCP.pes": -2}}]),
            "chips['a'].config.accelerator.TCP.pes = -2: must be a whole number from 0 to 1024 PEs, or as_accelerator",
        ),
        (
            json!([{"name": "a", "config": {"accelerator.TCP.pse": 1}}]),
            "chips['a'].config.parameter = 'accelerator.TCP.pse': must be the key of \
             a parameter, did you mean accelerator.TCP.pes?",
        ),
        (
            json!([{"name": "a", "config": {"pes.TCP": 1, "accelerator.TCP.pes": 2}}]),
            "chips['a'].config.pes.TCP = 1: must not be set again",
        ),
        (
            json!([{"name": "a", "config": {"tlb.entries": 10, "tlb.ways": 4}}, {"name": "b"}]),
            "chips['a'].tlb.entries = 10: must be a multiple of 4",
        ),
    ] {
        let found = refused(json!({"chips": chips}));
        assert!(found.contains(message), "{found}\n{message}");
    }
    let twice = json!({"config": {"pes.TCP": 1, "accelerator.TCP.pes": 2}});
    assert!(refused(twice).contains("config.pes.TCP = 1: must not be set again"));
}

fn chip_error(text: &str) -> String {
    match ChipFile::from_toml(text) {
        Ok(chip) => panic!("{chip:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_file_sets_parameters_in_sections() {
    let text = r#"
        schema = "accelflow.chip/1"
        name = "mine"
        description = "A chip of mine."
        [accelerator]
        pes = 4
        TCP = { pes = 16, instances = 0 }
        [accelerator.Ser]
        speedup = 7.5
        [core]
        balancing = "random"
        "clock_ghz" = 3.0
        [speedup]
        Dser = 2
    "#;
    let chip = ChipFile::from_toml(text).unwrap();
    assert_eq!(chip.name.as_deref(), Some("mine"));
    assert_eq!(chip.description.as_deref(), Some("A chip of mine."));
    let expected = [
        ("accelerator.pes", 4.0),
        ("core.balancing", 1.0),
        ("core.clock_ghz", 3.0),
        ("instances.TCP", 0.0),
        ("pes.TCP", 16.0),
        ("speedup.Dser", 2.0),
        ("speedup.Ser", 7.5),
    ];
    let expected = expected.map(|(key, value)| (key.to_owned(), value));
    assert_eq!(chip.config, expected.into());
    assert_eq!(ChipFile::from_toml("").unwrap(), ChipFile::default());
    assert_eq!(
        ChipFile::from_toml("[core]\n").unwrap(),
        ChipFile::default()
    );
}

/// Texts that are no chips, with the beginning of what is said about them.
const REFUSED: &[(&str, &str)] = &[
    ("[core\n", "1:6: "),
    (
        "schema = 'accelflow.workload/1'",
        "1:1: schema = 'accelflow.workload/1': must be 'accelflow.chip/1'",
    ),
    ("\nname = 3", "2:1: name = 3: must be a string"),
    ("name = ' '", "1:1: name = ' ': must be a string"),
    (
        "[accelerator.TCP]\n  pse = 3",
        "2:3: parameter = 'accelerator.TCP.pse': must be the key of a parameter, \
         did you mean accelerator.TCP.pes",
    ),
    (
        "[accelerator.TCP]\n\npes = 3000",
        "3:1: accelerator.TCP.pes = 3000: must be a whole number from 0 to 1024 PEs, or as_accelerator",
    ),
    (
        "accelerator = { pes = 1.5 }",
        "1:17: accelerator.pes = 1.5: must be a whole number from 1 to 1024 PEs",
    ),
    (
        "core.balancing = 'rndom'",
        "1:6: core.balancing = 'rndom': must be ",
    ),
    (
        "core.count = true",
        "1:6: core.count = true: must be a whole number",
    ),
    (
        "core.count = [1]",
        "1:6: core.count = a list: must be a whole number",
    ),
    (
        "[[core.count]]\nx = 1",
        "1:8: core.count = a list: must be a whole number",
    ),
    (
        "core.count = 2020-01-01",
        "1:6: core.count = a date: must be a whole number",
    ),
    ("core = 3", "1:1: parameter = 'core': must be the key of"),
    ("[cores]", "1:2: parameter = 'cores': must be the key of"),
    (
        "[pes]\nTCP = 1\n[accelerator.TCP]\npes = 2",
        "4:1: accelerator.TCP.pes = 2: must not be set again: pes.TCP sets the same parameter",
    ),
    ("# ä\n'ü' = 1", "2:1: parameter = 'ü': must be the key of"),
    (
        "core = { 'ü' = 1, count = 0 }",
        "1:10: parameter = 'core.ü': must be the key of",
    ),
    ("core.clock_ghz = nan", "1:6: core.clock_ghz = NaN: must be"),
];

#[test]
fn a_bad_file_is_refused_with_line_and_column() {
    for (text, message) in REFUSED {
        let found = chip_error(text);
        assert!(found.starts_with(message), "{text}\n{found}\n{message}");
    }
}

#[test]
fn the_committed_schema_of_a_chip_is_up_to_date() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/schemas/chip.schema.json"
    );
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(path, chip_schema()).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap();
    assert!(
        chip_schema() == committed,
        "set UPDATE_SCHEMAS=1 to write {path} anew"
    );
}

#[test]
fn the_schema_has_every_parameter_in_every_spelling() {
    let schema: Value = serde_json::from_str(&chip_schema()).unwrap();
    let at = |key: &str| {
        let steps = key.split('.');
        steps
            .fold(&schema, |at, part| &at["properties"][part])
            .clone()
    };
    for parameter in PARAMETERS.parameters() {
        let mut keys = vec![parameter.key.to_owned()];
        keys.extend(PARAMETERS.by_member(parameter.key));
        for key in keys {
            let rule = at(&key);
            assert!(rule["description"].is_string(), "{key}");
            let named = parameter.choice(parameter.default);
            match named.filter(|choice| !choice.name.is_empty()) {
                Some(choice) => assert_eq!(rule["default"], choice.name, "{key}"),
                None => assert_eq!(rule["default"].as_f64(), Some(parameter.default), "{key}"),
            }
        }
    }
    assert_eq!(at("accelerator.TCP")["additionalProperties"], json!(false));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_a_chip_or_refused(
        text in "\\PC*",
        key in "[a-z.\\[\\]\n]{1,12}",
        number in any::<f64>(),
    ) {
        let _ = ChipFile::from_toml(&text);
        let _ = ChipFile::from_toml(&format!("{key} = {number}"));
    }

    #[test]
    fn chips_that_were_written_are_read_as_they_were(
        chips in prop::collection::vec(("\\PC{1,8}", prop::option::of(1..=1024_u32)), 0..4),
    ) {
        let chip = |(index, (name, pes)): (usize, &(String, Option<u32>))| {
            let config = pes.map_or(json!({}), |pes| json!({"accelerator.pes": pes}));
            json!({"name": format!("{index}{name}"), "config": config})
        };
        let chips: Vec<Value> = chips.iter().enumerate().map(chip).collect();
        let asked = scenario(json!({"chips": chips}));
        let text = asked.to_json().unwrap();
        prop_assert_eq!(Scenario::from_json(&text).unwrap(), asked);
    }
}
