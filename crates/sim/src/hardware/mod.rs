//! The parts of the server that hold things up: cores, accelerators, DMA engines, wires.
//!
//! None owns a clock: whoever calls passes the time.

mod accelerator;
mod core;
mod dma;
mod input_queue;
mod network;

pub(crate) use accelerator::{Sizes, Started, Station};
pub(crate) use core::Core;
pub(crate) use dma::Dma;
pub use input_queue::Policy;
pub(crate) use input_queue::{Entry, Owner, Placed};
pub use network::{Network, Place};
