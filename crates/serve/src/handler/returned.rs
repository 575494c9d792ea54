//! Results of handlers: a value, or the promise of a value.

use accelflow_accel::AccelError;
use serde::Serialize;

use super::form::Form;
use super::pending::Pending;
use super::value::Value;
use crate::memory::buffers;

/// The initial size of a result's buffer in bytes, which is enough for most results.
const LEAST_RESULT: usize = 256;

/// Encodes `value` in a function's form. `size` is its expected size in bytes.
pub(crate) fn returned<T: Serialize + ?Sized>(
    form: Option<Form<'_>>,
    size: usize,
    value: &T,
) -> Returned {
    let now = |value| Returned(Made::Now(value));
    if let Some(form) = form.filter(|form| !form.is_text) {
        // Many results are about as large as the arguments.
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
    let json = match (serde_json::to_vec(value), form) {
        (Ok(json), Some(form)) if form.is_text => {
            let json = form.with_floats(value, json);
            json.map_err(|error| error.to_string())
        }
        (json, _) => json.map_err(|error| error.to_string()),
    };
    now(json.map_or_else(Value::Unfit, Value::Json))
}

/// Checks that the member `field` of a result of this form may be `value`.
pub(crate) fn check<T: Serialize + ?Sized>(
    form: Option<Form<'_>>,
    field: &str,
    value: &T,
) -> Result<(), String> {
    let checked = form.map(|form| form.check(field, value));
    checked
        .transpose()
        .map(drop)
        .map_err(|error| error.to_string())
}

/// The result of a [`ValueHandler`](crate::ValueHandler): a value encoded by
/// [`Request::returns`](crate::Request::returns) or [`Returned::json`], or a promise to give the
/// value later ([`Request::later`](crate::Request::later)).
#[derive(Debug)]
pub struct Returned(pub(crate) Made);

/// A value, or the promise of one.
#[derive(Debug)]
pub(crate) enum Made {
    Now(Value),
    /// A promise of a value.
    Later(Pending),
}

impl Returned {
    /// Creates a handler's result from the function's value as JSON text, which is empty for a void
    /// function.
    pub fn json(value: Vec<u8>) -> Returned {
        Returned(Made::Now(Value::Json(value)))
    }

    /// Creates a handler's result for a value that cannot be encoded, for the reason `why`. The
    /// client gets an error.
    pub fn unfit(why: String) -> Returned {
        Returned(Made::Now(Value::Unfit(why)))
    }

    /// Creates a handler's result for a void function.
    pub fn nothing() -> Returned {
        Returned::json(Vec::new())
    }
}
