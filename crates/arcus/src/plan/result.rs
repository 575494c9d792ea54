//! The result of a plan.

use accelflow_shaping::Registers;
use accelflow_units::Time;
use serde::Serialize;

use super::error::PlanError;
use crate::control::{Availability, FlowStatus, LatencySlo, Periods, Runtime, Verdict};
use crate::{Path, Platform, PlatformError, RunResult};

/// A value of each of the two runs, which have the paper's names.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ByRun<T> {
    /// With ARCUS.
    #[serde(rename = "Arcus")]
    pub arcus: T,
    /// Without shaping.
    #[serde(rename = "Host_noTS")]
    pub host_no_ts: T,
}

/// Both runs of a plan.
pub(super) type Runs<'a> = ByRun<&'a RunResult>;

impl Runs<'_> {
    fn each<T>(&self, figure: impl Fn(&RunResult) -> T) -> ByRun<T> {
        ByRun {
            arcus: figure(self.arcus),
            host_no_ts: figure(self.host_no_ts),
        }
    }
}

/// A plan's flows, and what they get.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanResult {
    /// The admitted flows in order of admission.
    pub admitted: Vec<AdmittedFlow>,
    /// The rejected flows.
    pub rejected: Vec<Rejected>,
    /// Promises for which the run is too short for a verdict.
    pub warnings: Vec<String>,
    /// Periods of the runtime, or of promises, in which a flow got less than its SLO.
    pub violations: u64,
    /// Periods in which a flow was predicted to get less.
    pub predicted_violations: u64,
    /// The number of times that a flow was moved to another route.
    pub moves: u64,
    /// Contexts that the plan simulated, which excludes those of a table of profiles.
    pub simulated_contexts: u64,
}

/// A flow that was refused.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rejected {
    /// Its name.
    pub name: String,
    /// The accelerator that it asked for.
    pub accelerator: String,
    /// The requested rate.
    pub asked_gbit_per_s: f64,
    /// The largest rate that would have been admitted.
    pub left_gbit_per_s: f64,
}

impl Rejected {
    /// The flow that an error rejects; another error is returned.
    pub(super) fn of(error: PlatformError) -> Result<Rejected, PlanError> {
        match error {
            PlatformError::NotAdmitted {
                name,
                accelerator,
                asked,
                left,
            } => Ok(Rejected {
                name,
                accelerator,
                asked_gbit_per_s: asked,
                left_gbit_per_s: left,
            }),
            other => Err(other.into()),
        }
    }
}

/// Registers with the unit of their tokens.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnitRegisters {
    /// bytes or operations.
    pub unit: &'static str,
    /// Tokens of a refill.
    pub refill: u32,
    /// Tokens of the bucket.
    pub bucket: u32,
    /// Cycles from one refill to the next.
    pub interval_cycles: u64,
}

impl UnitRegisters {
    fn of(unit: &'static str, registers: Registers) -> UnitRegisters {
        UnitRegisters {
            unit,
            refill: registers.refill(),
            bucket: registers.bucket(),
            interval_cycles: registers.interval().0,
        }
    }
}

/// An admitted flow: its request, route and registers, and its rates while it was there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdmittedFlow {
    /// Its name.
    pub name: String,
    /// Its tenant.
    pub vm: usize,
    /// The accelerator that it asked for.
    pub accelerator: String,
    /// The number of the first accelerator on its route.
    pub instance: Option<usize>,
    /// The accelerators on its route, as name#number.
    pub route: Vec<String>,
    /// Its DMA engine.
    pub engine: usize,
    /// Its path.
    pub path: Path,
    /// The path that it asked for first.
    pub asked_path: Path,
    /// Its class.
    pub policy: &'static str,
    /// Its priority.
    pub priority: u8,
    /// Its largest message.
    pub message_bytes: u64,
    /// The largest segment that its messages are cut to.
    pub segment_bytes: u64,
    /// Its SLO; null without a promise.
    pub slo_gbit_per_s: Option<f64>,
    /// The rate that the profiles predict if all use their promises; null without a promise, and
    /// for flows that came during the run.
    pub predicted_gbit_per_s: Option<f64>,
    /// The rate of its registers.
    pub shaped_gbit_per_s: f64,
    /// Its registers.
    #[serde(flatten)]
    pub registers: UnitRegisters,
    /// The registers of its second limit.
    pub also: Option<UnitRegisters>,
    /// The registers of its second shaper, of results for the storage.
    pub results: Option<UnitRegisters>,
    /// When it was registered, from the beginning of the measured time on.
    pub registered_us: f64,
    /// When it was released.
    pub released_us: Option<f64>,
    /// The verdict on its promises.
    pub verdict: ByRun<&'static str>,
    /// Its rate while it was there; null if it never was.
    pub gbit_per_s: ByRun<Option<f64>>,
    /// Its messages per second while it was there; null if it never was.
    pub operations_per_s: ByRun<Option<f64>>,
    /// Promises beyond a mean rate.
    pub slo: Promises,
}

/// The promises of a flow beyond a mean rate, and their results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Promises {
    /// A rate in a percentage of periods.
    pub periods: Option<PeriodsResult>,
    /// A percentile of latencies.
    pub latency: Option<LatencyResult>,
}

/// A rate that is promised in a percentage of periods.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PeriodsResult {
    /// The percentage.
    pub percent: f64,
    /// The period.
    pub period_us: f64,
    /// The verdict.
    pub verdict: ByRun<&'static str>,
    /// The percentage of periods in which the flow got its rate.
    pub kept_percent: ByRun<Option<f64>>,
}

