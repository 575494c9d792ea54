//! Fuzz target of recordings: any text is read as a recording or refused. A recording that is
//! written and read again is the same. A recording becomes a cost profile of its services, or is
//! refused with an error message.

use accelflow_trace::templates;
use accelflow_workload::profile::{Profile, Recording, RecordingOptions};
use accelflow_workload::suites::social_network;

/// Parses `text` as a recording (operations, sizes and costs measured on real messages). Panics
/// unless the text is refused with an error message, or the recording is the same after writing and
/// reading. The recording must then become a cost profile, or be refused with an error message.
pub fn check(text: &str) {
    let recording = match Recording::from_json(text) {
        Ok(recording) => recording,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let again = recording.to_json().expect("all numbers are finite");
    assert_eq!(
        Recording::from_json(&again).expect("just written"),
        recording
    );
    let image = templates().expect("valid").link().expect("valid");
    let asked: Vec<_> = social_network()
        .expect("valid")
        .into_iter()
        .filter(|s| recording.services.iter().any(|r| r.service == s.name()))
        .collect();
    let options = RecordingOptions::default();
    if let Err(error) = Profile::from_recording(&recording, &asked, &image, &options) {
        assert!(!error.to_string().is_empty());
    }
}
