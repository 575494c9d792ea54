//! Eight-byte trace words: sixteen nibbles, the first in the most significant position.
//!
//! | nibble | operands | meaning |
//! |---|---|---|
//! | `0` | | end: notify the core |
//! | `1` to `9` | | call an accelerator |
//! | `A` | p t | branch: if predicate p holds continue with the next nibble, else at position t |
//! | `B` | k | transformation k |
//! | `BD` | k | call custom accelerator k |
//! | `BC` | t | scatter: like a fork, but both executions meet at a join |
//! | `BF` | | join: continue once all executions of the scatter have arrived |
//! | `C` | t | fork: start a second execution at position t, and continue this one |
//! | `D` | a a a | tail: end this trace, and load the trace at address a |
//! | `E` | t | jump to position t |
//! | `F` | a a a | continue this trace in the word at address a |
//!
//! Jumps, branches and forks lead only forward within a word, so the execution of a word always
//! ends. At a position past the last nibble, an end is implied. `docs/trace-format.md` specifies
//! the format.

use std::fmt;

use crate::{Accel, Transform};

/// The number of nibbles (4-bit units) in a trace word, the 8-byte unit of compiled traces.
pub const NIBBLES: usize = 16;
/// The largest number of 8-byte words in a trace memory: 4,096 words (32 KiB), since an address has
/// 12 bits.
pub const MAX_WORDS: usize = 1 << 12;

const OP_END: u8 = 0x0;
const OP_BRANCH: u8 = 0xA;
const OP_TRANSFORM: u8 = 0xB;
const OP_FORK: u8 = 0xC;
const OP_TAIL: u8 = 0xD;
const OP_JUMP: u8 = 0xE;
const OP_CONTINUE: u8 = 0xF;

/// Operand nibbles of other instructions, which are not the number of any transformation.
const SCATTER: u8 = 0xC;
const OWN_CALL: u8 = 0xD;
const JOIN: u8 = 0xF;

/// An address in the accelerator trace memory (ATM), which holds compiled traces: the index of an
/// 8-byte word, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AtmAddress(u16);

impl AtmAddress {
    /// Creates the address of the word with the index `index`, counted from 0; `None` if the index
    /// does not fit 12 bits.
    pub fn new(index: usize) -> Option<AtmAddress> {
        u16::try_from(index)
            .ok()
            .filter(|&i| usize::from(i) < MAX_WORDS)
            .map(AtmAddress)
    }

    /// Returns the index of the addressed word, counted from 0.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for AtmAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:03x}", self.0)
    }
}

/// The position in a trace word (8 bytes of compiled instructions) at which an execution continues:
/// the index of the next nibble (4 bits), 0 to 15, or 16 past the last nibble. Queue entries store
/// this position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PositionMark(u8);

impl PositionMark {
    /// The position of the first nibble of a trace word.
    pub const START: PositionMark = PositionMark(0);

    /// Creates the position of the nibble (4 bits) with the index `index` in a trace word, counted
    /// from 0. An `index` of 16 is the position past the last nibble; `None` for more than 16.
    pub fn new(index: usize) -> Option<PositionMark> {
        u8::try_from(index)
            .ok()
            .filter(|&i| usize::from(i) <= NIBBLES)
            .map(PositionMark)
    }

    /// Returns the index of the nibble (4 bits) at this position of a trace word, counted from 0;
    /// 16 past the last nibble.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// One instruction of a compiled trace, such as the call of an accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Instruction {
    /// End the trace and notify the core.
    End,
    /// Call this accelerator, one of the nine or a custom one.
    Call(Accel),
    /// Continue with the next instruction if the predicate holds, else at another position of the
    /// word.
    Branch {
        /// The index of the predicate in the memory's table, 0 to 15.
        predicate: u8,
        /// The position in the word at which to continue if the predicate does not hold.
        otherwise: PositionMark,
    },
    /// Change the data format of the payload.
    Transform(Transform),
    /// Start a second execution at this position of the word. If the first execution is an arm of a
    /// join, the join also waits for the second.
    Fork(PositionMark),
    /// Begin the arms of a join: start a second execution at this position of the word. The join
    /// waits for both executions.
    Scatter(PositionMark),
    /// Wait at a join until all of its executions have arrived. Then one of them continues with the
    /// payloads of all.
    Join,
    /// End this trace and continue with the trace at this address.
    Tail(AtmAddress),
    /// Continue at this position of the word.
    Jump(PositionMark),
    /// Continue this trace in the word at this address.
    Continue(AtmAddress),
}

