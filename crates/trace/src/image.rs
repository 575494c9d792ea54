//! The accelerator trace memory (ATM): words, predicate table and names, linked and checked.

use std::collections::BTreeMap;

use crate::assemble::{Symbols, assemble};
use crate::check::{CheckError, Role, Warning, check, is_name};
use crate::compile::{Part, split};
use crate::disassemble::{Unstructured, disassemble};
use crate::executions::summaries;
use crate::limits::MAX_EXECUTIONS;
use crate::source::{Node, Nodes};
use crate::word::{AtmAddress, DecodeError, Instruction, MAX_WORDS, NIBBLES, PositionMark, Word};
use crate::{Condition, Fault, PredicateError, PredicateTable};

/// Why a trace cannot be added to a library.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// The trace itself is impossible.
    #[error("trace '{trace}': {error}")]
    Check {
        /// The trace.
        trace: String,
        /// What is wrong with it.
        error: CheckError,
    },
    /// Another trace has the name.
    #[error("a different trace is already registered as '{0}'")]
    Duplicate(String),
}

/// Why traces that are possible one by one cannot be linked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// A tail to nothing.
    #[error(
        "trace '{trace}' has a tail to '{tail}', which is not registered; registered are {known}"
    )]
    UnknownTail {
        /// The trace.
        trace: String,
        /// What its tail names.
        tail: String,
        /// The names that exist.
        known: String,
    },
    /// A chain of traces that returns to itself.
    #[error("this chain of traces never ends: {0}")]
    NeverEnds(String),
    /// Forks that multiply along a chain of tails.
    #[error(
        "trace '{trace}' can turn into {executions} parallel executions; at most {MAX_EXECUTIONS}"
    )]
    TooManyExecutions {
        /// The trace.
        trace: String,
        /// Its executions.
        executions: u64,
    },
    /// More words than 12 bits address.
    #[error("{0} words do not fit the trace memory of {MAX_WORDS}")]
    MemoryFull(usize),
    /// Too many or too large conditions.
    #[error("trace '{trace}': {error}")]
    Predicate {
        /// The trace.
        trace: String,
        /// What is wrong.
        error: PredicateError,
    },
    /// A part that does not fit its word: a bug of the compiler, never of the input.
    #[error("a part of a trace does not fit a word")]
    PartTooLong,
    /// A memory read from elsewhere that breaks a rule of the language.
    #[error("word '{word}': {error}")]
    Check {
        /// The word's name.
        word: String,
        /// The rule.
        error: CheckError,
    },
    /// Nibbles without meaning.
    #[error("word '{word}': {error}")]
    Decode {
        /// The word's name.
        word: String,
        /// What is wrong.
        error: DecodeError,
    },
    /// Jumps that no source compiles to.
    #[error("word '{word}': {error}")]
    Unstructured {
        /// The word's name.
        word: String,
        /// Where.
        error: Unstructured,
    },
    /// A word that breaks a rule of the memory.
    #[error("word '{word}': {message}")]
    Memory {
        /// The word's name.
        word: String,
        /// The rule.
        message: String,
    },
}

/// A registered trace: its source, its parts, and what is unusual about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// The name.
    pub name: String,
    /// The source as registered.
    pub source: Nodes,
    /// Pairs outside Table I.
    pub warnings: Vec<Warning>,
    /// The parts, the entry first.
    pub parts: Vec<Part>,
}

/// Named traces that may refer to one another in any order of registration.
#[derive(Clone, Debug, Default)]
pub struct Library {
    traces: Vec<Registered>,
}

impl Library {
    /// A library without traces.
    pub fn new() -> Library {
        Library::default()
    }

    /// Checks `source` and adds it as `name`. Registering the same source twice is harmless.
    ///
    /// # Errors
    /// [`RegisterError`] for an impossible trace or a name that is taken by another one.
    pub fn register(&mut self, name: &str, source: Nodes) -> Result<&[Warning], RegisterError> {
        let checked = if is_name(name) {
            check(&source, Role::Trace)
        } else {
            Err(CheckError::Name(name.to_owned()))
        };
        let warnings = checked.map_err(|error| RegisterError::Check {
            trace: name.to_owned(),
            error,
        })?;
        if let Some(index) = self.traces.iter().position(|t| t.name == name) {
            if self.traces[index].source != source {
                return Err(RegisterError::Duplicate(name.to_owned()));
            }
            return Ok(&self.traces[index].warnings);
        }
        let parts = split(name, &source);
        self.traces.push(Registered {
            name: name.to_owned(),
            source,
            warnings,
            parts,
        });
        Ok(self.traces.last().map_or(&[], |t| &t.warnings))
    }

    /// Removes `name`, so that it can be registered anew; whether it was there.
    pub fn remove(&mut self, name: &str) -> bool {
        let before = self.traces.len();
        self.traces.retain(|t| t.name != name);
        self.traces.len() < before
    }

    /// The trace called `name`.
    pub fn get(&self, name: &str) -> Option<&Registered> {
        self.traces.iter().find(|t| t.name == name)
    }

    /// All traces, in order of registration.
    pub fn traces(&self) -> &[Registered] {
        &self.traces
    }

