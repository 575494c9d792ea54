//! Workloads of a server: services as paths of traces ([`services`]), suites of services
//! ([`suites`]), workload files ([`file`](mod@file)), arrival processes ([`arrivals`]), costs of
//! operations on a core ([`profile`]) and sizes of messages ([`sizes`]).
//!
//! This crate describes workloads only; the simulator and the runtime execute them.

pub mod arrivals;
pub mod file;
pub mod profile;
pub mod services;
pub mod sizes;
pub mod suites;
