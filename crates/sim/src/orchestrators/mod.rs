//! The systems under comparison, which differ in who decides the next step of a trace, and at what
//! cost.
//!
//! An orchestrator answers one question during a run: when an operation has completed, who decides
//! the next step, and for how long is each of them busy? Its other properties are fixed, in
//! [`Properties`]. Accelerators, networks, cores and workload are the same for all orchestrators.

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
