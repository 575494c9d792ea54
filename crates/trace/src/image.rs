//! The accelerator trace memory (ATM): words, branch conditions, names and custom accelerators.

use std::sync::Arc;

use crate::check::is_name;
use crate::compile::Part;
use crate::disassemble::disassemble;
use crate::kind::Kind;
use crate::link_error::LinkError;
use crate::word::{AtmAddress, Instruction, NIBBLES, PositionMark, Word};
use crate::{Accel, Fault, PredicateTable};

/// A linked accelerator trace memory (ATM): compiled traces as 8-byte words, with their branch
/// conditions and names. Its traces obey the rules of the trace language, so each trace ends,
/// whatever the payload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    words: Vec<Word>,
    predicates: PredicateTable,
    names: Vec<String>,
    kinds: Vec<Arc<Kind>>,
}

impl Image {
    /// Creates an image. The caller must check the rules.
    pub(crate) fn new(
        words: Vec<Word>,
        predicates: PredicateTable,
        names: Vec<String>,
        kinds: Vec<Arc<Kind>>,
    ) -> Image {
        Image {
            words,
            predicates,
            names,
            kinds,
        }
    }

    /// Returns the 8-byte word of compiled instructions at `address`.
    ///
    /// # Errors
    /// [`Fault::DanglingAddress`] if `address` is outside the memory.
    pub fn word(&self, address: AtmAddress) -> Result<Word, Fault> {
        self.words
            .get(address.index())
            .copied()
            .ok_or(Fault::DanglingAddress(address))
    }

    /// Returns the 8-byte words of the trace memory, the compiled traces, in the order of their
    /// addresses.
    pub fn words(&self) -> &[Word] {
        &self.words
    }

    /// Returns the names of all words, in the order of their addresses. The first word of a trace
    /// has the trace's name, such as `T5`; the trace's other words are called `T5.1`, `T5.2` and so
    /// on.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the declarations of the custom accelerators that the traces of this memory call. The
    /// index in this list is the accelerator's [`Accel::custom_number`].
    pub fn kinds(&self) -> &[Arc<Kind>] {
        &self.kinds
    }

    /// Returns the declaration of the custom accelerator `accel`; `None` if `accel` is one of the
    /// AccelFlow paper's nine accelerators, or a custom accelerator that this memory does not have.
    pub fn kind(&self, accel: Accel) -> Option<&Arc<Kind>> {
        self.kinds.get(accel.custom_number()?)
    }

    /// Returns the name of the accelerator `accel`, such as `Decr` or the name in the declaration
    /// of a custom accelerator. Returns `own` for a custom accelerator that this memory does not
    /// have.
    pub fn accel_name(&self, accel: Accel) -> &str {
        self.kind(accel).map_or(accel.name(), |kind| kind.name())
    }

    /// Returns the accelerator called `name`: one of the AccelFlow paper's nine, or a custom
    /// accelerator of this memory. Ignores upper and lower case. `None` for an unknown name.
    pub fn accelerator(&self, name: &str) -> Option<Accel> {
        name.parse().ok().or_else(|| {
            let mut kinds = self.kinds.iter();
            Accel::custom(kinds.position(|kind| kind.name().eq_ignore_ascii_case(name))?)
        })
    }

