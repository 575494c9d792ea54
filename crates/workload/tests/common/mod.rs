//! A made-up recording, and the profile that it gives.

#![allow(clippy::unwrap_used)]

use accelflow_trace::{Image, templates};
use accelflow_workload::profile::{
    Direction, Profile, RecordedChain, RecordedPhase, RecordedService, RecordedStep, Recording,
    RecordingOptions,
};
use accelflow_workload::services::{PhaseWalk, Service};
use accelflow_workload::suites::social_network;

pub(crate) fn image() -> Image {
    templates().unwrap().link().unwrap()
}

/// A recording of `service` in which the n-th step of a chain costs n us.
pub(crate) fn record(service: &Service) -> RecordedService {
    let step = |(index, it): (usize, &accelflow_workload::services::Operation)| RecordedStep {
        trace: it.trace.clone(),
        accelerator: it.accel.to_string(),
        direction: if it.receives {
            Direction::Receive
        } else {
            Direction::Send
        },
        input_bytes: 100 + index as u64,
        output_bytes: 200 + index as u64,
        facts: [("compressed".to_owned(), 0)].into(),
        cost_ns: 1_000.0 * (index + 1) as f64,
        cost_quantiles_ns: Vec::new(),
        by_size: Vec::new(),
        samples: 50,
    };
    let phases = service.walk(&image()).unwrap();
    let phases = phases.iter().map(|phase| match phase {
        PhaseWalk::Cpu => RecordedPhase::Cpu {
            app_ns: Some(30_000.0),
            app_quantiles_ns: Vec::new(),
            samples: 50,
        },
        PhaseWalk::Traces(walks) => {
            let steps = |walk: &accelflow_workload::services::ChainWalk| {
                walk.operations.iter().enumerate().map(step).collect()
            };
            let chains = walks
                .iter()
                .map(|walk| RecordedChain { steps: steps(walk) });
            RecordedPhase::Chains(chains.collect())
        }
    });
    RecordedService {
        service: service.name().to_owned(),
        calibration: None,
        outside: None,
        requests: Vec::new(),
        phases: phases.collect(),
    }
}

pub(crate) fn recording() -> Recording {
    let mut recording = Recording::new("one core at 2.4 GHz", "2026-01-31");
    recording.services = social_network().unwrap().iter().map(record).collect();
    recording
}

pub(crate) fn measured(recording: &Recording) -> Result<Profile, String> {
    let services = social_network().unwrap();
    Profile::from_recording(recording, &services, &image(), &RecordingOptions::default())
        .map_err(|error| error.to_string())
}
