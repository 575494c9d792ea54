//! The values that conditions read from an accelerator's output: fields, bytes, bits and texts.

use std::fmt;

/// The largest byte offset in a payload that a condition can read.
pub const MAX_OFFSET: u16 = u16::MAX - 1;
/// The largest number of bytes that a condition can read as one integer.
pub const MAX_INTEGER_BYTES: u16 = 8;
/// The largest length in bytes of a text that a condition can compare.
pub const MAX_TEXT_BYTES: usize = 64;

/// A value that a branch condition reads from an accelerator's output. The operand's `Display`
/// text, such as `hit` or `out[4:6]`, is also the value's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operand<'a> {
    /// An integer field that the accelerator has extracted from the message, such as `hit`.
    Field(&'a str),
    /// Up to eight bytes of the payload, such as `out[4:6]`, read as a big-endian integer
    /// ([`Span::integer`]).
    Bytes(Span),
    /// One bit, 0 or 1, of a field or of bytes, such as `flags[3]` or `out[4][7]`. Bit 0 is the
    /// least significant.
    Bit {
        /// The field or bytes of which the bit is read.
        of: Source<'a>,
        /// The index of the bit, counted from the least significant, 0.
        bit: u8,
    },
    /// Whether a text in the payload equals a given text: 1 if so, else 0. Examples: `method ==
    /// 'Login'`, `out[0:4] == 'RIFF'`.
    Text {
        /// The field or bytes whose text is compared.
        of: Source<'a>,
        /// The given text, with which the text in the payload is compared.
        is: &'a str,
    },
}

/// The part of an accelerator's output from which a condition reads a bit or a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source<'a> {
    /// The field of this name, which the accelerator has extracted from the message.
    Field(&'a str),
    /// The bytes of the payload in this range of offsets.
    Bytes(Span),
}

/// A range of byte offsets in a payload, from `start` up to but not including `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    start: u16,
    end: u16,
}

impl Span {
    /// Creates the range of byte offsets from `start` up to but not including `end`. `None` if
    /// `end` is not above `start`.
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

    /// Reads the bytes of `payload` in this range as a big-endian integer; `None` if the payload is
    /// too short. Fewer than eight bytes are an unsigned integer, and eight bytes a signed one in
    /// two's complement. Of more than eight bytes, only the last eight count.
    pub fn integer(self, payload: &[u8]) -> Option<i64> {
        let bytes = self.of(payload)?;
        Some(bytes.iter().fold(0, |value: i64, byte| {
            value.wrapping_shl(8) | i64::from(*byte)
        }))
    }
}

impl<'a> Operand<'a> {
    /// Parses the name of a payload value, such as `hit` or `out[4:6]`, as an operand of a branch
    /// condition. `None` for a text that is not the `Display` text of any [`Operand`], and for a
    /// range of more than [`MAX_INTEGER_BYTES`] bytes alone.
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

    /// Creates the operand that reads one bit of `of`, a field or a range of bytes. `bit` is the
    /// index of the bit; the least significant bit has the index 0. `None` if `of` has no such bit.
    pub fn bit(of: Source<'a>, bit: u8) -> Option<Operand<'a>> {
        (bit < of.bits()).then_some(Operand::Bit { of, bit })
    }

    /// Creates the operand that compares the text in `of`, a field or a range of bytes, with the
    /// text `is`. `None` if `is`
    ///
    /// * is longer than [`MAX_TEXT_BYTES`];
    /// * has another length than `of`, if `of` is a range of bytes;
    /// * contains control characters, or both `'` and `"`.
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

    /// Returns the number of bits from which a condition can choose one: 64 for a field, 8 for each
    /// byte of a range. Returns 0 for a range of more than [`MAX_INTEGER_BYTES`] bytes, since bits
    /// of such a range cannot be read.
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
