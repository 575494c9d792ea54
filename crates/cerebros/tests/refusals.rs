//! What the server cannot simulate: one error that names the place, the value and what is allowed.

#![allow(clippy::unwrap_used)]

use accelflow_cerebros::services::Service;
use accelflow_cerebros::{Arrivals, Design, Load, Platform, Steering, simulate};

const LEAST: Steering = Steering::LeastLoaded;

fn service(name: &str) -> Service {
    Service::named(name).unwrap()
}

#[test]
fn what_cannot_be_is_one_error_that_names_it() {
    let uid = service("UID");
    let load = Load::new(Arrivals::Closed(1), 1);
    let said = |platform: &Platform, load: &Load| {
        let error = simulate(&uid, platform, Design::Full, LEAST, load).unwrap_err();
        error.to_string()
    };
    let mut none = Platform {
        cores: 0.0,
        ..Platform::default()
    };
    assert_eq!(
        said(&none, &load),
        "cores = 0: must be a whole number from 1 to 1024 cores"
    );
    none.cores = 1.0;
    assert_eq!(
        said(&none, &load),
        "cores = 1: must be above system_cores = 1"
    );
    let odd = Platform {
        l1i_bytes: 100.0,
        ..Platform::default()
    };
    assert_eq!(
        said(&odd, &load),
        "l1i_bytes = 100: must be a multiple of l1i_ways x l1i_block_bytes = 256"
    );
    let unset = Platform::default()
        .set("core", 4.0)
        .unwrap_err()
        .to_string();
    assert_eq!(
        unset,
        "parameter = 'core': must be the key of a parameter, did you mean cores?"
    );
}

#[test]
fn requests_that_outlast_the_clock_are_refused() {
    let load = Load::new(Arrivals::Closed(1), 20_000);
    for (name, value) in [("clock_hz", 1.0), ("nested_latency_ns", 1e12)] {
        let mut platform = Platform::default();
        platform.set(name, value).unwrap();
        let found = simulate(
            &service("USR"),
            &platform,
            Design::Full,
            Steering::LeastLoaded,
            &load,
        );
        let message = found.unwrap_err().to_string();
        assert!(
            message.starts_with("requests = 20000: must be at most "),
            "{message}"
        );
    }
}

#[test]
fn loads_that_cannot_be_are_one_error() {
    let (uid, good) = (service("UID"), Platform::default());
    let load = Load::new(Arrivals::Closed(1), 1);
    for (load, start) in [
        (
            Load {
                requests: 0,
                ..load
            },
            "requests = 0",
        ),
        (
            Load { warmup: 1, ..load },
            "requests = 1: must be above the number of warm-up requests (1), at most 1e8",
        ),
        (
            Load {
                arrivals: Arrivals::Closed(0),
                ..load
            },
            "senders = 0",
        ),
        // The clock ends after 1.8e7 s.
        (
            Load::new(Arrivals::Rate(1e-6), 50),
            "rate_rps = 0.000001: must be at least 0.00005 for 50 requests",
        ),
        (Load::new(Arrivals::Share(1e-300), 50), "load_ratio = "),
        (
            Load {
                arrivals: Arrivals::Rate(-1.0),
                ..load
            },
            "rate_rps = -1",
        ),
        (
            Load {
                arrivals: Arrivals::Share(f64::NAN),
                ..load
            },
            "load_ratio = NaN",
        ),
        (
            Load {
                unknown: 1.5,
                ..load
            },
            "unknown_ratio = 1.5",
        ),
        (
            Load {
                unknown: 0.6,
                malformed: 0.6,
                ..load
            },
            "unknown_ratio + malformed_ratio = 1.2",
        ),
    ] {
        let error = simulate(&uid, &good, Design::Full, LEAST, &load).unwrap_err();
        let said = error.to_string();
        assert!(said.starts_with(start), "{said}");
    }
}

#[test]
fn services_that_cannot_be_are_one_error() {
    let (uid, good) = (service("UID"), Platform::default());
    let load = Load::new(Arrivals::Closed(1), 1);
    let affinity = simulate(&uid, &good, Design::None, Steering::Affinity, &load).unwrap_err();
    assert!(
        affinity
            .to_string()
            .starts_with("design for steering by affinity = None")
    );
    assert!(
        Service::named("FOO")
            .unwrap_err()
            .to_string()
            .starts_with("service = FOO")
    );
    let mut empty = uid.clone();
    empty.functions.clear();
    assert!(simulate(&empty, &good, Design::None, LEAST, &load).is_err());
    let mut unpopular = uid.clone();
    unpopular.functions[0].popularity = 0.0;
    assert!(simulate(&unpopular, &good, Design::None, LEAST, &load).is_err());
}
