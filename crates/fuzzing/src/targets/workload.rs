//! Fuzz target of workload files: any text is read as a workload or refused. A workload that is
//! written and read again is the same. Its traces link, or are refused with an error message.

use accelflow_workload::file::{read, write};

/// Parses `text` as a workload file. Panics unless the text is refused with a message that begins
/// with the file's name, or the workload is the same after writing and reading. Its traces must
/// then link, or be refused with an error message.
pub fn check(text: &str) {
    let document = match read(text, "fuzz.toml") {
        Ok(document) => document,
        Err(error) => return assert!(error.to_string().starts_with("fuzz.toml")),
    };
    if let Err(error) = document.check() {
        return assert!(error.to_string().starts_with("fuzz.toml"));
    }
    let workload = &document.workload;
    let written = write(workload).expect("it was read");
    let again = read(&written, "again.toml").expect("just written").workload;
    assert_eq!(&again, workload);
    assert_eq!(write(&again).expect("it was read"), written);
    match workload.memory() {
        Ok(image) => drop(workload.check_traces(&image)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
