//! Traces as their authors write them: a tree of accelerator calls, branches, transformations,
//! forks and tails (AccelFlow, section V.4).

use std::fmt::{self, Write as _};
use std::sync::Arc;

use crate::kind::Kind;
use crate::{
    Accel, Condition, ConditionError, Format, Transform, UnknownAccelerator, UnknownFormat,
};

/// A sequence of nodes (accelerator calls, branches and so on) in the source of a trace, executed
/// in order.
pub type Nodes = Vec<Node>;

/// One step in the source of a trace: an accelerator call, a branch, a transformation of the
/// payload's format, a fork, a join or an end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// Calls one of the paper's nine accelerators.
    Accel(Accel),
    /// Calls a custom accelerator, given by its declaration.
    Kind(Arc<Kind>),
    /// Tests the output of the previous accelerator and continues with one of two arms. Then
    /// continues with the nodes after the branch, unless the arm has ended the trace.
    Branch {
        /// The condition that chooses the arm to run.
        condition: Condition,
        /// The arm that runs if the condition holds; may be empty.
        on_true: Nodes,
        /// The arm that runs if the condition does not hold; may be empty.
        on_false: Nodes,
        /// The outcome of the condition that the author expects, if stated. If the trace is too
        /// long for one word, the compiler prefers to move the other arm to another word.
        likely: Option<bool>,
    },
    /// Changes the data format of the payload.
    Transform(Transform),
    /// Runs all arms in parallel. Each arm ends by itself, so nothing may follow a fork.
    Fork(Vec<Nodes>),
    /// Runs all arms in parallel and waits for all of them. The accelerator after the join receives
    /// the data of all arms, in the order of the arms.
    Join(Vec<Nodes>),
    /// The point where the arms of a join meet, if the join begins in another part of the trace.
    /// Only the compiler writes this node, when it splits a trace into parts.
    Meet,
    /// Ends this trace and continues with the trace of this name. If the next trace begins with
    /// TCP, that TCP first waits for a message.
    Tail(String),
    /// Continues this trace in the part of this name, without waiting. Only the compiler writes
    /// this node, when it splits a trace into parts.
    Continue(String),
    /// Ends this trace and notifies the core that started it. Implied at the end of a path.
    Notify,
}

/// The error of an invalid node in the source of a trace, such as a call of an unknown accelerator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// The name of an accelerator is unknown.
    #[error(transparent)]
    Accelerator(#[from] UnknownAccelerator),
    /// The name of a data format is unknown.
    #[error(transparent)]
    Format(#[from] UnknownFormat),
    /// The condition of a branch is invalid.
    #[error(transparent)]
    Condition(#[from] ConditionError),
    /// A transformation has the same source and destination format. Holds the format.
    #[error("transformation from {0} to {0}: the two formats must differ")]
    SameFormat(Format),
}

/// Creates a node that calls the accelerator `name`, one of the nine in the AccelFlow paper, such
/// as `Decr`.
///
/// # Errors
/// [`SourceError::Accelerator`] for a name that none of the nine has.
pub fn accel(name: &str) -> Result<Node, SourceError> {
    Ok(Node::Accel(name.parse()?))
}

/// Creates nodes that call the accelerators `names`, one after another (`seq(*accels)` in the
/// AccelFlow paper). Each name is one of the paper's nine accelerators.
///
/// # Errors
/// [`SourceError::Accelerator`] for the first unknown name.
pub fn seq(names: &[&str]) -> Result<Nodes, SourceError> {
    names.iter().map(|name| accel(name)).collect()
}

/// Creates a branch: runs the nodes `on_true` if `condition` holds, else the nodes `on_false`
/// (`branch(condition-op, on-true, on-false)` in the AccelFlow paper).
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

/// Creates a node that transforms the payload from the data format `src` to the data format `dst`
/// (`trans(src, dst)` in the AccelFlow paper). Formats are `str`, `JSON` and `BSON`.
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

/// Creates a fork, which runs the node sequences `arms` in parallel. Nothing waits for all of them:
/// each arm ends by itself.
pub fn fork(arms: Vec<Nodes>) -> Node {
    Node::Fork(arms)
}

/// Creates a join: its arms run in parallel, and the next node runs once all arms have reached the
/// join.
///
/// "If an input queue entry needs data from multiple source accelerators, the dispatcher marks the
/// entry as ready when all data has arrived" (AccelFlow, section IV.A).
pub fn join(arms: Vec<Nodes>) -> Node {
    Node::Join(arms)
}

/// Creates a tail: a node that ends its trace and continues with the trace called `next`.
pub fn tail(next: &str) -> Node {
    Node::Tail(next.to_owned())
}

impl Node {
    /// Returns this branch with a hint that its condition usually has the value `outcome`. If the
    /// trace is too long for one 8-byte word, the compiler prefers to move the branch's other,
    /// unlikely arm to another word. Nodes other than branches are returned unchanged.
    #[must_use]
    pub fn expecting(mut self, outcome: bool) -> Node {
        if let Node::Branch { likely, .. } = &mut self {
            *likely = Some(outcome);
        }
        self
    }

    /// Returns whether no node after this one can run, since every path through it ends the trace
    /// or continues in another compiled part of the trace.
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

/// Returns whether no node after the sequence `nodes` can run, since every path through it ends the
/// trace or continues in another compiled part of the trace.
pub fn ends(nodes: &[Node]) -> bool {
    nodes.last().is_some_and(Node::is_terminal)
}

/// Returns the nodes of a trace's source as indented text, as `accelflow trace show` prints them.
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
