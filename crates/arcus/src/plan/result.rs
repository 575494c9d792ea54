//! The result of a plan: the admitted and rejected flows, and the rates and latencies that flows
//! got.

use accelflow_shaping::Registers;
use accelflow_units::Time;
use serde::Serialize;

use super::by_run::{ByRun, Runs};
use super::error::PlanError;
use super::utilisation::{ResourceUse, utilisation};
use crate::control::{Availability, FlowStatus, LatencySlo, Periods, Runtime, Verdict};
use crate::{FlowResult, Path, Platform, PlatformError, RunResult};

/// The result of a plan: the admitted and rejected flows, and whether their promises were kept.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanResult {
    /// The admitted flows in order of admission, each with its measurements.
    pub admitted: Vec<AdmittedFlow>,
    /// The flows that were not admitted.
    pub rejected: Vec<Rejected>,
    /// Warnings about promises for which the run is too short for a verdict, and about flows whose
    /// messages were dropped with ARCUS.
    pub warnings: Vec<String>,
    /// The number of periods in which a flow had messages waiting and got less than its SLO by more
    /// than 1 %, summed over all flows, in the measured time of the simulation with ARCUS
    /// ([`FlowStatus::missed_periods`]). Periods are control periods; for a flow whose rate is
    /// promised in a percentage of periods, they are the periods of this promise.
    pub violations: u64,
    /// The number of control periods in which a flow kept its SLO, but was predicted to miss it
    /// later, summed over all flows, in the whole simulation with ARCUS including the warm-up.
    pub predicted_violations: u64,
    /// The number of times that the runtime moved a flow to another route, in the whole simulation
    /// with ARCUS including the warm-up.
    pub moves: u64,
    /// How much of the measured time each link, accelerator, port and SSD was in use, in the order
    /// of the platform.
    pub utilisation: Vec<ResourceUse>,
    /// The number of contexts (mixes of flows) whose capacity was simulated for this plan, because
    /// the given table of profiles did not contain them. Contexts that the given table itself had
    /// simulated before count, too.
    pub simulated_contexts: u64,
}

/// A flow that was not admitted because its SLO does not fit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rejected {
    /// The flow's name.
    pub name: String,
    /// The name of the accelerator that the flow asked for.
    pub accelerator: String,
    /// The rate that the flow asked for, in gigabits per second.
    pub asked_gbit_per_s: f64,
    /// The largest rate with which the flow would have been admitted, in gigabits per second.
    pub left_gbit_per_s: f64,
}

impl Rejected {
    /// The rejected flow of [`PlatformError::NotAdmitted`]; any other error is returned as an
    /// error.
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

/// The registers of a token bucket that limits a flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnitRegisters {
    /// The unit of a token: `bytes`, or `operations` (messages or, if messages are cut, segments).
    pub unit: &'static str,
    /// The number of tokens added at each refill.
    pub refill: u32,
    /// The capacity of the bucket, in tokens.
    pub bucket: u32,
    /// The time from one refill to the next, in cycles of the shaper's clock.
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

/// An admitted flow: its request, its route, its registers, and the rate that it got while it was
/// present. For a flow that is present from the start, values at admission are those at the start
/// of the simulation, after the admission of all such flows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdmittedFlow {
    /// The flow's name.
    pub name: String,
    /// The identifier of the tenant's virtual machine.
    pub vm: usize,
    /// The name of the accelerator that the flow asked for.
    pub accelerator: String,
    /// The index on the platform of the first accelerator on the flow's route at admission; null
    /// for a route to the storage only.
    pub instance: Option<usize>,
    /// The accelerators on the flow's route at admission, in order, each as its name, `#` and its
    /// index on the platform, such as `ipsec#0`.
    pub route: Vec<String>,
    /// The index of the DMA engine that moves the flow's data on its route at admission.
    pub engine: usize,
    /// The path of the flow's messages on its route at admission.
    pub path: Path,
    /// The path that the flow's request prefers; the path at admission may be another.
    pub asked_path: Path,
    /// The service class, such as `on-demand`, which says how firmly the SLO is promised.
    pub policy: &'static str,
    /// The flow's priority if promises exceed the capacity: flows of priority 0 keep their rates
    /// longest.
    pub priority: u8,
    /// The size of the flow's largest message in bytes.
    pub message_bytes: u64,
    /// The size of the segments that the flow's messages are cut to, in bytes. Messages that are
    /// not larger stay whole.
    pub segment_bytes: u64,
    /// The rate that is promised to the flow, in gigabits per second; null without a promise.
    pub slo_gbit_per_s: Option<f64>,
    /// The flow's rate in gigabits per second if all flows use their promises in full, as predicted
    /// from the profiles. Null without a promise, and for flows that came during the run.
    pub predicted_gbit_per_s: Option<f64>,
    /// The rate that the flow's registers allow at admission, in gigabits per second.
    pub shaped_gbit_per_s: f64,
    /// The registers of the flow's rate limit at admission.
    #[serde(flatten)]
    pub registers: UnitRegisters,
    /// The registers of the second rate limit; null unless two rates are promised.
    pub also: Option<UnitRegisters>,
    /// The registers of the second shaper, which limits the accelerators' results that are written
    /// to the storage; null without a second shaper.
    pub results: Option<UnitRegisters>,
    /// The simulated time at which the flow was admitted, in microseconds after the warm-up; 0 for
    /// a flow that was present from the start.
    pub registered_us: f64,
    /// The simulated time at which the flow left, in microseconds after the warm-up; null if it
    /// stayed.
    pub released_us: Option<f64>,
    /// The verdict on all promises to the flow: `kept`, `below` (broken), `too short` (undecided)
    /// or `no promise`.
    pub verdict: ByRun<&'static str>,
    /// The verdict on the promised rate alone: `kept`, `below`, `too short` or `no promise`.
    pub rate_verdict: ByRun<&'static str>,
    /// The flow's throughput while it was present, in gigabits per second; null if the flow was
    /// not present during the measured time.
    pub gbit_per_s: ByRun<Option<f64>>,
    /// The flow's throughput while it was present, in messages per second, calculated from the mean
    /// message size; null if the flow was not present during the measured time.
    pub operations_per_s: ByRun<Option<f64>>,
    /// The number of the flow's messages that were dropped because its queue was full, in the whole
    /// run including the warm-up. In the verdicts, the flow has not sent them.
    pub dropped: ByRun<u64>,
    /// The flow's promises beside a mean rate. Each states whether it was kept.
    pub slo: Promises,
}

