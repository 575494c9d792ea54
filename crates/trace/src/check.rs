//! Checks of the sources of traces.
//!
//! Impossible traces are errors. For example, only the end can follow LdB, which passes the result
//! to a core; only a tail or the end can follow a TCP that sends. A pair of accelerators outside
//! Table I is a warning, since the paper's own T6 has one (Dcmp to Cmp).

use std::collections::BTreeSet;

use crate::limits::{MAX_DEPTH, MAX_NAME_CHARS, MAX_NODES};
use crate::source::{Node, Nodes, ends};
use crate::{Accel, Transform};

/// The error of a trace that breaks a rule of the trace language.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// The name of the trace is not a valid name. Holds the name.
    #[error(
        "trace name = '{0}': must be 1 to {MAX_NAME_CHARS} ASCII letters, digits, '_', '+' or '-', starting with a letter"
    )]
    Name(String),
    /// A tail names a trace that cannot exist, since the name is not valid for a trace. Holds the
    /// name.
    #[error(
        "tail = '{0}': must be a trace name of 1 to {MAX_NAME_CHARS} ASCII letters, digits, '_', '+' or '-', starting with a letter"
    )]
    TailName(String),
    /// The trace has no nodes.
    #[error("nodes of the trace = 0: must be at least 1, and the first an accelerator")]
    Empty,
    /// The trace does not begin with an accelerator, so no core can put the trace into an input
    /// queue. Holds a description of the first node.
    #[error("a trace must begin with an accelerator, not with {0}")]
    Start(&'static str),
    /// A node can never run, since every path before the node has ended. Holds the node as text.
    #[error("{0} can never run: every path before it has ended")]
    Unreachable(String),
    /// A node follows a fork, at which the trace ends. Holds the node as text.
    #[error("{0} can never run: a trace ends at a fork; use a join to continue after its arms")]
    AfterFork(String),
    /// A node other than the end follows load balancing (LdB), which passes the result to a core.
    /// Holds the node as text.
    #[error("LdB hands the result to a core, so {0} cannot follow it")]
    AfterLdb(String),
    /// A node other than a tail or the end follows a TCP that sends. Holds the node as text.
    #[error(
        "a TCP that is not first in its trace sends a message, so only a tail or the end can follow it, not {0}; put the handling of the response into a separate trace and name it in the tail"
    )]
    AfterSend(String),
    /// On some path, neither an accelerator nor another transformation comes next after a
    /// transformation of the payload's format. Holds the transformation.
    #[error(
        "trans {0} must be followed directly by an accelerator or another trans, on every path"
    )]
    DanglingTransform(Transform),
    /// Two transformations follow one another, but the second does not begin with the format that
    /// the first produces. Holds the first and the second.
    #[error(
        "trans {1} cannot follow trans {0}: the first format of {1} must be the last format of {0}"
    )]
    TransformMismatch(Transform, Transform),
    /// Both arms of a branch are empty. Holds the branch's condition.
    #[error("branch {0}: both arms are empty: at least one must have a node")]
    EmptyBranch(String),
    /// A fork has fewer than two arms, or an empty arm.
    #[error("a fork needs at least two arms, none of them empty")]
    EmptyFork,
    /// A join has fewer than two arms, or an empty arm.
    #[error("a join needs at least two arms, none of them empty")]
    EmptyJoin,
    /// A path in an arm of a join ends before it reaches the join. Holds the position of the arm,
    /// counted from 1.
    #[error(
        "arm {0} of a join ends in a tail, a notification or a fork; every path of every arm must reach the join"
    )]
    ArmEnds(usize),
    /// The node after a join is not an accelerator. Holds the node as text; `the end` if there is
    /// none.
    #[error(
        "step after a join = {0}: must be an accelerator, since the arms of the join meet in its input queue"
    )]
    AfterJoin(String),
    /// A `meet` node, at which the arms of a join meet, is not the first node of its part. Only the
    /// compiler writes `meet` nodes.
    #[error(
        "'meet', the point where the arms of a join meet: must be left out of sources; only the compiler writes it, as the first node of a part of a split trace"
    )]
    Meet,
    /// A branch tests a payload value (a fact) that no accelerator before the branch extracts, or
    /// that one extracts with another type.
    #[error(
        "branch {condition}: fact = {fact}: must be a value that an accelerator before the \
         branch yields on every path (of a join, in its first arm); these yield {yields}; Dser yields \
         the fields of the message, and every accelerator yields bytes such as out[0]"
    )]
    NotYielded {
        /// The condition of the branch.
        condition: String,
        /// The payload value that the condition tests, in words, such as `the number 'hit'`.
        fact: String,
        /// The payload values that are known at the branch, in words: those that accelerators
        /// extract on every path to it, and in the first arm of each join.
        yields: String,
    },
    /// The trace calls a custom accelerator on a message of the wrong direction. The accelerator
    /// processes only received messages, or only sent ones.
    #[error(
        "accelerator {name}: must not be called here: its declaration has '{processes}', and this message has the other direction (a trace that begins with TCP receives its message up to the first Ser, and sends it from there on)"
    )]
    Direction {
        /// The name of the custom accelerator.
        name: String,
        /// The direction of the messages that the accelerator processes: `receives` or `sends`.
        processes: &'static str,
    },
    /// Branches, forks and joins nest more than [`MAX_DEPTH`] levels deep.
    #[error("branches, forks and joins: must nest at most {MAX_DEPTH} levels deep")]
    TooDeep,
    /// The trace has more than [`MAX_NODES`] nodes. Holds the number of nodes.
    #[error("nodes of the trace = {0}: must be at most {MAX_NODES}")]
    TooLong(usize),
}

