//! The two encodings of Thrift.

/// The two wire encodings of Thrift values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Thrift's binary protocol, with fixed-size big-endian values. SocialNetwork's services use
    /// it.
    #[default]
    Binary,
    /// Thrift's compact protocol, with variable-length integers and delta-coded field numbers.
    Compact,
}
