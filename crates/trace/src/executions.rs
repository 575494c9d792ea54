//! How many executions a trace can turn into: forks multiply along a chain of tails.

use std::collections::BTreeMap;

use crate::compile::Part;
use crate::source::{Node, ends};

/// The most executions that each part can turn into, by name. `parts` must not contain cycles.
pub(crate) fn executions(parts: &[Part]) -> BTreeMap<&str, u64> {
    let by_name: BTreeMap<&str, &Part> = parts.iter().map(|p| (p.name.as_str(), p)).collect();
    let mut known = BTreeMap::new();
    for part in parts {
        // An explicit stack: a chain may be as long as the memory.
        let mut stack = vec![part];
        while let Some(&top) = stack.last() {
            let unknown: Vec<&Part> = links(&top.nodes)
                .into_iter()
                .filter(|name| !known.contains_key(name))
                .filter_map(|name| by_name.get(name).copied())
                .collect();
            if known.contains_key(top.name.as_str()) || unknown.is_empty() {
                known.insert(top.name.as_str(), sequence(&top.nodes, &known));
                stack.pop();
            } else {
                stack.extend(unknown);
            }
        }
    }
    known
}

fn sequence(nodes: &[Node], known: &BTreeMap<&str, u64>) -> u64 {
    let last = nodes.len().saturating_sub(1);
    let of = |(i, node): (usize, &Node)| match node {
        Node::Tail(name) | Node::Continue(name) => known.get(name.as_str()).copied().unwrap_or(1),
        Node::Fork(arms) => arms
            .iter()
            .fold(0, |sum: u64, arm| sum.saturating_add(sequence(arm, known))),
        Node::Branch {
            on_true, on_false, ..
        } => [on_true, on_false]
            .into_iter()
            .filter(|arm| i == last || ends(arm))
            .map(|arm| sequence(arm, known))
            .max()
            .unwrap_or(1),
        Node::Accel(_) | Node::Transform(_) | Node::Notify => 1,
    };
    nodes.iter().enumerate().map(of).max().unwrap_or(1)
}

fn links(nodes: &[Node]) -> Vec<&str> {
    nodes
        .iter()
        .flat_map(|node| match node {
            Node::Tail(name) | Node::Continue(name) => vec![name.as_str()],
            Node::Branch {
                on_true, on_false, ..
            } => [links(on_true), links(on_false)].concat(),
            Node::Fork(arms) => arms.iter().flat_map(|arm| links(arm)).collect(),
            _ => Vec::new(),
        })
        .collect()
}
