//! Services as paths of CPU phases and trace chains (AccelFlow, Table IV).
//!
//! A [`Chain`] names the trace that begins it and the facts of the payloads on its way. The trace
//! language decides where it leads, so [`Service::walk`] follows a [`Walker`], and no count is
//! written by hand.
//!
//! [`Walker`]: accelflow_trace::Walker

mod chains;
mod error;
mod facts;
mod hotel_reservation;
mod media_services;
mod odds;
mod outcomes;
mod payload_facts;
mod place;
mod recorded;
mod serverless;
mod service;
mod social_network;
mod train_ticket;
mod walk;

pub use error::ServiceError;
pub use facts::ChainFacts;
pub use hotel_reservation::hotel_reservation;
pub use media_services::media_services;
pub use odds::{DrawnFacts, FactOdds, Odds, OddsError};
pub use outcomes::{ChainOutcome, Sequence, branching_share, sequences};
pub use payload_facts::PayloadFacts;
pub use place::Place;
pub use recorded::RecordedRequests;
pub use serverless::{
    AZURE_SEXTILES, DURATION_SCALE, serverless, serverless_app_time, serverless_rate_share,
};
pub use service::{Chain, MAX_PARALLEL_CHAINS, Phase, Service};
pub use social_network::{SOCIAL_NETWORK_NAMES, social_network};
pub use train_ticket::train_ticket;
pub use walk::{ChainWalk, Counts, Operation, PhaseWalk, invocations};
