//! Conversion of the results of a scenario to JSON.

use std::collections::BTreeMap;

use accelflow_sim::compare::{CalledResult, ServerUse, ServiceResult, SystemResult};
use accelflow_sim::stats::{BIN_ERROR, BreakdownSum, DataStats, Fallback, Part, Used};
use accelflow_trace::Accel;
use accelflow_units::Time;
use accelflow_workload::profile::ProfileParameter;
use serde_json::{Value, json};

use crate::run::ScenarioResult;

impl ScenarioResult {
    /// Returns the longest response times of each service under each system: (index in
    /// [`ScenarioResult::systems`], index of the service in this result, times in us, longest
    /// first).
    ///
    /// [`RunOptions::tail_share`](crate::RunOptions::tail_share) is the share of the response times
    /// that is returned; if it is 0, there are no items. If response times were counted in bins,
    /// the times are empty, and [`to_json`](Self::to_json) has the bins.
    pub fn tails(&self) -> impl Iterator<Item = (usize, usize, Vec<f64>)> {
        let systems = self.systems.iter().enumerate();
        systems
            .filter(|_| self.has_tails)
            .flat_map(|(system, result)| {
                let services = result.services.iter().enumerate();
                services.map(move |(service, row)| {
                    let times = row.tail.iter().map(|time| time.as_us_f64());
                    (system, service, times.collect())
                })
            })
    }

    /// Returns the results as JSON: the fields `systems`, `profile_parameters`, `cohort_links`,
    /// `requests` and `warmup_requests` of the schema `accelflow.compare/1`, and `percentiles`,
    /// `requests_by_service`, `own_arrivals` and `use_over_time` if there are such data.
    ///
    /// Single response times are not in it, since they would be most of the text;
    /// [`tails`](Self::tails) returns them.
    pub fn to_json(&self) -> Value {
        let mut systems: Vec<Value> = self
            .systems
            .iter()
            .map(|system| self.system_json(system))
            .collect();
        let of_chip = systems.len() / self.chips.len().max(1);
        for (chip, systems) in self.chips.iter().zip(systems.chunks_mut(of_chip.max(1))) {
            for system in systems {
                system["chip"] = chip.as_str().into();
            }
        }
        let mut found = json!({
            "systems": systems,
            "profile_parameters": parameters_json(&self.profile_parameters),
            "cohort_links": self.cohort_links,
            "requests": self.loads.most.0,
            "warmup_requests": self.loads.most.1,
        });
        if !self.loads.requests.is_empty() {
            let requests: BTreeMap<_, _> = self.loads.requests.iter().cloned().collect();
            found["requests_by_service"] = json!(requests);
        }
        if !self.loads.arrivals.is_empty() {
            found["own_arrivals"] = json!(self.loads.arrivals);
        }
        if self.binned {
            found["percentiles"] = json!({"method": "bins", "relative_error": BIN_ERROR});
        }
        let used = self.used_json();
        if !used.is_empty() {
            found["use_over_time"] = used.into();
        }
        found
    }

    /// The utilization of each server of each system over time: the system's place in the results,
    /// the services on the server, and columns by interval.
    fn used_json(&self) -> Vec<Value> {
        let mut rows = Vec::new();
        for (place, system) in self.systems.iter().enumerate() {
            let accelerators = system
                .services
                .first()
                .map(|service| &service.accelerators[..]);
            for server in &system.used {
                let mut row = server_use_json(server, accelerators.unwrap_or_default());
                row["system"] = place.into();
                rows.push(row);
            }
        }
        rows
    }

    /// All services under one orchestrator.
    fn system_json(&self, system: &SystemResult) -> Value {
        let mut services: Vec<Value> = system.services.iter().map(service_json).collect();
        if self.has_tails && self.binned {
            for (row, result) in services.iter_mut().zip(&system.services) {
                let bins = result.tail_bins.iter();
                let bins = bins.map(|&(time, count)| json!([time.as_us_f64(), count]));
                row["tail_bins"] = bins.collect::<Vec<Value>>().into();
            }
        }
        json!({"orchestrator": system.orchestrator, "services": services})
    }
}

