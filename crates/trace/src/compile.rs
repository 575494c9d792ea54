//! The compiler, which splits the source of a trace into parts that each fit a word. It follows
//! AccelFlow, section IV.A: split where paths diverge, move the rarer arm out, and chain the parts
//! through the trace memory.

use crate::source::{Node, Nodes, ends};
use crate::word::NIBBLES;

/// A part of a trace that, when compiled, fits one 8-byte word of the trace memory. The compiler
/// splits a long trace into several parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The name of the part: the trace's name for the first part, `NAME.1`, `NAME.2` ... for the
    /// others.
    pub name: String,
    /// The nodes of the part. Links to other parts and traces are names, not addresses.
    pub nodes: Nodes,
}

/// Nibbles of a join.
const JOIN: usize = 2;
/// Nibbles of a call of a custom accelerator.
const OWN_CALL: usize = 3;
/// Nibbles of a tail or continuation.
const LINK: usize = 4;

/// Splits `nodes` into parts. The entry is the first.
pub(crate) fn split(name: &str, nodes: &[Node]) -> Vec<Part> {
    let mut splitter = Splitter {
        name,
        parts: Vec::new(),
        count: 0,
    };
    splitter.place(name.to_owned(), nodes.to_vec());
    splitter.parts
}

/// What follows a path that runs past the end of a node sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The end of the trace and of the word. No end instruction is needed.
    Last,
    /// The end of the trace, but more code of the word follows.
    End,
    /// The code that follows in the word.
    Fall,
}

/// Nibbles that `nodes` take, without the end instruction that a path past their end may need.
pub(crate) fn size(nodes: &[Node], exit: Exit) -> usize {
    let last = nodes.len().saturating_sub(1);
    let exit_of = |i| if i == last { exit } else { Exit::Fall };
    nodes
        .iter()
        .enumerate()
        .map(|(i, node)| node_size(node, exit_of(i)))
        .sum()
}

fn node_size(node: &Node, exit: Exit) -> usize {
    match node {
        Node::Accel(_) | Node::Notify => 1,
        Node::Kind(_) => OWN_CALL,
        Node::Transform(_) | Node::Meet => 2,
        Node::Tail(_) | Node::Continue(_) => LINK,
        Node::Branch {
            on_true, on_false, ..
        } => {
            let leave = leave(on_true, on_false, exit);
            3 + size(on_true, true_exit(on_false, exit)) + leave + size(on_false, exit)
        }
        Node::Fork(arms) => arms
            .iter()
            .enumerate()
            .map(|(i, arm)| {
                let exit = arm_exit(i, arms.len(), exit);
                let start = if i + 1 == arms.len() { 0 } else { 2 };
                start + size(arm, exit) + usize::from(arm_needs_end(arm, exit))
            })
            .sum(),
        Node::Join(arms) => {
            let (last, ends) = (arms.len().saturating_sub(1), node.is_terminal());
            let arm = |(i, arm): (usize, &Nodes)| arm_start(i, last) + join_arm(arm, i, last, ends);
            let meet = if ends { 0 } else { JOIN };
            arms.iter().enumerate().map(arm).sum::<usize>() + meet
        }
    }
}

/// Nibbles before arm `index` of a join whose last arm is `last`. A scatter precedes the first arm,
/// a fork the others, and nothing the last.
pub(crate) fn arm_start(index: usize, last: usize) -> usize {
    match index {
        _ if index == last => 0,
        0 => 3,
        _ => 2,
    }
}

/// Nibbles of an arm of a join with its jump to the meeting point. The last arm needs no jump. If
/// `ends`, no arm does, since each ends with a link to the part that begins at the meeting point.
pub(crate) fn join_arm(arm: &[Node], index: usize, last: usize, ends: bool) -> usize {
    match ends {
        true => size(arm, arm_exit(index, last + 1, Exit::End)),
        false => size(arm, Exit::Fall) + if index == last { 0 } else { 2 },
    }
}

/// What follows a true arm that runs past its end.
pub(crate) fn true_exit(on_false: &[Node], exit: Exit) -> Exit {
    match exit {
        Exit::Last if !on_false.is_empty() => Exit::End,
        other => other,
    }
}

/// Nibbles of the jump or end after a true arm, which skips the false arm.
pub(crate) fn leave(on_true: &[Node], on_false: &[Node], exit: Exit) -> usize {
    match exit {
        _ if on_false.is_empty() || !runs_off(on_true, true_exit(on_false, exit)) => 0,
        Exit::Last | Exit::End => 1,
        Exit::Fall => 2,
    }
}

/// What follows arm `index` of a fork of `arms`. Nothing follows a fork, but its arms are stored
/// one after another.
pub(crate) fn arm_exit(index: usize, arms: usize, fork: Exit) -> Exit {
    if index + 1 == arms && fork == Exit::Last {
        Exit::Last
    } else {
        Exit::End
    }
}

/// Whether an arm of a fork must be closed with an end.
pub(crate) fn arm_needs_end(arm: &[Node], exit: Exit) -> bool {
    exit == Exit::End && runs_off(arm, exit)
}

/// Whether a path runs past the end of `nodes` once their branches have the end instructions that
/// they need.
fn runs_off(nodes: &[Node], exit: Exit) -> bool {
    match nodes.last() {
        Some(Node::Branch { on_false, .. }) if exit != Exit::Fall && !on_false.is_empty() => {
            runs_off(on_false, exit)
        }
        _ => !ends(nodes),
    }
}

