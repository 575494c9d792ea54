//! What the server is asked to do: services as paths of traces ([`services`]), when requests
//! arrive ([`arrivals`]).
//!
//! Nothing here runs or times anything; the simulator and the runtime read it.

pub mod arrivals;
pub mod services;
