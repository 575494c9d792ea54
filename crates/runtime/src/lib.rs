//! Executes traces on real bytes.
//!
//! [`Executor`] follows a registered trace with the facts it reads from the message, calls the
//! software bodies of [`accelflow_accel`], and hands results to the core. Where a trace waits for a
//! response, a [`Peer`] supplies its packets; [`LoopbackPeer`] plays all the peers of the
//! SocialNetwork services in this process. [`run_service`] drives the whole path of a service, and
//! [`record`](record::record) measures what each step costs.
//!
//! ```
//! use accelflow_runtime::{Executor, demo};
//! use accelflow_trace::templates;
//!
//! let mut executor = Executor::with_cores(templates()?.link()?, 4)?;
//! let packets = demo::request("ComposePost", 1, 0, true)?;
//! let outcome = demo::run_trace(&mut executor, "T1", &packets)?;
//! let arrival = outcome.result().ok_or("nobody was notified")?;
//! assert_eq!(arrival.job.facts.text("method"), Some("ComposePost"));
//! assert_eq!(arrival.job.core, Some(0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bodies;
mod caller;
mod connection;
pub mod demo;
mod error;
mod execution;
mod executor;
mod faults;
mod gate;
mod limit;
mod outcome;
pub mod peer;
mod pools;
pub mod record;
mod service;
mod terms;
pub mod trail;

pub use accelflow_shaping::dispatch::Policy;
pub use bodies::Bodies;
pub use caller::{ERROR_TRACES, error_reply};
pub use error::{Counters, Failure, TraceError, fault_reason};
pub use execution::MAX_VISITS;
pub use executor::Executor;
pub use faults::{Fault, FaultError, FaultKind, FaultWhen, Faults};
pub use gate::{Gate, Turn};
pub use limit::{RunningTrace, TenantBusy, TraceLimit};
pub use outcome::{Arrival, Caller, Conversation, Detail, Message, Outcome, Sent, Step};
pub use peer::{Answers, LoopbackPeer, NoPeer, Peer, PeerError};
pub use pools::{PoolCounters, PoolError, PoolSettings, PooledBodies, Pools};
pub use service::{PhaseRun, ServiceRun, ServiceRunError, ServiceRunner, run_service};
pub use terms::{Priority, Terms};
