//! Operands of conditions in an accelerator's output: fields, bytes at an offset, texts.

use std::fmt;

/// The largest offset of a payload byte that a condition can read.
pub const MAX_OFFSET: u16 = u16::MAX - 1;
/// The largest number of bytes that a condition reads as one integer.
pub const MAX_INTEGER_BYTES: u16 = 8;
/// The largest number of bytes in a text that a condition compares.
pub const MAX_TEXT_BYTES: usize = 64;

/// A value that a condition reads from an accelerator's output. Its text, such as `hit` or
/// `out[4:6]`, is the name of the value (the fact).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operand<'a> {
    /// An integer field that the accelerator has extracted from the message, such as `hit`.
    Field(&'a str),
    /// Bytes of the payload, read as an unsigned big-endian integer, such as `out[4:6]`.
    Bytes(Span),
    /// One bit, 0 or 1, of a field or of bytes, such as `flags[3]` or `out[4][7]`. Bit 0 is the
    /// lowest.
    Bit {
        /// The field or bytes that have the bit.
        of: Source<'a>,
        /// The number of the bit, counted from the lowest, 0.
        bit: u8,
    },
    /// Whether a text in the payload equals a given text: 1 if so, else 0. Examples: `method ==
    /// 'Login'`, `out[0:4] == 'RIFF'`.
    Text {
        /// The field or bytes that have the text.
        of: Source<'a>,
        /// The given text to compare it with.
        is: &'a str,
    },
}

/// The part of an accelerator's output from which a condition reads a bit or a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source<'a> {
    /// The field of this name, which the accelerator has extracted from the message.
    Field(&'a str),
    /// The bytes of the payload in this range.
    Bytes(Span),
}

/// A range of byte offsets in a payload, from `start` up to but not including `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    start: u16,
    end: u16,
}

impl Span {
    /// Creates the range of bytes from `start` up to but not including `end`. `None` if `end` is
    /// not above `start`.
    pub fn new(start: u16, end: u16) -> Option<Span> {
        // The largest end is one past the last offset.
        const { assert!(MAX_OFFSET == u16::MAX - 1) };
        (start < end).then_some(Span { start, end })
    }

    /// Returns the number of bytes in the range.
    pub fn length(self) -> usize {
        usize::from(self.end - self.start)
    }

    /// Returns the bytes of `payload` in this range; `None` if the payload is too short.
    pub fn of(self, payload: &[u8]) -> Option<&[u8]> {
        payload.get(usize::from(self.start)..usize::from(self.end))
    }

    /// Reads the bytes of `payload` in this range as a big-endian integer: unsigned, but eight
    /// bytes are a signed number in two's complement. `None` if the payload is too short.
    pub fn integer(self, payload: &[u8]) -> Option<i64> {
        let bytes = self.of(payload)?;
        Some(bytes.iter().fold(0, |value: i64, byte| {
            value.wrapping_shl(8) | i64::from(*byte)
        }))
    }
}

impl<'a> Operand<'a> {
    /// Parses the name of a payload value, such as `hit` or `out[4:6]`, as an operand of a
    /// condition. `None` for a text that is not exactly as [`Operand`] is displayed.
    pub fn parse(name: &'a str) -> Option<Operand<'a>> {
        if is_field(name) {
            return Some(Operand::Field(name));
        }
        let operand = match name.split_once(" == ") {
            Some((of, quoted)) => {
                let is = quoted.get(1..quoted.len().checked_sub(1)?)?;
                Operand::text(Source::parse(of)?, is)?
            }
            None => match span(name) {
                Some(span) if span.length() <= MAX_BYTES => Operand::Bytes(span),
                Some(_) => return None,
                None => {
                    let (of, bit) = name.strip_suffix(']')?.rsplit_once('[')?;
                    Operand::bit(Source::parse(of)?, bit.parse().ok()?)?
                }
            },
        };
        (operand.to_string() == name).then_some(operand)
    }

    /// Creates the operand for bit number `bit` of `of`, counted from the lowest; `None` if `of`
    /// has no such bit.
    pub fn bit(of: Source<'a>, bit: u8) -> Option<Operand<'a>> {
        (bit < of.bits()).then_some(Operand::Bit { of, bit })
    }

    /// Creates the operand that compares the text in `of` with `is`. `None` if `is` is longer than
    /// [`MAX_TEXT_BYTES`], does not have the length of the bytes `of`, or has control characters or
    /// both kinds of quotes.
    pub fn text(of: Source<'a>, is: &'a str) -> Option<Operand<'a>> {
        let fits = match of {
            Source::Field(_) => is.len() <= MAX_TEXT_BYTES,
            Source::Bytes(span) => span.length() == is.len() && is.len() <= MAX_TEXT_BYTES,
        };
        let both_quotes = is.contains('\'') && is.contains('"');
        let printed = !(both_quotes || is.contains(char::is_control));
        (fits && printed).then_some(Operand::Text { of, is })
    }
}

impl<'a> Source<'a> {
    fn parse(text: &'a str) -> Option<Source<'a>> {
        match is_field(text) {
            true => Some(Source::Field(text)),
            false => span(text).map(Source::Bytes),
        }
    }

    /// Returns the width in bits of the field or bytes as an integer; 0 if there are too many bytes
    /// for an integer.
    pub fn bits(self) -> u8 {
        match self {
            Source::Field(_) => 64,
            Source::Bytes(span) if span.length() <= MAX_BYTES => 8 * span.length() as u8,
            Source::Bytes(_) => 0,
        }
    }
}

const MAX_BYTES: usize = MAX_INTEGER_BYTES as usize;

/// Whether `name` is a valid field name: letters, digits and `_`.
pub(crate) fn is_field(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The span that is written as `text`.
fn span(text: &str) -> Option<Span> {
    let inside = text.strip_prefix("out[")?.strip_suffix(']')?;
    let (start, end) = match inside.split_once(':') {
        Some((start, end)) => (start.parse().ok()?, end.parse().ok()?),
        None => {
            let start: u16 = inside.parse().ok()?;
            (start, start.checked_add(1)?)
        }
    };
    Span::new(start, end)
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.length() {
            1 => write!(f, "out[{}]", self.start),
            _ => write!(f, "out[{}:{}]", self.start, self.end),
        }
    }
}

impl fmt::Display for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Field(name) => f.write_str(name),
            Source::Bytes(span) => span.fmt(f),
        }
    }
}

impl fmt::Display for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Field(name) => f.write_str(name),
            Operand::Bytes(span) => span.fmt(f),
            Operand::Bit { of, bit } => write!(f, "{of}[{bit}]"),
            Operand::Text { of, is } => {
                let quote = if is.contains('\'') { '"' } else { '\'' };
                write!(f, "{of} == {quote}{is}{quote}")
            }
        }
    }
}
