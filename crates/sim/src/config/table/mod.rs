//! The tables of parameters: the one place where defaults, ranges and sources stand.

mod accelerator;
mod atm;
mod cohort;
mod core;
mod dispatcher;
mod exception;
mod facts;
mod memory;
mod network;
mod own;
mod payload;
mod relief;
mod scheduling;
mod speedup;
mod tcp;
mod tenant;
mod tlb;

use super::parameters::Parameter;

/// By section, in the order in which they are listed.
const SECTIONS: &[&[Parameter]] = &[
    core::ROWS,
    accelerator::ROWS,
    own::INSTANCES,
    own::PES,
    own::INPUT_ENTRIES,
    own::OUTPUT_ENTRIES,
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
];

/// Every parameter of the simulated server.
pub const PARAMETERS: &[Parameter] = &all::<{ rows() }>();

const fn rows() -> usize {
    let (mut total, mut section) = (0, 0);
    while section < SECTIONS.len() {
        total += SECTIONS[section].len();
        section += 1;
    }
    total
}

/// The rows of all sections, one after the other.
const fn all<const N: usize>() -> [Parameter; N] {
    let mut rows = [SECTIONS[0][0]; N];
    let (mut row, mut section) = (0, 0);
    while section < SECTIONS.len() {
        let mut index = 0;
        while index < SECTIONS[section].len() {
            rows[row] = SECTIONS[section][index];
            row += 1;
            index += 1;
        }
        section += 1;
    }
    rows
}
