//! Positions of values in a file.

use std::collections::HashMap;
use std::fmt;

/// A position in a workload file: line and column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line in the file, counted from 1.
    pub line: usize,
    /// The column in the line, counted from 1: in characters in a TOML file, in bytes in JSON text.
    pub column: usize,
}

/// The places of keys and values, by path such as `services[0].path[2].trace`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    keys: HashMap<String, Position>,
    values: HashMap<String, Position>,
}

/// Finds lines and columns of a text.
pub(super) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    /// The lines of `text`.
    pub(super) fn of(text: &'t str) -> Lines<'t> {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(breaks.map(|(at, _)| at + 1));
        Lines {
            text,
            starts: starts.collect(),
        }
    }

    /// The position of the byte at `offset`.
    pub(super) fn position(&self, offset: usize) -> Position {
        let line = self.starts.partition_point(|&start| start <= offset);
        let start = self.starts[line.saturating_sub(1)];
        let end = offset.min(self.text.len());
        let before = &self.text.as_bytes()[start.min(end)..end];
        let is_first = |byte: &&u8| (**byte & 0xC0) != 0x80;
        Position {
            line,
            column: 1 + before.iter().filter(is_first).count(),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

impl Places {
    /// Records where the value at `path` begins.
    pub(super) fn value(&mut self, path: &str, at: Position) {
        self.values.insert(path.to_owned(), at);
    }

    /// Records where the key of the value at `path` begins.
    pub(super) fn key(&mut self, path: &str, at: Position) {
        self.keys.insert(path.to_owned(), at);
    }

    /// The key at `path`, or the nearest value that it is in.
    pub(super) fn of_key(&self, path: &str) -> Option<Position> {
        self.keys.get(path).copied().or_else(|| self.of(path))
    }

    /// The value at `path`.
    pub(super) fn exact(&self, path: &str) -> Option<Position> {
        self.values
            .get(path)
            .or_else(|| self.keys.get(path))
            .copied()
    }

    /// The value at `path`, or the nearest one that it is in.
    pub(super) fn of(&self, path: &str) -> Option<Position> {
        let mut path = path;
        loop {
            if let Some(at) = self.exact(path) {
                return Some(at);
            }
            path = &path[..path.rfind(['.', '['])?];
        }
    }
}
