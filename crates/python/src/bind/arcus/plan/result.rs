//! The result of a plan as JSON.

use accelflow_arcus::RunResult;
use accelflow_arcus::control::{FlowStatus, Verdict};
use accelflow_units::Time;
use serde_json::{Value, json};

/// The results of a plan.
pub(super) struct Found {
    pub(super) admitted: Vec<FlowStatus>,
    /// The rates that the profiles predict for the flows that are there from the start.
    pub(super) predicted: Vec<f64>,
    /// Periods of the runtime in which a flow got less than its SLO.
    pub(super) violations: u64,
    pub(super) predicted_violations: u64,
    /// Names of the platform's accelerators by number.
    pub(super) accelerators: Vec<String>,
}

pub(super) fn planned_value(found: &Found, rejected: Vec<Value>, runs: [&RunResult; 2]) -> Value {
    let each = 0..found.admitted.len();
    let admitted = each.clone().map(|number| status_value(found, number, runs));
    let warnings = each.filter_map(|number| warning(&found.admitted[number], number, runs[0]));
    json!({
        "admitted": Value::from_iter(admitted),
        "rejected": rejected,
        "warnings": Value::from_iter(warnings),
        "violations": found.violations,
        "predicted_violations": found.predicted_violations,
    })
}

/// The warning about promises for which a run is too short, if there are any.
fn warning(it: &FlowStatus, number: usize, run: &RunResult) -> Option<String> {
    let needed = it.shown_within(run, number)?;
    if it.verdict(run, number) != Verdict::TooShort {
        return None;
    }
    let present = run.present(number);
    let promise = match (it.request.availability, it.latency_verdict(run, number)) {
        (_, Verdict::TooShort) => {
            let promised = it.request.latency?;
            format!("a {}th percentile of latencies", promised.percent)
        }
        (Some(promised), _) => format!(
            "a promise of {:.3} Gbit/s in {} % of periods of {} us",
            it.slo_gbit_per_s().unwrap_or(0.0),
            promised.percent,
            promised.period.as_us_f64(),
        ),
        (None, _) => format!(
            "a promise of {:.3} Gbit/s in messages of {} bytes to 1 %",
            it.slo_gbit_per_s().unwrap_or(0.0),
            it.request.sizes.largest().get(),
        ),
    };
    Some(format!(
        "flow '{}': time = {} us: too short for a verdict on {promise}: must be at least {} us",
        it.request.name,
        present.as_us_f64().round(),
        needed.as_us_f64().ceil(),
    ))
}

/// The names of the paper, as [`accelflow_arcus::Mechanism::name`] has them.
const RUNS: [&str; 2] = ["Arcus", "Host_noTS"];

fn status_value(found: &Found, number: usize, runs: [&RunResult; 2]) -> Value {
    let it = &found.admitted[number];
    let by_run = |got: &dyn Fn(&RunResult) -> Value| {
        let each = RUNS.into_iter().zip(runs);
        each.map(|(name, run)| (name.to_owned(), got(run)))
            .collect::<serde_json::Map<_, _>>()
    };
    let [shaped, _] = runs;
    let us = |time: Time| time.saturating_sub(shaped.warmup).as_us_f64();
    let flow = &shaped.flows[number];
    let bits = it.request.sizes.mean() * 8e-9;
    let mut value = json!({
        "name": it.request.name,
        "vm": it.request.vm,
        "accelerator": it.request.accelerator,
        "instance": it.route.accelerator(),
        "path": it.route.path.name(),
        "asked_path": it.request.path.name(),
        "policy": it.request.class.name(),
        "message_bytes": it.request.sizes.largest().get(),
        "segment_bytes": it.segment.get(),
        "slo_gbit_per_s": it.slo_gbit_per_s(),
        "shaped_gbit_per_s": it.shaped_gbit_per_s,
        "unit": it.request.unit().name(),
        "refill": it.registers.refill(),
        "bucket": it.registers.bucket(),
        "interval_cycles": it.registers.interval().0,
        "also": it.also.map(|also| json!({
            "unit": it.request.unit().other().name(),
            "refill": also.refill(),
            "bucket": also.bucket(),
            "interval_cycles": also.interval().0,
        })),
        "results": it.results.map(|results| json!({
            "unit": "bytes",
            "refill": results.refill(),
            "bucket": results.bucket(),
            "interval_cycles": results.interval().0,
        })),
        "registered_us": us(flow.since),
        "released_us": flow.until.map(us),
        "verdict": by_run(&|run| json!(it.verdict(run, number).name())),
        "gbit_per_s": by_run(&|run| json!(run.gbit_per_s_present(number))),
        "operations_per_s": by_run(&|run| {
            json!(run.gbit_per_s_present(number).map(|rate| rate / bits))
        }),
    });
    let route = it.route.accelerators.iter();
    let route = route.map(|place| format!("{}#{place}", found.accelerators[*place]));
    value["route"] = Value::from_iter(route);
    value["engine"] = json!(it.route.engine);
    value["priority"] = json!(it.request.priority);
    let promised = it.slo_gbit_per_s().is_some();
    let predicted = found.predicted.get(number).filter(|_| promised);
    value["predicted_gbit_per_s"] = json!(predicted);
    value["slo"] = slo_value(it, number, runs);
    value
}

/// The promises beyond a mean rate, and their results.
fn slo_value(it: &FlowStatus, number: usize, runs: [&RunResult; 2]) -> Value {
    let by_run = |got: &dyn Fn(&RunResult) -> Value| {
        let each = RUNS.into_iter().zip(runs);
        Value::from(
            each.map(|(name, run)| (name.to_owned(), got(run)))
                .collect::<serde_json::Map<_, _>>(),
        )
    };
    let periods = it.request.availability.map(|promised| {
        json!({
            "percent": promised.percent,
            "period_us": promised.period.as_us_f64(),
            "verdict": by_run(&|run| json!(it.rate_verdict(run, number).name())),
            "kept_percent": by_run(&|run| {
                let periods = it.periods(run, number).filter(|periods| periods.all > 0);
                json!(periods.map(|counted| 100.0 * (counted.all - counted.missed) as f64 / counted.all as f64))
            }),
        })
    });
    let latency = it.request.latency.map(|promised| {
        json!({
            "percentile": promised.percent,
            "latency_us": promised.most.as_us_f64(),
            "verdict": by_run(&|run| json!(it.latency_verdict(run, number).name())),
            "got_us": by_run(&|run| {
                let latency = run.flows[number].latency(promised.percent);
                json!(latency.map(Time::as_us_f64))
            }),
        })
    });
    json!({"periods": periods, "latency": latency})
}
