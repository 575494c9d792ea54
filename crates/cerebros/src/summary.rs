//! The results of a simulation run for people and files: means per request, in cycles and
//! microseconds.

use accelflow_model::cerebros::Design;
use accelflow_units::Time;
use serde::Serialize;

use crate::outcome::{Group, SimulationResult};
use crate::platform::Platform;
use crate::program::analytic;
use crate::registration::Registration;
use crate::services::Service;
use accelflow_parameters::Refusal;

/// The number of concurrent messages per function for which reports state the size of the schemata
/// (the types and addresses of message fields).
pub const SIZED_MESSAGES: u64 = 16;

/// The mean results per request of a group of requests: all requests, or those to one function.
/// Times are in cycles of the cores. Without requests, means are 0, or `None` where the field is
/// optional.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Means {
    /// The number of answered requests in the group, without the warm-up.
    pub requests: u64,
    /// The mean cycles per request that cores spend on the RPC layer in software.
    pub software_cycles: f64,
    /// The mean cycles per request to move tasks to the accelerator, and results back, over the
    /// chip's network.
    pub offload_cycles: f64,
    /// The mean cycles per request in which the accelerator or Cerebros works.
    pub accelerator_cycles: f64,
    /// The mean cycles per request of the RPC layer without waits: software, offloads and
    /// accelerator.
    pub rpc_cycles: f64,
    /// The mean cycles that a request waits for a free pipeline of the accelerator or of Cerebros.
    pub queued_cycles: f64,
    /// The mean cycles that a request waits until refused responses of nested calls are sent again.
    /// The NIC refuses a response if it lacks memory.
    pub refused_cycles: f64,
    /// The mean cycles that a request waits for the responses of nested calls to other services.
    pub away_cycles: f64,
    /// The mean cycles per request in which a core switches back to a request whose nested call was
    /// answered.
    pub switched_cycles: f64,
    /// The mean cycles per request for which the RPC layer occupies a core, waits included.
    pub rpc_on_core_cycles: f64,
    /// The mean cycles per request of the function's business logic, without stalls.
    pub execute_cycles: f64,
    /// The mean cycles per request in which the business logic stalls for missing instructions.
    pub stall_cycles: f64,
    /// The mean cycles per request of the function: business logic and its stalls.
    pub function_cycles: f64,
    /// The sum of `rpc_cycles` and `function_cycles`: the mean cycles per request without waits.
    pub total_cycles: f64,
    /// The median over requests of the cycles for which a request occupies a core; `None` without
    /// requests.
    pub core_median_cycles: Option<f64>,
    /// The mean number of instruction-cache misses of the function per request. A miss loads one
    /// block.
    pub misses: f64,
    /// The mean number of instruction-cache misses of the RPC layer's software per request. A miss
    /// loads one block.
    pub layer_misses: f64,
    /// The mean cycles per request in which the RPC layer's software stalls for missing
    /// instructions; a part of `software_cycles`.
    pub layer_stall_cycles: f64,
    /// The mean number of instructions that the function and the RPC layer's software execute per
    /// request.
    pub instructions: f64,
    /// The instruction-cache misses of the function and the RPC layer's software per 1,000
    /// instructions; `None` without instructions.
    pub mpki: Option<f64>,
    /// The share of requests whose function had no instruction-cache miss, from 0 to 1.
    pub miss_free_ratio: f64,
    /// The share of requests, from 0 to 1, that went to a core whose latest functions, according to
    /// the NIC's function map, include the requested one.
    pub steered_ratio: f64,
    /// The mean latency of a request in microseconds; `None` without requests.
    pub latency_mean_us: Option<f64>,
    /// The median latency of the requests in microseconds; `None` without requests.
    pub latency_p50_us: Option<f64>,
    /// The 99th percentile of the requests' latencies in microseconds; `None` without requests.
    pub latency_p99_us: Option<f64>,
}

impl Means {
    /// Calculates the means of `group` on `platform`. Sorts the group's samples to find
    /// percentiles.
    ///
    /// Two values are estimates. Instructions are `instructions_per_cycle` times the cycles of the
    /// business logic, without stalls, and of the RPC layer's software, with stalls. The stalls of
    /// the RPC layer's software are `miss_stall_cycles` times its instruction-cache misses.
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

/// The mean results of the requests to one function.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FunctionMeans {
    /// The function's name.
    pub function: String,
    /// The mean results of the requests to the function.
    pub results: Means,
}