/// The promises to a flow beside a mean rate, each with whether the run kept it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Promises {
    /// The promise of a rate in a percentage of periods, and its verdict; null without such a
    /// promise.
    pub periods: Option<PeriodsResult>,
    /// The promise of a percentile of latencies, and its verdict; null without such a promise.
    pub latency: Option<LatencyResult>,
}

/// The promise of a rate in a percentage of periods, and the percentage of periods in which the
/// flow got this rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PeriodsResult {
    /// The promised percentage of periods, from 50 to below 100.
    pub percent: f64,
    /// The length of each period in microseconds.
    pub period_us: f64,
    /// The verdict on the promise: `kept`, `below` (broken) or `too short` (undecided).
    pub verdict: ByRun<&'static str>,
    /// The measured percentage of periods in which the flow got its promised rate; null without a
    /// whole period.
    pub kept_percent: ByRun<Option<f64>>,
}

/// The promise of a percentile of latencies, with the measured latency.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LatencyResult {
    /// The percentile for which a latency is promised, from 50 to below 100.
    pub percentile: f64,
    /// The promised latency at the percentile `percentile`, in microseconds.
    pub latency_us: f64,
    /// The verdict on the promise: `kept`, `below` (broken) or `too short` (undecided).
    pub verdict: ByRun<&'static str>,
    /// The measured latency at the percentile `percentile`, in microseconds; null without completed
    /// messages.
    pub got_us: ByRun<Option<f64>>,
}

impl PlanResult {
    /// The result of the runs of the flows `admitted`, in the order of their indices. `predicted`
    /// has the predicted rates of the flows that were present from the start.
    pub(super) fn of(
        platform: &Platform,
        admitted: &[FlowStatus],
        predicted: &[f64],
        rejected: Vec<Rejected>,
        runs: Runs<'_>,
        control_period: Time,
        runtime: &mut Runtime,
    ) -> PlanResult {
        let each = admitted.iter().enumerate();
        let missed = |(number, status): (usize, &FlowStatus)| {
            status.missed_periods(runs.arcus, number, control_period)
        };
        let warnings = each.clone().flat_map(|(number, status)| {
            let short = too_short(status, number, runs.arcus);
            short.into_iter().chain(dropped(status, number, runs.arcus))
        });
        let flows = each.clone().map(|(number, status)| {
            let predicted = predicted.get(number).copied();
            admitted_flow(platform, status, number, predicted, runs)
        });
        PlanResult {
            admitted: flows.collect(),
            rejected,
            warnings: warnings.collect(),
            violations: each.map(missed).sum(),
            predicted_violations: runtime.predicted_violations(),
            moves: runtime.moves(),
            utilisation: utilisation(platform, runs),
            simulated_contexts: runtime.simulated_contexts(),
        }
    }
}

/// The warning about promises for which a run is too short, if there are any.
fn too_short(status: &FlowStatus, number: usize, run: &RunResult) -> Option<String> {
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
            "a promise of {slo:.3} Gbit/s in messages of {} bytes, with a tolerance of 1 %",
            request.sizes.largest().get(),
        ),
    };
    Some(format!(
        "flow '{}': time in the run = {} us: must be at least {} us for a verdict on {promise}; \
         increase duration_us, and until_us if given",
        request.name,
        run.present(number).as_us_f64().round(),
        needed.as_us_f64().ceil(),
    ))
}

/// The warning about messages of a flow that were dropped, if there are any.
fn dropped(status: &FlowStatus, number: usize, run: &RunResult) -> Option<String> {
    let FlowResult {
        dropped, arrived, ..
    } = run.flows[number];
    (dropped > 0).then(|| {
        format!(
            "flow '{}': {dropped} of {arrived} messages found its queue full and were dropped; \
             the verdict does not count them as sent",
            status.request.name
        )
    })
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
        rate_verdict: runs.each(|run| status.rate_verdict(run, number).name()),
        gbit_per_s: runs.each(|run| run.gbit_per_s_present(number)),
        operations_per_s: runs.each(|run| run.gbit_per_s_present(number).map(|rate| rate / bits)),
        dropped: runs.each(|run| run.flows[number].dropped),
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
