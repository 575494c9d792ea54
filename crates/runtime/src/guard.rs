//! Turns panics in the bodies of accelerators into errors.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::Cause;

/// Calls a body and turns a panic into an error. Bodies can be used afterwards: between jobs they
/// keep only scratch memory, which the next job overwrites.
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

/// The reason of a run that a panic in a body has ended.
pub(crate) const PANIC: &str = "panic";
