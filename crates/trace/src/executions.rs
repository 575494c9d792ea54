//! Counts the parallel executions that a trace and the traces after it may create. Also checks that
//! all arms of each join meet: that they reach the same join.

use std::collections::{BTreeMap, BTreeSet};

use crate::check::is_name;
use crate::compile::Part;
use crate::link_error::LinkError;
use crate::source::Node;

/// A summary of the executions that start at a part or at a sequence in it.
#[derive(Clone, Debug)]
pub(crate) struct Summary {
    /// The largest number of executions (arms of forks and joins) that can run at the same time
    /// from the start of the summarized part or sequence of nodes, through the traces to which its
    /// tails lead, to the end; at least 1.
    pub executions: u64,
    /// Whether a path runs past the end.
    falls: bool,
    /// Whether a path ends the trace.
    ends: bool,
    /// The parts at which paths reach the meeting point of a surrounding join.
    meets: BTreeSet<String>,
    /// Whether it forks executions that meet.
    forks: bool,
}

impl Summary {
    fn empty() -> Summary {
        Summary {
            executions: 1,
            falls: true,
            ends: false,
            meets: BTreeSet::new(),
            forks: false,
        }
    }

    /// Combines alternatives.
    fn or(mut self, other: &Summary) -> Summary {
        self.executions = self.executions.max(other.executions);
        self.falls |= other.falls;
        self.ends |= other.ends;
        self.meets.extend(other.meets.iter().cloned());
        self.forks |= other.forks;
        self
    }

    /// Combines a sequence, in which `next` may run after `self`.
    fn then(self, next: &Summary) -> Summary {
        let falls = next.falls;
        Summary {
            falls,
            ..self.or(next)
        }
    }
}

/// Returns a summary of each part, by name. `parts` must not contain cycles.
///
/// # Errors
/// [`LinkError::Memory`] for an impossible join, which the compiler does not write.
pub(crate) fn summaries(parts: &[Part]) -> Result<BTreeMap<&str, Summary>, LinkError> {
    let mut reader = Reader {
        by_name: parts.iter().map(|p| (p.name.as_str(), p)).collect(),
        known: BTreeMap::new(),
        part: "",
    };
    for part in parts {
        // An explicit stack: a chain may be as long as the memory.
        let mut stack = vec![part];
        while let Some(&top) = stack.last() {
            let unknown: Vec<&Part> = links(&top.nodes)
                .into_iter()
                .filter(|name| !reader.known.contains_key(name))
                .filter_map(|name| reader.by_name.get(name).copied())
                .collect();
            if reader.known.contains_key(top.name.as_str()) || unknown.is_empty() {
                reader.part = &top.name;
                let summary = reader.part(&top.nodes)?;
                reader.known.insert(top.name.as_str(), summary);
                stack.pop();
            } else {
                stack.extend(unknown);
            }
        }
    }
    Ok(reader.known)
}

struct Reader<'p> {
    by_name: BTreeMap<&'p str, &'p Part>,
    known: BTreeMap<&'p str, Summary>,
    part: &'p str,
}

impl Reader<'_> {
    fn part(&self, nodes: &[Node]) -> Result<Summary, LinkError> {
        let mut summary = self.sequence(nodes)?;
        summary.ends |= std::mem::take(&mut summary.falls);
        if is_name(self.part) && !summary.meets.is_empty() {
            return Err(self
                .fault("the trace reaches a join whose arms no scatter instruction has started"));
        }
        Ok(summary)
    }

    fn sequence(&self, nodes: &[Node]) -> Result<Summary, LinkError> {
        nodes.iter().try_fold(Summary::empty(), |before, node| {
            Ok(before.then(&self.node(node)?))
        })
    }

    fn node(&self, node: &Node) -> Result<Summary, LinkError> {
        match node {
            Node::Accel(_) | Node::Kind(_) | Node::Transform(_) | Node::Meet => {
                Ok(Summary::empty())
            }
            Node::Notify => Ok(self.ended(1)),
            Node::Tail(name) => Ok(self.ended(self.known(name).executions)),
            Node::Continue(name) => Ok(self.continued(name)),
            Node::Branch {
                on_true, on_false, ..
            } => Ok(self.sequence(on_true)?.or(&self.sequence(on_false)?)),
            Node::Fork(arms) => {
                let mut all = self.arms(arms)?;
                all.ends |= std::mem::take(&mut all.falls);
                all.forks = !all.meets.is_empty();
                match all.forks && all.ends {
                    true => Err(self.fault("only some arms of a fork reach a join")),
                    false => Ok(all),
                }
            }
            Node::Join(arms) => self.join(arms),
        }
    }

    /// Combines arms that run in parallel.
    fn arms(&self, arms: &[Vec<Node>]) -> Result<Summary, LinkError> {
        let mut arms = arms.iter().map(|arm| self.sequence(arm));
        let first = arms.next().unwrap_or_else(|| Ok(Summary::empty()))?;
        arms.try_fold(first, |all, arm| {
            let arm = arm?;
            let executions = all.executions.saturating_add(arm.executions);
            Ok(Summary {
                executions,
                ..all.or(&arm)
            })
        })
    }

    fn join(&self, arms: &[Vec<Node>]) -> Result<Summary, LinkError> {
        let all = self.arms(arms)?;
        let before_last = arms.split_last().map_or(&[][..], |(_, others)| others);
        for arm in before_last {
            if self.sequence(arm)?.forks {
                return Err(
                    self.fault("an arm of a join forks, but only the last arm of a join may")
                );
            }
        }
        let mut meets = all.meets.iter();
        let summary = match (meets.next(), meets.next()) {
            (None, _) if !all.ends && all.falls => Some(Summary::empty()),
            (Some(meet), None) if !all.ends && !all.falls => Some(self.known(meet)),
            _ => None,
        };
        let after = summary.ok_or_else(|| self.fault("the arms of a join do not all meet"))?;
        Ok(Summary {
            executions: all.executions.max(after.executions),
            ..after
        })
    }

    fn ended(&self, executions: u64) -> Summary {
        Summary {
            executions,
            falls: false,
            ends: true,
            ..Summary::empty()
        }
    }

    fn continued(&self, name: &str) -> Summary {
        let part = self.by_name.get(name);
        match part.and_then(|part| part.nodes.first()) {
            Some(Node::Meet) => Summary {
                falls: false,
                meets: BTreeSet::from([name.to_owned()]),
                ..Summary::empty()
            },
            _ => self.known(name),
        }
    }

    fn known(&self, name: &str) -> Summary {
        let missing = || self.ended(1);
        self.known.get(name).cloned().unwrap_or_else(missing)
    }

    fn fault(&self, message: &str) -> LinkError {
        LinkError::Memory {
            word: self.part.to_owned(),
            message: message.to_owned(),
        }
    }
}

fn links(nodes: &[Node]) -> Vec<&str> {
    nodes
        .iter()
        .flat_map(|node| match node {
            Node::Tail(name) | Node::Continue(name) => vec![name.as_str()],
            Node::Branch {
                on_true, on_false, ..
            } => [links(on_true), links(on_false)].concat(),
            Node::Fork(arms) | Node::Join(arms) => arms.iter().flat_map(|arm| links(arm)).collect(),
            _ => Vec::new(),
        })
        .collect()
}
