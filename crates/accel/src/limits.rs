//! Limits on messages, so that malicious input causes an error and does not exhaust memory.

use crate::error::AccelError;

/// Limits on messages, which every accelerator checks before it allocates memory.
///
/// The defaults are assumptions of this project. They are large enough for every message in the
/// paper, where the median is a few KB and the tail tens of KB (AccelFlow, section VII). They are
/// small enough that a single message cannot exhaust a server's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest size of the input or output of one accelerator, in bytes. Default 16 MiB, which is
    /// about the default frame limit of Apache Thrift's framed transport (16,384,000 bytes).
    pub max_message_bytes: usize,
    /// Largest size of a decompressed payload, in bytes. Default 16 MiB.
    pub max_decompressed_bytes: usize,
    /// Largest decompressed size as a multiple of the compressed size, for Zstandard and Snappy.
    /// Default 256. Outputs of at most [`Limits::free_decompressed_bytes`] may have any ratio. gzip
    /// is exempt: its format bounds the ratio to 1,032.
    pub max_decompression_ratio: usize,
    /// Deepest nesting of structs and containers in a message, in levels. Default 64, as in Apache
    /// Thrift.
    pub max_depth: usize,
    /// Largest number of elements of one message. Elements are fields of structs, including unknown
    /// ones; elements of lists and sets; keys and values of maps; and absent fields that the
    /// receiver fills with their default values.
    ///
    /// Default 131,072. One element is assumed to take up to 512 bytes of memory when a handler has
    /// the message as a value, so the elements of one message take at most 64 MiB: 4 times the
    /// default [`Limits::max_message_bytes`]. Measured for dicts of one number in Python: 143 bytes
    /// (Thrift) or 155 bytes (gRPC) per element, and 385 bytes in the tree that gRPC needs for
    /// types with a special JSON form.
    pub max_elements: usize,
    /// Largest total size of text and binary data in one message, in bytes. Binary data counts with
    /// its size in base64. The text of a default value counts in each struct that receives it.
    /// Default 32 MiB: 1.5 times the base64 size of the largest message.
    pub max_value_bytes: usize,
    /// Largest length of a method or service name, in bytes. Default 256.
    pub max_name_bytes: usize,
}

impl Limits {
    /// Returns the size in bytes, 64 KiB, up to which decompressed output is allowed at any
    /// compression ratio.
    pub const fn free_decompressed_bytes(&self) -> usize {
        64 * 1024
    }

    /// Returns these limits, but with messages of at most `bytes`.
    pub(crate) fn of_at_most(&self, bytes: usize) -> Limits {
        Limits {
            max_message_bytes: self.max_message_bytes.min(bytes),
            ..*self
        }
    }

    /// Returns the largest allowed output, in bytes, for `compressed_bytes` of compressed input
    /// (Zstandard or Snappy; gzip output may have up to [`Limits::max_decompressed_bytes`]).
    pub fn decompressed_limit(&self, compressed_bytes: usize) -> usize {
        compressed_bytes
            .saturating_mul(self.max_decompression_ratio)
            .max(self.free_decompressed_bytes())
            .min(self.max_decompressed_bytes)
    }

    /// Returns how many of `bytes` must be stored uncompressed, so that a reader with these limits
    /// accepts them, compressed to `packed_bytes` (Zstandard or Snappy).
    pub(crate) fn stored_bytes(&self, bytes: usize, packed_bytes: usize) -> usize {
        let least = bytes.div_ceil(self.max_decompression_ratio.max(1));
        match bytes <= self.free_decompressed_bytes() || packed_bytes >= least {
            true => 0,
            false => least,
        }
    }

    /// Returns the error for output above [`Limits::decompressed_limit`] of `compressed` bytes.
    pub(crate) fn inflated(&self, compressed: usize) -> AccelError {
        let limit = self.decompressed_limit(compressed);
        let setting = match limit == self.max_decompressed_bytes {
            true => "max_decompressed_bytes",
            false => "max_decompression_ratio",
        };
        AccelError::ZipBomb {
            compressed,
            limit,
            setting,
        }
    }

    /// Refuses a `size` in bytes above [`Limits::max_message_bytes`]; `what` names it in the error.
    pub(crate) fn check_size(&self, what: &'static str, size: usize) -> Result<(), AccelError> {
        let limit = self.max_message_bytes;
        match size <= limit {
            true => Ok(()),
            false => Err(AccelError::TooLarge { what, size, limit }),
        }
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