fn server_use_json(server: &ServerUse, accelerators: &[String]) -> Value {
    let of =
        |value: &dyn Fn(&Used) -> f64| -> Vec<f64> { server.intervals.iter().map(value).collect() };
    let mut shares = serde_json::Map::new();
    shares.insert("cores".to_owned(), of(&|used| used.cores).into());
    for (index, accel) in accelerators.iter().enumerate() {
        shares.insert(accel.clone(), of(&|used| used.accelerators[index]).into());
    }
    shares.insert("manager".to_owned(), of(&|used| used.manager).into());
    shares.insert("A-DMA".to_owned(), of(&|used| used.dma).into());
    json!({
        "services": server.services,
        "from_us": of(&|used| used.from.as_us_f64()),
        "until_us": of(&|used| used.until.as_us_f64()),
        "shares": shares,
    })
}

/// The parameters of the costs, as rows.
pub(crate) fn parameters_json(parameters: &[ProfileParameter]) -> Vec<Value> {
    let row = |parameter: &ProfileParameter| {
        json!({
            "name": parameter.key,
            "value": parameter.default,
            "provenance": parameter.provenance.name(),
            "note": parameter.source,
        })
    };
    parameters.iter().map(row).collect()
}

/// Data that moved on the server: bytes and lookups over the run, and ratios.
fn data_json(data: &DataStats) -> Value {
    json!({
        "read_bytes": data.read_bytes,
        "missed_bytes": data.missed_bytes,
        "written_bytes": data.written_bytes,
        "dram_bytes": data.dram_bytes,
        "llc_hit_ratio": data.llc_hit_ratio(),
        "tlb_lookups": data.tlb_lookups,
        "tlb_misses": data.tlb_misses,
        "page_table_reads": data.table_reads,
        "page_faults": data.page_faults,
        "busiest_link_utilization": data.busiest_link,
        "busiest_crossing_utilization": data.busiest_crossing,
    })
}

fn service_json(result: &ServiceResult) -> Value {
    let us = |time: Option<Time>| time.map(Time::as_us_f64);
    let by_name = |shares: &[f64; Accel::MOST]| -> BTreeMap<&str, f64> {
        let names = result.accelerators.iter().map(String::as_str);
        names.zip(shares.iter().copied()).collect()
    };
    let mut row = json!({
        "service": result.service,
        "offered_rps": result.offered_rps,
        "completed": result.completed,
        "errors": result.errors,
        "mean_us": us(result.mean),
        "p50_us": us(result.percentiles[0]),
        "p99_us": us(result.percentiles[1]),
        "p999_us": us(result.percentiles[2]),
        "throughput_rps": result.throughput_rps,
        "core_utilization": result.core_utilization,
        "accelerator_utilization": by_name(&result.accelerator_utilization),
        "accelerator_any_busy": by_name(&result.accelerator_any_busy),
        "accelerator_denied": by_name(&result.accelerator_denied),
        "accelerator_on_core": by_name(&result.accelerator_on_core),
        "manager_utilization": result.manager_utilization,
        "dma_utilization": result.dma_utilization,
        "operations_per_request": result.operations_per_request,
        "timed_out": result.timed_out,
        "deadlines": result.deadlines.0,
        "deadlines_missed": result.deadlines.1,
        "deadline_exchanges": result.exchanged,
        "tenant": {
            "number": result.tenant.tenant,
            "peak_running_traces": result.tenant.peak_running,
            "waited_traces": result.tenant.waited,
            "waiting_us": result.tenant.waiting_time.as_us_f64(),
            "shaped_traces": result.tenant.shaped,
            "shaping_us": result.tenant.shaping_time.as_us_f64(),
        },
        "fallbacks": fallbacks_json(result),
        "responded": result.responded,
        "slo": {
            "us": us(result.within),
            "requests": result.slo.0,
            "missed": result.slo.1,
        },
        "saturated": result.saturated,
        "dispatcher_instructions_mean": result.dispatcher_instructions,
        "spent_us": (result.completed > 0).then(|| spent_json(&result.spent, result.completed)),
        "data": data_json(&result.data),
    });
    if result.idle_unanswered {
        row["slo"]["idle_unanswered"] = true.into();
    }
    let spent = result.tenant.accelerator_time;
    if spent > Time::ZERO {
        row["tenant"]["accelerator_us"] = json!(spent.as_us_f64());
        row["tenant"]["charged_us"] = json!(result.tenant.charged_time.as_us_f64());
    }
    add_calls(&mut row, result);
    row
}

