//! Results of a run for people and files: cycles and microseconds per request.

use accelflow_model::cerebros::Design;
use accelflow_units::Time;
use serde::Serialize;

use crate::outcome::{Group, SimulationResult};
use crate::platform::Platform;
use crate::program::analytic;
use crate::registration::Registration;
use crate::services::Service;
use accelflow_parameters::Refusal;

/// The number of concurrent messages of each function for which schemata are sized.
pub const SIZED_MESSAGES: u64 = 16;

/// The means over the requests of a group. Times are in cycles of the platform's clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Means {
    /// Requests in the group.
    pub requests: u64,
    /// The RPC layer as software.
    pub software_cycles: f64,
    /// Traversals of the chip's network for offloads.
    pub offload_cycles: f64,
    /// Work of the accelerator or of Cerebros.
    pub accelerator_cycles: f64,
    /// The RPC layer without waiting.
    pub rpc_cycles: f64,
    /// Waiting for a free pipeline.
    pub queued_cycles: f64,
    /// Waiting for nested responses that found no memory.
    pub refused_cycles: f64,
    /// Waiting for the called services of nested calls.
    pub away_cycles: f64,
    /// Switches back to a request after a nested call.
    pub switched_cycles: f64,
    /// The RPC layer's time on a core.
    pub rpc_on_core_cycles: f64,
    /// Business logic.
    pub execute_cycles: f64,
    /// Stalls of the business logic on instructions.
    pub stall_cycles: f64,
    /// The function: business logic and its stalls.
    pub function_cycles: f64,
    /// The RPC layer and the function.
    pub total_cycles: f64,
    /// The median of the time on a core; `None` without requests.
    pub core_median_cycles: Option<f64>,
    /// Instruction-cache misses of the function, in blocks.
    pub misses: f64,
    /// Instruction-cache misses of the RPC layer as software, in blocks.
    pub layer_misses: f64,
    /// Stalls of the RPC layer as software on instructions, a part of `software_cycles`.
    pub layer_stall_cycles: f64,
    /// Executed instructions of function and RPC layer.
    pub instructions: f64,
    /// Misses of function and RPC layer per 1,000 instructions; `None` without instructions.
    pub mpki: Option<f64>,
    /// The share of requests whose function had no miss.
    pub miss_free_ratio: f64,
    /// The share of requests at cores that the function map names for their function.
    pub steered_ratio: f64,
    /// The mean latency in us.
    pub latency_mean_us: Option<f64>,
    /// The median latency in us.
    pub latency_p50_us: Option<f64>,
    /// The 99th percentile of latencies in us.
    pub latency_p99_us: Option<f64>,
}

impl Means {
    /// Computes the means of `group` on `platform`. The group's samples are sorted for percentiles.
    ///
    /// A core executes `instructions_per_cycle` wherever it is not stalled on instructions. The
    /// software of the RPC layer has measured cycles, which contain its stalls: each of its misses
    /// takes `miss_stall_cycles` of them.
    pub fn of(platform: &Platform, group: &mut Group) -> Means {
        let count = group.requests.max(1) as f64;
        let mean = |time: Time| platform.cycles(time) / count;
        let spent = group.spent;
        let layer_misses = group.layer_misses as f64 / count;
        let layer_stall = platform.miss_stall_cycles * layer_misses;
        let executed = mean(spent.software + spent.execute);
        let instructions = platform.instructions_per_cycle * executed;
        let misses = group.misses as f64 / count;
        let us = |time: Option<Time>| time.map(Time::as_us_f64);
        Means {
            requests: group.requests,
            software_cycles: mean(spent.software),
            offload_cycles: mean(spent.offload),
            accelerator_cycles: mean(spent.accelerator),
            rpc_cycles: mean(spent.rpc()),
            queued_cycles: mean(spent.queued),
            refused_cycles: mean(spent.refused),
            away_cycles: mean(spent.away),
            switched_cycles: mean(spent.switched),
            rpc_on_core_cycles: mean(spent.on_core),
            execute_cycles: mean(spent.execute),
            stall_cycles: mean(spent.stall),
            function_cycles: mean(spent.function()),
            total_cycles: mean(spent.rpc()) + mean(spent.function()),
            core_median_cycles: group
                .core
                .percentile(50.0)
                .map(|time| platform.cycles(time)),
            misses,
            layer_misses,
            layer_stall_cycles: layer_stall,
            instructions,
            mpki: (instructions > 0.0).then(|| 1e3 * (misses + layer_misses) / instructions),
            miss_free_ratio: group.miss_free as f64 / count,
            steered_ratio: group.steered as f64 / count,
            latency_mean_us: us(group.latency.mean()),
            latency_p50_us: us(group.latency.percentile(50.0)),
            latency_p99_us: us(group.latency.percentile(99.0)),
        }
    }
}

/// The means of one function.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FunctionMeans {
    /// The function's name.
    pub function: String,
    /// Its means.
    pub results: Means,
}

/// The queue of a server that cannot keep up, and the requests in it when the last one arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Backlog {
    /// The name of the queue.
    pub queue: &'static str,
    /// The number of requests.
    pub waiting: usize,
}

