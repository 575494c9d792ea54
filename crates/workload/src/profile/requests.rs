//! Recorded requests, checked against their service.

use std::ops::RangeInclusive;

use accelflow_trace::Image;

use super::recording::{MAX_REQUESTS, RecordedRequest, RecordedService, RecordingError};
use crate::services::{RecordedRequests, Service};

/// The allowed counts of equal requests: the largest is more than any server gets in a day.
const COUNTS: RangeInclusive<u64> = 1..=1_000_000_000_000;

/// Checks the requests of `recorded`: they are requests to `service`, and the traces of `image` can
/// serve each of them.
pub(super) fn read(
    recorded: &RecordedService,
    service: &Service,
    image: &Image,
) -> Result<RecordedRequests, RecordingError> {
    let name = || service.name().to_owned();
    let count = recorded.requests.len();
    if count > MAX_REQUESTS {
        let service = name();
        return Err(RecordingError::TooManyRequests { service, count });
    }
    let mut requests = RecordedRequests::default();
    for (request, recorded_request) in recorded.requests.iter().enumerate() {
        if !COUNTS.contains(&recorded_request.count) {
            let (service, count) = (name(), recorded_request.count);
            return Err(RecordingError::RequestCount {
                service,
                request,
                count,
            });
        }
        check_path(recorded_request, service, request)?;
        requests.add(
            recorded_request.count,
            service,
            facts(recorded_request).into_iter(),
        );
    }
    for (request, (_, variant)) in requests.variants().enumerate() {
        let error = |error| RecordingError::Request { request, error };
        variant.walk(image).map_err(error)?;
    }
    Ok(requests)
}

/// The facts of a request as (phase, chain, trace, field, value).
fn facts(request: &RecordedRequest) -> Vec<(usize, usize, &str, &str, i64)> {
    let mut facts = Vec::new();
    for (phase, chains) in request.facts.iter().enumerate() {
        for (chain, traces) in chains.iter().enumerate() {
            for (trace, fields) in traces {
                for (field, value) in fields {
                    facts.push((phase, chain, trace.as_str(), field.as_str(), *value));
                }
            }
        }
    }
    facts
}

fn check_path(
    recorded: &RecordedRequest,
    service: &Service,
    request: usize,
) -> Result<(), RecordingError> {
    let error = |expected, found| RecordingError::RequestPath {
        service: service.name().to_owned(),
        request,
        expected,
        found,
    };
    let (path, found) = (service.path(), &recorded.facts);
    if path.len() != found.len() {
        let phases = |count| format!("{count} phases");
        return Err(error(phases(path.len()), phases(found.len())));
    }
    for (phase, (part, chains)) in path.iter().zip(found).enumerate() {
        let expected = part.chains().len();
        if expected != chains.len() {
            let text = |count| format!("{count} chains in phase {phase}");
            return Err(error(text(expected), text(chains.len())));
        }
    }
    Ok(())
}
