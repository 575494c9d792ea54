//! Evaluation of the Accelerometer model for a service as JSON, with the results as JSON.

use accelflow_model::Refusal;
use accelflow_model::accelerometer::uncertainty::{
    Distribution, Field, Samples, Swing, Uncertain, quantile, sample, tornado,
};
use accelflow_model::accelerometer::{
    Approximation, CyclesPerSecond, Design, HostCost, Interpolation, Kernel, KernelResult, Limit,
    Lucrative, MeanCycles, OffloadsPerSecond, Placement, Queueing, Scaling, Scenario,
    ScenarioResult, Selection, SizeCdf, Threading, Transfer, parameters,
};
use accelflow_parameters::Parameter;
use serde::Deserialize;
use serde_json::{Value, json};

/// A number that may be infinite. JSON cannot express infinity as a number.
#[derive(Deserialize)]
#[serde(untagged)]
enum Ratio {
    Finite(f64),
    Named(String),
}

impl Ratio {
    fn value(&self) -> f64 {
        match self {
            Ratio::Finite(value) => *value,
            Ratio::Named(name) => name.parse().unwrap_or(f64::NAN),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    host_cycles_per_s: f64,
    kernels: Vec<KernelArguments>,
    uncertain: Vec<UncertainArguments>,
    draws: usize,
    seed: u64,
    around_ratio: Option<f64>,
    /// Whether the outcome has the speedup of every draw.
    #[serde(default)]
    each_draw: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KernelArguments {
    name: String,
    threading: String,
    placement: String,
    driver_waits: Option<bool>,
    latency_thread_switches: u32,
    kernel_share_ratio: f64,
    offloads_per_s: f64,
    all_offloads_per_s: Option<f64>,
    setup_cycles: f64,
    transfer_cycles: f64,
    transfer_cycles_per_byte: f64,
    thread_switch_cycles: f64,
    acceleration_ratio: Option<Ratio>,
    cycles_per_byte: Option<f64>,
    complexity_exponent: f64,
    queue: QueueArguments,
    sizes: Option<SizesArguments>,
    selection: String,
    scaling: String,
    /// Absent: the kernel has offloads of its own.
    #[serde(default)]
    rides_on: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum QueueArguments {
    Mean(f64),
    List(Vec<f64>),
    Station {
        servers: u32,
        hosts: f64,
        service_cycles: Option<f64>,
        service_scv_ratio: Option<f64>,
        approximation: String,
        shared: Option<String>,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SizesArguments {
    bytes: Vec<f64>,
    cumulative_ratio: Vec<f64>,
    interpolation: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UncertainArguments {
    kernel: usize,
    field: String,
    min: Option<f64>,
    mode: Option<f64>,
    max: Option<f64>,
    mean: Option<f64>,
    sd: Option<f64>,
}

/// Returns the element of `values` for the choice `name` of `parameter`. `values` are in the order
/// of the parameter's choices.
///
/// # Errors
/// [`Refusal`] for a name that is not one of the choices.
pub(super) fn chosen<T: Copy>(
    parameter: &Parameter,
    name: &str,
    values: [T; 2],
) -> Result<T, Refusal> {
    let number = parameter.number_of(name)?;
    Ok(values[usize::from(number > 0.0)])
}

pub(super) fn named<T: Copy>(
    place: &str,
    name: &str,
    known: &[(&'static str, T)],
) -> Result<T, Refusal> {
    let found = known.iter().find(|(known, _)| *known == name);
    let known = known.iter().map(|(known, _)| *known);
    found
        .map(|(_, value)| *value)
        .ok_or_else(|| Refusal::unknown(place, name, known))
}

impl KernelArguments {
    /// Converts the arguments to a kernel of the model.
    ///
    /// # Errors
    /// [`Refusal`] for a value that is not allowed; its place begins with the kernel's name.
    pub(super) fn kernel(&self) -> Result<Kernel, Refusal> {
        self.made().map_err(|error| error.within(&self.name))
    }

    fn made(&self) -> Result<Kernel, Refusal> {
        let threadings = Threading::ALL.map(|t| (t.name(), t));
        let placements = Placement::ALL.map(|p| (p.name(), p));
        let design = Design::new(
            named("threading", &self.threading, &threadings)?,
            named("placement", &self.placement, &placements)?,
            self.driver_waits,
        )?
        .with_latency_switches(self.latency_thread_switches)?;
        let scalings = [Scaling::Offloads, Scaling::Cycles];
        let scaling = chosen(&parameters::SCALING, &self.scaling, scalings)?;
        let selection = match (
            chosen(&parameters::SELECTION, &self.selection, [false, true])?,
            self.all_offloads_per_s,
        ) {
            (true, Some(all)) => {
                let rule = "must be left out, since selection is 'lucrative'";
                return Err(Refusal::new("all_offloads_per_s", all, rule));
            }
            (true, None) => Selection::Lucrative(scaling),
            (false, _) if scaling == Scaling::Cycles => {
                let rule = "must be left out, since selection is 'all'";
                return Err(Refusal::new("scaling", "'cycles'", rule));
            }
            (false, Some(all)) => Selection::OutOf(OffloadsPerSecond(all)),
            (false, None) => Selection::All,
        };
        Ok(Kernel {
            name: self.name.clone(),
            design,
            share: self.kernel_share_ratio,
            offloads: OffloadsPerSecond(self.offloads_per_s),
            setup: MeanCycles(self.setup_cycles),
            transfer: Transfer {
                fixed: MeanCycles(self.transfer_cycles),
                per_byte: MeanCycles(self.transfer_cycles_per_byte),
            },
            thread_switch: MeanCycles(self.thread_switch_cycles),
            acceleration: self.acceleration_ratio.as_ref().map(Ratio::value),
            queue: self.queue.queueing()?,
            host_cost: HostCost {
                cycles_per_byte: self.cycles_per_byte,
                complexity: self.complexity_exponent,
            },
            sizes: self.sizes.as_ref().map(SizesArguments::cdf).transpose()?,
            selection,
            rides_on: self.rides_on.clone(),
        })
    }
}

impl QueueArguments {
    fn queueing(&self) -> Result<Queueing, Refusal> {
        Ok(match self {
            QueueArguments::Mean(mean) => Queueing::Mean(MeanCycles(*mean)),
            QueueArguments::List(waits) => Queueing::List(waits.clone()),
            QueueArguments::Station {
                servers,
                hosts,
                service_cycles,
                service_scv_ratio,
                approximation,
                shared,
            } => Queueing::Station {
                servers: *servers,
                hosts: *hosts,
                service: service_cycles.map(MeanCycles),
                service_scv: *service_scv_ratio,
                approximation: chosen(
                    &parameters::QUEUE_APPROXIMATION,
                    approximation,
                    [Approximation::Kimura, Approximation::AllenCunneen],
                )?,
                shared: shared.clone(),
            },
        })
    }
}

impl SizesArguments {
    fn cdf(&self) -> Result<SizeCdf, Refusal> {
        if self.bytes.len() != self.cumulative_ratio.len() {
            return Err(Refusal::new(
                "sizes.cumulative_ratio",
                format!("{} values", self.cumulative_ratio.len()),
                format!(
                    "must have as many values as sizes.bytes, {}",
                    self.bytes.len()
                ),
            ));
        }
        let shares = self.cumulative_ratio.iter().copied();
        SizeCdf::new(
            self.bytes.iter().copied().zip(shares).collect(),
            chosen(
                &parameters::SIZES_INTERPOLATION,
                &self.interpolation,
                [Interpolation::Linear, Interpolation::Step],
            )?,
        )
    }
}

impl UncertainArguments {
    fn uncertain(&self) -> Result<Uncertain, Refusal> {
        let distribution = match (self.min, self.mode, self.max, self.mean, self.sd) {
            (Some(min), None, Some(max), None, None) => Distribution::Uniform { min, max },
            (Some(min), Some(mode), Some(max), None, None) => {
                Distribution::Triangular { min, mode, max }
            }
            (None, None, None, Some(mean), Some(sd)) => Distribution::Normal { mean, sd },
            _ => {
                return Err(Refusal::new(
                    &self.field,
                    "a range",
                    "must have min and max, or min, mode and max, or mean and sd",
                ));
            }
        };
        let fields = Field::ALL.map(|field| (field.name(), field));
        Ok(Uncertain {
            kernel: self.kernel,
            field: named("uncertain input", &self.field, &fields)?,
            distribution,
        })
    }
}

/// Evaluates the service in `request` (JSON), and returns the outcome as JSON.
///
/// # Errors
/// The message for a value that cannot be used.
pub(super) fn evaluate(request: &Arguments) -> Result<String, Refusal> {
    let kernels = request.kernels.iter().map(KernelArguments::kernel);
    let scenario = Scenario {
        host: CyclesPerSecond(request.host_cycles_per_s),
        kernels: kernels.collect::<Result<_, _>>()?,
    };
    let outcome = scenario.evaluate()?;
    let uncertain = request.uncertain.iter();
    let uncertain: Vec<Uncertain> = uncertain
        .map(UncertainArguments::uncertain)
        .collect::<Result<_, _>>()?;
    let mut result = outcome_json(&scenario, &outcome);
    if !uncertain.is_empty() {
        let samples = sample(&scenario, &uncertain, request.draws, request.seed);
        let samples = samples?;
        result["intervals"] = samples_json(&samples);
        if request.each_draw {
            result["draws_speedup_ratio"] = json!(samples.speedup);
        }
    }
    if let Some(around) = request.around_ratio {
        let swings = tornado(&scenario, &uncertain, around);
        result["sensitivity"] = swings.iter().map(|s| swing_json(&scenario, s)).collect();
    }
    Ok(result.to_string())
}

fn outcome_json(scenario: &Scenario, outcome: &ScenarioResult) -> Value {
    let kernels = scenario.kernels.iter().zip(&outcome.kernels);
    json!({
        "speedup_ratio": outcome.speedup,
        "latency_reduction_ratio": outcome.latency_reduction,
        "ideal_speedup_ratio": finite(outcome.ideal_speedup),
        "kernels": kernels.map(|(k, o)| kernel_json(k, o)).collect::<Vec<_>>(),
    })
}

fn kernel_json(kernel: &Kernel, outcome: &KernelResult) -> Value {
    let (threading, placement) = (kernel.design.threading(), kernel.design.placement());
    let (speedup, latency) = threading.equations(placement);
    let losses = outcome.losses;
    json!({
        "name": kernel.name,
        "threading": threading.name(),
        "placement": placement.name(),
        "driver_waits": kernel.design.driver_waits(),
        "equations": {"speedup": speedup, "latency_reduction": latency},
        "kernel_share_ratio": kernel.share,
        "offloaded_share_ratio": outcome.offloaded_share,
        "offloaded_share_by_cycles_ratio": outcome.offloaded_share_by_cycles,
        "offloads_per_s": outcome.offloads.0,
        "lucrative_offloads_ratio": outcome.lucrative_share,
        "paying_offloads_ratio": outcome.paying_share,
        "cycles_per_byte": outcome.cycles_per_byte,
        "transfer_cycles": outcome.transfer.0,
        "queue_cycles": outcome.queue.0,
        "accelerator_utilization_ratio": outcome.utilisation,
        "break_even_speedup": outcome.pays_in_speedup.map(range_json),
        "break_even_latency": outcome.pays_in_latency.map(range_json),
        "speedup_ratio": outcome.speedup,
        "latency_reduction_ratio": outcome.latency_reduction,
        "outside_service_ratio": outcome.outside_service,
        "ideal_speedup_ratio": finite(outcome.ideal_speedup),
        "losses": {
            "not_offloaded_ratio": losses.not_offloaded,
            "accelerator_ratio": losses.accelerator,
            "setup_ratio": losses.setup,
            "transfer_ratio": losses.transfer,
            "queue_ratio": losses.queue,
            "thread_switches_ratio": losses.thread_switches,
        },
        "limit": limit_name(outcome.limit),
    })
}

fn limit_name(limit: Limit) -> &'static str {
    match limit {
        Limit::RestOfService => "rest_of_service",
        Limit::NotOffloaded => "not_offloaded",
        Limit::Accelerator => "accelerator",
        Limit::Setup => "setup",
        Limit::Transfer => "transfer",
        Limit::Queue => "queue",
        Limit::ThreadSwitches => "thread_switches",
    }
}

/// The range of sizes that pay off, as JSON. An infinite bound is null: no size pays off, or there
/// is no upper bound.
fn range_json(range: Lucrative) -> Value {
    json!({
        "pays": !range.is_never(),
        "above_bytes": finite(range.from_bytes),
        "below_bytes": finite(range.to_bytes),
    })
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

fn samples_json(samples: &Samples) -> Value {
    let of = |sorted: &[f64]| {
        let at = |share| quantile(sorted, share);
        let mean = sorted.iter().sum::<f64>() / sorted.len().max(1) as f64;
        json!({
            "mean": (!sorted.is_empty()).then_some(mean),
            "p5": at(0.05), "p25": at(0.25), "p50": at(0.5), "p75": at(0.75), "p95": at(0.95),
            "min": at(0.0), "max": at(1.0),
        })
    };
    json!({
        "speedup_ratio": of(&samples.speedup),
        "latency_reduction_ratio": of(&samples.latency_reduction),
        "draws": samples.speedup.len(),
        "rejected": samples.rejected,
        "why_rejected": samples.why_rejected.as_ref().map(ToString::to_string),
    })
}

fn swing_json(scenario: &Scenario, swing: &Swing) -> Value {
    let side =
        |(value, speedup): (f64, Option<f64>)| json!({"value": value, "speedup_ratio": speedup});
    json!({
        "kernel": (swing.field != Field::HostCycles)
            .then(|| scenario.kernels[swing.kernel].name.clone()),
        "parameter": swing.field.name(),
        "low": side(swing.low),
        "high": side(swing.high),
    })
}
