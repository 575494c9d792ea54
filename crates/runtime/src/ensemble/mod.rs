//! Ensemble execution: accelerators pass work on to each other.
//!
//! An accelerator has an input queue and an overflow area behind it, workers, an output queue, and
//! an output dispatcher that moves finished entries on to the next accelerator (AccelFlow, sections
//! IV.A and V.2). The core that began a run is notified once, at the end. If queues and overflow areas
//! of all instances are full, a core does the step: queues never grow. The bodies and the traces
//! are those of inline execution, and so are results and visits, byte for byte.
//!
//! `docs/ensemble.md` has the protocol, why it cannot deadlock, and what it costs.

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
mod worker;

pub use executor::PooledExecutor;
pub use handle::{Finished, Notification, TraceHandle};
pub use pools::Pools;
pub use request::{Busy, Refused, TraceRequest};
pub use settings::{PoolCounters, PoolError, PoolSettings};