/// Bytes of schemata with a shared column of types, and with whole schemata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SchemaBytes {
    /// With split schemata.
    pub split: u64,
    /// With a whole schema for each message.
    pub whole: u64,
}

/// The functions of a service in the schema map, and their schemata.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Registered {
    /// The number of functions in the schema map.
    pub functions: usize,
    /// The capacity of the schema map.
    pub schema_map_entries: usize,
    /// The functions for which the schema map has no room.
    pub left_out: Vec<String>,
    /// Bytes of all type schemata.
    pub type_schemata_bytes: u64,
    /// Bytes of schemata for 16 concurrent messages of each function.
    pub schemata_of_16_messages_bytes: SchemaBytes,
}

/// The results of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The means over all requests.
    pub all: Means,
    /// The means by function, in the service's order.
    pub functions: Vec<FunctionMeans>,
    /// The RPC layer by the analytic model, for the requests that were served.
    pub analytic_rpc_cycles: f64,
    /// Answered requests, including the warm-up.
    pub answered: u64,
    /// Requests given up for lack of memory.
    pub refused: u64,
    /// NACKs of the buffer manager.
    pub nacks: u64,
    /// Requests whose RPC layer ran on a core instead of Cerebros.
    pub fallbacks: u64,
    /// Answered requests a second.
    pub throughput_rps: f64,
    /// Arrivals a second, for random arrivals.
    pub offered_rps: Option<f64>,
    /// The growing queue of a server that cannot keep up.
    pub saturated: Option<Backlog>,
    /// Utilization of the pipelines.
    pub pipeline_utilisation_ratio: f64,
    /// Utilization of the cores.
    pub core_utilisation_ratio: f64,
    /// The capacity of the pipelines over the largest load of the cores; `None` if the pipelines
    /// have no task.
    pub accelerator_headroom_ratio: Option<f64>,
    /// The most memory that messages took, in bytes.
    pub buffer_peak_bytes: u64,
    /// The registration with Cerebros.
    pub registration: Registered,
}

impl Summary {
    /// Summarizes `outcome`, a run of `service` on `platform` under `design`.
    ///
    /// # Errors
    /// [`Refusal`] of a header without a field that names the function.
    pub fn of(
        service: &Service,
        platform: &Platform,
        design: Design,
        mut outcome: SimulationResult,
    ) -> Result<Summary, Refusal> {
        let headroom = headroom(service, platform, &outcome);
        let analytic_rpc_cycles = analytic_mean(service, platform, design, &outcome);
        let functions = service.functions.iter().zip(&mut outcome.functions);
        let functions = functions.map(|(function, group)| FunctionMeans {
            function: function.call.name.to_string(),
            results: Means::of(platform, group),
        });
        Ok(Summary {
            functions: functions.collect(),
            all: Means::of(platform, &mut outcome.all),
            analytic_rpc_cycles,
            answered: outcome.answered,
            refused: outcome.refused,
            nacks: outcome.nacks,
            fallbacks: outcome.fallbacks,
            throughput_rps: outcome.throughput_rps,
            offered_rps: outcome.offered_rps,
            saturated: outcome.saturated.map(|saturation| Backlog {
                queue: saturation.queue.name(),
                waiting: saturation.waiting,
            }),
            pipeline_utilisation_ratio: outcome.pipeline_utilisation,
            core_utilisation_ratio: outcome.core_utilisation,
            accelerator_headroom_ratio: headroom,
            buffer_peak_bytes: outcome.buffer_peak.get(),
            registration: registered(service, platform)?,
        })
    }
}

/// The analytic model's mean over the requests of `outcome`.
fn analytic_mean(
    service: &Service,
    platform: &Platform,
    design: Design,
    outcome: &SimulationResult,
) -> f64 {
    let functions = service.functions.iter().zip(&outcome.functions);
    let cycles: f64 = functions
        .map(|(f, group)| analytic(platform, f).total_cycles(design) * group.requests as f64)
        .sum();
    cycles / outcome.all.requests.max(1) as f64
}

/// The throughput of the shared pipelines over the most that the cores can demand. `None` if the
/// pipelines have no task.
fn headroom(service: &Service, platform: &Platform, outcome: &SimulationResult) -> Option<f64> {
    let spent = outcome.all.spent;
    let work = spent.accelerator.as_s_f64();
    let core = (spent.on_core + spent.function()).as_s_f64() - spent.queued.as_s_f64();
    let cores = platform.workers().min(service.most_cores) as f64;
    (work > 0.0).then(|| (platform.pipelines / work) / (cores / core))
}

fn registered(service: &Service, platform: &Platform) -> Result<Registered, Refusal> {
    let registration = Registration::new(platform, service)?;
    let (functions, schema_map_entries) = registration.occupancy();
    let (split, whole) = registration.storage(SIZED_MESSAGES);
    let all = service.functions.iter().enumerate();
    let left_out = all.filter(|(number, _)| !registration.knows(*number));
    Ok(Registered {
        functions,
        schema_map_entries,
        left_out: left_out.map(|(_, f)| f.call.name.to_string()).collect(),
        type_schemata_bytes: registration.type_bytes().get(),
        schemata_of_16_messages_bytes: SchemaBytes {
            split: split.get(),
            whole: whole.get(),
        },
    })
}
