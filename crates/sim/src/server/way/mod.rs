//! The steps of a request on its way through the server, one file for each step.
//!
//! In the order of a request: [`arrival`], [`phases`], [`admission`], [`enqueue`], [`elements`],
//! [`decide`], [`dispatch`], [`forward`], [`wait`], [`notify`], [`cores`], [`respond`]. Several
//! steps use [`choose`], [`movements`] and [`placement`]. Only some requests or systems reach
//! [`calls`], [`central`], [`exceptions`], [`forks`], [`joins`], [`software`], [`polling`],
//! [`reserve`] and [`retries`].

mod admission;
mod arrival;
mod calls;
mod central;
mod choose;
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
mod reserve;
mod respond;
mod retries;
mod software;
mod wait;
