//! Orchestrators: the systems under comparison. They differ in which component starts the next
//! operation of a trace, and in what this costs.
//!
//! During a run, an orchestrator decides which components handle the completion of an operation,
//! and for how long each is busy. [`Properties`] has the values that do not change during a run.
//! Accelerators, networks, cores and workload are the same for all orchestrators.

mod accelflow;
mod cohort;
mod completion;
mod costs;
mod cpu_centric;
mod deadlines;
mod decision;
mod direct;
mod ideal;
mod links;
mod non_acc;
mod orchestrator;
mod properties;
mod registry;
mod relief;
mod session;

pub(crate) use accelflow::AccelFlow;
pub use completion::{Arm, Completion, Next};
pub use decision::{Decision, ManagerVisit};
pub use links::Links;
pub use orchestrator::Orchestrator;
pub use properties::{CoreRequests, Notification, Properties, Queueing};
pub use registry::{LADDER, ORCHESTRATORS, SYSTEMS, UnknownOrchestrator, orchestrator};
pub use session::{PolicyError, QueueName, Session, Simulated, Waiting};
