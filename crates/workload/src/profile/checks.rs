//! Checks of the values of a recording that do not depend on the services that use it.

use std::ops::RangeInclusive;

use accelflow_units::Time;

use super::quantiles::distribution;
use super::recording::{
    RecordedPhase, RecordedQuantiles, RecordedService, RecordedStep, Recording, RecordingError,
    Spot,
};
use super::sizes::MAX_SIZES;

/// The shortest and the longest time that a recording may give: 1 ps and 1,000 s.
pub(super) const COSTS_NS: RangeInclusive<f64> = 0.001..=1e12;

/// The largest input size that a group may have: 1 TB.
const MOST_BYTES: u64 = 1_000_000_000_000;

/// The most rounds that a calibration may have.
const MAX_ROUNDS: usize = 1_000;

impl Recording {
    /// Checks the values of all recorded services: times, numbers of samples, quantiles, size
    /// groups, calibrations and unique names.
    /// [`Profile::from_recording`](super::Profile::from_recording) checks whether the recorded
    /// operations and requests fit a service's path.
    ///
    /// # Errors
    /// [`RecordingError`] for the first value that is not allowed.
    pub fn check(&self) -> Result<(), RecordingError> {
        check_names(self)?;
        for recorded in &self.services {
            check_calibration(recorded)?;
            for (phase, values) in recorded.phases.iter().enumerate() {
                check_phase(&recorded.service, phase, values)?;
            }
            check_outside(recorded)?;
        }
        Ok(())
    }
}

fn check_phase(service: &str, phase: usize, values: &RecordedPhase) -> Result<(), RecordingError> {
    let spot = |chain, step| Spot {
        service: service.to_owned(),
        phase,
        chain,
        step,
    };
    match values {
        RecordedPhase::Cpu { app_ns: None, .. } => Ok(()),
        RecordedPhase::Cpu {
            app_ns: Some(app_ns),
            app_quantiles_ns,
            samples,
        } => {
            let spot = spot(None, None);
            time(*app_ns, *samples, "app_ns", &spot)?;
            check_quantiles(app_quantiles_ns, "app_quantiles_ns", &spot)
        }
        RecordedPhase::Chains(chains) => {
            for (chain, recorded) in chains.iter().enumerate() {
                for (step, values) in recorded.steps.iter().enumerate() {
                    check_step(values, &spot(Some(chain), Some(step)))?;
                }
            }
            Ok(())
        }
    }
}

fn check_step(step: &RecordedStep, spot: &Spot) -> Result<(), RecordingError> {
    time(step.cost_ns, step.samples, "cost_ns", spot)?;
    check_quantiles(&step.cost_quantiles_ns, "cost_quantiles_ns", spot)?;
    check_sizes(step, spot)
}

/// Checks the size groups of the step at `spot`.
pub(super) fn check_sizes(step: &RecordedStep, spot: &Spot) -> Result<(), RecordingError> {
    let groups = &step.by_size;
    if groups.is_empty() {
        return Ok(());
    }
    if groups.len() > MAX_SIZES {
        return Err(RecordingError::TooManySizes {
            spot: spot.clone(),
            count: groups.len(),
        });
    }
    let mut before = None;
    for (index, group) in groups.iter().enumerate() {
        let rises = before < Some(group.input_bytes);
        let valid = group.calls >= 1 && COSTS_NS.contains(&group.cost_ns);
        if !(rises && valid && group.input_bytes <= MOST_BYTES) {
            return Err(RecordingError::Size {
                spot: spot.clone(),
                index,
                group: *group,
            });
        }
        before = Some(group.input_bytes);
    }
    let calls: u128 = groups.iter().map(|group| u128::from(group.calls)).sum();
    if calls != u128::from(step.samples) {
        return Err(RecordingError::SizeCalls {
            spot: spot.clone(),
            calls,
            samples: step.samples,
        });
    }
    Ok(())
}

fn check_quantiles(
    table: &RecordedQuantiles,
    member: &'static str,
    spot: &Spot,
) -> Result<(), RecordingError> {
    distribution(table, *COSTS_NS.start(), member, &|| spot.to_string()).map(drop)
}

fn check_outside(recorded: &RecordedService) -> Result<(), RecordingError> {
    let Some(outside) = &recorded.outside else {
        return Ok(());
    };
    let (core, client) = (&outside.core_quantiles_ns, &outside.client_quantiles_ns);
    if outside.samples == 0 || (core.is_empty() && client.is_empty()) {
        return Err(RecordingError::EmptyOutside(recorded.service.clone()));
    }
    let place = || format!("service {}, outside", recorded.service);
    for (table, member) in [(core, "core_quantiles_ns"), (client, "client_quantiles_ns")] {
        distribution(table, 0.0, member, &place)?;
    }
    Ok(())
}

pub(super) fn check_names(recording: &Recording) -> Result<(), RecordingError> {
    let services = &recording.services;
    for (index, recorded) in services.iter().enumerate() {
        let name = &recorded.service;
        if services[..index]
            .iter()
            .any(|recorded| recorded.service == *name)
        {
            return Err(RecordingError::DuplicateService(name.clone()));
        }
    }
    Ok(())
}

pub(super) fn check_calibration(recorded: &RecordedService) -> Result<(), RecordingError> {
    let Some(calibration) = &recorded.calibration else {
        return Ok(());
    };
    let wrong = |member, value, least, most| RecordingError::Calibration {
        service: recorded.service.clone(),
        member,
        value,
        least,
        most,
    };
    let rounds = calibration.round_costs_ns.len();
    if !(1..=MAX_ROUNDS).contains(&rounds) {
        let most = MAX_ROUNDS as f64;
        return Err(wrong("rounds of round_costs_ns", rounds as f64, 1.0, most));
    }
    let (least, most) = (*COSTS_NS.start(), *COSTS_NS.end());
    let costs = calibration.round_costs_ns.iter();
    if let Some(&cost) = costs.into_iter().find(|&cost| !COSTS_NS.contains(cost)) {
        return Err(wrong("round_costs_ns", cost, least, most));
    }
    match calibration.waited_ratio {
        Some(share) if !(0.0..=1.0).contains(&share) => Err(wrong("waited_ratio", share, 0.0, 1.0)),
        _ => Ok(()),
    }
}

/// A recorded time, and the number of its samples, as a time.
pub(super) fn time(
    ns: f64,
    samples: u64,
    member: &'static str,
    spot: &Spot,
) -> Result<Time, RecordingError> {
    if !COSTS_NS.contains(&ns) {
        return Err(RecordingError::Cost {
            spot: spot.clone(),
            member,
            value: ns,
        });
    }
    if samples == 0 {
        return Err(RecordingError::NoSamples(spot.clone()));
    }
    Ok(Time::from_ns_f64(ns))
}
