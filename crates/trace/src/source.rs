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
    /// Call a custom accelerator.
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
        /// The arm that the author expects: `Some(true)` for the true arm. If the trace does not
        /// fit a word, the compiler moves the other arm out first.
        likely: Option<bool>,
    },
    /// Change the format of the payload.
    Transform(Transform),
    /// Run all arms in parallel. Each arm ends separately, so nothing may follow a fork.
    Fork(Vec<Nodes>),
    /// Run all arms in parallel and wait for all of them. The accelerator that follows receives the
    /// data of all arms, in order.
    Join(Vec<Nodes>),
    /// The meeting point of a join in another part. Written by the compiler when it splits a trace.
    Meet,
    /// End this trace and load the named one from the trace memory. If the loaded trace begins with
    /// TCP, it waits there for a message.
    Tail(String),
    /// The rest of this trace is stored as the named part. Written by the compiler when it splits a
    /// trace. A continued trace does not wait.
    Continue(String),
    /// End this trace and notify the core that started it. Implied at the end of a path.
    Notify,
}

/// The error of a malformed node in a trace's source.
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
    #[error("trans({0}, {0}): the two formats must differ")]
    SameFormat(Format),
}

/// Creates a node that calls one of the nine accelerators by name.
///
/// # Errors
/// [`SourceError::Accelerator`] for any name but the nine.
pub fn accel(name: &str) -> Result<Node, SourceError> {
    Ok(Node::Accel(name.parse()?))
}

/// Creates a linear chain of accelerators by name (the paper's `seq(*accels)`).
///
/// # Errors
/// [`SourceError::Accelerator`] for the first unknown name.
pub fn seq(names: &[&str]) -> Result<Nodes, SourceError> {
    names.iter().map(|name| accel(name)).collect()
}

/// Creates a conditional (the paper's `branch(condition-op, on-true, on-false)`).
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

/// Creates a format change (the paper's `trans(src, dst)`).
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

/// Creates a fork, whose arms run in parallel and end separately.
pub fn fork(arms: Vec<Nodes>) -> Node {
    Node::Fork(arms)
}

/// Creates a join, whose arms run in parallel until all have reached the next node: "if an input
/// queue entry needs data from multiple source accelerators, the dispatcher marks the entry as
/// ready when all data has arrived" (AccelFlow, section IV.A).
pub fn join(arms: Vec<Nodes>) -> Node {
    Node::Join(arms)
}

/// Creates a tail, which ends its trace and continues with the trace `next`.
pub fn tail(next: &str) -> Node {
    Node::Tail(next.to_owned())
}

impl Node {
    /// Sets the expected outcome of a branch's condition. Other nodes are returned unchanged.
    #[must_use]
    pub fn expecting(mut self, outcome: bool) -> Node {
        if let Node::Branch { likely, .. } = &mut self {
            *likely = Some(outcome);
        }
        self
    }

    /// Whether no path continues after this node.
    pub fn is_terminal(&self) -> bool {
        match self {
            Node::Tail(_) | Node::Continue(_) | Node::Notify | Node::Fork(_) => true,
            Node::Branch {
                on_true, on_false, ..
            } => ends(on_true) && ends(on_false),
            // A split trace continues in another part.
            Node::Join(arms) => arms.iter().all(|arm| ends(arm)),
            Node::Accel(_) | Node::Kind(_) | Node::Transform(_) | Node::Meet => false,
        }
    }
}

/// Whether no path runs past the end of `nodes`.
pub fn ends(nodes: &[Node]) -> bool {
    nodes.last().is_some_and(Node::is_terminal)
}

/// Returns the indented source text of `nodes`, as `accelflow trace show` prints it.
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
