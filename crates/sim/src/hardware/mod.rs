//! The hardware that operations contend for: cores, accelerators, DMA engines, and the networks,
//! caches and memory between them.
//!
//! No component owns a clock: the caller passes the simulated time to each method.

mod accelerator;
mod assoc;
mod atm;
mod balance;
mod central;
mod core;
mod dispatcher;
mod divisor;
mod dma;
#[cfg(test)]
mod lines;
mod memory;
mod network;
mod pipe;
mod regulator;
mod routes;
mod sizes;
mod soft_queue;
mod topology;
mod translation;
mod uncore;
mod walkers;

pub(crate) use accelerator::{Element, Sizes, Station};
pub(crate) use accelflow_shaping::dispatch::{Entry, InputQueue, Owner, Placed};
pub(crate) use atm::TraceMemory;
pub(crate) use central::CentralQueue;
pub(crate) use core::{Core, SliceEnd, Slices, TaskStart};
pub(crate) use dispatcher::Dispatcher;
pub(crate) use dma::Dma;
pub(crate) use memory::Source;
pub(crate) use network::Carried;
pub(crate) use soft_queue::SoftQueue;
pub(crate) use topology::Place;
pub(crate) use uncore::{Endpoints, Movement, Uncore};
