//! Trace memories as files. `docs/trace-format.md` specifies every byte of the format.

use std::sync::Arc;

use crate::condition::{Binary, Op, Predicate};
use crate::image::Image;
use crate::kind::{Directions, FactType, Kind, KindError};
use crate::link_error::LinkError;
use crate::word::{MAX_WORDS, Word};
use crate::{PredicateError, PredicateTable};

/// The first eight bytes of every trace file.
pub const MAGIC: [u8; 8] = *b"AFTRACE\0";
/// The version of the trace file format that this library writes, and the only one that it reads.
pub const VERSION: u16 = 1;

const HEADER: usize = 24;
const CHECKSUM: usize = 4;

/// The error of bytes that are not a valid trace file (a file of compiled traces).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// The bytes do not begin with [`MAGIC`], so they are not a trace file.
    #[error(
        "trace file: first bytes = {}: must be \"{}\", as in every file of compiled traces",
        shown(.found),
        MAGIC.escape_ascii()
    )]
    Magic {
        /// The first bytes of the refused file.
        found: Vec<u8>,
    },
    /// The file's format version is not [`VERSION`].
    #[error("trace file: version = {found}: must be {VERSION}")]
    Version {
        /// The version that the file states.
        found: u16,
    },
    /// The file is shorter or longer than its header states, or shorter than any trace file.
    #[error(
        "trace file: length = {found} bytes: must be {expected}, as its header states, and at \
         least 28"
    )]
    Length {
        /// The length of the file, in bytes.
        found: usize,
        /// The length that the header states, in bytes.
        expected: usize,
    },
    /// The file is damaged: the checksum in the file is not the checksum of the file's other bytes.
    #[error(
        "trace file: is damaged: its checksum is {found:08x}, but that of the other bytes is {computed:08x}"
    )]
    Checksum {
        /// The checksum (CRC-32) that the file states.
        found: u32,
        /// The checksum (CRC-32) of the file's other bytes.
        computed: u32,
    },
    /// The contents end too early or too late, exceed a limit, or have an invalid value, such as a
    /// code with no meaning.
    #[error("malformed trace file at byte {at}: {message}")]
    Malformed {
        /// The offset of the wrong contents in the file, in bytes from 0.
        at: usize,
        /// What is wrong at this offset.
        message: String,
    },
    /// The file has an invalid compiled condition, or too many conditions or payload values.
    #[error("trace file at byte {at}: {error}")]
    Predicate {
        /// The offset of the condition, or of the number of conditions or payload values, in the
        /// file, in bytes from 0.
        at: usize,
        /// What is wrong with it.
        error: PredicateError,
    },
    /// The file has an invalid declaration of a custom accelerator.
    #[error("trace file at byte {at}: {error}")]
    Kind {
        /// The offset of the declaration in the file, in bytes from 0.
        at: usize,
        /// What is wrong with it.
        error: KindError,
    },
    /// The contents of the file break a rule of the trace language.
    #[error(transparent)]
    Link(#[from] LinkError),
}

/// The bytes as a refusal shows them.
fn shown(found: &[u8]) -> String {
    match found {
        [] => "none".to_owned(),
        _ => format!("\"{}\"", found.escape_ascii()),
    }
}