/// A promised percentile of latencies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LatencyResult {
    /// The percentile.
    pub percentile: f64,
    /// The promise.
    pub latency_us: f64,
    /// The verdict.
    pub verdict: ByRun<&'static str>,
    /// The measured percentile.
    pub got_us: ByRun<Option<f64>>,
}

impl PlanResult {
    /// The result of the runs of the flows `admitted`, in the order of their numbers. `predicted`
    /// has the rates of those that were there from the start.
    pub(super) fn of(
        platform: &Platform,
        admitted: &[FlowStatus],
        predicted: &[f64],
        rejected: Vec<Rejected>,
        runs: Runs<'_>,
        runtime: &mut Runtime,
    ) -> PlanResult {
        let each = admitted.iter().enumerate();
        let warnings = each
            .clone()
            .filter_map(|(number, status)| warning(status, number, runs.arcus));
        let flows = each.clone().map(|(number, status)| {
            let predicted = predicted.get(number).copied();
            admitted_flow(platform, status, number, predicted, runs)
        });
        PlanResult {
            admitted: flows.collect(),
            rejected,
            warnings: warnings.collect(),
            violations: runtime.violations(),
            predicted_violations: runtime.predicted_violations(),
            moves: runtime.moves(),
            simulated_contexts: runtime.simulated_contexts(),
        }
    }
}

/// The warning about promises for which a run is too short, if there are any.
fn warning(status: &FlowStatus, number: usize, run: &RunResult) -> Option<String> {
    let needed = status.shown_within(run, number)?;
    if status.verdict(run, number) != Verdict::TooShort {
        return None;
    }
    let request = &status.request;
    let slo = status.slo_gbit_per_s().unwrap_or(0.0);
    let promise = match (request.availability, status.latency_verdict(run, number)) {
        (_, Verdict::TooShort) => {
            let promised = request.latency?;
            format!("a {}th percentile of latencies", promised.percent)
        }
        (Some(promised), _) => format!(
            "a promise of {slo:.3} Gbit/s in {} % of periods of {} us",
            promised.percent,
            promised.period.as_us_f64(),
        ),
        (None, _) => format!(
            "a promise of {slo:.3} Gbit/s in messages of {} bytes to 1 %",
            request.sizes.largest().get(),
        ),
    };
    Some(format!(
        "flow '{}': time = {} us: too short for a verdict on {promise}: must be at least {} us",
        request.name,
        run.present(number).as_us_f64().round(),
        needed.as_us_f64().ceil(),
    ))
}

fn admitted_flow(
    platform: &Platform,
    status: &FlowStatus,
    number: usize,
    predicted: Option<f64>,
    runs: Runs<'_>,
) -> AdmittedFlow {
    let request = &status.request;
    let flow = &runs.arcus.flows[number];
    let us = |time: Time| time.saturating_sub(runs.arcus.warmup).as_us_f64();
    let bits = request.sizes.mean() * 8e-9;
    let route = status.route.accelerators.iter();
    let named = |place: &usize| format!("{}#{place}", platform.accelerators[*place].name);
    let unit = request.unit();
    AdmittedFlow {
        name: request.name.clone(),
        vm: request.vm,
        accelerator: request.accelerator.clone(),
        instance: status.route.accelerator(),
        route: route.map(named).collect(),
        engine: status.route.engine,
        path: status.route.path,
        asked_path: request.path,
        policy: request.class.name(),
        priority: request.priority,
        message_bytes: request.sizes.largest().get(),
        segment_bytes: status.segment.get(),
        slo_gbit_per_s: status.slo_gbit_per_s(),
        predicted_gbit_per_s: predicted.filter(|_| status.slo_gbit_per_s().is_some()),
        shaped_gbit_per_s: status.shaped_gbit_per_s,
        registers: UnitRegisters::of(unit.name(), status.registers),
        also: status
            .also
            .map(|also| UnitRegisters::of(unit.other().name(), also)),
        results: status
            .results
            .map(|results| UnitRegisters::of("bytes", results)),
        registered_us: us(flow.since),
        released_us: flow.until.map(us),
        verdict: runs.each(|run| status.verdict(run, number).name()),
        gbit_per_s: runs.each(|run| run.gbit_per_s_present(number)),
        operations_per_s: runs.each(|run| run.gbit_per_s_present(number).map(|rate| rate / bits)),
        slo: Promises {
            periods: request
                .availability
                .map(|promised| periods(promised, status, number, runs)),
            latency: request
                .latency
                .map(|promised| latency(promised, status, number, runs)),
        },
    }
}

fn periods(
    promised: Availability,
    status: &FlowStatus,
    number: usize,
    runs: Runs<'_>,
) -> PeriodsResult {
    PeriodsResult {
        percent: promised.percent,
        period_us: promised.period.as_us_f64(),
        verdict: runs.each(|run| status.rate_verdict(run, number).name()),
        kept_percent: runs.each(|run| {
            let periods = status
                .periods(run, number)
                .filter(|periods| periods.all > 0);
            periods.map(Periods::kept_percent)
        }),
    }
}

fn latency(
    promised: LatencySlo,
    status: &FlowStatus,
    number: usize,
    runs: Runs<'_>,
) -> LatencyResult {
    LatencyResult {
        percentile: promised.percent,
        latency_us: promised.most.as_us_f64(),
        verdict: runs.each(|run| status.latency_verdict(run, number).name()),
        got_us: runs.each(|run| {
            let latency = run.flows[number].latency(promised.percent);
            latency.map(Time::as_us_f64)
        }),
    }
}
