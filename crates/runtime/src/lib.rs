//! Executes traces on real bytes.
//!
//! * [`Executor`] follows a trace on the calling thread. It resolves branches by the facts in the
//!   message, calls the software accelerators of [`accelflow_accel`], and returns the results.
//! * In [`Pools`], each accelerator has its own workers and passes work directly to the next
//!   accelerator.
//! * A [`Peer`] supplies the response that a trace waits for. [`LoopbackPeer`] runs in this process
//!   and replaces all peers of a SocialNetwork service: cache, database and other services.
//! * [`run_service`] runs the whole path of a service.
//! * [`record`](record::record) measures the cost of each accelerator call of a service, and
//!   [`measure`](measure::measure) the cost of offloads.
//!
//! ```
//! use accelflow_runtime::{Executor, demo};
//! use accelflow_trace::templates;
//!
//! let mut executor = Executor::with_cores(templates()?.link()?, 4)?;
//! let packets = demo::request("ComposePost", 1, 0, true)?;
//! let outcome = demo::run_trace(&mut executor, "T1", &packets)?;
//! let arrival = outcome.result().ok_or("no core was notified")?;
//! assert_eq!(arrival.job.facts.text("method"), Some("ComposePost"));
//! assert_eq!(arrival.job.core, Some(0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod affinity;
mod bodies;
mod book;
mod bookmark;
mod caller;
mod connection;
pub mod demo;
mod ensemble;
mod error;
mod execution;
mod executor;
mod faults;
mod gate;
mod guard;
mod inline;
mod limit;
pub mod measure;
mod outcome;
pub mod peer;
mod processor_time;
pub mod record;
mod run_traces;
mod service;
mod terms;
pub mod trail;

pub use accelflow_shaping::dispatch::DispatchPolicy;
pub use bodies::Bodies;
pub use book::MAX_VISITS;
pub use caller::{ERROR_TRACES, error_reply, error_text};
pub use ensemble::{
    Busy, Finished, Notification, POOL_PARAMETERS, PoolCounters, PoolError, PoolSettings,
    PooledExecutor, Pools, Refused, TraceHandle, TraceRequest,
};
pub use error::{Counters, Failure, TraceError, fault_reason};
pub use executor::Executor;
pub use faults::{Fault, FaultError, FaultKind, FaultWhen, Faults};
pub use gate::{Gate, Turn};
pub use limit::{RunningTrace, TenantBusy, TraceLimit, TraceTurn, TurnEnder};
pub use outcome::{Arrival, Caller, Conversation, Detail, Message, Outcome, Sent, Step, StepTime};
pub use peer::{Answers, LoopbackPeer, NoPeer, Peer, PeerError, Reply};
pub use processor_time::{run_queue, thread_time};
pub use run_traces::RunTraces;
pub use service::{PhaseRun, ServiceRun, ServiceRunError, ServiceRunner, run_service};
pub use terms::{Priority, Terms};