    /// Returns all accelerators that the traces of this memory can call: the AccelFlow paper's
    /// nine, then the custom accelerators.
    pub fn accelerators(&self) -> impl Iterator<Item = Accel> + '_ {
        let own = (0..self.kinds.len()).filter_map(Accel::custom);
        Accel::ALL.into_iter().chain(own)
    }

    /// Returns the table of the compiled branch conditions of this memory.
    pub fn predicates(&self) -> &PredicateTable {
        &self.predicates
    }

    /// Returns the address of the first word of the trace `name`; `None` if there is no such trace.
    pub fn entry(&self, name: &str) -> Option<AtmAddress> {
        AtmAddress::new(self.names.iter().position(|n| n == name)?).filter(|_| is_name(name))
    }

    /// Returns the name of the word at `address`, such as `T1` or `T1.1`; `?` if there is no such
    /// word.
    pub fn name(&self, address: AtmAddress) -> &str {
        self.names.get(address.index()).map_or("?", String::as_str)
    }

    /// Returns whether the word at `address` is the first word of a trace.
    pub fn is_entry(&self, address: AtmAddress) -> bool {
        is_name(self.name(address))
    }

    /// Returns whether a run that begins with the trace at `entry` may have to wait for a message
    /// after its first trace: whether a tail leads, directly or through other traces, to a trace
    /// that begins with TCP.
    pub fn can_wait(&self, entry: AtmAddress) -> bool {
        self.entered(entry)
            .into_iter()
            .any(|trace| self.receives(trace))
    }

    /// Returns the addresses of all traces that can run after the trace at `entry` in the same run:
    /// those to which its tails lead, directly or through other traces. `entry` is never among
    /// them, since tails that lead back are refused.
    pub fn entered(&self, entry: AtmAddress) -> Vec<AtmAddress> {
        let (mut left, mut seen, mut found) = (vec![entry], vec![entry], Vec::new());
        while let Some(address) = left.pop() {
            if address.index() >= self.words.len() {
                continue;
            }
            for (edge, to) in self.links(address.index()).unwrap_or_default() {
                if edge == Edge::Next && !found.contains(&to) {
                    found.push(to);
                }
                if !seen.contains(&to) {
                    left.push(to);
                    seen.push(to);
                }
            }
        }
        found
    }

    /// Returns whether the trace at `entry` begins with TCP. Such a trace first receives a message.
    pub fn receives(&self, entry: AtmAddress) -> bool {
        self.word(entry)
            .is_ok_and(|word| word.first() == Some(Accel::Tcp))
    }

    /// Returns the source of every word as a [`Part`], in the order of addresses.
    /// [`link()`](crate::link()) makes the same trace memory from these parts.
    ///
    /// # Errors
    /// [`LinkError`] for words that are not the compiled form of any source. A linked trace memory
    /// has no such words.
    pub fn disassemble(&self) -> Result<Vec<Part>, LinkError> {
        (0..self.words.len())
            .map(|i| self.disassemble_word(i))
            .collect()
    }

    pub(crate) fn disassemble_word(&self, index: usize) -> Result<Part, LinkError> {
        let name = self.names[index].clone();
        let nodes = disassemble(
            self.words[index],
            &self.predicates,
            &self.kinds,
            &self.names,
        )
        .map_err(|error| LinkError::Unstructured {
            word: name.clone(),
            error,
        })?;
        Ok(Part { name, nodes })
    }

    /// Checks that there is no cycle of words, on which a trace could run forever.
    pub(crate) fn check_cycles(&self) -> Result<(), LinkError> {
        let edges: Vec<Vec<usize>> = (0..self.words.len())
            .map(|i| {
                Ok(self
                    .links(i)?
                    .into_iter()
                    .map(|(_, to)| to.index())
                    .collect())
            })
            .collect::<Result<_, LinkError>>()?;
        match find_cycle(&edges) {
            None => Ok(()),
            Some(cycle) => {
                let names: Vec<&str> = cycle.iter().map(|&i| self.names[i].as_str()).collect();
                Err(LinkError::NeverEnds(names.join(" -> ")))
            }
        }
    }

    pub(crate) fn links(&self, index: usize) -> Result<Vec<(Edge, AtmAddress)>, LinkError> {
        let word = self.words[index];
        let mut found = Vec::new();
        let mut mark = PositionMark::START;
        while mark.index() < NIBBLES {
            let (instruction, next) = word.decode(mark).map_err(|error| LinkError::Decode {
                word: self.names[index].clone(),
                error,
            })?;
            match instruction {
                Instruction::Tail(to) => found.push((Edge::Next, to)),
                Instruction::Continue(to) => found.push((Edge::Continue, to)),
                _ => {}
            }
            mark = next;
        }
        Ok(found)
    }
}

/// The kind of an edge from one word to another.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edge {
    /// By a tail, to the beginning of a trace.
    Next,
    /// To a later part of the same trace.
    Continue,
}

/// Returns the nodes of a cycle in the graph, with the first repeated at the end, if there is a
/// cycle.
fn find_cycle(edges: &[Vec<usize>]) -> Option<Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; edges.len()];
    for start in 0..edges.len() {
        // An explicit stack: a chain can have as many words as the memory.
        let mut stack = vec![(start, 0)];
        while let Some((node, next)) = stack.pop() {
            if next == 0 {
                if marks[node] != Mark::New {
                    continue;
                }
                marks[node] = Mark::Open;
            }
            match edges[node].get(next) {
                None => marks[node] = Mark::Done,
                Some(&to) => {
                    stack.push((node, next + 1));
                    match marks.get(to) {
                        Some(Mark::New) => stack.push((to, 0)),
                        Some(Mark::Open) => {
                            let path: Vec<usize> = stack.iter().map(|(n, _)| *n).collect();
                            let from = path.iter().position(|&n| n == to).unwrap_or(0);
                            let mut cycle = path[from..].to_vec();
                            cycle.push(to);
                            return Some(cycle);
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    None
}
