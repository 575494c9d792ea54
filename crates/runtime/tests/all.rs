//! All tests of this crate in one program, which is built faster than one for each file.

mod common;
mod detail;
mod ensemble;
mod ensemble_handles;
mod ensemble_random;
mod errors;
mod faults;
mod limit;
mod payload_branches;
mod recording;
mod services;
mod traces;