/// A warning about a trace that uses accelerators in a way that Table I of the AccelFlow paper does
/// not list. The trace is still valid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Warning {
    /// The second accelerator processes the output of the first, but Table I lists no such pair.
    Pair(Accel, Accel),
    /// A trace begins with this accelerator, but Table I lists no core as the accelerator's source.
    Start(Accel),
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Warning::Pair(from, to) => {
                write!(
                    f,
                    "{to} follows {from}, which is not a pair of source and destination in AccelFlow's Table I"
                )
            }
            Warning::Start(first) => {
                write!(
                    f,
                    "{first} begins this trace, but AccelFlow's Table I does not list a core as its source"
                )
            }
        }
    }
}

/// The place of a sequence of nodes in its trace: at the start, or in the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// At the start of a trace: a core, a message or the tail of another trace starts the sequence.
    Trace,
    /// In the middle of a trace: another word of the same trace continues with the sequence.
    Part,
}

/// Returns whether `name` is a valid trace name: 1 to [`MAX_NAME_CHARS`] letters, digits, `_`, `+`
/// or `-`, starting with a letter.
pub fn is_name(name: &str) -> bool {
    name.len() <= MAX_NAME_CHARS
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_+-".contains(c))
}

/// Returns whether `name` is a name of one of a trace's words after the first: `T5.1`, `T5.2` and
/// so on for the trace `T5`.
pub fn is_part_name(name: &str) -> bool {
    name.split_once('.').is_some_and(|(trace, number)| {
        let digits = number.bytes().all(|byte| byte.is_ascii_digit());
        is_name(trace) && digits && !number.starts_with('0') && number.parse::<u16>().is_ok()
    })
}

