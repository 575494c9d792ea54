//! What the server is asked to do: services as paths of traces ([`services`]), suites of them with
//! their rates ([`suites`]), when requests arrive ([`arrivals`]), what an operation costs on a core ([`profile`]) and how large messages
//! are ([`sizes`]).
//!
//! Nothing here runs or times anything; the simulator and the runtime read it.

pub mod arrivals;
pub mod profile;
pub mod services;
pub mod sizes;
pub mod suites;
