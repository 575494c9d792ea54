//! Bounds on what a message may ask for, so that hostile input costs a named error and no memory.

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
    /// Most elements of one list, set or map. Default 1,048,576.
    pub max_container_elements: usize,
    /// Longest method or service name, in bytes. Default 256.
    pub max_name_bytes: usize,
}

impl Limits {
    /// A decompressed output up to this size is never called a bomb because of its ratio: 64 KiB.
    pub const fn free_decompressed_bytes(&self) -> usize {
        64 * 1024
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
            max_container_elements: 1 << 20,
            max_name_bytes: 256,
        }
    }
}