impl Image {
    /// Encodes this trace memory (its compiled traces, conditions and names) as the bytes of a
    /// trace file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let table = self.predicates();
        let mut body = Vec::new();
        for field in table.fields() {
            text(field, &mut body);
        }
        for predicate in table.predicates() {
            body.push(predicate.ops().len() as u8);
            predicate
                .ops()
                .iter()
                .for_each(|op| write_op(*op, &mut body));
        }
        for word in self.words() {
            body.extend(word.0.to_be_bytes());
        }
        for name in self.names() {
            text(name, &mut body);
        }
        for kind in self.kinds() {
            write_kind(kind, &mut body);
        }
        let total = HEADER + body.len() + CHECKSUM;
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_be_bytes());
        bytes.extend(0_u16.to_be_bytes());
        bytes.extend((total as u32).to_be_bytes());
        let counts = [
            table.fields().len(),
            table.predicates().len(),
            self.words().len(),
            self.kinds().len(),
        ];
        for count in counts {
            bytes.extend((count as u16).to_be_bytes());
        }
        bytes.extend(body);
        let checksum = crc32fast::hash(&bytes);
        bytes.extend(checksum.to_be_bytes());
        bytes
    }

    /// Decodes a trace memory (compiled traces, conditions and names) from the bytes of a trace
    /// file.
    ///
    /// # Errors
    /// [`FileError`] for bytes that [`Image::to_bytes`] cannot have written.
    pub fn from_bytes(bytes: &[u8]) -> Result<Image, FileError> {
        if !bytes.starts_with(&MAGIC) {
            return Err(FileError::Magic {
                found: bytes[..bytes.len().min(8)].to_vec(),
            });
        }
        let mut reader = Reader::of_body(bytes)?;
        let tables = reader.at;
        let (fields, predicates) = (reader.u16()?, reader.u16()?);
        let at = reader.at;
        let (words, kinds) = (reader.u16()?, reader.u16()?);
        if usize::from(words) > MAX_WORDS {
            let message = format!("words = {words}: must be at most {MAX_WORDS}");
            return Err(FileError::Malformed { at, message });
        }
        let fields = (0..fields)
            .map(|_| reader.text())
            .collect::<Result<Vec<_>, _>>()?;
        let predicates = (0..predicates)
            .map(|_| {
                let at = reader.at;
                let ops = (0..reader.u8()?)
                    .map(|_| reader.op())
                    .collect::<Result<Vec<_>, _>>()?;
                Predicate::from_ops(ops, fields.len())
                    .map_err(|error| FileError::Predicate { at, error })
            })
            .collect::<Result<Vec<_>, FileError>>()?;
        let words = (0..words)
            .map(|_| reader.u64().map(Word))
            .collect::<Result<Vec<_>, _>>()?;
        let names = words
            .iter()
            .map(|_| reader.text())
            .collect::<Result<Vec<_>, _>>()?;
        let kinds = (0..kinds)
            .map(|_| reader.kind().map(Arc::new))
            .collect::<Result<Vec<_>, _>>()?;
        if reader.at != reader.end {
            return Err(
                reader.malformed("bytes follow the last entry: must be left out".to_owned())
            );
        }
        let table = PredicateTable::from_parts(fields, predicates).map_err(|error| {
            let at = match error {
                PredicateError::TooManyPredicates => tables + size_of::<u16>(),
                _ => tables,
            };
            FileError::Predicate { at, error }
        })?;
        Ok(Image::from_raw(words, table, names, kinds)?)
    }
}

const OP_FIELD: u8 = 0;
const OP_CONST: u8 = 1;
const OP_NOT: u8 = 2;
const OP_BINARY: u8 = 16;

fn write_op(op: Op, into: &mut Vec<u8>) {
    match op {
        Op::Field(index) => into.extend([OP_FIELD, index]),
        Op::Const(literal) => {
            into.push(OP_CONST);
            into.extend(literal.to_be_bytes());
        }
        Op::Not => into.push(OP_NOT),
        Op::Binary(op) => into.push(OP_BINARY + op as u8),
    }
}

fn write_kind(kind: &Kind, into: &mut Vec<u8>) {
    text(kind.name(), into);
    into.extend([kind.directions() as u8, kind.yields().len() as u8]);
    for (fact, of) in kind.yields() {
        text(fact, into);
        into.push(*of as u8);
    }
}

/// Appends a text with its length, which fits a u16: names have at most 48 characters, and fields
/// at most a condition's length.
fn text(text: &str, into: &mut Vec<u8>) {
    into.extend((text.len() as u16).to_be_bytes());
    into.extend(text.as_bytes());
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
    end: usize,
}

