//! A limit on the number of values in one message, and on their memory.

use crate::error::AccelError;
use crate::limits::Limits;

/// What remains of [`Limits::max_elements`] and [`Limits::max_value_bytes`] for one message. A
/// reader charges values before it allocates memory for them.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    elements_left: usize,
    bytes_left: usize,
    limits: Limits,
}

impl Budget {
    pub(crate) fn new(limits: &Limits) -> Budget {
        Budget {
            elements_left: limits.max_elements,
            bytes_left: limits.max_value_bytes,
            limits: *limits,
        }
    }

    /// Charges `more` fields or elements.
    pub(crate) fn elements(&mut self, more: usize) -> Result<(), AccelError> {
        let (left, limit) = (&mut self.elements_left, self.limits.max_elements);
        take(
            left,
            more,
            limit,
            "number of fields and elements in the message",
        )
    }

    /// Charges `more` bytes of text or binary data.
    pub(crate) fn bytes(&mut self, more: usize) -> Result<(), AccelError> {
        let (left, limit) = (&mut self.bytes_left, self.limits.max_value_bytes);
        take(
            left,
            more,
            limit,
            "bytes of text and binary data in the message",
        )
    }

    /// Charges the bytes that base64 adds to binary data already charged.
    pub(crate) fn base64(&mut self, bytes: &[u8]) -> Result<(), AccelError> {
        self.bytes(bytes.len().div_ceil(3) * 4 - bytes.len())
    }
}

fn take(left: &mut usize, more: usize, limit: usize, what: &'static str) -> Result<(), AccelError> {
    match left.checked_sub(more) {
        Some(rest) => {
            *left = rest;
            Ok(())
        }
        None => {
            let size = (limit - *left).saturating_add(more);
            Err(AccelError::TooLarge { what, size, limit })
        }
    }
}