/// Checks that `nodes` obey the rules of the trace language. `role` states whether `nodes` begin a
/// trace or continue one. Returns warnings: one for each different pair of successive accelerators
/// that Table I of the AccelFlow paper does not list, and one if a core may not start a trace at
/// the first accelerator according to this table. Custom accelerators cause no warnings.
///
/// Does not check the payload values that branches test, nor the directions of messages;
/// [`check_trace`](crate::check_trace()) does.
///
/// # Errors
/// [`CheckError`] for the first rule that `nodes` break.
pub fn check(nodes: &[Node], role: Role) -> Result<Vec<Warning>, CheckError> {
    let total = measure(nodes, 0)?;
    if total > MAX_NODES {
        return Err(CheckError::TooLong(total));
    }
    let mut checker = Checker {
        warnings: BTreeSet::new(),
    };
    let entry = match role {
        Role::Trace => Before::Start,
        Role::Part => Before::Unknown,
    };
    match (nodes.first(), role) {
        (None, _) => return Err(CheckError::Empty),
        (Some(Node::Accel(_) | Node::Kind(_)), _) | (Some(_), Role::Part) => {}
        (Some(other), Role::Trace) => return Err(CheckError::Start(kind(other))),
    }
    let after = checker.walk(nodes, BTreeSet::from([entry]))?;
    require_no_transform(&after)?;
    require_no_join(&after, "the end")?;
    Ok(checker.warnings.into_iter().collect())
}

fn measure(nodes: &[Node], depth: usize) -> Result<usize, CheckError> {
    if depth > MAX_DEPTH {
        return Err(CheckError::TooDeep);
    }
    nodes.iter().try_fold(0, |total, node| {
        let inside = match node {
            Node::Branch {
                on_true, on_false, ..
            } => measure(on_true, depth + 1)? + measure(on_false, depth + 1)?,
            Node::Fork(arms) | Node::Join(arms) => arms
                .iter()
                .try_fold(0, |n, arm| Ok(n + measure(arm, depth + 1)?))?,
            _ => 0,
        };
        Ok(total + 1 + inside)
    })
}

/// The last action of a path before it reaches a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Before {
    /// Nothing: the trace starts here.
    Start,
    /// An action in another word.
    Unknown,
    /// TCP received a message.
    Received,
    /// TCP sent a message.
    Sent,
    /// Another accelerator.
    Called(Accel),
    /// A custom accelerator, for which Table I has no entry.
    CalledOwn,
    /// A join, which an accelerator must follow. Has the last accelerator of an arm.
    Joined(Option<Accel>),
    /// A transformation, which an accelerator must follow. Has the accelerator before it.
    Transformed(Transform, Option<Accel>),
}

struct Checker {
    warnings: BTreeSet<Warning>,
}

impl Checker {
    /// Returns the possible situations after `nodes`; empty if every path ends within them.
    fn walk(
        &mut self,
        nodes: &[Node],
        mut before: BTreeSet<Before>,
    ) -> Result<BTreeSet<Before>, CheckError> {
        for (index, node) in nodes.iter().enumerate() {
            if before.is_empty() {
                return Err(match nodes[..index].last() {
                    Some(Node::Fork(_)) => CheckError::AfterFork(describe(node)),
                    _ => CheckError::Unreachable(describe(node)),
                });
            }
            before = self.pass(node, &before)?;
        }
        Ok(before)
    }

    fn pass(
        &mut self,
        node: &Node,
        before: &BTreeSet<Before>,
    ) -> Result<BTreeSet<Before>, CheckError> {
        if !matches!(node, Node::Accel(_) | Node::Kind(_)) {
            require_no_join(before, &describe(node))?;
        }
        match node {
            Node::Accel(accel) => before.iter().map(|&b| self.call(b, *accel, node)).collect(),
            Node::Kind(_) => {
                require_output(before, node)?;
                Ok(BTreeSet::from([Before::CalledOwn]))
            }
            Node::Transform(change) => before
                .iter()
                .map(|&b| transform(b, *change, node))
                .collect(),
            Node::Branch {
                condition,
                on_true,
                on_false,
                ..
            } => {
                require_output(before, node)?;
                require_no_transform(before)?;
                if on_true.is_empty() && on_false.is_empty() {
                    return Err(CheckError::EmptyBranch(condition.to_string()));
                }
                let mut after = self.walk(on_true, before.clone())?;
                after.extend(self.walk(on_false, before.clone())?);
                Ok(after)
            }
            Node::Fork(arms) => self.fork(arms, node, before),
            Node::Join(arms) => self.join(arms, node, before),
            Node::Meet if *before == BTreeSet::from([Before::Unknown]) => {
                Ok(BTreeSet::from([Before::Joined(None)]))
            }
            Node::Meet => Err(CheckError::Meet),
            Node::Tail(next) => {
                if !is_name(next) {
                    return Err(CheckError::TailName(next.clone()));
                }
                require_no_transform(before)?;
                if before.contains(&Before::Called(Accel::Ldb)) {
                    return Err(CheckError::AfterLdb(describe(node)));
                }
                Ok(BTreeSet::new())
            }
            Node::Notify => require_no_transform(before).map(|()| BTreeSet::new()),
            Node::Continue(_) => Ok(BTreeSet::new()),
        }
    }