    /// Lays all traces out in a trace memory.
    ///
    /// # Errors
    /// [`LinkError`] for a tail to nothing, a chain that never ends, or a full memory.
    pub fn link(&self) -> Result<Image, LinkError> {
        let parts = self
            .traces
            .iter()
            .flat_map(|t| t.parts.iter().cloned())
            .collect();
        link(parts)
    }

    /// Lays out the trace called `name` and those that its tails lead to, and no others: what is
    /// wrong with the others does not matter.
    ///
    /// # Errors
    /// [`LinkError`], as for [`Library::link`].
    pub fn link_from(&self, name: &str) -> Result<Image, LinkError> {
        let mut reached: Vec<&Registered> = self.get(name).into_iter().collect();
        let mut next = 0;
        while let Some(&trace) = reached.get(next) {
            for tail in tails(&trace.source) {
                let known = reached.iter().any(|it| it.name == tail);
                reached.extend(self.get(tail).filter(|_| !known));
            }
            next += 1;
        }
        let parts = reached.into_iter().flat_map(|t| t.parts.iter().cloned());
        link(parts.collect())
    }
}

/// Lays `parts` out in a trace memory, in their order.
///
/// # Errors
/// [`LinkError`], as for [`Library::link`].
pub fn link(parts: Vec<Part>) -> Result<Image, LinkError> {
    if parts.len() > MAX_WORDS {
        return Err(LinkError::MemoryFull(parts.len()));
    }
    let addresses: BTreeMap<&str, AtmAddress> = parts
        .iter()
        .enumerate()
        .filter_map(|(i, part)| Some((part.name.as_str(), AtmAddress::new(i)?)))
        .collect();
    let mut linker = Linker {
        addresses,
        predicates: PredicateTable::default(),
        part: "",
    };
    let mut words = Vec::with_capacity(parts.len());
    for part in &parts {
        linker.part = &part.name;
        let word = assemble(&part.nodes, &mut linker).map_err(|error| match error {
            LinkError::Predicate { error, .. } => LinkError::Predicate {
                trace: part.name.clone(),
                error,
            },
            other => other,
        })?;
        words.push(word);
    }
    let predicates = linker.predicates;
    let names = parts.iter().map(|part| part.name.clone()).collect();
    let image = Image {
        words,
        predicates,
        names,
    };
    image.check_cycles()?;
    for (trace, summary) in summaries(&parts)? {
        let executions = summary.executions;
        if executions > MAX_EXECUTIONS {
            let trace = trace.to_owned();
            return Err(LinkError::TooManyExecutions { trace, executions });
        }
    }
    Ok(image)
}

struct Linker<'p> {
    addresses: BTreeMap<&'p str, AtmAddress>,
    predicates: PredicateTable,
    part: &'p str,
}

impl Symbols for Linker<'_> {
    fn address(&self, name: &str) -> Result<AtmAddress, LinkError> {
        self.addresses.get(name).copied().ok_or_else(|| {
            let known: Vec<&str> = self
                .addresses
                .keys()
                .copied()
                .filter(|n| is_name(n))
                .collect();
            LinkError::UnknownTail {
                trace: self.part.to_owned(),
                tail: name.to_owned(),
                known: known.join(", "),
            }
        })
    }

    fn predicate(&mut self, condition: &Condition) -> Result<u8, PredicateError> {
        self.predicates.intern(condition)
    }
}

impl From<PredicateError> for LinkError {
    fn from(error: PredicateError) -> LinkError {
        LinkError::Predicate {
            trace: String::new(),
            error,
        }
    }
}

/// A linked trace memory. Every image that exists obeys the rules of the language: all its traces
/// end, whatever the payload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    words: Vec<Word>,
    predicates: PredicateTable,
    names: Vec<String>,
}

impl Image {
    /// An image from words, predicates and one name a word, as read from a file.
    ///
    /// # Errors
    /// [`LinkError`] for anything that [`Library::link`] could not have made.
    pub fn from_raw(
        words: Vec<Word>,
        predicates: PredicateTable,
        names: Vec<String>,
    ) -> Result<Image, LinkError> {
        if words.len() > MAX_WORDS || words.len() != names.len() {
            return Err(LinkError::MemoryFull(words.len().max(names.len())));
        }
        let image = Image {
            words,
            predicates,
            names,
        };
        image.check_names()?;
        image.check_words()?;
        image.check_cycles()?;
        image.check_canonical()?;
        Ok(image)
    }

    /// The word at `address`.
    ///
    /// # Errors
    /// [`Fault::DanglingAddress`] outside the memory.
    pub fn word(&self, address: AtmAddress) -> Result<Word, Fault> {
        self.words
            .get(address.index())
            .copied()
            .ok_or(Fault::DanglingAddress(address))
    }

    /// All words, by address.
    pub fn words(&self) -> &[Word] {
        &self.words
    }

    /// The name of each word: a trace's name, or that of one of its parts.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The predicate table.
    pub fn predicates(&self) -> &PredicateTable {
        &self.predicates
    }

