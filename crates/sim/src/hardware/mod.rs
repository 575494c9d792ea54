//! The parts of the server that hold things up: cores, accelerators, DMA engines, wires.
//!
//! None owns a clock: whoever calls passes the time.

mod accelerator;
mod core;
mod dma;
mod network;

pub(crate) use accelerator::Station;
pub(crate) use core::Core;
pub(crate) use dma::Dma;
pub use network::{Network, Place};
