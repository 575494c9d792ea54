//! All tests of this crate in one program, which is built faster than one for each file.

mod arrivals;
mod common;
mod csv;
mod effects;
mod extend_importer;
mod file;
mod file_round_trip;
mod odds;
mod profile;
mod recorded_requests;
mod recorded_sizes;
mod recorded_times;
mod recording_refusals;
mod recordings;
mod services;
mod sizes;
mod suites;
