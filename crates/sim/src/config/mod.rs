//! The parameters of the simulated server.
//!
//! [`Config`] has the values of all parameters, as quantities with units. [`PARAMETERS`] describes
//! each parameter: its key in files and on command lines, unit, allowed values, default and the
//! source of the default.

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
