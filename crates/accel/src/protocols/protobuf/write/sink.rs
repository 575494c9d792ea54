//! The bytes of the protobuf message that is being written.

use std::ops::Range;

use crate::error::{AccelError, ValueError};
use crate::limits::Limits;
use crate::protocols::protobuf::scan::LENGTH;
use crate::protocols::protobuf::shape::Shapes;

/// The output and its limits.
pub(super) struct Sink<'c> {
    pub(super) shapes: &'c Shapes,
    pub(super) limits: &'c Limits,
    pub(super) out: &'c mut Vec<u8>,
    /// The parts of all messages and maps that are open, in the order of writing.
    pub(super) parts: Vec<Part>,
}

impl Sink<'_> {
    pub(super) fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.out.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.out.push(value as u8);
    }

    pub(super) fn key(&mut self, number: u32, wire: u8) {
        self.varint(u64::from(number) << 3 | u64::from(wire));
    }

    /// Begins a length-delimited field. Returns the offset of its content.
    pub(super) fn open(&mut self, number: u32) -> usize {
        self.key(number, LENGTH);
        self.out.push(0);
        self.out.len()
    }

    /// Ends the length-delimited field whose content begins at `start`. One byte was reserved for
    /// its length; longer ones move the content.
    pub(super) fn close(&mut self, start: usize) {
        let length = self.out.len() - start;
        if length < 0x80 {
            self.out[start - 1] = length as u8;
            return;
        }
        let end = self.out.len();
        self.varint(length as u64);
        let size = self.out.len() - end;
        let mut prefix = [0; 10];
        prefix[..size].copy_from_slice(&self.out[end..]);
        self.out.copy_within(start..end, start - 1 + size);
        self.out[start - 1..start - 1 + size].copy_from_slice(&prefix[..size]);
        self.out.truncate(end - 1 + size);
    }

    /// Checks that the message has room for `more` bytes.
    pub(super) fn check_room(&self, more: usize) -> Result<(), ValueError> {
        Ok(self
            .limits
            .check_size("bytes of the protobuf message", self.out.len() + more)?)
    }

    /// Checks the depth. Messages and map entries are levels, as when they are read.
    pub(super) fn enter(&self, depth: usize) -> Result<(), ValueError> {
        let (at, limit) = (self.out.len(), self.limits.max_depth);
        match depth < limit {
            true => Ok(()),
            false => Err(AccelError::TooDeep { at, limit }.into()),
        }
    }

    /// Reorders the parts that make up the output from `start` on.
    pub(super) fn reorder(&mut self, start: usize, order: &[Range<usize>]) {
        let content = self.out.split_off(start);
        for place in order {
            let part = &content[place.start - start..place.end - start];
            self.out.extend_from_slice(part);
        }
    }
}

/// A member of a message or an entry of a map: the member's number, and its place in the output.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) number: u32,
    pub(super) place: Range<usize>,
}
