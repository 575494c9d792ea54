//! What a handler returns: a value now, or a promise of one.

use accelflow_accel::AccelError;
use serde::Serialize;

use super::form::Form;
use super::pending::Pending;
use super::value::Value;
use crate::memory::buffers;

/// What a result's buffer begins with: most are not larger.
const LEAST_RESULT: usize = 256;

/// `value` in the form of a function's result; it has about this size.
pub(crate) fn returned<T: Serialize + ?Sized>(
    form: Option<Form<'_>>,
    size: usize,
    value: &T,
) -> Returned {
    let now = |value| Returned(Made::Now(value));
    if let Some(form) = form {
        // Many results are about as large as their arguments.
        let mut bytes = buffers::take(LEAST_RESULT.max(size));
        let refused = match form.write(value, &mut bytes) {
            Ok(Some(record)) => return now(Value::Record(record, bytes)),
            Ok(None) => {
                buffers::give_back(bytes);
                return now(Value::NoRoom);
            }
            Err(error) => error,
        };
        buffers::give_back(bytes);
        let too_large = matches!(refused, AccelError::TooLarge { .. });
        if too_large || !form.record.may_fit_as_json() {
            return now(Value::Unfit(refused.to_string()));
        }
    }
    match serde_json::to_vec(value) {
        Ok(json) => now(Value::Json(json)),
        Err(error) => now(Value::Unfit(error.to_string())),
    }
}

/// What a [`ValueHandler`] returns: made by [`Request::returns`] and [`Returned::json`].
#[derive(Debug)]
pub struct Returned(pub(crate) Made);

/// When there is a value.
#[derive(Debug)]
pub(crate) enum Made {
    Now(Value),
    /// When the promise is kept that this is the other end of.
    Later(Pending),
}

impl Returned {
    /// The JSON of the function's value, for a void function nothing.
    pub fn json(value: Vec<u8>) -> Returned {
        Returned(Made::Now(Value::Json(value)))
    }

    /// A value that cannot be sent, and why: the client is told so.
    pub fn unfit(why: String) -> Returned {
        Returned(Made::Now(Value::Unfit(why)))
    }

    /// What a void function returns.
    pub fn nothing() -> Returned {
        Returned::json(Vec::new())
    }
}