/// The error of bits in a trace word that are not the code of any instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// A nibble has a value that is not allowed in its position.
    #[error("nibble {at} of the word = {nibble:#x}: must be the code of an existing {what}")]
    UnknownNibble {
        /// What the nibble should encode: an operation or a transformation.
        what: &'static str,
        /// The value of the nibble.
        nibble: u8,
        /// The index of the nibble in the word, counted from 0.
        at: usize,
    },
    /// The word ends before the instruction does. Holds the position of the instruction, in nibbles
    /// from 0.
    #[error("the instruction at nibble {0} of the word runs past the end of the word")]
    Truncated(usize),
    /// The target of a jump, branch or fork is not after the instruction.
    #[error(
        "instruction at nibble {at} of the word: target = nibble {to}: must be after the instruction"
    )]
    Backward {
        /// The position of the instruction, in nibbles from 0.
        at: usize,
        /// The position of the target, in nibbles from 0.
        to: usize,
    },
}

impl Instruction {
    /// Returns the length of the instruction, including its operands, in nibbles (4-bit units).
    pub const fn nibbles(self) -> usize {
        match self {
            Instruction::Call(accel) if accel.custom_number().is_some() => 3,
            Instruction::End | Instruction::Call(_) => 1,
            Instruction::Transform(_)
            | Instruction::Fork(_)
            | Instruction::Jump(_)
            | Instruction::Join => 2,
            Instruction::Branch { .. } | Instruction::Scatter(_) => 3,
            Instruction::Tail(_) | Instruction::Continue(_) => 4,
        }
    }
}

/// A trace word: 8 bytes of compiled instructions, read as 16 nibbles (4-bit units). The first
/// nibble is the most significant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Word(pub u64);

impl Word {
    /// Returns the nibble (4 bits) with the index `index` in this word, 0 to 15; index 0 is the
    /// most significant nibble.
    pub const fn nibble(self, index: usize) -> u8 {
        ((self.0 >> (4 * (NIBBLES - 1 - index))) & 0xF) as u8
    }

    /// Encodes `instructions` as one word; `None` if they do not fit its 16 nibbles. If the last
    /// instruction is [`Instruction::End`], it needs no room, since a trace also ends after a
    /// word's last nibble.
    pub fn encode(instructions: &[Instruction]) -> Option<Word> {
        let mut nibbles = Vec::with_capacity(NIBBLES);
        for instruction in instructions {
            push(*instruction, &mut nibbles);
        }
        let ends = instructions.iter().rev();
        let ends = ends.take_while(|&last| *last == Instruction::End).count();
        let implied = nibbles.len().saturating_sub(NIBBLES).min(ends);
        nibbles.truncate(nibbles.len() - implied);
        if nibbles.len() > NIBBLES {
            return None;
        }
        nibbles.resize(NIBBLES, OP_END);
        Some(Word(
            nibbles
                .into_iter()
                .fold(0, |word, nibble| word << 4 | u64::from(nibble)),
        ))
    }

    /// Decodes the instruction at position `at` of this word. Returns the instruction and the
    /// position after it. If `at` is past the last nibble, the instruction is [`Instruction::End`].
    ///
    /// # Errors
    /// [`DecodeError`] for nibbles that are not an instruction.
    pub fn decode(self, at: PositionMark) -> Result<(Instruction, PositionMark), DecodeError> {
        let start = at.index();
        if start >= NIBBLES {
            return Ok((Instruction::End, at));
        }
        let operand = |offset: usize| -> Result<u8, DecodeError> {
            let index = start + offset;
            if index < NIBBLES {
                Ok(self.nibble(index))
            } else {
                Err(DecodeError::Truncated(start))
            }
        };
        let ahead = |offset: usize, length: usize| -> Result<PositionMark, DecodeError> {
            // A target of zero would be backward, so zero encodes position 16.
            let to = match operand(offset)? {
                0 => NIBBLES,
                to => usize::from(to),
            };
            if to < start + length {
                return Err(DecodeError::Backward { at: start, to });
            }
            PositionMark::new(to).ok_or(DecodeError::Truncated(start))
        };
        let address = || -> Result<AtmAddress, DecodeError> {
            let index = [1, 2, 3].into_iter().try_fold(0_usize, |index, offset| {
                Ok(index << 4 | usize::from(operand(offset)?))
            })?;
            AtmAddress::new(index).ok_or(DecodeError::Truncated(start))
        };
        let instruction = match self.nibble(start) {
            OP_END => Instruction::End,
            OP_BRANCH => Instruction::Branch {
                predicate: operand(1)?,
                otherwise: ahead(2, 3)?,
            },
            OP_TRANSFORM => match operand(1)? {
                SCATTER => Instruction::Scatter(ahead(2, 3)?),
                JOIN => Instruction::Join,
                OWN_CALL => {
                    let number = usize::from(operand(2)?);
                    Instruction::Call(Accel::custom(number).ok_or(DecodeError::Truncated(start))?)
                }
                nibble => Instruction::Transform(transformation(nibble, start + 1)?),
            },
            OP_FORK => Instruction::Fork(ahead(1, 2)?),
            OP_TAIL => Instruction::Tail(address()?),
            OP_JUMP => Instruction::Jump(ahead(1, 2)?),
            OP_CONTINUE => Instruction::Continue(address()?),
            nibble => {
                let unknown = DecodeError::UnknownNibble {
                    what: "operation",
                    nibble,
                    at: start,
                };
                Instruction::Call(Accel::from_nibble(nibble).ok_or(unknown)?)
            }
        };
        let next = PositionMark::new(start + instruction.nibbles());
        Ok((instruction, next.ok_or(DecodeError::Truncated(start))?))
    }

