//! Checks that a trace does its task on every path: that it receives or sends messages. The setting
//! that names the trace determines the task.
//!
//! Each protocol layer of a message has an accelerator that removes it and one that adds it. The
//! check follows all branches and tracks which layers are left.

use std::collections::{BTreeMap, BTreeSet};

use accelflow_runtime::ERROR_TRACES;
use accelflow_trace::{Accel, Node, Part};

use super::refusal::{FitFault, Misfit};
use super::source::trace_of;

/// The protocol layers of a connection's messages. A trace that receives or sends messages must
/// call the accelerator that removes or adds each layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wire {
    /// Whether the trace receives or sends the connection's bytes with TCP. If false, as in gRPC,
    /// the trace begins or ends with whole messages instead.
    pub tcp: bool,
    /// Whether messages are in TLS records, so that traces need Decr and Encr.
    pub tls: bool,
    /// Whether messages have an RPC header, so that traces need RPC.
    pub rpc: bool,
    /// Whether compression applies to the serialized message, as in gRPC, instead of the data
    /// before serialization.
    pub compresses_messages: bool,
}

impl Wire {
    fn receiving(self) -> Vec<Accel> {
        let all = [
            (self.tcp, Accel::Tcp),
            (self.tls, Accel::Decr),
            (self.rpc, Accel::Rpc),
            (true, Accel::Dser),
        ];
        all.into_iter()
            .filter(|(has, _)| *has)
            .map(|(_, a)| a)
            .collect()
    }

    fn sending(self) -> Vec<Accel> {
        let all = [
            (true, Accel::Ser),
            (self.rpc, Accel::Rpc),
            (self.tls, Accel::Encr),
            (self.tcp, Accel::Tcp),
        ];
        all.into_iter()
            .filter(|(has, _)| *has)
            .map(|(_, a)| a)
            .collect()
    }
}

/// The task of a trace in a server, RPC client or storage client: to receive a message, to send
/// one, to make a call, or to access storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task<'a> {
    /// The trace receives a message, and then notifies a core.
    Receive,
    /// The trace sends a message, and then ends.
    Send,
    /// The trace sends a message, and then continues with the trace of this name, which receives
    /// the response.
    Call(&'a str),
    /// The trace sends a request to storage and receives the response. It may then send further
    /// requests.
    Store,
}

/// The position of a message between the connection and the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum At {
    /// This many layers have been removed.
    In(usize),
    /// The payload is application data.
    Data,
    /// This many layers have been added.
    Out(usize),
    /// The message has left.
    Sent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    at: At,
    /// Whether a message was sent before.
    sent: bool,
}

/// A place where the check continues: the part, whether it is entered as a trace, and the state.
type Entry = (String, bool, State);

/// Follows every path of a trace.
pub(crate) struct Fit<'p> {
    parts: &'p BTreeMap<&'p str, &'p Part>,
    task: Task<'p>,
    wire: Wire,
    receiving: Vec<Accel>,
    sending: Vec<Accel>,
    open: Vec<Entry>,
    seen: BTreeSet<Entry>,
    part: &'p str,
}

