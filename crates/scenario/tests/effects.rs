//! Warnings about settings of a workload's file that have no effect.

#![allow(clippy::unwrap_used)]

use accelflow_workload::file::read;

use crate::files::CALLS;

#[test]
fn settings_without_effect_are_warnings() {
    let doubts = |text: &str| {
        let document = read(text, "shop.toml").unwrap();
        document.check().unwrap();
        let image = document.workload.memory().unwrap();
        document.workload.check_traces(&image).unwrap()
    };
    assert_eq!(doubts(CALLS), [""; 0]);
    let silent = CALLS.replace(
        "{ cpu_us = 20 },\n  { trace = \"T2\" },",
        "{ trace = \"T9\", facts = { T10 = { exception = 0, compressed = 0 } } },",
    );
    assert_eq!(
        doubts(&silent),
        [""; 0],
        "a request to another service is a message"
    );
    let own = "[[traces]]\nsource = \"\"\"\ntrace keep:\n    Ser Encr\n\"\"\"\n[[services]]\nname = \"Front\"";
    let silent = CALLS
        .replacen("[[services]]\nname = \"Front\"", own, 1)
        .replacen("  { trace = \"T2\" },\n", "  { trace = \"keep\" },\n", 1);
    assert_eq!(
        doubts(&silent),
        [
            "services[0].path[3]: sends no answer, as none of its traces sends a message by TCP: \
          add a trace that does, such as T2"
        ]
    );
    let near = CALLS
        .replace("slo_us = 900.0", "network = { constant_us = 9 }")
        .replace("server = \"mail\"", "server = \"front\"");
    assert_eq!(
        doubts(&near),
        [
            "defaults.network: has no effect unless the placement is isolated, as no call leads to \
          another `server`"
        ]
    );
    let alone = near
        .replace("calls = \"Mail\", ", "")
        .replace("name = \"Mail\"", "name = \"Mail\"\nrate_rps = 1.0");
    assert_eq!(
        doubts(&alone),
        ["defaults.network: has no effect, as no service calls another"]
    );
}
