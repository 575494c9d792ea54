//! Errors in the text of a Thrift interface, with their positions.

use std::fmt;
use std::path::PathBuf;

/// An error in the text of a Thrift interface, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdlError {
    /// The path of the file with the error; `None` if the interface was given as a text.
    pub file: Option<PathBuf>,
    /// The line of the first offending character, from 1.
    pub line: usize,
    /// The column of the first offending character, from 1.
    pub column: usize,
    /// What is wrong at the position `line`, `column`, and what was expected there.
    pub why: String,
}

impl fmt::Display for IdlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let IdlError {
            line, column, why, ..
        } = self;
        match &self.file {
            Some(file) => write!(f, "{}:{line}:{column}: {why}", file.display()),
            None => write!(f, "Thrift interface, line {line}, column {column}: {why}"),
        }
    }
}

impl std::error::Error for IdlError {}

/// A place in the texts: number of the file, line and column from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) file: usize,
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Place {
    pub(crate) fn error(self, why: impl fmt::Display) -> Fault {
        Fault {
            place: self,
            why: why.to_string(),
        }
    }
}

/// An [`IdlError`] that has the number of its file instead of the path.
#[derive(Debug)]
pub(crate) struct Fault {
    place: Place,
    why: String,
}

impl Fault {
    /// The number of the file with the fault.
    pub(super) fn file(&self) -> usize {
        self.place.file
    }

    /// The error, with the path of the file if it has one.
    pub(super) fn at(self, file: Option<PathBuf>) -> IdlError {
        IdlError {
            file,
            line: self.place.line,
            column: self.place.column,
            why: self.why,
        }
    }
}