impl<'b> Reader<'b> {
    /// Checks version, length and checksum of a file. Returns a reader of the body after them.
    fn of_body(bytes: &'b [u8]) -> Result<Reader<'b>, FileError> {
        let mut reader = Reader {
            bytes,
            at: MAGIC.len(),
            end: bytes.len(),
        };
        let version = reader.u16()?;
        if version != VERSION {
            return Err(FileError::Version { found: version });
        }
        reader.reserved()?;
        let expected = reader.u32()? as usize;
        if expected != bytes.len() || expected < HEADER + CHECKSUM {
            return Err(FileError::Length {
                found: bytes.len(),
                expected,
            });
        }
        reader.end = bytes.len() - CHECKSUM;
        let computed = crc32fast::hash(&bytes[..reader.end]);
        let found = Reader {
            bytes,
            at: reader.end,
            end: bytes.len(),
        }
        .u32()?;
        if found != computed {
            return Err(FileError::Checksum { found, computed });
        }
        Ok(reader)
    }

    /// The error of the contents from the current position on.
    fn malformed(&self, message: String) -> FileError {
        FileError::Malformed {
            at: self.at,
            message,
        }
    }

    fn take(&mut self, count: usize) -> Result<&[u8], FileError> {
        let stop = self.at.checked_add(count).filter(|&stop| stop <= self.end);
        let Some(stop) = stop else {
            let left = self.end - self.at;
            return Err(self.malformed(format!(
                "bytes left for the entries = {left}: must be at least {count}"
            )));
        };
        let taken = &self.bytes[self.at..stop];
        self.at = stop;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], FileError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn u8(&mut self) -> Result<u8, FileError> {
        Ok(u8::from_be_bytes(self.array()?))
    }

    fn u16(&mut self) -> Result<u16, FileError> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    fn u32(&mut self) -> Result<u32, FileError> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64, FileError> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    fn reserved(&mut self) -> Result<(), FileError> {
        let at = self.at;
        match self.u16()? {
            0 => Ok(()),
            found => Err(FileError::Malformed {
                at,
                message: format!("reserved field = {found}: must be 0"),
            }),
        }
    }

    fn text(&mut self) -> Result<String, FileError> {
        let length = usize::from(self.u16()?);
        let at = self.at;
        let bytes = self.take(length)?.to_vec();
        let message = "text: must be valid UTF-8".to_owned();
        String::from_utf8(bytes).map_err(|_| FileError::Malformed { at, message })
    }

    fn kind(&mut self) -> Result<Kind, FileError> {
        let at = self.at;
        let name = self.text()?;
        let directions = self.one_of(&Directions::ALL, "direction")?;
        let yields = (0..self.u8()?)
            .map(|_| Ok((self.text()?, self.one_of(&FactType::ALL, "type of a fact")?)))
            .collect::<Result<Vec<_>, FileError>>()?;
        Kind::new(&name, directions, yields).map_err(|error| FileError::Kind { at, error })
    }

    fn one_of<T: Copy>(&mut self, all: &[T], what: &str) -> Result<T, FileError> {
        let at = self.at;
        let code = self.u8()?;
        let found = all.get(usize::from(code)).copied();
        found.ok_or_else(|| FileError::Malformed {
            at,
            message: format!("{what} = {code}: must be at most {}", all.len() - 1),
        })
    }

    fn op(&mut self) -> Result<Op, FileError> {
        let at = self.at;
        match self.u8()? {
            OP_FIELD => Ok(Op::Field(self.u8()?)),
            OP_CONST => Ok(Op::Const(i64::from_be_bytes(self.array()?))),
            OP_NOT => Ok(Op::Not),
            code => code
                .checked_sub(OP_BINARY)
                .and_then(|index| Binary::ALL.get(usize::from(index)))
                .map(|op| Op::Binary(*op))
                .ok_or_else(|| FileError::Malformed {
                    at,
                    message: format!(
                        "operation of a branch condition = {code}: must be 0, 1, 2, or 16 to {}",
                        usize::from(OP_BINARY) + Binary::ALL.len() - 1
                    ),
                }),
        }
    }
}