    fn fork(
        &mut self,
        arms: &[Nodes],
        node: &Node,
        before: &BTreeSet<Before>,
    ) -> Result<BTreeSet<Before>, CheckError> {
        require_output(before, node)?;
        require_no_transform(before)?;
        if arms.len() < 2 || arms.iter().any(Nodes::is_empty) {
            return Err(CheckError::EmptyFork);
        }
        for arm in arms {
            let after = self.walk(arm, before.clone())?;
            require_no_transform(&after)?;
        }
        Ok(BTreeSet::new())
    }

    fn join(
        &mut self,
        arms: &[Nodes],
        node: &Node,
        before: &BTreeSet<Before>,
    ) -> Result<BTreeSet<Before>, CheckError> {
        require_output(before, node)?;
        require_no_transform(before)?;
        if arms.len() < 2 || arms.iter().any(Nodes::is_empty) {
            return Err(CheckError::EmptyJoin);
        }
        let all_continue = node.is_terminal();
        let mut after = BTreeSet::new();
        for (index, arm) in arms.iter().enumerate() {
            let left = self.walk(arm, before.clone())?;
            let exits = exits(arm);
            let forks = exits.forks && index + 1 < arms.len();
            if exits.ends || forks || exits.continues != all_continue {
                return Err(CheckError::ArmEnds(index + 1));
            }
            require_output(&left, node)?;
            require_no_transform(&left)?;
            require_no_join(&left, &describe(node))?;
            after.extend(left.into_iter().map(|before| match before {
                Before::Called(accel) => Before::Joined(Some(accel)),
                Before::Received => Before::Joined(Some(Accel::Tcp)),
                _ => Before::Joined(None),
            }));
        }
        Ok(after)
    }

    fn call(&mut self, before: Before, accel: Accel, node: &Node) -> Result<Before, CheckError> {
        let previous = match before {
            Before::Called(Accel::Ldb) => return Err(CheckError::AfterLdb(describe(node))),
            Before::Sent => return Err(CheckError::AfterSend(describe(node))),
            Before::Start => {
                if !accel.may_start() {
                    self.warnings.insert(Warning::Start(accel));
                }
                None
            }
            Before::Received => Some(Accel::Tcp),
            Before::Called(previous) => Some(previous),
            Before::Joined(previous) | Before::Transformed(_, previous) => previous,
            Before::Unknown | Before::CalledOwn => None,
        };
        if let Some(previous) = previous.filter(|p| !p.may_feed(accel)) {
            self.warnings.insert(Warning::Pair(previous, accel));
        }
        Ok(match accel {
            Accel::Tcp if before == Before::Start => Before::Received,
            Accel::Tcp => Before::Sent,
            other => Before::Called(other),
        })
    }
}

fn transform(before: Before, change: Transform, node: &Node) -> Result<Before, CheckError> {
    match before {
        Before::Called(Accel::Ldb) => Err(CheckError::AfterLdb(describe(node))),
        Before::Sent => Err(CheckError::AfterSend(describe(node))),
        Before::Transformed(earlier, _) if earlier.dst != change.src => {
            Err(CheckError::TransformMismatch(earlier, change))
        }
        Before::Transformed(_, previous) => Ok(Before::Transformed(change, previous)),
        Before::Called(previous) => Ok(Before::Transformed(change, Some(previous))),
        Before::Received => Ok(Before::Transformed(change, Some(Accel::Tcp))),
        Before::Start | Before::Unknown | Before::CalledOwn | Before::Joined(_) => {
            Ok(Before::Transformed(change, None))
        }
    }
}

