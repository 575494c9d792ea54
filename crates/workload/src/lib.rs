//! The workload of the server: services as paths of traces ([`services`]), suites of them with
//! their rates ([`suites`]), when requests arrive ([`arrivals`]), costs of operations on a core
//! ([`profile`]) and sizes of messages ([`sizes`]).
//!
//! Nothing here runs or times anything; the simulator and the runtime read it.

pub mod arrivals;
pub mod file;
pub mod profile;
pub mod services;
pub mod sizes;
pub mod suites;
