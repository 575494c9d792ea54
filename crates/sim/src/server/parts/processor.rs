//! The RPC processor that replaces the RPC accelerator: the functions in its schema map, and the
//! memory that it reserves for messages (Cerebros, MICRO 2021, sections 4.1 and 4.3).

use std::collections::BTreeMap;

use accelflow_trace::Accel;
use accelflow_units::{Bytes, Time};
use accelflow_workload::arrivals::ArrivalProcess;

use crate::config::{AcceleratorConfig, RpcProcessor};
use crate::orchestrators::Properties;
use crate::server::run::{Load, Run};
use crate::server::state::{JobId, RequestId};

/// The state of the RPC processor. Without one, all functions are known, and memory is not limited.
pub(crate) struct Processor {
    /// By service, whether the schema map has its function; empty if it has all.
    known: Vec<bool>,
    memory: Option<Memory>,
}

/// The NIC's memory for messages and their deserialized payloads.
struct Memory {
    capacity: u64,
    used: u64,
    /// Memory for a deserialized payload, as a multiple of the message's size.
    ratio: f64,
    retry_after: Time,
    retries: u64,
    /// By request in flight, the bytes that it holds.
    held: Vec<u64>,
    /// The number of NACKs of the messages that come again.
    nacks: BTreeMap<JobId, u64>,
}

/// The NIC's answer to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It has memory for the message.
    Held,
    /// A NACK, after which the sender tries again at this time.
    Again(Time),
    /// A NACK, after which the sender gives up.
    Refused,
}

impl Processor {
    /// The processor of the server of `run`. The services with most requests are registered first.
    /// A server whose cores do all RPC has no processor that could refuse messages.
    pub(crate) fn new(run: &Run<'_>, properties: &Properties) -> Processor {
        let config = &run.config.accelerator;
        let is_used = properties.accelerated && config.has(Accel::Rpc);
        if config.rpc_processor != RpcProcessor::Whole || !is_used {
            return Processor {
                known: Vec::new(),
                memory: None,
            };
        }
        Processor {
            known: known(config, run.loads, run.plan.services.len()),
            memory: (config.rpc_memory > Bytes(0)).then(|| Memory::new(config)),
        }
    }

    /// Whether the schema map has the function of a service.
    #[inline]
    pub(crate) fn knows(&self, service: u16) -> bool {
        self.known
            .get(usize::from(service))
            .copied()
            .unwrap_or(true)
    }

    /// Whether messages need memory of the NIC.
    #[inline]
    pub(crate) fn limits_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// Reserves memory for a message of `request` with `size` bytes: for itself and for its
    /// payload, both or neither. `job` is the trace that the message starts.
    pub(crate) fn reserve(
        &mut self,
        request: RequestId,
        job: JobId,
        size: Bytes,
        now: Time,
    ) -> Admission {
        match &mut self.memory {
            Some(memory) => memory.reserve(request, job, size, now),
            None => Admission::Held,
        }
    }

    /// Releases all memory of a request that ends.
    #[inline]
    pub(crate) fn release(&mut self, request: RequestId) {
        if let Some(memory) = &mut self.memory
            && let Some(held) = memory.held.get_mut(request as usize)
        {
            memory.used -= std::mem::take(held);
        }
    }
}

impl Memory {
    fn new(config: &AcceleratorConfig) -> Memory {
        Memory {
            capacity: config.rpc_memory.get(),
            used: 0,
            ratio: config.rpc_reservation_ratio,
            retry_after: config.rpc_retry_after,
            retries: config.rpc_retries,
            held: Vec::new(),
            nacks: BTreeMap::new(),
        }
    }

    fn reserve(&mut self, request: RequestId, job: JobId, size: Bytes, now: Time) -> Admission {
        let payload = (size.get() as f64 * self.ratio).ceil() as u64;
        let bytes = size.get().saturating_add(payload);
        if bytes > self.capacity - self.used {
            let nacks = self.nacks.entry(job).or_default();
            *nacks += 1;
            if *nacks <= self.retries {
                return Admission::Again(now + self.retry_after);
            }
            self.nacks.remove(&job);
            return Admission::Refused;
        }
        self.nacks.remove(&job);
        self.used += bytes;
        let place = request as usize;
        if place >= self.held.len() {
            self.held.resize(place + 1, 0);
        }
        self.held[place] += bytes;
        Admission::Held
    }
}

/// By service, whether the schema map has its function; empty if all functions of the server's
/// services fit. The map has the functions of the services to which clients send most requests.
fn known(config: &AcceleratorConfig, loads: &[Load], services: usize) -> Vec<bool> {
    let capacity = config.rpc_schema_map_entries;
    let mut served: Vec<usize> = loads.iter().map(|load| load.service).collect();
    served.sort_unstable();
    served.dedup();
    if served.len() <= capacity {
        return Vec::new();
    }
    let seconds = loads.iter().map(duration_s).fold(0.0, f64::max);
    let mut asked = vec![0.0; services];
    for load in loads {
        asked[load.service] += requests_in(load, seconds);
    }
    served.sort_by(|&a, &b| asked[b].total_cmp(&asked[a]));
    let mut known = vec![false; services];
    for &service in &served[..capacity] {
        known[service] = true;
    }
    known
}

/// The expected time until all requests of `load` have arrived, in seconds.
fn duration_s(load: &Load) -> f64 {
    let requests = load.requests as f64;
    match &load.arrivals {
        ArrivalProcess::Poisson { rate_rps } | ArrivalProcess::Bursty { rate_rps, .. } => {
            requests / rate_rps
        }
        ArrivalProcess::Trace(times) => times.last().map_or(0.0, |last| last.as_s_f64()),
        ArrivalProcess::Rates(table) => table.expects(requests).map_or(0.0, Time::as_s_f64),
    }
}

/// The expected number of requests of `load` in the first `seconds` of a run.
fn requests_in(load: &Load, seconds: f64) -> f64 {
    match &load.arrivals {
        ArrivalProcess::Poisson { rate_rps } | ArrivalProcess::Bursty { rate_rps, .. } => {
            rate_rps * seconds
        }
        ArrivalProcess::Trace(times) => times.len() as f64,
        // The last rate lasts for ever, so the mean rate until all requests have come stands for
        // it.
        ArrivalProcess::Rates(_) => load.requests as f64 * seconds / duration_s(load).max(1e-12),
    }
}
