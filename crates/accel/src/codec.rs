//! The compression codecs, with their names and numbers.

use crate::error::AccelError;

/// A compression codec.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Codec {
    /// Zstandard frames (RFC 8878).
    #[default]
    Zstd,
    /// Snappy's raw block format.
    Snappy,
    /// gzip (RFC 1952), one member.
    Gzip,
}

impl Codec {
    /// The compression codecs, in the order of their numbers ([`Codec::number`]).
    pub const ALL: [Codec; 3] = [Codec::Zstd, Codec::Snappy, Codec::Gzip];

    /// Returns the codec's name in JSON envelopes and HTTP headers: `zstd`, `snappy` or `gzip`.
    pub const fn name(self) -> &'static str {
        match self {
            Codec::Zstd => "zstd",
            Codec::Snappy => "snappy",
            Codec::Gzip => "gzip",
        }
    }

    /// Returns the number by which a compressed Thrift message states its codec: 1 for Zstandard, 2
    /// for Snappy, 3 for gzip.
    pub const fn number(self) -> u8 {
        match self {
            Codec::Zstd => 1,
            Codec::Snappy => 2,
            Codec::Gzip => 3,
        }
    }

    /// Returns the codec with the number `number`: 1 for Zstandard, 2 for Snappy, 3 for gzip.
    /// Compressed Thrift messages state their codec by this number.
    ///
    /// # Errors
    /// `unknown_codec` for a number outside 1 to 3.
    pub fn from_number(number: i64) -> Result<Codec, AccelError> {
        let known = Codec::ALL
            .into_iter()
            .find(|codec| i64::from(codec.number()) == number);
        known.ok_or_else(|| AccelError::UnknownCodec {
            found: number.to_string(),
        })
    }

    /// Returns the codec called `name`.
    ///
    /// # Errors
    /// `unknown_codec` for a name other than `zstd`, `snappy` and `gzip`.
    pub fn from_name(name: &str) -> Result<Codec, AccelError> {
        let known = Codec::ALL.into_iter().find(|codec| codec.name() == name);
        known.ok_or_else(|| AccelError::UnknownCodec {
            found: name.to_owned(),
        })
    }

    /// Creates the error for data that this codec's library rejects, with the library's message.
    pub(crate) fn corrupt(self, why: impl std::fmt::Display) -> AccelError {
        AccelError::CorruptData {
            codec: self.name(),
            why: why.to_string(),
        }
    }
}