    /// Returns the accelerator that the word's first instruction calls; `None` if the first
    /// instruction is not a call.
    pub fn first(self) -> Option<Accel> {
        match Accel::from_nibble(self.nibble(0)) {
            None => match self.decode(PositionMark::START) {
                Ok((Instruction::Call(accel), _)) => Some(accel),
                _ => None,
            },
            nine => nine,
        }
    }
}

fn transformation(nibble: u8, at: usize) -> Result<Transform, DecodeError> {
    Transform::from_nibble(nibble).ok_or(DecodeError::UnknownNibble {
        what: "transformation",
        nibble,
        at,
    })
}

fn push(instruction: Instruction, nibbles: &mut Vec<u8>) {
    // Positions are below 16 except for the one past the end, which is written as 0.
    let mark = |mark: PositionMark| mark.0 & 0xF;
    let address = |a: AtmAddress| {
        [
            (a.0 >> 8) as u8 & 0xF,
            (a.0 >> 4) as u8 & 0xF,
            a.0 as u8 & 0xF,
        ]
    };
    match instruction {
        Instruction::End => nibbles.push(OP_END),
        Instruction::Call(accel) => match (accel.nibble(), accel.custom_number()) {
            (Some(nibble), _) => nibbles.push(nibble),
            (None, number) => {
                nibbles.extend([OP_TRANSFORM, OWN_CALL, number.unwrap_or(0) as u8 & 0xF]);
            }
        },
        Instruction::Branch {
            predicate,
            otherwise,
        } => {
            nibbles.extend([OP_BRANCH, predicate & 0xF, mark(otherwise)]);
        }
        Instruction::Transform(change) => nibbles.extend([OP_TRANSFORM, change.nibble()]),
        Instruction::Fork(arm) => nibbles.extend([OP_FORK, mark(arm)]),
        Instruction::Scatter(arm) => nibbles.extend([OP_TRANSFORM, SCATTER, mark(arm)]),
        Instruction::Join => nibbles.extend([OP_TRANSFORM, JOIN]),
        Instruction::Jump(to) => nibbles.extend([OP_JUMP, mark(to)]),
        Instruction::Tail(to) => {
            nibbles.push(OP_TAIL);
            nibbles.extend(address(to));
        }
        Instruction::Continue(to) => {
            nibbles.push(OP_CONTINUE);
            nibbles.extend(address(to));
        }
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_nibble_is_the_most_significant() {
        let word = Word::encode(&[
            Instruction::Call(Accel::Ser),
            Instruction::Call(Accel::Encr),
        ]);
        assert_eq!(word, Some(Word(0x5200_0000_0000_0000)));
    }

    #[test]
    fn only_an_end_after_the_last_nibble_is_implied() {
        let calls = |count: usize| {
            let mut code = vec![Instruction::Call(Accel::Ser); count];
            code.push(Instruction::End);
            Word::encode(&code)
        };
        assert_eq!(calls(15), Some(Word(0x5555_5555_5555_5550)));
        assert_eq!(calls(16), Some(Word(0x5555_5555_5555_5555)));
        assert_eq!(calls(17), None);
    }

    #[test]
    fn every_word_decodes_or_is_refused_and_marks_only_grow() {
        for seed in 0..20_000_u64 {
            let word = Word(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            for at in 0..=NIBBLES {
                let at = PositionMark::new(at).unwrap();
                if let Ok((instruction, next)) = word.decode(at) {
                    assert!(next > at || instruction == Instruction::End);
                }
            }
        }
    }
}
