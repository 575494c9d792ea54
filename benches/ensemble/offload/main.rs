//! Offloads from one core to the ensemble on another, in the forms of Accelerometer's equations,
//! and the equations' inputs: measurements for `scripts/accelerometer_page.py --ensemble FILE`.
//!
//!     cargo run --profile extension -p accelflow-runtime --example ensemble_offload [ROUNDS] >FILE
//!
//! The host is one core: its threads spin for their own work and have a kernel done, a compression
//! or a chain of traces: a message is received (T1) or sent (T2), a service is called (T9, T10), a
//! cache is read (T4, T5). The accelerators are the software bodies of the ensemble, whose workers
//! share another core; the called service and the cache answer there, too. Rounds of all forms
//! alternate, so that what else runs on the machine disturbs all alike; with `chrt --fifo 1` in
//! front of the command, little does.

mod forms;
mod inputs;
#[path = "../spin.rs"]
mod spin;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use accelflow_accel::rpc::ThriftCall;
use accelflow_accel::storage::{Operation, StorageCall};
use accelflow_accel::thrift::{Protocol, Schema};
use accelflow_accel::{AccelError, Call, Ensemble, messages};
use accelflow_runtime::affinity::{on_core, usable_cores};
use accelflow_runtime::run_queue;
use accelflow_runtime::{
    Answers, Detail, Executor, Message, NoPeer, PoolError, PoolSettings, Pools, TraceRequest, demo,
};
use accelflow_trace::{Accel, Image, Node, templates};
use serde_json::{Value, json};
use spin::{spin, turns_per_us};

type Failed = Box<dyn Error + Send + Sync>;

/// The accelerators of the longest chain: a call and its response.
const LONGEST: usize = 9;

/// The bytes of a document in the cache.
const DOCUMENT: usize = 1_024;

/// Sizes of the compressions, in bytes.
const SIZES: [usize; 4] = [256, 1_024, 4_096, 16_384];

/// The host's own work for a request, in us.
const OWN_US: [u32; 2] = [20, 100];

/// Of ten requests, so many have so many bytes: most are small, as in the paper's Fig. 15.
const MIX: [(usize, usize); 3] = [(7, 64), (2, 1_024), (1, 16_384)];

/// Sizes below which requests of the mix stay on the host.
const LEAST: [usize; 4] = [0, 256, 4_096, NEVER];

/// More bytes than a kernel has: nothing is offloaded.
const NEVER: usize = i32::MAX as usize;

/// What is offloaded.
#[derive(Clone)]
enum Kernel {
    /// The trace of one compression, of these bytes.
    Compress(Arc<[u8]>),
    /// T1 on these packets: five accelerators, one offload.
    Receive(Arc<[u8]>),
    /// T2 with this response.
    Respond(Arc<[u8]>, ThriftCall),
    /// T9 with these arguments, and T10.
    Call(Arc<[u8]>, ThriftCall),
    /// T4, and T5 with this document.
    Read(Arc<[u8]>),
}

impl Kernel {
    fn compress(bytes: usize) -> Result<Kernel, AccelError> {
        let mut text = String::new();
        let mut number = 0;
        while text.len() < bytes {
            text += &messages::request("ComposePost", 1, number)?.to_string();
            number += 1;
        }
        Ok(Kernel::Compress(text.as_bytes()[..bytes].into()))
    }

    fn receive() -> Result<Kernel, AccelError> {
        Ok(Kernel::Receive(
            demo::request("ComposePost", 1, 0, false)?.into(),
        ))
    }

    fn chains() -> Result<[(&'static str, Kernel); 3], AccelError> {
        let call = |method| {
            let schema = Schema::social_network();
            ThriftCall::request(&schema, method, Protocol::Binary, 1)
        };
        let response = messages::response("ReadHomeTimeline", 1, 0)?.to_string();
        let arguments = messages::request("StorePost", 1, 0)?.to_string();
        Ok([
            (
                "respond (T2)",
                Kernel::Respond(
                    response.as_bytes().into(),
                    call("ReadHomeTimeline")?.reply(),
                ),
            ),
            (
                "call (T9, T10)",
                Kernel::Call(arguments.as_bytes().into(), call("StorePost")?),
            ),
            (
                "read the cache (T4, T5)",
                Kernel::Read(
                    format!("{{\"text\":\"{}\"}}", "x".repeat(DOCUMENT))
                        .as_bytes()
                        .into(),
                ),
            ),
        ])
    }

    /// The accelerators that the kernel visits.
    fn steps(&self, machine: &Machine) -> Result<usize, Failed> {
        let request = TraceRequest {
            detail: Detail::Steps,
            ..self.request()?
        };
        let finished = request.run_inline(&mut machine.executor()?);
        let outcome = finished.result.map_err(|failure| failure.error)?;
        Ok(outcome.steps.len())
    }

    /// A run of the kernel. A core without accelerators makes the same.
    fn request(&self) -> Result<TraceRequest, AccelError> {
        let request = match self {
            Kernel::Compress(text) => {
                let message = Message::json(&[], Call::None);
                TraceRequest::new("compress", text.to_vec(), &message, Box::new(NoPeer))
            }
            Kernel::Receive(packets) => {
                demo::trace_request("T1", &Message::received(packets), Answers::default())?
            }
            Kernel::Respond(response, call) => {
                let message = Message::json(response, Call::Thrift(call.clone()));
                demo::trace_request("T2", &message, Answers::default())?
            }
            Kernel::Call(arguments, call) => {
                let message = Message::json(arguments, Call::Thrift(call.clone()));
                demo::trace_request("T9", &message, Answers::default())?
            }
            Kernel::Read(document) => {
                let call = StorageCall::request(Operation::CacheGet, "post", "1");
                let answers = Answers {
                    document: document.to_vec(),
                    ..Answers::default()
                };
                demo::trace_request("T4", &Message::json(&[], Call::Storage(call)), answers)?
            }
        };
        Ok(TraceRequest {
            detail: Detail::Results,
            ..request
        })
    }
}

fn bodies() -> Result<Ensemble, AccelError> {
    Ensemble::with_cores(2)
}

fn image() -> Result<Arc<Image>, Failed> {
    let mut library = templates()?;
    library.register("compress", vec![Node::Accel(Accel::Cmp)])?;
    Ok(Arc::new(library.link()?))
}

/// The host's core, and that of the workers.
#[derive(Clone, Copy)]
struct Cores {
    host: usize,
    workers: usize,
}

/// A machine to measure on.
struct Machine {
    cores: Cores,
    image: Arc<Image>,
    turns_per_us: f64,
}

impl Machine {
    /// The ensemble, whose workers share a core.
    fn pools(
        &self,
        make: fn() -> Result<Ensemble, AccelError>,
        least_bytes: usize,
    ) -> Result<Pools, Failed> {
        let settings = PoolSettings {
            least_bytes,
            ..PoolSettings::default()
        };
        let started: Result<Pools, PoolError> =
            on_core(self.cores.workers, || Pools::start(settings, make))?;
        Ok(started?)
    }

