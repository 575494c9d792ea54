//! The payload values (facts) that accelerators extract, and a check that branches test only these.

use std::collections::BTreeMap;

use crate::check::{CheckError, Role, Warning, check};
use crate::kind::{Directions, FactType, Kind};
use crate::source::{Node, Nodes};
use crate::{Accel, Condition, Operand, Source};

/// The facts that RPC yields: the numbers, and the texts.
const RPC_NUMBERS: [&str; 4] = ["message_type", "seqid", "compressed", "exception"];
const RPC_TEXTS: [&str; 2] = ["service", "method"];

/// Checks that `nodes`, as a whole trace, obey the rules of the trace language ([`check`]), that
/// each branch tests only payload values (facts) that are known at that point, and that each custom
/// accelerator gets only messages of its directions. Returns the warnings of [`check`].
///
/// A branch may test bytes of the payload after any accelerator. It may test a field only after an
/// accelerator that extracts the field with the tested type: RPC, Dser (whose fields depend on the
/// message), or a custom accelerator that declares the field. Of the arms of a join, only the
/// values that the first one extracts are known after the join.
///
/// # Errors
/// [`CheckError`] for the first rule that `nodes` break.
pub fn check_trace(nodes: &[Node]) -> Result<Vec<Warning>, CheckError> {
    check_with(nodes, Known::default())
}

/// Checks like [`check_trace`], but branches may test facts that no accelerator extracts.
///
/// This is for simulated workloads, whose files state the facts.
///
/// # Errors
/// The errors of [`check_trace`], except [`CheckError::NotYielded`].
pub(crate) fn check_with_stated_facts(nodes: &[Node]) -> Result<Vec<Warning>, CheckError> {
    let known = Known {
        stated: true,
        ..Known::default()
    };
    check_with(nodes, known)
}

fn check_with(nodes: &[Node], known: Known) -> Result<Vec<Warning>, CheckError> {
    let warnings = check(nodes, Role::Trace)?;
    let received = (nodes.first() == Some(&Node::Accel(Accel::Tcp))).then_some(true);
    walk(nodes, Known { received, ..known })?;
    Ok(warnings)
}

/// The facts that are known at a place of a trace on all paths that lead there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Known {
    /// Whether the workload states the facts, so that branches may test all of them.
    stated: bool,
    /// Whether Dser has run and extracted the fields of the message.
    fields: bool,
    facts: BTreeMap<String, FactType>,
    /// Whether the message is received or sent; `None` if the trace does not determine it.
    received: Option<bool>,
}

impl Known {
    fn after(mut self, accel: Accel) -> Known {
        match accel {
            Accel::Rpc => {
                let numbers = RPC_NUMBERS.map(|name| (name.to_owned(), FactType::Number));
                let texts = RPC_TEXTS.map(|name| (name.to_owned(), FactType::Text));
                self.facts.extend(numbers.into_iter().chain(texts));
            }
            Accel::Dser => self.fields = true,
            Accel::Ser => self.received = Some(false),
            _ => {}
        }
        self
    }

    fn after_own(mut self, kind: &Kind) -> Result<Known, CheckError> {
        let fits = match kind.directions() {
            Directions::Both => true,
            Directions::Receives => self.received != Some(false),
            Directions::Sends => self.received != Some(true),
        };
        if !fits {
            return Err(CheckError::Direction {
                name: kind.name().to_owned(),
                processes: kind.directions().name(),
            });
        }
        self.facts.extend(kind.yields().iter().cloned());
        Ok(self)
    }

    /// The facts known on both of two paths.
    fn and(mut self, other: &Known) -> Known {
        self.fields &= other.fields;
        self.received = self.received.filter(|_| self.received == other.received);
        self.facts
            .retain(|name, kind| other.facts.get(name) == Some(kind));
        self
    }

    fn check(&self, condition: &Condition) -> Result<(), CheckError> {
        if self.stated {
            return Ok(());
        }
        let missing = condition.fields().into_iter().find_map(|name| {
            let (source, wanted) = match Operand::parse(name)? {
                Operand::Field(name) => (Source::Field(name), FactType::Number),
                Operand::Bit { of, .. } => (of, FactType::Number),
                Operand::Text { of, .. } => (of, FactType::Text),
                Operand::Bytes(span) => (Source::Bytes(span), FactType::Number),
            };
            let Source::Field(name) = source else {
                return None;
            };
            let found = self.facts.get(name).copied();
            let is_known = found == Some(wanted) || self.fields && found.is_none();
            (!is_known).then(|| describe(name, wanted))
        });
        match missing {
            None => Ok(()),
            Some(fact) => Err(CheckError::NotYielded {
                condition: condition.to_string(),
                fact,
                yields: self.describe(),
            }),
        }
    }

    fn describe(&self) -> String {
        let facts = self.facts.iter().map(|(name, kind)| describe(name, *kind));
        let facts = facts.collect::<Vec<_>>().join(", ");
        match (facts.is_empty(), self.fields) {
            (true, false) => "no fields".to_owned(),
            (true, true) => "the fields of the message".to_owned(),
            (false, false) => format!("only {facts}"),
            (false, true) => format!("{facts}, and the fields of the message with other names"),
        }
    }
}

fn describe(name: &str, kind: FactType) -> String {
    match kind {
        FactType::Number => format!("the number '{name}'"),
        FactType::Text => format!("the text '{name}'"),
    }
}

/// Returns the facts known after `nodes`; `None` if every path ends within them.
fn walk(nodes: &[Node], known: Known) -> Result<Option<Known>, CheckError> {
    nodes.iter().try_fold(Some(known), |known, node| {
        known.map_or(Ok(None), |known| pass(node, known))
    })
}

fn pass(node: &Node, known: Known) -> Result<Option<Known>, CheckError> {
    match node {
        Node::Accel(accel) => Ok(Some(known.after(*accel))),
        Node::Kind(kind) => known.after_own(kind).map(Some),
        Node::Transform(_) | Node::Meet => Ok(Some(known)),
        Node::Tail(_) | Node::Continue(_) | Node::Notify => Ok(None),
        Node::Branch {
            condition,
            on_true,
            on_false,
            ..
        } => {
            known.check(condition)?;
            let one = walk(on_true, known.clone())?;
            let other = walk(on_false, known)?;
            Ok(match (one, other) {
                (Some(one), Some(other)) => Some(one.and(&other)),
                (one, other) => one.or(other),
            })
        }
        Node::Fork(arms) => arms_of(arms, known).map(|_| None),
        Node::Join(arms) => arms_of(arms, known),
    }
}

/// Returns the facts known after a join: those of the first of `arms`.
fn arms_of(arms: &[Nodes], known: Known) -> Result<Option<Known>, CheckError> {
    let after: Result<Vec<_>, _> = arms.iter().map(|arm| walk(arm, known.clone())).collect();
    Ok(after?.into_iter().next().flatten())
}
