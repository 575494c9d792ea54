//! The parameters of the simulated server: one set for every experiment.
//!
//! [`Config`] has them as quantities, in parts. [`PARAMETERS`] lists each with its key for files
//! and command lines, its unit, its allowed values, and the source of its default.

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
