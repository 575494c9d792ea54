//! The two encodings of Thrift.

/// The two wire encodings of Thrift values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Fixed-size big-endian values; used by the SocialNetwork services.
    #[default]
    Binary,
    /// Variable-length integers and delta-coded field numbers.
    Compact,
}
