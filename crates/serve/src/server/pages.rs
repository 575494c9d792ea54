//! The pages of the operators' port.

use accelflow_runtime::record::machine;
use hyper::StatusCode;

use super::shared::Shared;
use crate::observe::admin::Answer;

/// The text format that [`prometheus_client`] writes.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

const PATHS: &str = "there are /metrics and /recording?date=YYYY-MM-DD&Service.method=NAME&...";

/// Answers a path and a query.
pub(crate) fn answer(shared: &Shared, path: &str, query: &str) -> Answer {
    match path {
        "/metrics" => Answer {
            status: StatusCode::OK,
            content_type: OPEN_METRICS,
            body: shared.metrics_text(),
        },
        "/recording" => match recording(shared, query) {
            Ok(body) => Answer {
                status: StatusCode::OK,
                content_type: "application/json",
                body,
            },
            Err((status, why)) => Answer::refused(status, &why),
        },
        _ => Answer::refused(StatusCode::NOT_FOUND, PATHS),
    }
}

fn recording(shared: &Shared, query: &str) -> Result<String, (StatusCode, String)> {
    let bad = |why: String| (StatusCode::BAD_REQUEST, why);
    let (mut date, mut services) = (None, Vec::new());
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        // Names of functions and services, and dates, need no escapes.
        let plain = |text: &str| {
            let good = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            !text.is_empty() && text.chars().all(good)
        };
        if !plain(name) || !plain(value) {
            let why = format!("'{pair}': must be NAME=VALUE in letters, digits, '.', '_' and '-'");
            return Err(bad(why));
        }
        match name {
            "date" => date = Some(value),
            function => services.push((function, value)),
        }
    }
    let date = date.ok_or_else(|| bad("date: must be given, as YYYY-MM-DD".to_owned()))?;
    if services.is_empty() {
        return Err(bad(
            "Service.method=NAME: must be given once or more".to_owned()
        ));
    }
    let conflict = |why: String| (StatusCode::CONFLICT, why);
    let recording = shared.recording(&services, &machine(), date);
    let recording = recording.map_err(|error| conflict(error.to_string()))?;
    recording.to_json().map_err(|error| bad(error.to_string()))
}
