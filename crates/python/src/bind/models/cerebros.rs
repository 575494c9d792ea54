//! Cerebros, for `accelflow.cerebros`: the analytic model of the RPC layer, and the simulated
//! server.

mod analytic;
mod server;

pub(crate) use analytic::cerebros_designs;
pub(crate) use server::{cerebros_names, cerebros_services, cerebros_simulate};