/// Adds the requests from and to other services, and repeated attempts, if there are any.
fn add_calls(row: &mut Value, result: &ServiceResult) {
    if result.called.arrived > 0 {
        row["called"] = called_json(&result.called);
    }
    if result.calls.sent > 0 {
        row["calls"] = json!({
            "sent": result.calls.sent,
            "answered": result.calls.answered,
            "timed_out": result.calls.timed_out,
        });
    }
    if result.retries != (0, 0) {
        let (again, gave_up) = result.retries;
        row["retries"] = json!({"attempts": again, "gave_up": gave_up});
    }
}

/// The requests of other services.
fn called_json(called: &CalledResult) -> Value {
    let us = |time: Option<Time>| time.map(Time::as_us_f64);
    json!({
        "requests": called.arrived,
        "completed": called.completed,
        "errors": called.errors,
        "timed_out": called.timed_out,
        "mean_us": us(called.mean),
        "p50_us": us(called.percentiles[0]),
        "p99_us": us(called.percentiles[1]),
        "p999_us": us(called.percentiles[2]),
        "slo": {"requests": called.slo.0, "missed": called.slo.1},
        "spent_us": (called.completed > 0).then(|| spent_json(&called.spent, called.completed)),
    })
}

/// The number of traces that left the accelerators before their end, by reason. Reasons that only
/// some settings allow are listed only if they occurred.
fn fallbacks_json(result: &ServiceResult) -> Value {
    let count = |reason: &Fallback| {
        let count = result.fallbacks.get(reason).copied().unwrap_or(0);
        (reason.name(), count)
    };
    let counts = Fallback::ALL.iter().map(count);
    let rare = [
        Fallback::NoAccelerator,
        Fallback::CoreSooner,
        Fallback::UnknownFunction,
        Fallback::Nack,
    ]
    .map(Fallback::name);
    let counts: BTreeMap<&str, u64> = counts
        .filter(|(reason, count)| *count > 0 || !rare.contains(reason))
        .collect();
    json!(counts)
}

/// The mean of each part of the response time of `requests` requests in microseconds.
fn spent_json(spent: &BreakdownSum, requests: u64) -> Value {
    let mean = |&part: &Part| {
        let mean = spent.mean(part, requests);
        (part.name(), mean.map(Time::as_us_f64))
    };
    let parts: BTreeMap<&str, Option<f64>> = Part::ALL.iter().map(mean).collect();
    json!(parts)
}

#[cfg(test)]
mod tests {
    use accelflow_sim::stats::CallStats;

    use super::*;

    #[test]
    fn calls_and_attempts_are_shown_where_there_are_any() {
        let mut result = ServiceResult::default();
        let row = service_json(&result);
        let rare = ["called", "calls", "retries"];
        assert!(rare.iter().all(|key| row.get(key).is_none()), "{row}");
        result.called.arrived = 5;
        result.called.completed = 4;
        result.called.mean = Some(Time::from_us(3));
        result.calls = CallStats {
            sent: 7,
            answered: 6,
            timed_out: 1,
        };
        result.retries = (2, 1);
        let row = service_json(&result);
        let called = &row["called"];
        assert_eq!([&called["requests"], &called["completed"]], [5, 4]);
        assert_eq!(called["mean_us"], 3.0);
        assert_eq!(called["spent_us"]["cpu"], 0.0);
        assert_eq!(
            row["calls"],
            json!({"sent": 7, "answered": 6, "timed_out": 1})
        );
        assert_eq!(row["retries"], json!({"attempts": 2, "gave_up": 1}));
    }
}
