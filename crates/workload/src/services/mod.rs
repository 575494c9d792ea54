//! Services as paths of CPU phases and chains of traces (AccelFlow, Table IV).
//!
//! A [`Chain`] states its first trace and the facts of its payloads. The traces themselves
//! determine the rest of the chain's path: [`Service::walk`] executes them with a [`Walker`]. So
//! the accelerator calls of a service are counted by execution and not written by hand.
//!
//! [`Walker`]: accelflow_trace::Walker

mod drawn_paths;
mod error;
mod facts;
mod missing;
mod odds;
mod outcomes;
mod payload_facts;
mod place;
mod recorded;
mod service;
mod walk;

pub use drawn_paths::DrawnPath;
pub use error::ServiceError;
pub use facts::ChainFacts;
pub use missing::MissingFact;
pub use odds::{DrawnFacts, FactOdds, Odds, OddsError};
pub(crate) use outcomes::MAX_WAYS;
pub use outcomes::{ChainPath, Sequence, branching_share, sequences};
pub use payload_facts::PayloadFacts;
pub use place::Place;
pub use recorded::RecordedRequests;
pub use service::{Chain, MAX_PARALLEL_CHAINS, Phase, Service};
pub use walk::{ChainWalk, Counts, Operation, PhaseWalk, invocations};
