//! The tables of the parameters of the simulated server: keys, defaults, allowed values and
//! sources.

mod accelerator;
mod atm;
mod by_type;
mod cohort;
mod core;
mod dispatcher;
mod exception;
mod facts;
mod memory;
mod network;
mod payload;
mod relief;
mod scheduling;
mod speedup;
mod tcp;
mod tenant;
mod tlb;

use accelflow_parameters::Table;

use crate::config::server::Config;

/// The table of all parameters of the simulated server. The key of a parameter of one accelerator,
/// such as `pes.TCP` (processing elements of TCP), may also be written `accelerator.TCP.pes`.
pub const PARAMETERS: Table<Config> = Table::new(&[
    core::ROWS,
    accelerator::ROWS,
    by_type::INSTANCES,
    by_type::PES,
    by_type::INPUT_ENTRIES,
    by_type::OUTPUT_ENTRIES,
    by_type::OVERFLOW_ENTRIES,
    by_type::MEAN_OPERATION,
    speedup::ROWS,
    exception::ROWS,
    scheduling::ROWS,
    tenant::ROWS,
    tcp::ROWS,
    dispatcher::ROWS,
    atm::ROWS,
    network::ROWS,
    memory::ROWS,
    tlb::ROWS,
    relief::ROWS,
    cohort::ROWS,
    payload::ROWS,
    facts::ROWS,
])
.with_members(
    "accelerator",
    &[
        "TCP", "Encr", "Decr", "RPC", "Ser", "Dser", "Cmp", "Dcmp", "LdB", "own",
    ],
);
