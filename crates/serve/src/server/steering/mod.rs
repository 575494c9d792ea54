//! Steering: handlers run on worker threads that LdB chooses.

pub(crate) mod workers;