fn require_output(before: &BTreeSet<Before>, node: &Node) -> Result<(), CheckError> {
    if before.contains(&Before::Called(Accel::Ldb)) {
        return Err(CheckError::AfterLdb(describe(node)));
    }
    if before.contains(&Before::Sent) {
        return Err(CheckError::AfterSend(describe(node)));
    }
    Ok(())
}

fn require_no_join(before: &BTreeSet<Before>, next: &str) -> Result<(), CheckError> {
    match before.iter().any(|b| matches!(b, Before::Joined(_))) {
        true => Err(CheckError::AfterJoin(next.to_owned())),
        false => Ok(()),
    }
}

/// How paths leave a sequence of nodes, other than past its end.
#[derive(Clone, Copy, Default)]
struct Exits {
    ends: bool,
    continues: bool,
    forks: bool,
}

fn exits(nodes: &[Node]) -> Exits {
    let inside = |arms: &[&Nodes]| {
        let exits = arms.iter().map(|arm| exits(arm));
        exits.fold(Exits::default(), |all, arm| Exits {
            ends: all.ends || arm.ends,
            continues: all.continues || arm.continues,
            forks: all.forks || arm.forks,
        })
    };
    let of = |node: &Node| match node {
        Node::Tail(_) | Node::Notify => Exits {
            ends: true,
            ..Exits::default()
        },
        Node::Continue(_) => Exits {
            continues: true,
            ..Exits::default()
        },
        Node::Branch {
            on_true, on_false, ..
        } => inside(&[on_true, on_false]),
        Node::Fork(arms) => {
            let all = inside(&arms.iter().collect::<Vec<_>>());
            Exits {
                ends: all.ends || arms.iter().any(|arm| !ends(arm)),
                forks: true,
                ..all
            }
        }
        Node::Join(arms) => Exits {
            forks: false,
            ..inside(&arms.iter().collect::<Vec<_>>())
        },
        Node::Accel(_) | Node::Kind(_) | Node::Transform(_) | Node::Meet => Exits::default(),
    };
    nodes
        .iter()
        .map(of)
        .fold(Exits::default(), |all, node| Exits {
            ends: all.ends || node.ends,
            continues: all.continues || node.continues,
            forks: all.forks || node.forks,
        })
}

fn require_no_transform(before: &BTreeSet<Before>) -> Result<(), CheckError> {
    match before.iter().find_map(|b| match b {
        Before::Transformed(change, _) => Some(*change),
        _ => None,
    }) {
        Some(change) => Err(CheckError::DanglingTransform(change)),
        None => Ok(()),
    }
}

fn kind(node: &Node) -> &'static str {
    match node {
        Node::Accel(_) | Node::Kind(_) => "an accelerator",
        Node::Branch { .. } => "a branch, which tests the output of an accelerator before it",
        Node::Transform(_) => {
            "a transformation, which changes the output of an accelerator before it"
        }
        Node::Fork(_) => "a fork",
        Node::Join(_) | Node::Meet => "a join",
        Node::Tail(_) => "a tail",
        Node::Continue(_) => "a continuation",
        Node::Notify => "a notification",
    }
}

fn describe(node: &Node) -> String {
    match node {
        Node::Accel(accel) => accel.to_string(),
        Node::Kind(kind) => kind.name().to_owned(),
        Node::Branch { condition, .. } => format!("branch {condition}"),
        Node::Transform(change) => format!("trans {change}"),
        Node::Fork(_) => "a fork".into(),
        Node::Join(_) | Node::Meet => "a join".into(),
        Node::Tail(next) => format!("tail {next}"),
        Node::Continue(part) => format!("continue {part}"),
        Node::Notify => "notify".into(),
    }
}
