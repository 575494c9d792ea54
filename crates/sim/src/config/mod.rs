//! The parameters of the simulated server: one set for every experiment.
//!
//! [`Config`] holds them as quantities, part by part. [`PARAMETERS`] names each one for files, command
//! lines and `accelflow explain`, with its unit, its allowed values, and where its default comes
//! from.

mod access;
mod blank;
mod generation_costs;
mod parts;
mod rates;
mod server;
mod table;

pub use parts::*;
pub use server::Config;
pub(crate) use server::TRANSACTION;
pub use table::PARAMETERS;
