//! The instructions of the trace memory, decoded once for a run.

use accelflow_trace::{
    Action, AtmAddress, Effect, Facts, Fault, Image, Instruction, NIBBLES, PositionMark, Step,
    Word, step,
};

/// The instruction at each position of each word.
pub(crate) struct Code {
    /// By word, then by position.
    decoded: Vec<Decoded>,
}

/// An instruction.
#[derive(Clone, Copy)]
enum Decoded {
    Act {
        action: Action,
        next: PositionMark,
    },
    Branch {
        predicate: u8,
        holds: PositionMark,
        otherwise: PositionMark,
    },
    Jump(PositionMark),
    /// Nibbles without meaning.
    Fault,
}

const POSITIONS: usize = NIBBLES + 1;

impl Code {
    /// The words of `image`.
    pub(crate) fn new(image: &Image) -> Code {
        let words = image.words().iter();
        Code {
            decoded: words.flat_map(|&word| positions(word)).collect(),
        }
    }

    /// Does what [`step`] does at `mark` of the word at `address`. A branch reads `facts`.
    #[inline]
    pub(crate) fn step<F: Facts>(
        &self,
        image: &Image,
        address: AtmAddress,
        mark: PositionMark,
        facts: impl Fn() -> F,
    ) -> Result<Step, Fault> {
        let (mut at, mut branches) = (mark, 0);
        loop {
            let place = address.index() * POSITIONS + at.index();
            match self.decoded.get(place) {
                Some(&Decoded::Act { action, next }) => {
                    return Ok(Step {
                        action,
                        next,
                        branches,
                    });
                }
                Some(&Decoded::Jump(to)) => at = to,
                Some(&Decoded::Branch {
                    predicate,
                    holds,
                    otherwise,
                }) => {
                    let predicates = image.predicates();
                    let condition = predicates.get(predicate);
                    let resolved =
                        condition.map(|condition| condition.holds(predicates.fields(), &facts()));
                    let Some(Ok(held)) = resolved else {
                        break;
                    };
                    branches += 1;
                    at = if held { holds } else { otherwise };
                }
                Some(Decoded::Fault) | None => break,
            }
        }
        // The word has a fault, which `step` reports.
        step(image.word(address)?, mark, image.predicates(), &facts())
    }
}

fn positions(word: Word) -> impl Iterator<Item = Decoded> {
    (0..POSITIONS).map(move |index| {
        let read = PositionMark::new(index).and_then(|mark| word.decode(mark).ok());
        read.map_or(Decoded::Fault, |(instruction, next)| {
            decoded(instruction, next)
        })
    })
}

fn decoded(instruction: Instruction, next: PositionMark) -> Decoded {
    match Effect::of(instruction) {
        Effect::Act(action) => Decoded::Act { action, next },
        Effect::Branch {
            predicate,
            otherwise,
        } => Decoded::Branch {
            predicate,
            holds: next,
            otherwise,
        },
        Effect::Jump(to) => Decoded::Jump(to),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use accelflow_trace::{Field, templates};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn decoded_words_are_read_like_words(
            address in 0_usize..80,
            index in 0..=NIBBLES,
            facts in prop::collection::vec(prop::option::of(-1_i64..3), 32),
        ) {
            let image = templates().unwrap().link().unwrap();
            let (address, mark) = (
                AtmAddress::new(address).unwrap(),
                PositionMark::new(index).unwrap(),
            );
            let facts = |field: Field<'_>| facts.get(field.index).copied().flatten();
            let word = image.word(address);
            let meant = word.and_then(|word| step(word, mark, image.predicates(), &facts));
            let code = Code::new(&image);
            let found = code.step(&image, address, mark, || facts);
            prop_assert_eq!(&found, &meant);
        }
    }

    #[test]
    fn any_nibbles_are_decoded_as_they_are_read() {
        for bits in (0..5_000_u64).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15)) {
            let word = Word(bits);
            for (index, found) in positions(word).enumerate() {
                let read = word.decode(PositionMark::new(index).unwrap());
                match (read, found) {
                    (Err(_), Decoded::Fault) => {}
                    (Ok((Instruction::Jump(to), _)), Decoded::Jump(found)) => {
                        assert_eq!(to, found);
                    }
                    (
                        Ok((Instruction::Branch { otherwise, .. }, next)),
                        Decoded::Branch {
                            holds,
                            otherwise: other,
                            ..
                        },
                    ) => {
                        assert_eq!((next, otherwise), (holds, other));
                    }
                    (Ok((_, after)), Decoded::Act { next, .. }) => assert_eq!(after, next),
                    _ => panic!("{word:?} at {index}"),
                }
            }
        }
    }
}
