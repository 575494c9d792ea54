//! Libraries of named traces.

use crate::check::{CheckError, Role, Warning, check, is_name};
use crate::compile::{Part, split};
use crate::image::Image;
use crate::kinds::{self, KindsError};
use crate::link::link;
use crate::link_error::LinkError;
use crate::source::{Node, Nodes};
use crate::yields::check_trace;

/// Refusals of a trace by a library.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// The trace itself is impossible.
    #[error("trace '{trace}': {error}")]
    Check {
        /// The trace.
        trace: String,
        /// The problem.
        error: CheckError,
    },
    /// An accelerator beside the nine that other traces declare differently, or more of them than
    /// allowed.
    #[error("trace '{trace}': {error}")]
    Kinds {
        /// The trace.
        trace: String,
        /// The problem.
        error: KindsError,
    },
    /// Another trace has the name.
    #[error("a different trace is already registered as '{0}'")]
    Duplicate(String),
    /// The name is of a trace that a service may not change.
    #[error("trace '{trace}' belongs to {}: no other service can replace or remove it", owner_text(.owner))]
    Owned {
        /// The trace.
        trace: String,
        /// The service that it belongs to; `None` if all use it.
        owner: Option<String>,
    },
}

fn owner_text(owner: &Option<String>) -> String {
    match owner {
        Some(owner) => format!("the service '{owner}'"),
        None => "all services".to_owned(),
    }
}

/// A registered trace: its source, its parts, and warnings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// The name.
    pub name: String,
    /// The source as registered.
    pub source: Nodes,
    /// Pairs outside Table I.
    pub warnings: Vec<Warning>,
    /// The parts, the entry first.
    pub parts: Vec<Part>,
    /// The service that it belongs to; `None` for a trace that all services may use.
    pub owner: Option<String>,
}

impl Registered {
    /// Whether a service may run the trace; `None` stands for the operator, who may run all.
    pub fn is_for(&self, service: Option<&str>) -> bool {
        service.is_none() || self.owner.is_none() || self.owner.as_deref() == service
    }
}

/// Named traces that may refer to one another in any order of registration.
#[derive(Clone, Debug, Default)]
pub struct Library {
    traces: Vec<Registered>,
}

impl Library {
    /// A library without traces.
    pub fn new() -> Library {
        Library::default()
    }

    /// Checks `source` and adds it as `name`. Registering the same source twice is harmless.
    ///
    /// # Errors
    /// [`RegisterError`] for an impossible trace or a name that is taken by another one.
    pub fn register(&mut self, name: &str, source: Nodes) -> Result<&[Warning], RegisterError> {
        self.add(None, name, source, check_trace)
    }

    /// As [`Library::register`], for a trace whose facts a workload states: its branches may test
    /// facts that no accelerator before them yields. On real bytes the trace would fail there.
    ///
    /// # Errors
    /// As [`Library::register`].
    pub fn register_for_stated_facts(
        &mut self,
        name: &str,
        source: Nodes,
    ) -> Result<&[Warning], RegisterError> {
        self.add(None, name, source, |nodes| check(nodes, Role::Trace))
    }

    /// Registers a trace that belongs to `service`: no other can run, replace or remove it.
    /// Otherwise as [`Library::register`].
    ///
    /// # Errors
    /// Those of [`Library::register`], and [`RegisterError::Owned`] for the name of a different
    /// trace that is not the service's.
    pub fn register_for(
        &mut self,
        service: Option<&str>,
        name: &str,
        source: Nodes,
    ) -> Result<&[Warning], RegisterError> {
        self.add(service, name, source, check_trace)
    }

    fn add(
        &mut self,
        service: Option<&str>,
        name: &str,
        source: Nodes,
        check: fn(&[Node]) -> Result<Vec<Warning>, CheckError>,
    ) -> Result<&[Warning], RegisterError> {
        let checked = if is_name(name) {
            check(&source)
        } else {
            Err(CheckError::Name(name.to_owned()))
        };
        let warnings = checked.map_err(|error| RegisterError::Check {
            trace: name.to_owned(),
            error,
        })?;
        if let Some(index) = self.traces.iter().position(|t| t.name == name) {
            if self.traces[index].source != source {
                self.may_change(service, name)?;
                return Err(RegisterError::Duplicate(name.to_owned()));
            }
            return Ok(&self.traces[index].warnings);
        }
        let mut kinds = Vec::new();
        let known = self.traces.iter().map(|known| &known.source);
        for nodes in known.chain([&source]) {
            kinds::collect(nodes, &mut kinds).map_err(|error| RegisterError::Kinds {
                trace: name.to_owned(),
                error,
            })?;
        }
        let parts = split(name, &source);
        self.traces.push(Registered {
            name: name.to_owned(),
            source,
            warnings,
            parts,
            owner: service.map(str::to_owned),
        });
        Ok(self.traces.last().map_or(&[], |t| &t.warnings))
    }