impl<'p> Fit<'p> {
    pub(crate) fn new(
        parts: &'p BTreeMap<&'p str, &'p Part>,
        task: Task<'p>,
        wire: Wire,
    ) -> Fit<'p> {
        Fit {
            parts,
            task,
            wire,
            receiving: wire.receiving(),
            sending: wire.sending(),
            open: Vec::new(),
            seen: BTreeSet::new(),
            part: "",
        }
    }

    /// Checks the trace `root`, all of whose parts and tails are known.
    pub(crate) fn check(mut self, root: &str) -> Result<(), Misfit> {
        let at = match self.task {
            Task::Receive => At::In(0),
            _ => At::Data,
        };
        self.go(root, true, State { at, sent: false });
        while let Some((name, fresh, state)) = self.open.pop() {
            let Some(part) = self.parts.get(&*name) else {
                continue;
            };
            self.part = &part.name;
            let left = self.follow(&part.nodes, fresh, [state].into());
            let ended = left.and_then(|left| left.into_iter().try_for_each(|s| self.end(s)));
            ended.map_err(|fault| Misfit {
                trace: trace_of(self.part).to_owned(),
                fault,
            })?;
        }
        Ok(())
    }

    fn go(&mut self, name: &str, fresh: bool, state: State) {
        let entry = (name.to_owned(), fresh, state);
        if self.seen.insert(entry.clone()) {
            self.open.push(entry);
        }
    }

    /// Follows `nodes`. Returns the states of paths that run past their end.
    fn follow(
        &mut self,
        nodes: &'p [Node],
        fresh: bool,
        mut states: BTreeSet<State>,
    ) -> Result<BTreeSet<State>, FitFault> {
        for (index, node) in nodes.iter().enumerate() {
            let receives = fresh && index == 0;
            states = self.pass(node, receives, states)?;
        }
        Ok(states)
    }

    fn pass(
        &mut self,
        node: &'p Node,
        receives: bool,
        states: BTreeSet<State>,
    ) -> Result<BTreeSet<State>, FitFault> {
        let mut left = BTreeSet::new();
        match node {
            Node::Accel(accel) => {
                for state in states {
                    left.insert(self.call(*accel, receives, state)?);
                }
            }
            // Custom accelerators process application data.
            Node::Kind(kind) => {
                if states.iter().any(|state| state.at != At::Data) {
                    return Err(FitFault::NotData(kind.name().to_owned()));
                }
                left = states;
            }
            Node::Transform(_) => {
                if states.iter().any(|state| state.at != At::Data) {
                    return Err(FitFault::NotData("trans".to_owned()));
                }
                left = states;
            }
            Node::Branch {
                on_true, on_false, ..
            } => {
                for arm in [on_true, on_false] {
                    left.extend(self.follow(arm, false, states.clone())?);
                }
            }
            Node::Fork(arms) => {
                if matches!(self.task, Task::Send | Task::Call(_)) {
                    return Err(FitFault::Forks);
                }
                for arm in arms {
                    for state in self.follow(arm, false, states.clone())? {
                        self.end(state)?;
                    }
                }
            }
            Node::Join(arms) => {
                for arm in arms {
                    left.extend(self.follow(arm, false, states.clone())?);
                }
            }
            Node::Tail(name) => {
                for state in states {
                    self.tail(name, state)?;
                }
            }
            Node::Continue(name) => states.into_iter().for_each(|s| self.go(name, false, s)),
            Node::Meet => left = states,
            Node::Notify => states.into_iter().try_for_each(|state| self.end(state))?,
        }
        Ok(left)
    }

    fn call(&self, accel: Accel, first: bool, state: State) -> Result<State, FitFault> {
        let receives = first && accel == Accel::Tcp;
        match accel {
            Accel::Ldb => return Ok(state),
            Accel::Tcp | Accel::Decr | Accel::Encr | Accel::Rpc | Accel::Ser | Accel::Dser => {}
            // Cmp, Dcmp and all others process application data.
            _ => return self.work(accel, state),
        }
        let at = match state.at {
            At::In(done) if self.receiving.get(done) == Some(&accel) => {
                if accel == Accel::Tcp && !receives {
                    return Err(FitFault::Sends(accel));
                }
                match done + 1 == self.receiving.len() {
                    true => At::Data,
                    false => At::In(done + 1),
                }
            }
            At::Data if receives => return Err(self.unasked()),
            At::Sent if receives && matches!(self.task, Task::Send) => {
                return Err(FitFault::Waits);
            }
            At::Sent if receives => match self.receiving.len() {
                1 => At::Data,
                _ => At::In(1),
            },
            At::Sent => return Err(FitFault::Gone(accel)),
            At::Data if matches!(self.task, Task::Call(_)) && state.sent => {
                return Err(FitFault::Gone(accel));
            }
            At::Data => self.add(accel, 0)?,
            At::Out(done) => self.add(accel, done)?,
            At::In(_) => return Err(self.out_of_order(accel, state.at)),
        };
        let sent = state.sent || at == At::Sent;
        Ok(State { at, sent })
    }

    /// Checks that `accel` adds the next layer to a message with `done` layers.
    fn add(&self, accel: Accel, done: usize) -> Result<At, FitFault> {
        if self.sending.get(done) != Some(&accel) {
            let at = if done == 0 { At::Data } else { At::Out(done) };
            return Err(self.out_of_order(accel, at));
        }
        if self.task == Task::Receive {
            return Err(FitFault::Sends(accel));
        }
        Ok(match done + 1 == self.sending.len() {
            true => At::Sent,
            false => At::Out(done + 1),
        })
    }

    /// An accelerator that removes and adds no layer.
    fn work(&self, accel: Accel, state: State) -> Result<State, FitFault> {
        let whole = self.wire.compresses_messages;
        let fits = match accel {
            Accel::Dcmp if whole => state.at == At::In(self.receiving.len() - 1),
            Accel::Cmp if whole => state.at == At::Out(1),
            _ => state.at == At::Data,
        };
        match (fits, accel) {
            (true, _) => Ok(state),
            (false, Accel::Dcmp) if whole => Err(FitFault::Message(accel, "RPC and Dser")),
            (false, Accel::Cmp) if whole => Err(FitFault::Message(accel, "Ser and RPC")),
            _ => Err(FitFault::NotData(accel.to_string())),
        }
    }

    fn unasked(&self) -> FitFault {
        match self.task {
            Task::Send => FitFault::Waits,
            _ => FitFault::Unasked,
        }
    }

    fn out_of_order(&self, found: Accel, at: At) -> FitFault {
        let (expected, passes, order) = self.expected(at);
        FitFault::Order {
            found,
            expected,
            passes,
            order,
        }
    }

    /// Returns the accelerators that must come next, the direction, and the required order.
    fn expected(&self, at: At) -> (String, &'static str, String) {
        let (order, done, passes) = match at {
            At::In(done) => (&self.receiving, done, "arrives through"),
            At::Data if self.task == Task::Receive => {
                (&self.receiving, usize::MAX, "arrives through")
            }
            At::Data => (&self.sending, 0, "leaves through"),
            At::Out(done) => (&self.sending, done, "leaves through"),
            At::Sent => (&self.sending, usize::MAX, "leaves through"),
        };
        let next = order.get(done).map(ToString::to_string);
        let names: Vec<String> = order.iter().map(ToString::to_string).collect();
        let expected = next.unwrap_or_else(|| "the end of the trace".to_owned());
        (expected, passes, names.join(", "))
    }

    fn tail(&mut self, name: &str, state: State) -> Result<(), FitFault> {
        if ERROR_TRACES.contains(&name) && state.at == At::Data {
            return Err(FitFault::Caller(name.to_owned()));
        }
        if let (Task::Call(answer), At::Sent) = (self.task, state.at)
            && answer != name
        {
            return Err(FitFault::OtherAnswer {
                found: name.to_owned(),
                expected: answer.to_owned(),
            });
        }
        self.go(name, true, state);
        Ok(())
    }

    /// The end of a path, where a core is notified.
    fn end(&self, state: State) -> Result<(), FitFault> {
        let done = match self.task {
            Task::Receive => state.at == At::Data,
            Task::Send => state.at == At::Sent,
            Task::Call(_) | Task::Store => state.at == At::Data && state.sent,
        };
        if done {
            return Ok(());
        }
        if let (Task::Call(answer), At::Sent) = (self.task, state.at) {
            return Err(FitFault::NoAnswer(answer.to_owned()));
        }
        if state.at == At::Sent {
            return Err(FitFault::NoResponse);
        }
        let (expected, passes, order) = self.expected(state.at);
        Err(FitFault::Early {
            expected,
            passes,
            order,
        })
    }
}