/// The queue and the number of requests that pile up on a server whose load is too high.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Backlog {
    /// The name of the queue that limits the server ([`Queue::name`](crate::Queue::name)). It names
    /// the NIC's memory only if the queues for pipelines and for cores are short: in each of the
    /// two, fewer requests wait than the service has cores.
    pub queue: &'static str,
    /// The number of requests in all queues, or given up, when the last request arrived.
    pub waiting: usize,
}

/// The memory for the schemata of several messages, in bytes. A schema has the types and addresses
/// of a message's fields; the types are stored once per function, or once per message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SchemaBytes {
    /// The size in bytes if types are stored once per function, and addresses once per message.
    pub split: u64,
    /// The size in bytes if both types and addresses are stored once per message.
    pub whole: u64,
}

/// The functions of a service that are in the schema map (Cerebros's table of the functions whose
/// calls it can process), and the sizes of their schemata.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Registered {
    /// The number of the service's functions that are in the schema map.
    pub functions: usize,
    /// The number of functions that the schema map can hold.
    pub schema_map_entries: usize,
    /// The names of the service's functions that did not fit into the schema map.
    pub left_out: Vec<String>,
    /// The size of all type schemata in bytes: of the functions in the schema map, and of the
    /// header.
    pub type_schemata_bytes: u64,
    /// The total size in bytes of the schemata of 16 concurrent requests to each function in the
    /// schema map. Schemata of responses are not included.
    pub schemata_of_16_messages_bytes: SchemaBytes,
}

/// The results of a simulation run for reports: means per request, counts and utilisations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The mean results of all requests after the warm-up.
    pub all: Means,
    /// The mean results of the requests to each function, in the order of the service's functions.
    pub functions: Vec<FunctionMeans>,
    /// The mean cycles of the RPC layer per request that the analytic model predicts for the
    /// measured requests, as if all of them were valid calls of functions in the schema map; 0
    /// without requests.
    pub analytic_rpc_cycles: f64,
    /// The number of answered requests, including the warm-up.
    pub answered: u64,
    /// The number of requests that were given up because the NIC had no memory for the request or
    /// for the response of a nested call, including the warm-up.
    pub refused: u64,
    /// The number of NACKs, by which the NIC's buffer manager refuses a message for lack of memory,
    /// including the warm-up.
    pub nacks: u64,
    /// The number of answered requests, including the warm-up, with a message that a core processed
    /// in software because Cerebros could not.
    pub fallbacks: u64,
    /// The throughput over the whole run, in answered requests per second.
    pub throughput_rps: f64,
    /// The mean arrival rate in requests per second; `None` for a closed loop.
    pub offered_rps: Option<f64>,
    /// The queue in which requests pile up; `None` unless more than 32 requests, and more than 5 %
    /// of the load's requests, were waiting or given up when the last request arrived. Always
    /// `None` for a closed loop.
    pub saturated: Option<Backlog>,
    /// The mean utilisation of the shared pipelines, from 0 to 1: the share of time in which a
    /// pipeline works.
    pub pipeline_utilisation_ratio: f64,
    /// The mean utilisation of the cores, from 0 to 1: the share of time in which a core is
    /// occupied.
    pub core_utilisation_ratio: f64,
    /// The highest request rate that the pipelines can sustain, divided by the highest request rate
    /// that the cores can serve. `None` if the shared pipelines have no tasks.
    pub accelerator_headroom_ratio: Option<f64>,
    /// The largest amount of the NIC's memory that was reserved at any time for arriving messages
    /// (requests, and responses of nested calls), in bytes.
    pub buffer_peak_bytes: u64,
    /// The service's functions in the schema map, and the sizes of their schemata.
    pub registration: Registered,
}

impl Summary {
    /// Summarizes `outcome`, the result of a simulation of `service` on `platform` under `design`.
    ///
    /// # Errors
    /// [`Refusal`] for a header format without a field that names the function.
    pub fn of(
        service: &Service,
        platform: &Platform,
        design: Design,
        mut outcome: SimulationResult,
    ) -> Result<Summary, Refusal> {
        let headroom = headroom(service, platform, design, &outcome);
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
/// pipelines have no task. Waits for pipelines and for memory are no work of a core, so the ratio
/// does not depend on the load.
fn headroom(
    service: &Service,
    platform: &Platform,
    design: Design,
    outcome: &SimulationResult,
) -> Option<f64> {
    let spent = outcome.all.spent;
    let work = spent.accelerator.as_s_f64();
    let core = (spent.on_core - spent.waits_on_core + spent.function()).as_s_f64();
    let cores = platform.workers().min(service.most_cores) as f64;
    // Under P+H_PV the work is that of accelerators beside the cores.
    let shared = work > 0.0 && design != Design::Private;
    shared.then(|| (platform.pipelines / work) / (cores / core))
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
