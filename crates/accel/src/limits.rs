//! Bounds on what a message may ask for, so that hostile input costs a named error and no memory.

use crate::error::AccelError;

/// Bounds that every accelerator checks before it allocates.
///
/// The defaults are assumptions of this project: large enough for every message of the twelve
/// traces (the median is a few KB, the tail tens of KB; AccelFlow, section VII), small enough
/// that a single message cannot exhaust a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest input or output of one accelerator, in bytes. Default 16 MiB, which is also the
    /// default frame limit of Apache Thrift's framed transport.
    pub max_message_bytes: usize,
    /// Largest decompressed payload, in bytes. Default 16 MiB.
    pub max_decompressed_bytes: usize,
    /// Largest decompressed size as a multiple of the compressed size. Default 256. Outputs up
    /// to [`Limits::free_decompressed_bytes`] are allowed whatever their ratio.
    pub max_decompression_ratio: usize,
    /// Deepest nesting of structs and containers. Default 64, as in Apache Thrift.
    pub max_depth: usize,
    /// Most elements of one message, all that it holds counted together: fields of structs, those
    /// that the interface does not know included, elements of lists and sets, keys and values of
    /// maps, and fields that the receiver adds because they have a default value.
    ///
    /// Default 131,072. An element is taken to cost up to 512 bytes once it is a value (measured:
    /// 143 and 155 bytes as Python dicts of one number, 385 with the tree that JSON of gRPC is made
    /// of), so that the elements of a message take at most 64 MiB: the 4 times
    /// [`Limits::max_message_bytes`] that a connection may cost.
    pub max_elements: usize,
    /// Most bytes of text and binary data in the values of one message: `binary` counts as base64,
    /// and text of default values counts in each struct that is given it. Default 32 MiB: as much
    /// as the base64 of a message of the largest size, and half as much again.
    pub max_value_bytes: usize,
    /// Longest method or service name, in bytes. Default 256.
    pub max_name_bytes: usize,
}

impl Limits {
    /// A decompressed output up to this size is never called a bomb because of its ratio: 64 KiB.
    pub const fn free_decompressed_bytes(&self) -> usize {
        64 * 1024
    }

    /// The same for messages of at most `bytes`.
    pub(crate) fn of_at_most(&self, bytes: usize) -> Limits {
        Limits {
            max_message_bytes: self.max_message_bytes.min(bytes),
            ..*self
        }
    }

    /// The largest output that `compressed_bytes` of compressed input may inflate to.
    pub fn decompressed_limit(&self, compressed_bytes: usize) -> usize {
        compressed_bytes
            .saturating_mul(self.max_decompression_ratio)
            .max(self.free_decompressed_bytes())
            .min(self.max_decompressed_bytes)
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_message_bytes: 16 << 20,
            max_decompressed_bytes: 16 << 20,
            max_decompression_ratio: 256,
            max_depth: 64,
            max_elements: 1 << 17,
            max_value_bytes: 32 << 20,
            max_name_bytes: 256,
        }
    }
}

/// What the values of one message may still take. Whoever reads a message charges what it is about
/// to hold before it allocates.
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
        take(left, more, limit, "number of fields and elements")
    }

    /// Charges `more` bytes of text or binary data.
    pub(crate) fn bytes(&mut self, more: usize) -> Result<(), AccelError> {
        let (left, limit) = (&mut self.bytes_left, self.limits.max_value_bytes);
        take(left, more, limit, "text and binary data of the message")
    }

    /// Charges what `bytes` have more than their own size as base64.
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
