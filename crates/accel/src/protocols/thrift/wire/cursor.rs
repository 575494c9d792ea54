//! The position of a Thrift reader in its input, with checks of bounds and limits.

use crate::budget::Budget;
use crate::error::AccelError;
use crate::limits::Limits;

/// A position in the input that never reads past the end, and the message's remaining budget.
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    budget: Budget,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8], limits: &Limits) -> Cursor<'a> {
        let budget = Budget::new(limits);
        Cursor {
            bytes,
            at: 0,
            budget,
        }
    }

    pub(crate) fn budget(&mut self) -> &mut Budget {
        &mut self.budget
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Jumps ahead to `to`. If `to` is before the position or beyond the end, does nothing and
    /// returns false.
    pub(crate) fn jump(&mut self, to: usize) -> bool {
        let ahead = (self.at..=self.bytes.len()).contains(&to);
        if ahead {
            self.at = to;
        }
        ahead
    }

    pub(crate) fn take(&mut self, what: &'static str, need: usize) -> Result<&'a [u8], AccelError> {
        let (at, have) = (self.at, self.remaining());
        if need > have {
            return Err(AccelError::Truncated {
                what,
                at,
                need,
                have,
            });
        }
        self.at += need;
        Ok(&self.bytes[at..self.at])
    }

    /// Takes the bytes of a string, and charges them.
    pub(crate) fn string(&mut self, length: usize) -> Result<&'a [u8], AccelError> {
        let taken = self.take("string", length)?;
        self.budget.bytes(length)?;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(
        &mut self,
        what: &'static str,
    ) -> Result<[u8; N], AccelError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(what, N)?);
        Ok(array)
    }

    pub(crate) fn byte(&mut self, what: &'static str) -> Result<u8, AccelError> {
        Ok(self.array::<1>(what)?[0])
    }

    /// Checks that the input ends here.
    pub(crate) fn finish(&self, what: &'static str) -> Result<(), AccelError> {
        match self.remaining() {
            0 => Ok(()),
            extra => Err(AccelError::TrailingBytes {
                what,
                at: self.at,
                extra,
            }),
        }
    }

    /// Checks and charges the number of entries of a container before anything is allocated for
    /// them. Each entry has at least `least_bytes_each` bytes and counts as `elements_each`
    /// elements.
    pub(crate) fn check_count(
        &mut self,
        at: usize,
        count: i64,
        least_bytes_each: usize,
        elements_each: usize,
    ) -> Result<usize, AccelError> {
        let what = "container size";
        let size = usize::try_from(count).map_err(|_| AccelError::NegativeLength {
            what,
            at,
            found: count,
        })?;
        self.budget.elements(size.saturating_mul(elements_each))?;
        let need = size.saturating_mul(least_bytes_each);
        if need > self.remaining() {
            let have = self.remaining();
            return Err(AccelError::Truncated {
                what: "container",
                at,
                need,
                have,
            });
        }
        Ok(size)
    }
}
