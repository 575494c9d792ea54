//! Whole executions: following [`step`] through words, tails and forks, and the reference that
//! interprets sources directly.

use std::collections::VecDeque;

use crate::image::Image;
use crate::joins::{Joins, Seat};
use crate::library::Library;
use crate::source::Node;
use crate::step::{Action, Fault, Link, step};
use crate::word::{AtmAddress, PositionMark};
use crate::{Accel, Facts, Transform};

/// Something that an execution does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Visit {
    /// Enter the trace of this name.
    Enter(String),
    /// Run an accelerator. `receives` tells a TCP that receives (first in its trace) from one
    /// that sends.
    Call {
        /// The accelerator.
        accel: Accel,
        /// Whether it is a TCP that waits for a message.
        receives: bool,
    },
    /// Change the payload's format.
    Transform(Transform),
    /// Start a second execution, which is followed after this one has ended.
    Fork,
    /// The same, and a join waits for both.
    Scatter,
    /// Wait at a join for others: this execution has ended, and the last of them goes on.
    Wait,
    /// Go on after a join, which this execution was the last to come to.
    Join,
    /// Notify the core: this execution has ended.
    Notify,
}

/// Follows an execution through a trace memory.
///
/// Arms of forks are followed one after another, in the order in which they were started.
#[derive(Clone, Debug)]
pub struct Walker<'i> {
    image: &'i Image,
    current: Option<Cursor>,
    waiting: VecDeque<Cursor>,
    joins: Joins<()>,
}

#[derive(Clone, Copy, Debug)]
struct Cursor {
    trace: AtmAddress,
    address: AtmAddress,
    mark: PositionMark,
    entered: bool,
    seat: Option<Seat>,
}

impl<'i> Walker<'i> {
    /// A walk that begins with the trace called `name`; `None` if there is no such trace.
    pub fn new(image: &'i Image, name: &str) -> Option<Walker<'i>> {
        let entry = image.entry(name)?;
        let start = Cursor {
            trace: entry,
            address: entry,
            mark: PositionMark::START,
            entered: false,
            seat: None,
        };
        Some(Walker {
            image,
            current: Some(start),
            waiting: VecDeque::new(),
            joins: Joins::default(),
        })
    }

    /// The trace that the next step belongs to; `None` when everything has ended.
    pub fn trace(&self) -> Option<&'i str> {
        let cursor = self.current.or_else(|| self.waiting.front().copied())?;
        Some(self.image.name(cursor.trace))
    }

    /// The next thing the execution does, given what is known of the payload now; `None` when
    /// everything has ended.
    ///
    /// # Errors
    /// [`Fault`] if the trace cannot go on with these facts. The walk then stays where it was.
    pub fn advance<F: Facts + ?Sized>(&mut self, facts: &F) -> Result<Option<Visit>, Fault> {
        if self.current.is_none() {
            self.current = self.waiting.pop_front();
        }
        let Some(mut cursor) = self.current else {
            return Ok(None);
        };
        if !cursor.entered {
            cursor.entered = true;
            self.current = Some(cursor);
            return Ok(Some(Visit::Enter(self.image.name(cursor.trace).to_owned())));
        }
        loop {
            let word = self.image.word(cursor.address)?;
            let step = step(word, cursor.mark, self.image.predicates(), facts)?;
            let first = cursor.mark == PositionMark::START && cursor.address == cursor.trace;
            cursor.mark = step.next;
            let visit = match step.action {
                Action::Forward(accel) => Visit::Call {
                    accel,
                    receives: accel == Accel::Tcp && first,
                },
                Action::Transform(change) => Visit::Transform(change),
                Action::Notify => {
                    self.current = None;
                    return Ok(Some(Visit::Notify));
                }
                Action::Fork { arm } => {
                    let seat = self.joins.fork(cursor.seat);
                    self.start(cursor, arm, seat);
                    Visit::Fork
                }
                Action::Scatter { arm } => {
                    let [own, other] = self.joins.scatter(cursor.seat).map(Some);
                    self.start(cursor, arm, other);
                    cursor.seat = own;
                    Visit::Scatter
                }
                Action::Join => {
                    let seat = cursor.seat.ok_or(Fault::NoJoin)?;
                    match self.joins.arrive(seat, ()) {
                        Some((_, outer)) => cursor.seat = outer,
                        None => {
                            self.current = None;
                            return Ok(Some(Visit::Wait));
                        }
                    }
                    Visit::Join
                }
                Action::LoadAtm {
                    address,
                    link: Link::Continue,
                } => {
                    cursor = Cursor {
                        address,
                        mark: PositionMark::START,
                        ..cursor
                    };
                    continue;
                }
                Action::LoadAtm {
                    address,
                    link: Link::Next,
                } => {
                    let mark = PositionMark::START;
                    cursor = Cursor {
                        trace: address,
                        address,
                        mark,
                        entered: true,
                        seat: cursor.seat,
                    };
                    Visit::Enter(self.image.name(address).to_owned())
                }
            };
            self.current = Some(cursor);
            return Ok(Some(visit));
        }
    }

