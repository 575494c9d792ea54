//! The way of a request through the server, one step a file.
//!
//! In the order of a request: [`arrival`], [`phases`], [`admission`], [`enqueue`], [`elements`],
//! [`decide`], [`dispatch`], [`forward`], [`wait`], [`notify`], [`cores`], [`respond`]. Beside the
//! way stand what steps use ([`movements`], [`placement`]) and what only some requests or systems
//! meet ([`central`], [`exceptions`], [`forks`], [`joins`], [`software`], [`polling`]).

mod admission;
mod arrival;
mod central;
mod cores;
mod decide;
mod dispatch;
mod elements;
mod enqueue;
mod exceptions;
mod forks;
mod forward;
mod joins;
mod movements;
mod notify;
mod phases;
mod placement;
mod polling;
mod respond;
mod software;
mod wait;
