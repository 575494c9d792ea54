//! gRPC's status codes, and the headers that carry them.

use std::fmt::Write;

use http::HeaderValue;

/// A status code (gRPC's `statuscodes.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Code {
    Ok = 0,
    Cancelled = 1,
    Unknown = 2,
    InvalidArgument = 3,
    DeadlineExceeded = 4,
    NotFound = 5,
    AlreadyExists = 6,
    PermissionDenied = 7,
    ResourceExhausted = 8,
    FailedPrecondition = 9,
    Aborted = 10,
    OutOfRange = 11,
    Unimplemented = 12,
    Internal = 13,
    Unavailable = 14,
    DataLoss = 15,
    Unauthenticated = 16,
}

impl Code {
    /// All codes and their names.
    const NAMES: [(Code, &'static str); 17] = [
        (Code::Ok, "OK"),
        (Code::Cancelled, "CANCELLED"),
        (Code::Unknown, "UNKNOWN"),
        (Code::InvalidArgument, "INVALID_ARGUMENT"),
        (Code::DeadlineExceeded, "DEADLINE_EXCEEDED"),
        (Code::NotFound, "NOT_FOUND"),
        (Code::AlreadyExists, "ALREADY_EXISTS"),
        (Code::PermissionDenied, "PERMISSION_DENIED"),
        (Code::ResourceExhausted, "RESOURCE_EXHAUSTED"),
        (Code::FailedPrecondition, "FAILED_PRECONDITION"),
        (Code::Aborted, "ABORTED"),
        (Code::OutOfRange, "OUT_OF_RANGE"),
        (Code::Unimplemented, "UNIMPLEMENTED"),
        (Code::Internal, "INTERNAL"),
        (Code::Unavailable, "UNAVAILABLE"),
        (Code::DataLoss, "DATA_LOSS"),
        (Code::Unauthenticated, "UNAUTHENTICATED"),
    ];

    /// The code of a name, but not OK, which is no error.
    pub(crate) fn error_named(name: &str) -> Option<Code> {
        let mut errors = Code::NAMES.iter().skip(1);
        errors
            .find(|(_, known)| *known == name)
            .map(|(code, _)| *code)
    }

    pub(crate) fn header(self) -> HeaderValue {
        HeaderValue::from(self as u16)
    }
}

/// Why a call has no response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) code: Code,
    pub(crate) message: String,
    /// What it is counted under.
    pub(crate) label: &'static str,
}

impl Status {
    pub(crate) fn new(code: Code, label: &'static str, message: impl ToString) -> Status {
        Status {
            code,
            message: message.to_string(),
            label,
        }
    }
}

/// The longest message that is sent, in bytes: with every byte in three it stays below the 8 KiB
/// of headers that clients take.
const MAX_MESSAGE: usize = 2_048;

/// A message for `grpc-message`: percent-encoded, as gRPC over HTTP/2 has it.
pub(crate) fn message_header(message: &str) -> HeaderValue {
    let mut encoded = String::with_capacity(message.len());
    let mut left = MAX_MESSAGE;
    for character in message.chars() {
        let mut bytes = [0; 4];
        let bytes = character.encode_utf8(&mut bytes).as_bytes();
        if bytes.len() > left {
            break;
        }
        left -= bytes.len();
        for byte in bytes {
            match byte {
                b' '..=b'~' if *byte != b'%' => encoded.push(char::from(*byte)),
                // Writing to a string cannot fail.
                _ => drop(write!(encoded, "%{byte:02X}")),
            }
        }
    }
    // It is printable ASCII alone.
    HeaderValue::from_str(&encoded).unwrap_or(HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_percent_encoded() {
        let text = |message| message_header(message).to_str().map(str::to_owned);
        assert_eq!(text("plain text").expect("ASCII"), "plain text");
        assert_eq!(text("50 %\n").expect("ASCII"), "50 %25%0A");
        assert_eq!(text("ü\u{1f600}").expect("ASCII"), "%C3%BC%F0%9F%98%80");
        let long = text(&"ü".repeat(10_000)).expect("ASCII");
        assert_eq!(long.len(), MAX_MESSAGE * 3);
    }

    #[test]
    fn codes_have_the_numbers_of_the_specification() {
        for (number, (code, _)) in Code::NAMES.iter().enumerate() {
            assert_eq!(*code as usize, number);
        }
        assert_eq!(Code::error_named("NOT_FOUND"), Some(Code::NotFound));
        assert_eq!(Code::error_named("OK"), None);
        assert_eq!(Code::error_named("refused"), None);
    }
}
