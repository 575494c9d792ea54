//! What recorded requests said, checked against their service.

use std::ops::RangeInclusive;

use accelflow_trace::Image;

use super::recording::{MAX_REQUESTS, RecordedRequest, RecordedService, RecordingError};
use crate::services::{RecordedRequests, Service};

/// How many equal requests there may be: more than any server is asked in a day.
const COUNTS: RangeInclusive<u64> = 1..=1_000_000_000_000;

/// The requests of `recorded`, which are to `service`; traces of `image` can serve each of them.
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
    for (request, it) in recorded.requests.iter().enumerate() {
        if !COUNTS.contains(&it.count) {
            let (service, count) = (name(), it.count);
            return Err(RecordingError::RequestCount {
                service,
                request,
                count,
            });
        }
        check_path(it, service, request)?;
        requests.add(it.count, service, facts(it).into_iter());
    }
    for (request, (_, variant)) in requests.variants().enumerate() {
        let error = |error| RecordingError::Request { request, error };
        variant.walk(image).map_err(error)?;
    }
    Ok(requests)
}

/// As (phase, chain, trace, field, value).
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
    it: &RecordedRequest,
    service: &Service,
    request: usize,
) -> Result<(), RecordingError> {
    let error = |expected, found| RecordingError::RequestPath {
        service: service.name().to_owned(),
        request,
        expected,
        found,
    };
    let (path, found) = (service.path(), &it.facts);
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
