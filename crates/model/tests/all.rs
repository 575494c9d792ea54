//! All tests of this crate in one program, which is built faster than one for each file.

mod area;
mod cerebros;
mod designs;
mod paper;
mod power;
mod queueing;
mod relation;
mod simulated_queues;
mod simulation;
mod uncertainty;