    fn executor(&self) -> Result<Executor, AccelError> {
        Ok(Executor::new(self.image.clone(), bodies()?))
    }

    /// The host's own work.
    fn work(&self, us: u32) {
        spin((self.turns_per_us * f64::from(us)) as u64);
    }
}

fn ns(time: Duration, count: usize) -> f64 {
    time.as_secs_f64() * 1e9 / count as f64
}

/// All forms of a kernel beside each other, for each of the host's own works.
fn cases(machine: &Machine, rounds: usize) -> Result<Vec<Value>, Failed> {
    let mut kernels = vec![("receive (T1)".to_owned(), Kernel::receive()?)];
    for (name, kernel) in Kernel::chains()? {
        kernels.push((name.to_owned(), kernel));
    }
    for bytes in SIZES {
        let name = format!("compress, {bytes} B");
        kernels.push((name, Kernel::compress(bytes)?));
    }
    let pools = machine.pools(bodies, 0)?;
    let mut found = Vec::new();
    for (name, kernel) in kernels {
        let steps = kernel.steps(machine)?;
        if steps > LONGEST {
            return Err(format!("{name}: {steps} accelerators, at most {LONGEST}").into());
        }
        for own_us in OWN_US {
            let host = forms::Host {
                machine,
                pools: &pools,
                requests: vec![kernel.clone()],
                own_us,
            };
            let rounds: Result<Vec<Value>, Failed> = (0..rounds).map(|_| host.round()).collect();
            let inputs = inputs::of_kernel(
                machine,
                &kernel,
                own_us,
                rounds.as_ref().map_or(0, Vec::len),
            )?;
            found.push(json!({
                "kernel": name,
                "steps": steps,
                "own_us": own_us,
                "inputs": inputs,
                "rounds": rounds?,
            }));
        }
    }
    Ok(found)
}

/// Selective offload: the mix of sizes, by the size below which requests stay on the host.
fn thresholds(machine: &Machine, rounds: usize) -> Result<Vec<Value>, Failed> {
    let mut requests = Vec::new();
    for (count, bytes) in MIX {
        requests.extend(vec![Kernel::compress(bytes)?; count]);
    }
    let own_us = OWN_US[0];
    let all: Result<Vec<Pools>, Failed> = LEAST
        .iter()
        .map(|least| machine.pools(bodies, *least))
        .collect();
    let all = all?;
    let mut found: Vec<Vec<Value>> = LEAST.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for (pools, rows) in all.iter().zip(&mut found) {
            let host = forms::Host {
                machine,
                pools,
                requests: requests.clone(),
                own_us,
            };
            rows.push(host.form(forms::Form::AsyncSameThread)?);
        }
    }
    let rows = LEAST.iter().zip(found).map(|(least, rounds)| {
        let least_bytes = (*least < NEVER).then_some(*least);
        json!({ "least_bytes": least_bytes, "own_us": own_us, "rounds": rounds })
    });
    Ok(rows.collect())
}

fn main() -> Result<(), Failed> {
    let rounds = std::env::args()
        .nth(1)
        .map_or(Ok(15), |text| text.parse::<usize>())?;
    let usable = usable_cores()?;
    let [host, workers, ..] = usable[..] else {
        return Err(
            "the host and the workers need a core each: this process may use one only".into(),
        );
    };
    let busy = run_queue();
    let machine = Machine {
        cores: Cores { host, workers },
        image: image()?,
        turns_per_us: turns_per_us(),
    };
    let result = json!({
        "schema": "accelflow.ensemble-offload/1",
        "build": if cfg!(debug_assertions) { "dev" } else { "release" },
        "threads": forms::THREADS,
        "in_flight": forms::IN_FLIGHT,
        "busy_before": busy,
        "mix": MIX.map(|(count, bytes)| json!({ "count": count, "bytes": bytes })),
        "offload": inputs::of_offloads(&machine, rounds)?,
        "sizes": inputs::of_sizes(&machine, rounds)?,
        "cases": cases(&machine, rounds)?,
        "thresholds": thresholds(&machine, rounds)?,
        "busy_after": run_queue(),
    });
    println!("{result:#}");
    Ok(())
}
