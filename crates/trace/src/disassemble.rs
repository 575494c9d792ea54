//! The disassembler, which turns trace words back into sources.

use std::sync::Arc;

use crate::kind::Kind;
use crate::source::{Node, Nodes, ends};
use crate::word::{AtmAddress, DecodeError, Instruction, NIBBLES, PositionMark, Word};
use crate::{Accel, PredicateTable};

/// The error of a trace word that the compiler cannot have made, so that the word has no source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unstructured {
    /// Some nibbles of the word are not an instruction.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The word's jumps, branches, forks and joins are not nested as the compiler nests them. Holds
    /// the position, in nibbles from 0, of the wrong instruction or of one of its targets.
    #[error("the jumps, branches, forks or joins around nibble {0} of the word do not nest")]
    Jump(usize),
    /// An instruction of the word can never run. Holds the index of its first nibble, counted from
    /// 0.
    #[error("the instruction at nibble {0} of the word can never run")]
    Unreachable(usize),
    /// A branch refers to a predicate that is not in the memory's table. Holds the predicate's
    /// index.
    #[error("predicate = {0}: must be the index of a branch condition in the trace memory")]
    Predicate(u8),
    /// A branch refers to a predicate whose operations or names of payload values are not those of
    /// any condition. Holds the predicate's index.
    #[error(
        "branch condition {0} of the trace memory: must be what the compiler makes of a condition, \
         with the names of payload values"
    )]
    Condition(u8),
    /// The word calls a custom accelerator that the memory's table does not have. Holds the
    /// accelerator's index.
    #[error(
        "custom accelerator = {0}: must be the index of a custom accelerator in the trace memory"
    )]
    Kind(usize),
    /// The word refers to an address outside the trace memory. Holds the address.
    #[error("address = {0}: must be inside the trace memory")]
    Dangling(AtmAddress),
}

/// Returns the source of `word`. `names` are the names of its links' targets.
pub(crate) fn disassemble(
    word: Word,
    predicates: &PredicateTable,
    kinds: &[Arc<Kind>],
    names: &[String],
) -> Result<Nodes, Unstructured> {
    let reader = Reader {
        word,
        predicates,
        kinds,
        names,
    };
    let mut nodes = reader.region(0, NIBBLES, true)?;
    if nodes.is_empty() {
        nodes.push(Node::Notify);
    }
    Ok(nodes)
}

struct Reader<'i> {
    word: Word,
    predicates: &'i PredicateTable,
    kinds: &'i [Arc<Kind>],
    names: &'i [String],
}

