//! Panics of bodies.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::Cause;

/// Calls a body and turns a panic into an error. Bodies keep no state between jobs but scratch
/// memory, which the next job overwrites, so they can go on.
pub(crate) fn guard<E: Into<Cause>>(body: impl FnOnce() -> Result<(), E>) -> Result<(), Cause> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(done) => done.map_err(Into::into),
        Err(payload) => {
            let text = payload
                .downcast_ref::<&str>()
                .map(|text| (*text).to_owned())
                .or_else(|| payload.downcast_ref::<String>().cloned());
            let text = text.unwrap_or_else(|| "no message".to_owned());
            Err(Cause::new(PANIC, format!("the body panicked: {text}")))
        }
    }
}

/// The reason of a run that was ended by a panic in a body.
pub(crate) const PANIC: &str = "panic";
