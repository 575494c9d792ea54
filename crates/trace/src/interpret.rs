//! An interpreter of the sources of traces, the reference for tests of compiled traces.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::joins::{JoinArm, Joins};
use crate::kind::Kind;
use crate::kinds;
use crate::library::Library;
use crate::source::{Node, Nodes};
use crate::walk::Visit;
use crate::{Accel, Condition, Field};

/// Executes the trace `name` of `library`, then each trace that a tail names as the next, and
/// returns all actions in order. Interprets the sources directly, without the compiler, so that
/// tests can compare compiled traces with the result.
///
/// `facts(trace, field)` returns the value of the payload field `field` that a branch of the trace
/// `trace` tests; `None` if the payload does not have the field.
///
/// # Errors
/// A pair. First, the name of a missing trace or field, or the text of a
/// [`KindsError`](crate::KindsError). Second, the actions before the error.
pub fn interpret(
    library: &Library,
    name: &str,
    facts: &dyn Fn(&str, &str) -> Option<i64>,
) -> Result<Vec<Visit>, (String, Vec<Visit>)> {
    let mut kinds = Vec::new();
    for part in library.traces().iter().flat_map(|trace| &trace.parts) {
        let collected = kinds::collect(&part.nodes, &mut kinds);
        collected.map_err(|error| (error.to_string(), Vec::new()))?;
    }
    let mut interpreter = Interpreter {
        library,
        facts,
        visits: Vec::new(),
        waiting: VecDeque::new(),
        joins: Joins::default(),
        kinds,
    };
    match interpreter.run(name) {
        Ok(()) => Ok(interpreter.visits),
        Err(missing) => Err((missing, interpreter.visits)),
    }
}

struct Interpreter<'l> {
    library: &'l Library,
    facts: &'l dyn Fn(&str, &str) -> Option<i64>,
    visits: Vec<Visit>,
    waiting: VecDeque<Execution>,
    joins: Joins<()>,
    /// The custom accelerators, by number.
    kinds: Vec<Arc<Kind>>,
}

struct Execution {
    trace: String,
    rest: VecDeque<Node>,
    join_arm: Option<JoinArm>,
    /// Whether the execution is at the beginning of its trace.
    first: bool,
}

impl Interpreter<'_> {
    fn run(&mut self, name: &str) -> Result<(), String> {
        let mut execution = Execution {
            trace: String::new(),
            rest: VecDeque::new(),
            join_arm: None,
            first: true,
        };
        self.enter(&mut execution, name.to_owned())?;
        self.waiting.push_back(execution);
        while let Some(mut execution) = self.waiting.pop_front() {
            while self.step(&mut execution)? {}
        }
        Ok(())
    }

    fn enter(&mut self, execution: &mut Execution, name: String) -> Result<(), String> {
        let Some(found) = self.library.get(&name) else {
            return Err(name);
        };
        self.visits.push(Visit::Enter(name.clone()));
        execution.rest = found.source.clone().into();
        execution.trace = name;
        execution.first = true;
        Ok(())
    }

    /// Interprets the next node. Returns whether the execution continues after it.
    fn step(&mut self, execution: &mut Execution) -> Result<bool, String> {
        match execution.rest.pop_front().unwrap_or(Node::Notify) {
            Node::Accel(accel) => {
                let receives = accel == Accel::Tcp && execution.first;
                self.visits.push(Visit::Call { accel, receives });
                execution.first = false;
            }
            Node::Kind(kind) => {
                let number = self.kinds.iter().position(|known| *known == kind);
                let Some(accel) = number.and_then(Accel::custom) else {
                    return Err(kind.name().to_owned());
                };
                let receives = false;
                self.visits.push(Visit::Call { accel, receives });
                execution.first = false;
            }
            Node::Transform(change) => self.visits.push(Visit::Transform(change)),
            Node::Notify => {
                self.visits.push(Visit::Notify);
                return Ok(false);
            }
            Node::Branch {
                condition,
                on_true,
                on_false,
                ..
            } => {
                let arm = match self.holds(&condition, &execution.trace)? {
                    true => on_true,
                    false => on_false,
                };
                for node in arm.into_iter().rev() {
                    execution.rest.push_front(node);
                }
            }
            Node::Fork(arms) => {
                let join_arm = self.joins.fork(execution.join_arm);
                self.part(execution, arms, join_arm, Visit::Fork);
            }
            Node::Join(mut arms) => {
                for arm in &mut arms {
                    arm.push(Node::Meet);
                    arm.extend(execution.rest.iter().cloned());
                }
                let [own, other] = self.joins.scatter(execution.join_arm).map(Some);
                self.part(execution, arms, other, Visit::Scatter);
                execution.join_arm = own;
            }
            Node::Meet => return Ok(self.meet(execution)),
            Node::Tail(next) | Node::Continue(next) => self.enter(execution, next)?,
        }
        Ok(true)
    }

    fn holds(&self, condition: &Condition, trace: &str) -> Result<bool, String> {
        condition.holds(&|field: Field<'_>| (self.facts)(trace, field.name))
    }

    /// Continues with the first arm; the others wait. Forks in words are binary, so the second
    /// execution starts the third.
    fn part(
        &mut self,
        execution: &mut Execution,
        mut arms: Vec<Nodes>,
        join_arm: Option<JoinArm>,
        visit: Visit,
    ) {
        let mut others = arms.split_off(1);
        self.visits.push(visit);
        let arm = match others.len() {
            1 => others.remove(0),
            _ => vec![Node::Fork(others)],
        };
        self.waiting.push_back(Execution {
            trace: execution.trace.clone(),
            rest: arm.into(),
            join_arm,
            first: false,
        });
        execution.rest = arms.pop().unwrap_or_default().into();
    }

    /// Handles the arrival of the execution at a join. Returns whether it is the last one, which
    /// continues.
    fn meet(&mut self, execution: &mut Execution) -> bool {
        let arrived = execution
            .join_arm
            .and_then(|join_arm| self.joins.arrive(join_arm, ()));
        self.visits.push(match arrived {
            Some(_) => Visit::Join,
            None => Visit::Wait,
        });
        if let Some((_, outer)) = arrived {
            execution.join_arm = outer;
            return true;
        }
        false
    }
}
