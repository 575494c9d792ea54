//! Traces as their authors write them: a tree of accelerator calls, branches, transformations,
//! forks and tails (AccelFlow, section V.4).

use std::fmt::{self, Write as _};
use std::sync::Arc;

use crate::kind::Kind;
use crate::{
    Accel, Condition, ConditionError, Format, Transform, UnknownAccelerator, UnknownFormat,
};

/// A sequence of nodes, executed in order.
pub type Nodes = Vec<Node>;

/// One element of a trace's source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// Call one of the nine accelerators.
    Accel(Accel),
    /// Call an accelerator beside the nine.
    Kind(Arc<Kind>),
    /// Test the output of the previous accelerator, and continue with one of two arms, then with
    /// the nodes after the branch.
    Branch {
        /// The condition.
        condition: Condition,
        /// Run if the condition holds; may be empty.
        on_true: Nodes,
        /// Run if the condition does not hold; may be empty.
        on_false: Nodes,
        /// Which arm the author expects. The compiler moves the other one out of the word first
        /// when the trace does not fit.
        likely: Option<bool>,
    },
    /// Change the format of the payload.
    Transform(Transform),
    /// Run all arms in parallel; each ends on its own, so nothing may follow a fork.
    Fork(Vec<Nodes>),
    /// Run all arms in parallel and go on, at the accelerator that follows, when all have arrived:
    /// it gets the data of all, in the order of the arms.
    Join(Vec<Nodes>),
    /// The meeting point of a join in another part. Written by the compiler when it splits a trace.
    Meet,
    /// End this trace and load the named one from the trace memory. If that one begins with TCP,
    /// it waits there for a message.
    Tail(String),
    /// The rest of this trace is stored as the named part. Written by the compiler when it splits
    /// a trace; a continued trace does not wait.
    Continue(String),
    /// End this trace and notify the core that started it. Implied where a path just ends.
    Notify,
}

/// A malformed part of a trace's source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// An unknown accelerator.
    #[error(transparent)]
    Accelerator(#[from] UnknownAccelerator),
    /// An unknown format.
    #[error(transparent)]
    Format(#[from] UnknownFormat),
    /// A malformed condition.
    #[error(transparent)]
    Condition(#[from] ConditionError),
    /// A transformation that changes nothing.
    #[error("trans({0}, {0}) changes nothing; the two formats must differ")]
    SameFormat(Format),
}

/// A node that calls the accelerator called `name`.
///
/// # Errors
/// [`SourceError::Accelerator`] for any name but the nine.
pub fn accel(name: &str) -> Result<Node, SourceError> {
    Ok(Node::Accel(name.parse()?))
}

/// A linear chain of the accelerators called `names`: the paper's `seq(*accels)`.
///
/// # Errors
/// [`SourceError::Accelerator`] for the first unknown name.
pub fn seq(names: &[&str]) -> Result<Nodes, SourceError> {
    names.iter().map(|name| accel(name)).collect()
}

/// A conditional: the paper's `branch(condition-op, on-true, on-false)`.
///
/// # Errors
/// [`SourceError::Condition`] if `condition` does not parse or type-check.
pub fn branch(condition: &str, on_true: Nodes, on_false: Nodes) -> Result<Node, SourceError> {
    Ok(Node::Branch {
        condition: Condition::parse(condition)?,
        on_true,
        on_false,
        likely: None,
    })
}

/// A format change: the paper's `trans(src, dst)`.
///
/// # Errors
/// [`SourceError::Format`] for an unknown format, [`SourceError::SameFormat`] for equal ones.
pub fn trans(src: &str, dst: &str) -> Result<Node, SourceError> {
    let (src, dst): (Format, Format) = (src.parse()?, dst.parse()?);
    if src == dst {
        return Err(SourceError::SameFormat(src));
    }
    Ok(Node::Transform(Transform { src, dst }))
}

/// Arms that run in parallel, each to its own end.
pub fn fork(arms: Vec<Nodes>) -> Node {
    Node::Fork(arms)
}

/// Arms that run in parallel until all have reached the next node: "if an input queue entry needs
/// data from multiple source accelerators, the dispatcher marks the entry as ready when all data
/// has arrived" (AccelFlow, section IV.A).
pub fn join(arms: Vec<Nodes>) -> Node {
    Node::Join(arms)
}

/// The end of a trace that is followed by the trace called `next`.
pub fn tail(next: &str) -> Node {
    Node::Tail(next.to_owned())
}

impl Node {
    /// Sets the hint of a branch, the arm that is expected. Other nodes are returned unchanged.
    #[must_use]
    pub fn expecting(mut self, outcome: bool) -> Node {
        if let Node::Branch { likely, .. } = &mut self {
            *likely = Some(outcome);
        }
        self
    }

    /// Whether no path leaves this node for the one after it.
    pub fn is_terminal(&self) -> bool {
        match self {
            Node::Tail(_) | Node::Continue(_) | Node::Notify | Node::Fork(_) => true,
            Node::Branch {
                on_true, on_false, ..
            } => ends(on_true) && ends(on_false),
            // A split trace goes on in another part.
            Node::Join(arms) => arms.iter().all(|arm| ends(arm)),
            Node::Accel(_) | Node::Kind(_) | Node::Transform(_) | Node::Meet => false,
        }
    }
}

/// Whether no path runs off the end of `nodes`.
pub fn ends(nodes: &[Node]) -> bool {
    nodes.last().is_some_and(Node::is_terminal)
}

/// The source text of `nodes`, indented, as `accelflow trace show` prints it.
pub fn listing(nodes: &[Node]) -> String {
    let mut text = String::new();
    for node in nodes {
        // Writing to a string cannot fail.
        let _ = list(node, 0, &mut text);
    }
    text
}

fn list(node: &Node, depth: usize, into: &mut String) -> fmt::Result {
    let pad = "    ".repeat(depth);
    let arm = |title: &str, nodes: &[Node], into: &mut String| -> fmt::Result {
        writeln!(into, "{pad}  {title}:")?;
        nodes
            .iter()
            .try_for_each(|node| list(node, depth + 1, into))
    };
    match node {
        Node::Branch {
            condition,
            on_true,
            on_false,
            likely,
        } => {
            let hint = match likely {
                Some(outcome) => format!("   (expected: {outcome})"),
                None => String::new(),
            };
            writeln!(into, "{pad}branch {condition}{hint}")?;
            if !on_true.is_empty() {
                arm("on true", on_true, into)?;
            }
            if !on_false.is_empty() {
                arm("on false", on_false, into)?;
            }
            Ok(())
        }
        Node::Fork(arms) | Node::Join(arms) => {
            let title = match node {
                Node::Join(_) => "join",
                _ => "fork",
            };
            writeln!(into, "{pad}{title}")?;
            arms.iter()
                .enumerate()
                .try_for_each(|(i, nodes)| arm(&format!("arm {}", i + 1), nodes, into))
        }
        Node::Accel(accel) => writeln!(into, "{pad}{accel}"),
        Node::Kind(kind) => writeln!(into, "{pad}{}", kind.name()),
        Node::Transform(change) => writeln!(into, "{pad}trans {change}"),
        Node::Tail(next) => writeln!(into, "{pad}tail {next}"),
        Node::Continue(part) => writeln!(into, "{pad}continue {part}"),
        Node::Meet => writeln!(into, "{pad}meet"),
        Node::Notify => writeln!(into, "{pad}notify"),
    }
}