    /// Removes `name`, so that it can be registered anew. Returns whether it was registered.
    pub fn remove(&mut self, name: &str) -> bool {
        let before = self.traces.len();
        self.traces.retain(|t| t.name != name);
        self.traces.len() < before
    }

    /// Removes `name` for `service`. Returns whether it was registered. `None` stands for the
    /// operator, who may remove all traces.
    ///
    /// # Errors
    /// [`RegisterError::Owned`] for a trace that is not the service's.
    pub fn remove_for(&mut self, service: Option<&str>, name: &str) -> Result<bool, RegisterError> {
        self.may_change(service, name)?;
        Ok(self.remove(name))
    }

    /// Checks that `service` may replace or remove `name`: it may change only its own traces.
    fn may_change(&self, service: Option<&str>, name: &str) -> Result<(), RegisterError> {
        let own = |trace: &&Registered| service.is_none() || trace.owner.as_deref() == service;
        match self.get(name) {
            Some(trace) if !own(&trace) => Err(RegisterError::Owned {
                trace: name.to_owned(),
                owner: trace.owner.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// The trace called `name`.
    pub fn get(&self, name: &str) -> Option<&Registered> {
        self.traces.iter().find(|t| t.name == name)
    }

    /// All traces, in order of registration.
    pub fn traces(&self) -> &[Registered] {
        &self.traces
    }

    /// Lays all traces out in a trace memory.
    ///
    /// # Errors
    /// [`LinkError`] for a tail to nothing, a chain that never ends, or a full memory.
    pub fn link(&self) -> Result<Image, LinkError> {
        let parts = self
            .traces
            .iter()
            .flat_map(|t| t.parts.iter().cloned())
            .collect();
        link(parts)
    }

    /// Lays out the traces that `service` may run: its own and those without an owner.
    ///
    /// # Errors
    /// [`LinkError`], as for [`Library::link`]; a tail to another service's trace counts as a tail
    /// to nothing.
    pub fn link_for(&self, service: Option<&str>) -> Result<Image, LinkError> {
        let usable = self.traces.iter().filter(|t| t.is_for(service));
        link(usable.flat_map(|t| t.parts.iter().cloned()).collect())
    }

    /// Lays out the trace called `name` and those that its tails lead to, and no others, so errors
    /// of other traces do not matter.
    ///
    /// # Errors
    /// [`LinkError`], as for [`Library::link`].
    pub fn link_from(&self, name: &str) -> Result<Image, LinkError> {
        self.link_for_from(None, name)
    }

    /// Lays out the trace called `name` as [`Library::link_from`] does, for a service: traces of
    /// other services do not exist for it.
    ///
    /// # Errors
    /// [`LinkError`], as for [`Library::link`].
    pub fn link_for_from(&self, service: Option<&str>, name: &str) -> Result<Image, LinkError> {
        let usable = |name: &str| self.get(name).filter(|t| t.is_for(service));
        let mut reached: Vec<&Registered> = usable(name).into_iter().collect();
        let mut next = 0;
        while let Some(&trace) = reached.get(next) {
            for tail in tails(&trace.source) {
                let known = reached.iter().any(|trace| trace.name == tail);
                reached.extend(usable(tail).filter(|_| !known));
            }
            next += 1;
        }
        let parts = reached.into_iter().flat_map(|t| t.parts.iter().cloned());
        link(parts.collect())
    }
}

/// The named traces that `nodes` end with.
pub fn tails(nodes: &[Node]) -> Vec<&str> {
    let mut names = Vec::new();
    let mut stack: Vec<&Node> = nodes.iter().rev().collect();
    while let Some(node) = stack.pop() {
        match node {
            Node::Tail(name) => names.push(name.as_str()),
            Node::Branch {
                on_true, on_false, ..
            } => {
                stack.extend(on_false.iter().rev());
                stack.extend(on_true.iter().rev());
            }
            Node::Fork(arms) | Node::Join(arms) => {
                stack.extend(arms.iter().rev().flat_map(|arm| arm.iter().rev()))
            }
            _ => {}
        }
    }
    names
}