impl Reader<'_> {
    /// Returns the nodes of the nibbles from `at` to `limit`, exclusive. The outermost region may
    /// end early, followed by zeros.
    fn region(&self, mut at: usize, limit: usize, outermost: bool) -> Result<Nodes, Unstructured> {
        let mut nodes = Nodes::new();
        while at < limit {
            let (instruction, next) = self.decode(at)?;
            let start = at;
            at = next;
            match instruction {
                Instruction::Call(accel) => nodes.push(self.call(accel)?),
                Instruction::Transform(change) => nodes.push(Node::Transform(change)),
                Instruction::Tail(to) => nodes.push(Node::Tail(self.name(to)?)),
                Instruction::Continue(to) => nodes.push(Node::Continue(self.name(to)?)),
                Instruction::End if outermost && limit == NIBBLES && self.zeros(at) => {
                    return Ok(nodes);
                }
                Instruction::End => nodes.push(Node::Notify),
                Instruction::Jump(_) => return Err(Unstructured::Jump(start)),
                Instruction::Join if outermost && start == 0 => nodes.push(Node::Meet),
                Instruction::Join => return Err(Unstructured::Jump(start)),
                Instruction::Scatter(arm) => {
                    let (node, rest) = self.join(at, arm.index(), limit, outermost)?;
                    nodes.push(node);
                    at = rest;
                }
                Instruction::Branch {
                    predicate,
                    otherwise,
                } => {
                    let (node, rest) = self.branch(predicate, at, otherwise, limit)?;
                    nodes.push(node);
                    at = rest;
                }
                Instruction::Fork(arm) => {
                    nodes.push(self.fork(at, arm.index(), limit, outermost)?);
                    at = limit;
                }
            }
            if at > limit {
                return Err(Unstructured::Jump(start));
            }
            if ends(&nodes) {
                let padding = outermost && limit == NIBBLES && self.zeros(at);
                return if at == limit || padding {
                    Ok(nodes)
                } else {
                    Err(Unstructured::Unreachable(at))
                };
            }
        }
        Ok(nodes)
    }

    /// Returns the branch whose true arm begins at `at`, and the position after the branch.
    fn branch(
        &self,
        predicate: u8,
        at: usize,
        otherwise: PositionMark,
        limit: usize,
    ) -> Result<(Node, usize), Unstructured> {
        let condition = self.predicates.condition(predicate);
        let condition = condition.ok_or_else(|| match self.predicates.get(predicate) {
            None => Unstructured::Predicate(predicate),
            Some(_) => Unstructured::Condition(predicate),
        })?;
        let otherwise = otherwise.index();
        if otherwise > limit {
            return Err(Unstructured::Jump(at - 3));
        }
        let (on_true, on_false, rest) = match self.leaving_jump(at, otherwise)? {
            Some((jump, join)) if join <= limit && join > otherwise => {
                let on_true = self.region(at, jump, false)?;
                if ends(&on_true) {
                    return Err(Unstructured::Unreachable(jump));
                }
                (on_true, self.region(otherwise, join, false)?, join)
            }
            Some((jump, _)) => return Err(Unstructured::Jump(jump)),
            None => (self.region(at, otherwise, false)?, Nodes::new(), otherwise),
        };
        Ok((
            Node::Branch {
                condition,
                on_true,
                on_false,
                likely: None,
            },
            rest,
        ))
    }

    /// Returns the position and the target of the jump just before `end`, if there is one.
    fn leaving_jump(
        &self,
        start: usize,
        end: usize,
    ) -> Result<Option<(usize, usize)>, Unstructured> {
        let mut at = start;
        let mut last = None;
        while at < end {
            let (instruction, next) = self.decode(at)?;
            last = match instruction {
                Instruction::Jump(to) => Some((at, to.index())),
                _ => None,
            };
            at = next;
        }
        if at == end {
            Ok(last)
        } else {
            Err(Unstructured::Jump(start))
        }
    }

    fn fork(
        &self,
        first: usize,
        second: usize,
        limit: usize,
        outermost: bool,
    ) -> Result<Node, Unstructured> {
        if second > limit {
            return Err(Unstructured::Jump(first));
        }
        let arm = self.region(first, second, false)?;
        if !ends(&arm) {
            return Err(Unstructured::Jump(first));
        }
        let mut rest = self.region(second, limit, outermost)?;
        let mut arms = vec![arm];
        match rest.as_mut_slice() {
            [Node::Fork(more)] => arms.append(more),
            _ => arms.push(if rest.is_empty() {
                vec![Node::Notify]
            } else {
                rest
            }),
        }
        Ok(Node::Fork(arms))
    }

    /// Returns the arms of a join whose first arm begins at `first`, and the position after the
    /// join.
    fn join(
        &self,
        first: usize,
        second: usize,
        limit: usize,
        outermost: bool,
    ) -> Result<(Node, usize), Unstructured> {
        if second > limit {
            return Err(Unstructured::Jump(first));
        }
        let Some((_, meet)) = self.leaving_jump(first, second)? else {
            // Each arm leads to the part that begins where they meet.
            let Node::Fork(arms) = self.fork(first, second, limit, outermost)? else {
                return Err(Unstructured::Jump(first));
            };
            return Ok((Node::Join(arms), limit));
        };
        let mut arms = Vec::new();
        let (mut start, mut end) = (first, second);
        let rest = loop {
            let leaves = self.leaving_jump(start, end)?;
            let jump = match leaves {
                Some((jump, to)) if to == meet && end < meet && meet < limit => jump,
                _ => return Err(Unstructured::Jump(start)),
            };
            arms.push(self.region(start, jump, false)?);
            match self.decode(end)? {
                (Instruction::Fork(next), after) => (start, end) = (after, next.index()),
                _ => break self.region(end, meet, false)?,
            }
        };
        arms.push(rest);
        if arms.iter().any(|arm| ends(arm)) {
            return Err(Unstructured::Unreachable(meet));
        }
        match self.decode(meet)? {
            (Instruction::Join, after) => Ok((Node::Join(arms), after)),
            _ => Err(Unstructured::Jump(meet)),
        }
    }

    fn decode(&self, at: usize) -> Result<(Instruction, usize), Unstructured> {
        let mark = PositionMark::new(at).ok_or(Unstructured::Jump(at))?;
        let (instruction, next) = self.word.decode(mark)?;
        Ok((instruction, next.index()))
    }

    fn call(&self, accel: Accel) -> Result<Node, Unstructured> {
        let Some(number) = accel.custom_number() else {
            return Ok(Node::Accel(accel));
        };
        let kind = self.kinds.get(number).cloned();
        kind.map(Node::Kind).ok_or(Unstructured::Kind(number))
    }

    fn name(&self, address: AtmAddress) -> Result<String, Unstructured> {
        self.names
            .get(address.index())
            .cloned()
            .ok_or(Unstructured::Dangling(address))
    }

    fn zeros(&self, from: usize) -> bool {
        (from..NIBBLES).all(|i| self.word.nibble(i) == 0)
    }
}
