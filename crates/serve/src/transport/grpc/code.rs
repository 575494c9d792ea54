//! gRPC's status codes, and the headers that carry them.

use std::fmt::Write;

use http::HeaderValue;

/// A status code of gRPC. Its integer value is the number that gRPC's `statuscodes.md` assigns to
/// the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Code {
    /// No error.
    Ok = 0,
    /// The call was cancelled, typically by its caller.
    Cancelled = 1,
    /// An error without a better code.
    Unknown = 2,
    /// An argument is invalid, whatever the state of the system.
    InvalidArgument = 3,
    /// The deadline passed before the call was complete.
    DeadlineExceeded = 4,
    /// A requested entity does not exist.
    NotFound = 5,
    /// An entity to be created already exists.
    AlreadyExists = 6,
    /// The caller has no permission.
    PermissionDenied = 7,
    /// A quota or another resource is used up.
    ResourceExhausted = 8,
    /// The system is not in the state that the call requires.
    FailedPrecondition = 9,
    /// The call conflicted with another call.
    Aborted = 10,
    /// An argument is beyond the valid range.
    OutOfRange = 11,
    /// The service has no such method, or does not support it.
    Unimplemented = 12,
    /// An invariant that the service relies on is broken.
    Internal = 13,
    /// The service cannot be reached now.
    Unavailable = 14,
    /// Data are lost or corrupted for good.
    DataLoss = 15,
    /// The caller is not authenticated.
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

    /// The error code of a name; `None` for OK and for unknown names.
    pub(crate) fn error_named(name: &str) -> Option<Code> {
        let mut errors = Code::NAMES.iter().skip(1);
        errors
            .find(|(_, known)| *known == name)
            .map(|(code, _)| *code)
    }

    /// Returns the code's name, such as `NOT_FOUND`.
    pub fn name(self) -> &'static str {
        let mut names = Code::NAMES.iter();
        let found = names.find(|(code, _)| *code == self);
        found.map_or("UNKNOWN", |(_, name)| name)
    }

    /// Parses the code of a `grpc-status`. An invalid code becomes UNKNOWN.
    pub(crate) fn from_header(value: &HeaderValue) -> Code {
        let number = value
            .to_str()
            .ok()
            .and_then(|text| text.parse::<usize>().ok());
        let known = number.and_then(|number| Code::NAMES.get(number));
        known.map_or(Code::Unknown, |(code, _)| *code)
    }

    /// The number of the code in `google.rpc.Status`.
    pub(crate) fn number(self) -> i32 {
        self as i32
    }

    pub(crate) fn header(self) -> HeaderValue {
        HeaderValue::from(self as u16)
    }
}

/// The longest message that is sent, in bytes. With three characters per byte it stays below the 8
/// KiB of headers that clients accept.
const MAX_MESSAGE: usize = 2_048;

/// Encodes a message for `grpc-message`, percent-encoded as in gRPC over HTTP/2.
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
    // The text is printable ASCII.
    HeaderValue::from_str(&encoded).unwrap_or(HeaderValue::from_static(""))
}

/// Decodes the text of a `grpc-message`. Invalid escapes are kept and invalid UTF-8 is replaced,
/// since a slightly wrong message is better than none.
pub(crate) fn message_text(value: &HeaderValue) -> String {
    let mut rest = value.as_bytes();
    let mut text = Vec::with_capacity(rest.len());
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        let digits = behind.split_at_checked(2);
        let digits = digits.filter(|(two, _)| two.iter().all(u8::is_ascii_hexdigit));
        let decoded = digits.and_then(|(two, behind)| {
            let two = std::str::from_utf8(two).ok()?;
            Some((u8::from_str_radix(two, 16).ok()?, behind))
        });
        match (byte, decoded) {
            (b'%', Some((decoded, behind))) => {
                text.push(decoded);
                rest = behind;
            }
            _ => text.push(*byte),
        }
    }
    String::from_utf8_lossy(&text).into_owned()
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
    fn messages_are_read_as_they_were_written() {
        for text in ["", "plain", "50 %\n", "ü\u{1f600} %41"] {
            assert_eq!(message_text(&message_header(text)), text);
        }
        let read = |text: &'static str| message_text(&HeaderValue::from_static(text));
        assert_eq!(read("100 % %4 %zz %41"), "100 % %4 %zz A");
        assert_eq!(read("%FF!"), "\u{fffd}!");
    }

    #[test]
    fn codes_have_the_numbers_of_the_specification() {
        for (number, (code, _)) in Code::NAMES.iter().enumerate() {
            assert_eq!(*code as usize, number);
            assert_eq!(Code::from_header(&code.header()), *code);
        }
        assert_eq!(Code::error_named("NOT_FOUND"), Some(Code::NotFound));
        assert_eq!(Code::error_named("OK"), None);
        assert_eq!(Code::error_named("refused"), None);
        assert_eq!(Code::DataLoss.name(), "DATA_LOSS");
        for none in ["17", "-1", "x", ""] {
            let value = HeaderValue::from_static(none);
            assert_eq!(Code::from_header(&value), Code::Unknown, "{none}");
        }
    }
}
