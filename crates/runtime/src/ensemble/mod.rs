//! Ensemble execution: accelerators pass work on to each other.
//!
//! Each accelerator has an input queue with an overflow area, workers, an output queue and an
//! output dispatcher. The dispatcher moves finished entries to the next accelerator (AccelFlow,
//! sections IV.A and V.2). The core that began a run is notified once, at the end, unless it asks
//! for earlier results ([`TraceRequest::early`]). The queues have fixed sizes: if the queues and
//! overflow areas of all instances are full, a core does the step. Bodies and traces are the same
//! as in inline execution, so results and visits are equal byte for byte.
//!
//! `docs/ensemble.md` explains the protocol, why it cannot deadlock, and its cost.

mod cursor;
mod dispatcher;
mod ending;
mod executor;
mod flow;
mod handle;
mod hub;
mod instance;
mod lent;
mod pace;
mod pools;
mod rendezvous;
mod request;
mod runs;
mod settings;
mod station;
mod sync;
mod table;
mod worker;

pub use executor::PooledExecutor;
pub use handle::{Finished, Notification, TraceHandle};
pub use pools::Pools;
pub use request::{Busy, Refused, TraceRequest};
pub use settings::{PoolCounters, PoolError, PoolSettings};
pub use table::POOL_PARAMETERS;
