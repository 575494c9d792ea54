//! Operands of conditions in an accelerator's output: fields, bytes at an offset, texts.

use std::fmt;

/// The largest offset of a byte that a condition reads.
pub const MAX_OFFSET: u16 = u16::MAX - 1;
/// The most bytes that a condition reads as one integer.
pub const MAX_INTEGER_BYTES: u16 = 8;
/// The most bytes of a text that a condition compares.
pub const MAX_TEXT_BYTES: usize = 64;

/// An operand that a condition reads from an accelerator's output. As text, such as `hit` or `out[4:6]`, it is the name of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operand<'a> {
    /// An integer field that a body has extracted: `hit`.
    Field(&'a str),
    /// Bytes of the payload as an unsigned big-endian integer: `out[4:6]`.
    Bytes(Span),
    /// A bit of a field or of bytes, 0 or 1; bit 0 is the lowest: `flags[3]`, `out[4][7]`.
    Bit {
        /// The integer.
        of: Source<'a>,
        /// The number of the bit.
        bit: u8,
    },
    /// Whether a text equals another, as 0 or 1: `method == 'Login'`, `out[0:4] == 'RIFF'`.
    Text {
        /// The source of the text.
        of: Source<'a>,
        /// The text to compare it with.
        is: &'a str,
    },
}

/// The source of a bit or a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source<'a> {
    /// A field that a body has extracted.
    Field(&'a str),
    /// Bytes of the payload.
    Bytes(Span),
}

/// A range of bytes of a payload: from offset `start` to `end`, exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    start: u16,
    end: u16,
}

impl Span {
    /// Creates the span from `start` to `end`, exclusive. `None` if it is empty or reaches beyond
    /// [`MAX_OFFSET`].
    pub fn new(start: u16, end: u16) -> Option<Span> {
        // The largest end is one past the last offset.
        const { assert!(MAX_OFFSET == u16::MAX - 1) };
        (start < end).then_some(Span { start, end })
    }

    /// The number of bytes.
    pub fn length(self) -> usize {
        usize::from(self.end - self.start)
    }

    /// These bytes of `payload`; `None` if it is too short.
    pub fn of(self, payload: &[u8]) -> Option<&[u8]> {
        payload.get(usize::from(self.start)..usize::from(self.end))
    }

    /// These bytes of `payload` as a big-endian integer; eight bytes are a signed number in two's
    /// complement. `None` if the payload is too short.
    pub fn integer(self, payload: &[u8]) -> Option<i64> {
        let bytes = self.of(payload)?;
        Some(bytes.iter().fold(0, |value: i64, byte| {
            value.wrapping_shl(8) | i64::from(*byte)
        }))
    }
}

impl<'a> Operand<'a> {
    /// Parses the name of a fact: the text that displays an [`Operand`]. `None` for any other text.
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

    /// Creates the operand for bit number `bit` of `of`; `None` if there is no such bit.
    pub fn bit(of: Source<'a>, bit: u8) -> Option<Operand<'a>> {
        (bit < of.bits()).then_some(Operand::Bit { of, bit })
    }

    /// Creates the comparison of the text `of` with `is`; `None` if the text can never have the
    /// length of `is`.
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

    /// The width of the source as an integer, in bits; 0 if it is too wide for an integer.
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
