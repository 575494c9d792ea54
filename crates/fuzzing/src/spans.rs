//! The property that the fuzz targets of all span imports check: any bytes become a workload of
//! services whose paths begin and end with a trace, or are refused with an error message.

use std::io::Cursor;

use accelflow_import::{Kind, Options, import_streams};

/// Imports `bytes`: they become a workload of services with paths, or are refused.
pub(crate) fn check_import(kind: Kind, bytes: Vec<u8>) {
    let file = Ok(("spans".to_owned(), Cursor::new(bytes)));
    let imported = match import_streams(kind, [file], &Options::default()) {
        Ok(imported) => imported,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let services = imported.workload["services"].as_array().expect("a list");
    assert!(!services.is_empty());
    for service in services {
        let path = service["path"].as_array().expect("a list");
        for end in [path.first(), path.last()] {
            assert!(end.expect("not empty")["trace"].is_string());
        }
        for time in path.iter().filter_map(|phase| phase.get("cpu_us")) {
            assert!(time.as_f64().expect("a number") >= 0.0);
        }
    }
}
