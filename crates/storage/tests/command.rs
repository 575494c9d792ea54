//! The gateway's command: exit codes of settings that are not allowed.

use std::process::Command;

#[test]
fn settings_that_are_not_allowed_end_the_command_with_2() {
    let missing = std::env::temp_dir().join("accelflow-no-such-gateway.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_accelflow-storage-gateway"));
    let output = command.arg(&missing).output().expect("runs");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    let begins = format!("accelflow-storage-gateway: error: {}", missing.display());
    assert!(said.starts_with(&begins), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}
