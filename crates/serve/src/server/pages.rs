//! The pages of the operators' port: metrics, recordings, traces and SLOs.

use accelflow_runtime::record::machine;
use accelflow_trace::is_name;
use hyper::StatusCode;
use serde_json::json;

use super::shared::Shared;
use crate::observe::admin::{Answer, Asked};
use crate::observe::recorder::RecordingError;

/// The text format that [`prometheus_client`] writes.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

const PATHS: &str = "allowed are /metrics, /recording?date=YYYY-MM-DD&Service.method=NAME&..., \
                     /traces, /slo on servers with a control plane, and /traces/reload for POST";

/// Answers an operator.
pub(crate) fn answer(shared: &Shared, asked: &Asked<'_>) -> Answer {
    match (asked.path, asked.changes) {
        ("/traces/reload", true) => match shared.traces.reload() {
            Ok(_) => traces(shared),
            Err(error) => Answer::refused(StatusCode::CONFLICT, &error.to_string()),
        },
        ("/traces/reload", false) => Answer::not_allowed("POST"),
        ("/metrics" | "/recording" | "/traces" | "/slo", true) => Answer::not_allowed("GET"),
        ("/metrics", false) => Answer::ok(OPEN_METRICS, shared.metrics_text()),
        ("/traces", false) => traces(shared),
        ("/slo", false) => match &shared.admission.controlled {
            Some(controlled) => Answer::ok("application/json", format!("{}\n", controlled.page())),
            None => Answer::refused(StatusCode::NOT_FOUND, "the server has no control plane"),
        },
        ("/recording", false) => match recording(shared, asked.query) {
            Ok(body) => Answer::ok("application/json", body),
            Err((status, why)) => Answer::refused(status, &why),
        },
        _ => Answer::refused(StatusCode::NOT_FOUND, PATHS),
    }
}

/// Lists the traces that serve the next request.
fn traces(shared: &Shared) -> Answer {
    let now = shared.traces.now();
    let names = now.image.names().iter().filter(|name| is_name(name));
    let body = json!({
        "generation": now.generation,
        "from": now.origin,
        "receive": now.receive,
        "respond": now.send,
        "respond_compressed": now.send_compressed,
        "traces": names.collect::<Vec<_>>(),
    });
    Answer::ok("application/json", format!("{body}\n"))
}

fn recording(shared: &Shared, query: &str) -> Result<String, (StatusCode, String)> {
    let bad = |why: String| (StatusCode::BAD_REQUEST, why);
    let (mut date, mut services) = (None, Vec::new());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
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
    let recording = recording.map_err(|error| match error {
        RecordingError::Setting(refusal) => bad(refusal.to_string()),
        error => conflict(error.to_string()),
    })?;
    recording.to_json().map_err(|error| bad(error.to_string()))
}