    /// Where the trace called `name` begins.
    pub fn entry(&self, name: &str) -> Option<AtmAddress> {
        AtmAddress::new(self.names.iter().position(|n| n == name)?).filter(|_| is_name(name))
    }

    /// The name of the word at `address`.
    pub fn name(&self, address: AtmAddress) -> &str {
        self.names.get(address.index()).map_or("?", String::as_str)
    }

    /// Whether the word at `address` is a trace's beginning, not a later part.
    pub fn is_entry(&self, address: AtmAddress) -> bool {
        is_name(self.name(address))
    }

    /// The sources of all words, in order; linking them again gives the same image.
    ///
    /// # Errors
    /// [`LinkError`] for words that no source compiles to, which a linked image does not have.
    pub fn disassemble(&self) -> Result<Vec<Part>, LinkError> {
        (0..self.words.len())
            .map(|i| self.disassemble_word(i))
            .collect()
    }

    fn disassemble_word(&self, index: usize) -> Result<Part, LinkError> {
        let name = self.names[index].clone();
        let nodes =
            disassemble(self.words[index], &self.predicates, &self.names).map_err(|error| {
                LinkError::Unstructured {
                    word: name.clone(),
                    error,
                }
            })?;
        Ok(Part { name, nodes })
    }

    fn check_names(&self) -> Result<(), LinkError> {
        let fault = |name: &String, message: &str| {
            Err(LinkError::Memory {
                word: name.clone(),
                message: message.to_owned(),
            })
        };
        let mut seen = std::collections::BTreeSet::new();
        for name in &self.names {
            let base = name.split_once('.').map_or(name.as_str(), |(base, _)| base);
            let part = name.strip_prefix(base).unwrap_or_default();
            let numbered = part.is_empty()
                || part
                    .strip_prefix('.')
                    .is_some_and(|n| n.parse::<u16>().is_ok_and(|n| n > 0));
            if !is_name(base) || !numbered {
                return fault(name, "not a trace's name or NAME.1, NAME.2 ... of a part");
            }
            if !seen.insert(name) {
                return fault(name, "the name occurs twice");
            }
        }
        Ok(())
    }

    fn check_words(&self) -> Result<(), LinkError> {
        for (i, name) in self.names.iter().enumerate() {
            let part = self.disassemble_word(i)?;
            let role = if is_name(name) {
                Role::Trace
            } else {
                Role::Part
            };
            for (link, to) in self.links(i)? {
                let message = match self.words.get(to.index()) {
                    None => format!(
                        "address {to} is outside the memory of {} words",
                        self.words.len()
                    ),
                    Some(_) if self.is_entry(to) == (link == Edge::Next) => continue,
                    Some(_) if link == Edge::Next => {
                        format!("the tail to {to} leads into the middle of a trace")
                    }
                    Some(_) => format!("the continuation at {to} is a trace of its own"),
                };
                return Err(LinkError::Memory {
                    word: name.clone(),
                    message,
                });
            }
            check(&part.nodes, role).map_err(|error| LinkError::Check {
                word: name.clone(),
                error,
            })?;
        }
        Ok(())
    }

    /// Two spellings of one program would be two things to verify, so only the compiler's own
    /// spelling is accepted.
    fn check_canonical(&self) -> Result<(), LinkError> {
        let fault = |name: &str| {
            let message = "this is not how the compiler writes its source".to_owned();
            Err(LinkError::Memory {
                word: name.to_owned(),
                message,
            })
        };
        let again = match link(self.disassemble()?) {
            Ok(again) => again,
            Err(error @ LinkError::Memory { .. }) => return Err(error),
            Err(_) => return fault("program"),
        };
        let pairs = self.words.iter().zip(&again.words).zip(&self.names);
        match pairs
            .into_iter()
            .find(|((found, written), _)| found != written)
        {
            Some((_, name)) => fault(name),
            None if again != *self => fault("predicates"),
            None => Ok(()),
        }
    }

    /// Every edge from a word to another goes through an accelerator or not at all; either way a
    /// cycle would let a trace run for ever, so none is allowed.
    fn check_cycles(&self) -> Result<(), LinkError> {
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

    fn links(&self, index: usize) -> Result<Vec<(Edge, AtmAddress)>, LinkError> {
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    Next,
    Continue,
}

/// A cycle in the graph, as the nodes on it with the first repeated, if there is one.
fn find_cycle(edges: &[Vec<usize>]) -> Option<Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; edges.len()];
    for start in 0..edges.len() {
        // An explicit stack: a chain may be as long as the memory.
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

/// The named traces that `nodes` end with.
pub fn tails(nodes: &[Node]) -> Vec<&str> {
    let mut names = Vec::new();
    let mut stack: Vec<&Node> = nodes.iter().rev().collect();
    while let Some(node) = stack.pop() {
        match node {
            Node::Tail(name) => names.push(name.as_str()),
            Node::Branch {
                on_true, on_false, ..
            } => {
                stack.extend(on_false.iter().rev());
                stack.extend(on_true.iter().rev());
            }
            Node::Fork(arms) | Node::Join(arms) => {
                stack.extend(arms.iter().rev().flat_map(|arm| arm.iter().rev()))
            }
            _ => {}
        }
    }
    names
}
