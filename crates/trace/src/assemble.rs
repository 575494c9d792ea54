//! The assembler, which encodes parts of traces as words once every name has an address.

use crate::compile::{
    Exit, Part, arm_exit, arm_needs_end, arm_start, join_arm, leave, size, true_exit,
};
use crate::kind::Kind;
use crate::link_error::LinkError;
use crate::source::{Node, Nodes};
use crate::word::{AtmAddress, Instruction, PositionMark, Word};
use crate::{Accel, Condition, PredicateError};

/// The addresses, custom accelerators and predicates of the trace memory to which a word belongs.
pub(crate) trait Symbols {
    fn address(&self, name: &str) -> Result<AtmAddress, LinkError>;
    fn kind(&self, kind: &Kind) -> Result<Accel, LinkError>;
    fn predicate(&mut self, condition: &Condition) -> Result<u8, PredicateError>;
}

/// Encodes `part` as a word. It fits a word if [`crate::compile::split`] made it.
///
/// # Errors
/// [`LinkError::PartTooLong`], and the errors of `symbols`.
pub(crate) fn assemble(part: &Part, symbols: &mut dyn Symbols) -> Result<Word, LinkError> {
    let mut assembler = Assembler {
        part: &part.name,
        symbols,
        code: Vec::new(),
        at: 0,
    };
    assembler.sequence(&part.nodes, Exit::Last)?;
    Word::encode(&assembler.code).ok_or_else(|| assembler.too_long())
}

struct Assembler<'s> {
    part: &'s str,
    symbols: &'s mut dyn Symbols,
    code: Vec<Instruction>,
    at: usize,
}

impl Assembler<'_> {
    fn sequence(&mut self, nodes: &[Node], exit: Exit) -> Result<(), LinkError> {
        let last = nodes.len().saturating_sub(1);
        nodes
            .iter()
            .enumerate()
            .try_for_each(|(i, node)| self.node(node, if i == last { exit } else { Exit::Fall }))
    }

    fn node(&mut self, node: &Node, exit: Exit) -> Result<(), LinkError> {
        match node {
            Node::Accel(accel) => self.push(Instruction::Call(*accel)),
            Node::Kind(kind) => {
                let accel = self.symbols.kind(kind)?;
                self.push(Instruction::Call(accel));
            }
            Node::Transform(change) => self.push(Instruction::Transform(*change)),
            Node::Notify => self.push(Instruction::End),
            Node::Meet => self.push(Instruction::Join),
            Node::Join(arms) => self.join(arms, node.is_terminal())?,
            Node::Tail(name) => {
                let address = self.symbols.address(name)?;
                self.push(Instruction::Tail(address));
            }
            Node::Continue(name) => {
                let address = self.symbols.address(name)?;
                self.push(Instruction::Continue(address));
            }
            Node::Branch {
                condition,
                on_true,
                on_false,
                ..
            } => {
                self.branch(condition, on_true, on_false, exit)?;
            }
            Node::Fork(arms) => {
                for (i, arm) in arms.iter().enumerate() {
                    let exit = arm_exit(i, arms.len(), exit);
                    let needs_end = arm_needs_end(arm, exit);
                    if i + 1 < arms.len() {
                        let length = 2 + size(arm, exit) + usize::from(needs_end);
                        let next = self.mark(self.at + length)?;
                        self.push(Instruction::Fork(next));
                    }
                    self.sequence(arm, exit)?;
                    if needs_end {
                        self.push(Instruction::End);
                    }
                }
            }
        }
        Ok(())
    }

    fn branch(
        &mut self,
        condition: &Condition,
        on_true: &[Node],
        on_false: &[Node],
        exit: Exit,
    ) -> Result<(), LinkError> {
        let predicate = self.symbols.predicate(condition)?;
        let leave = leave(on_true, on_false, exit);
        let true_exit = true_exit(on_false, exit);
        let otherwise = self.at + 3 + size(on_true, true_exit) + leave;
        let join = self.mark(otherwise + size(on_false, exit))?;
        let otherwise = self.mark(otherwise)?;
        self.push(Instruction::Branch {
            predicate,
            otherwise,
        });
        self.sequence(on_true, true_exit)?;
        match leave {
            0 => {}
            1 => self.push(Instruction::End),
            _ => self.push(Instruction::Jump(join)),
        }
        self.sequence(on_false, exit)
    }

    /// Assembles the arms of a join, one after another, and their meeting point. If `ends`, there
    /// is no meeting point here: each arm ends with a link to the part that begins with it.
    fn join(&mut self, arms: &[Nodes], ends: bool) -> Result<(), LinkError> {
        let last = arms.len().saturating_sub(1);
        let lengths = arms.iter().enumerate();
        let lengths = lengths.map(|(i, arm)| arm_start(i, last) + join_arm(arm, i, last, ends));
        let lengths: Vec<usize> = lengths.collect();
        let meet = self.mark(self.at + lengths.iter().sum::<usize>())?;
        for (i, arm) in arms.iter().enumerate() {
            let next = self.mark(self.at + lengths[i])?;
            match i {
                _ if i == last => {}
                0 => self.push(Instruction::Scatter(next)),
                _ => self.push(Instruction::Fork(next)),
            }
            let exit = if ends {
                arm_exit(i, arms.len(), Exit::End)
            } else {
                Exit::Fall
            };
            self.sequence(arm, exit)?;
            if !ends && i < last {
                self.push(Instruction::Jump(meet));
            }
        }
        if !ends {
            self.push(Instruction::Join);
        }
        Ok(())
    }

    fn push(&mut self, instruction: Instruction) {
        self.at += instruction.nibbles();
        self.code.push(instruction);
    }

    fn mark(&self, at: usize) -> Result<PositionMark, LinkError> {
        PositionMark::new(at).ok_or_else(|| self.too_long())
    }

    fn too_long(&self) -> LinkError {
        LinkError::PartTooLong(self.part.to_owned())
    }
}
