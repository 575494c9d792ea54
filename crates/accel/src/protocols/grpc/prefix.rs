//! The prefix of a length-prefixed gRPC message.

use crate::error::AccelError;
use crate::limits::Limits;

/// The size of the prefix of a gRPC message, in bytes: 1 for the compression flag and 4 for the
/// length.
pub const PREFIX: usize = 5;

/// Reads the 5-byte prefix at the start of `bytes`, and returns the length in bytes of the gRPC
/// message that follows the prefix. `None` if `bytes` ends within the prefix.
///
/// # Errors
/// `bad_frame` for a first byte that is neither 0 nor 1; `too_large` for a length beyond the
/// limits.
pub fn message_length(bytes: &[u8], limits: &Limits) -> Result<Option<usize>, AccelError> {
    let Some([flag, length @ ..]) = bytes.first_chunk::<PREFIX>() else {
        return Ok(None);
    };
    if *flag > 1 {
        let why = format!("flag = {flag}: must be 0 (not compressed) or 1 (compressed)");
        return Err(malformed(0, why));
    }
    let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
    limits.check_size("bytes of the gRPC message", length)?;
    Ok(Some(length))
}

/// Checks that `bytes` are exactly one message with its prefix. Returns whether it is compressed.
///
/// # Errors
/// `truncated`, `trailing_bytes`, `bad_frame`, `too_large`.
pub(crate) fn read_prefix(bytes: &[u8], limits: &Limits) -> Result<bool, AccelError> {
    let have = bytes.len();
    let Some(length) = message_length(bytes, limits)? else {
        let (what, need) = ("gRPC message prefix", PREFIX);
        return Err(AccelError::Truncated {
            what,
            at: 0,
            need,
            have,
        });
    };
    let have = have - PREFIX;
    if have < length {
        return Err(AccelError::Truncated {
            what: "gRPC message",
            at: PREFIX,
            need: length,
            have,
        });
    }
    if have > length {
        return Err(AccelError::TrailingBytes {
            what: "gRPC message",
            at: PREFIX + length,
            extra: have - length,
        });
    }
    Ok(bytes[0] == 1)
}

/// Returns `message` with a 5-byte gRPC prefix, which states the length of `message` and whether it
/// is compressed.
///
/// # Errors
/// `too_large` for a message beyond the limits.
pub fn write_message(
    message: &[u8],
    compressed: bool,
    limits: &Limits,
) -> Result<Vec<u8>, AccelError> {
    let prefix = write_prefix(message.len(), compressed, limits)?;
    Ok([prefix.as_slice(), message].concat())
}

/// The prefix of a message of `size` bytes.
///
/// # Errors
/// `too_large`.
pub(crate) fn write_prefix(
    size: usize,
    compressed: bool,
    limits: &Limits,
) -> Result<[u8; PREFIX], AccelError> {
    limits.check_size("bytes of the gRPC message", size)?;
    let Ok(length) = u32::try_from(size) else {
        let (what, limit) = ("bytes of the gRPC message", u32::MAX as usize);
        return Err(AccelError::TooLarge { what, size, limit });
    };
    let [a, b, c, d] = length.to_be_bytes();
    Ok([compressed.into(), a, b, c, d])
}

pub(crate) fn malformed(at: usize, why: String) -> AccelError {
    AccelError::BadFrame {
        what: "gRPC message",
        at,
        why,
    }
}