    fn start(&mut self, cursor: Cursor, mark: PositionMark, seat: Option<Seat>) {
        self.waiting.push_back(Cursor {
            mark,
            seat,
            ..cursor
        });
    }
}

/// Interprets the sources of `library` from the trace called `name` on, without any words: the
/// reference that the compiled form is tested against. `facts` is asked with the name of the
/// trace in which the condition stands.
///
/// # Errors
/// The name of a trace or of a field that is missing, with what was visited before.
pub fn interpret(
    library: &Library,
    name: &str,
    facts: &dyn Fn(&str, &str) -> Option<i64>,
) -> Result<Vec<Visit>, (String, Vec<Visit>)> {
    let mut visits = Vec::new();
    let mut waiting: VecDeque<(String, Vec<Node>, bool, Option<Seat>)> = VecDeque::new();
    let mut joins = Joins::default();
    let Some(trace) = library.get(name) else {
        return Err((name.to_owned(), visits));
    };
    waiting.push_back((name.to_owned(), trace.source.clone(), true, None));
    while let Some((mut trace, nodes, entering, mut seat)) = waiting.pop_front() {
        let mut first = entering;
        if entering {
            visits.push(Visit::Enter(trace.clone()));
        }
        let mut rest: VecDeque<Node> = nodes.into();
        loop {
            match rest.pop_front().unwrap_or(Node::Notify) {
                Node::Accel(accel) => {
                    let receives = accel == Accel::Tcp && first;
                    visits.push(Visit::Call { accel, receives });
                    first = false;
                }
                Node::Transform(change) => visits.push(Visit::Transform(change)),
                Node::Notify => {
                    visits.push(Visit::Notify);
                    break;
                }
                Node::Branch {
                    condition,
                    on_true,
                    on_false,
                    ..
                } => {
                    let held =
                        condition.holds(&|field: crate::Field<'_>| facts(&trace, field.name));
                    let arm = match held {
                        Ok(true) => on_true,
                        Ok(false) => on_false,
                        Err(field) => return Err((field, visits)),
                    };
                    for node in arm.into_iter().rev() {
                        rest.push_front(node);
                    }
                }
                Node::Fork(mut arms) => {
                    // A fork is binary in the words: the second execution starts the third.
                    let mut others = arms.split_off(1);
                    visits.push(Visit::Fork);
                    let arm = match others.len() {
                        1 => others.remove(0),
                        _ => vec![Node::Fork(others)],
                    };
                    waiting.push_back((trace.clone(), arm, false, joins.fork(seat)));
                    rest = arms.pop().unwrap_or_default().into();
                }
                Node::Join(mut arms) => {
                    for arm in &mut arms {
                        arm.push(Node::Meet);
                        arm.extend(rest.iter().cloned());
                    }
                    let mut others = arms.split_off(1);
                    visits.push(Visit::Scatter);
                    let arm = match others.len() {
                        1 => others.remove(0),
                        _ => vec![Node::Fork(others)],
                    };
                    let [own, other] = joins.scatter(seat).map(Some);
                    waiting.push_back((trace.clone(), arm, false, other));
                    (rest, seat) = (arms.pop().unwrap_or_default().into(), own);
                }
                Node::Meet => match seat.and_then(|seat| joins.arrive(seat, ())) {
                    Some((_, outer)) => {
                        visits.push(Visit::Join);
                        seat = outer;
                    }
                    None => {
                        visits.push(Visit::Wait);
                        break;
                    }
                },
                Node::Tail(next) | Node::Continue(next) => {
                    let Some(found) = library.get(&next) else {
                        return Err((next, visits));
                    };
                    rest = found.source.clone().into();
                    trace = next;
                    first = true;
                    visits.push(Visit::Enter(trace.clone()));
                }
            }
        }
    }
    Ok(visits)
}