/// Removes a notification at the end of a word, where it is implied. So each program has one
/// encoding, and disassembly is exact.
fn imply_last_notification(nodes: &mut Nodes) {
    while nodes.len() > 1 && nodes.last() == Some(&Node::Notify) {
        nodes.pop();
    }
    match nodes.last_mut() {
        Some(Node::Fork(arms)) => {
            if let Some(arm) = arms.last_mut() {
                imply_last_notification(arm);
            }
        }
        // A true arm without a false arm is also last, but its end is the branch's target, so both
        // encodings are disassembled unchanged.
        Some(Node::Branch { on_false, .. }) => imply_last_notification(on_false),
        _ => {}
    }
}

struct Splitter<'n> {
    name: &'n str,
    parts: Vec<Part>,
    count: usize,
}

impl Splitter<'_> {
    fn place(&mut self, name: String, mut nodes: Nodes) {
        imply_last_notification(&mut nodes);
        let slot = self.parts.len();
        self.parts.push(Part {
            name,
            nodes: Vec::new(),
        });
        while size(&nodes, Exit::Last) > NIBBLES {
            self.shrink(&mut nodes);
        }
        imply_last_notification(&mut nodes);
        self.parts[slot].nodes = nodes;
    }

    /// Moves one piece of `nodes` into a separate part.
    fn shrink(&mut self, nodes: &mut Nodes) {
        if let Some(arm) = movable_arm(nodes) {
            let moved = std::mem::take(arm);
            let part = self.outline(moved);
            *arm = vec![part];
            return;
        }
        // The arms of a join meet at the nodes after it, so those stay with it.
        let fits = |keep: &usize| {
            !matches!(nodes[*keep - 1], Node::Join(_) | Node::Meet)
                && size(&nodes[..*keep], Exit::Fall) + LINK <= NIBBLES
        };
        let keep = (1..nodes.len()).rev().find(fits).unwrap_or(0);
        if keep > 0 {
            let rest = nodes.split_off(keep);
            let part = self.outline(rest);
            nodes.push(part);
            return;
        }
        match nodes.first_mut() {
            // With many short arms, all but the first move together.
            Some(Node::Fork(arms)) => {
                let others = arms.split_off(1);
                arms.push(vec![self.outline(vec![Node::Fork(others)])]);
            }
            Some(Node::Join(arms)) if arms.iter().all(|arm| ends(arm)) => {
                let others = arms.split_off(1);
                arms.push(vec![self.outline(vec![Node::Fork(others)])]);
            }
            // For a join, the nodes after it become a separate part, which begins with the meeting
            // point.
            Some(Node::Join(_)) => {
                let mut rest = vec![Node::Meet];
                rest.extend(nodes.split_off(1));
                let link = self.outline(rest);
                if let Some(Node::Join(arms)) = nodes.first_mut() {
                    arms.iter_mut().for_each(|arm| arm.push(link.clone()));
                }
            }
            // For a branch whose arms rejoin, the nodes after it become a separate part, so that
            // each arm ends with a link and can be moved.
            _ => {
                let rest = nodes.split_off(1);
                let link = if rest.is_empty() {
                    Node::Notify
                } else {
                    self.outline(rest)
                };
                if let Some(Node::Branch {
                    on_true, on_false, ..
                }) = nodes.first_mut()
                {
                    for arm in [on_true, on_false] {
                        if !ends(arm) {
                            arm.push(link.clone());
                        }
                    }
                }
            }
        }
    }

    fn outline(&mut self, nodes: Nodes) -> Node {
        self.count += 1;
        let name = format!("{}.{}", self.name, self.count);
        self.place(name.clone(), nodes);
        Node::Continue(name)
    }
}

/// Returns the arm to move out next, if the last node ends all its paths. It is the unlikely arm,
/// or else the longest one, if a link is shorter.
fn movable_arm(nodes: &mut Nodes) -> Option<&mut Nodes> {
    let last = nodes.len().checked_sub(1)?;
    let candidates = nodes
        .iter_mut()
        .enumerate()
        .flat_map(|(i, node)| match node {
            Node::Branch {
                on_true,
                on_false,
                likely,
                ..
            } => {
                // Before a rejoin only an arm that ends by itself can be moved.
                let movable = |arm: &Nodes| i == last || ends(arm);
                let rare = |outcome: bool| *likely == Some(!outcome);
                let (rare_true, rare_false) = (rare(true), rare(false));
                [(rare_true, on_true), (rare_false, on_false)]
                    .into_iter()
                    .filter(|(_, arm)| movable(arm))
                    .collect::<Vec<_>>()
            }
            Node::Fork(arms) => arms.iter_mut().map(|arm| (false, arm)).collect(),
            Node::Join(arms) if arms.iter().all(|arm| ends(arm)) => {
                arms.iter_mut().map(|arm| (false, arm)).collect()
            }
            _ => Vec::new(),
        });
    candidates
        .filter(|(_, arm)| size(arm, Exit::End) > LINK)
        .max_by_key(|(rare, arm)| (*rare, size(arm, Exit::End)))
        .map(|(_, arm)| arm)
}
