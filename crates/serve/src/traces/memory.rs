//! Trace memories of services, in which custom traces replace default traces.

use std::collections::BTreeMap;

use accelflow_parameters::Refusal;
use accelflow_trace::{Image, Library, Node, Part, link};

use super::bodies::CustomBodies;
use super::fit::{Fit, Task, Wire};
use super::refusal::TraceRefusal;
use super::source::{Split, TraceSource, trace_of};

/// A trace that a setting of a server, RPC client or storage client names: the setting, the trace's
/// name, its task, and the protocol layers of its messages.
#[derive(Clone, Copy, Debug)]
pub struct Root<'a> {
    /// The setting that names the trace, such as `receive`; for error messages.
    pub place: &'a str,
    /// The name of the trace, as the setting gives it.
    pub name: &'a str,
    /// The task that the trace must do, such as receiving messages.
    pub task: Task<'a>,
    /// The protocol layers of the messages that the trace receives or sends.
    pub wire: Wire,
}

/// The traces that a server, RPC client or storage client can use: its custom traces, and default
/// traces for all other names.
#[derive(Clone, Copy, Debug)]
pub struct ServiceTraces<'a> {
    /// The library of default traces. Custom traces replace default traces of the same names.
    pub base: &'a Library,
    /// The custom traces of the service; `None` if it has none.
    pub own: Option<&'a TraceSource>,
}

impl ServiceTraces<'_> {
    /// Checks that each trace in `roots` does its task. Links the traces in `roots`, the traces
    /// named in `others`, and all traces to which their tails lead, and returns the linked trace
    /// memory.
    ///
    /// # Errors
    /// [`TraceRefusal`] for a trace that is unknown, belongs to another service, does not do its
    /// task, calls a custom accelerator without a matching body, or cannot be linked.
    pub fn link(&self, roots: &[Root<'_>], others: &[&str]) -> Result<Image, TraceRefusal> {
        let mut reached: Vec<Part> = Vec::new();
        for root in roots {
            self.reach(root.place, root.name, &mut reached)?;
        }
        for name in others {
            self.reach("trace", name, &mut reached)?;
        }
        let image = link(reached.clone())?;
        let none = CustomBodies::default();
        self.own.map_or(&none, TraceSource::bodies).check(&image)?;
        let parts: BTreeMap<&str, &Part> = reached.iter().map(|part| (&*part.name, part)).collect();
        for root in roots {
            let fit = Fit::new(&parts, root.task, root.wire);
            fit.check(root.name)
                .map_err(|misfit| TraceRefusal::Misfit {
                    place: root.place.to_owned(),
                    root: root.name.to_owned(),
                    misfit: Box::new(misfit),
                })?;
        }
        Ok(image)
    }

    /// Adds the parts of a trace, and of the traces that it leads to.
    fn reach(&self, place: &str, root: &str, reached: &mut Vec<Part>) -> Result<(), TraceRefusal> {
        let mut wanted = vec![root.to_owned()];
        while let Some(name) = wanted.pop() {
            if reached.iter().any(|part| part.name == name) {
                continue;
            }
            let parts = match self.own.and_then(|own| own.get(&name)) {
                Some(split) => self.usable(place, root, &name, split)?,
                None => match self.base.get(&name) {
                    Some(trace) => trace.parts.clone(),
                    None if name == root => return Err(self.unknown(place, root).into()),
                    // The linker reports unregistered traces.
                    None => continue,
                },
            };
            for part in &parts {
                wanted.extend(leads_to(&part.nodes));
            }
            reached.extend(parts);
        }
        Ok(())
    }

    fn usable(
        &self,
        place: &str,
        root: &str,
        name: &str,
        split: &Split,
    ) -> Result<Vec<Part>, TraceRefusal> {
        match self.own.and_then(|own| own.owner_of(split)) {
            None => Ok(split.parts.clone()),
            Some(owner) => Err(TraceRefusal::Owned {
                place: place.to_owned(),
                root: root.to_owned(),
                trace: name.to_owned(),
                owner: owner.to_owned(),
            }),
        }
    }

    fn unknown(&self, place: &str, root: &str) -> Refusal {
        let own = self.own.into_iter().flat_map(TraceSource::names);
        let base = self.base.traces().iter().map(|trace| &*trace.name);
        let mut known: Vec<&str> = own.chain(base).collect();
        known.sort_unstable();
        known.dedup();
        Refusal::unknown(place, root, known)
    }
}

/// The traces that `nodes` end with.
fn leads_to(nodes: &[Node]) -> Vec<String> {
    let mut names = Vec::new();
    let mut stack: Vec<&Node> = nodes.iter().collect();
    while let Some(node) = stack.pop() {
        match node {
            Node::Tail(name) | Node::Continue(name) => names.push(trace_of(name).to_owned()),
            Node::Branch {
                on_true, on_false, ..
            } => stack.extend(on_true.iter().chain(on_false)),
            Node::Fork(arms) | Node::Join(arms) => stack.extend(arms.iter().flatten()),
            _ => {}
        }
    }
    names
}
