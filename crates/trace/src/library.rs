//! Libraries of named traces, from which trace memories are linked.

use crate::check::{CheckError, Warning, is_name};
use crate::compile::{Part, split};
use crate::image::Image;
use crate::kinds::{self, KindsError};
use crate::link::link;
use crate::link_error::LinkError;
use crate::source::{Node, Nodes};
use crate::yields::{check_trace, check_with_stated_facts};

/// The error of a trace that cannot be added to a library, replaced or removed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// The trace breaks a rule of the trace language.
    #[error("trace '{trace}': {error}")]
    Check {
        /// The name of the refused trace.
        trace: String,
        /// The rule that the trace breaks.
        error: CheckError,
    },
    /// The trace declares a custom accelerator differently from another trace, or all traces
    /// together declare too many.
    #[error("trace '{trace}': {error}")]
    Kinds {
        /// The name of the refused trace.
        trace: String,
        /// The conflict between the declarations, or the excess over their limit.
        error: KindsError,
    },
    /// A different trace already has this name. Holds the name.
    #[error("a different trace is already registered as '{0}'")]
    Duplicate(String),
    /// A service tried to register a trace under the name of a trace of another service, or to
    /// replace or remove a trace that it does not own.
    #[error("trace '{trace}' {}", owner_text(.owner))]
    Owned {
        /// The name of the trace to register, replace or remove.
        trace: String,
        /// The service that owns the trace; `None` if all services may run it.
        owner: Option<String>,
    },
}

fn owner_text(owner: &Option<String>) -> String {
    match owner {
        Some(owner) => {
            format!("belongs to the service '{owner}': no other service can replace or remove it")
        }
        None => {
            "has no owner: all services can run it, and none can replace or remove it".to_owned()
        }
    }
}

/// A trace in a library: its source, its compiled parts and the warnings about the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// The name of the trace.
    pub name: String,
    /// The source of the trace, as it was registered.
    pub source: Nodes,
    /// The warnings of the check: uses of accelerators that AccelFlow's Table I does not list.
    pub warnings: Vec<Warning>,
    /// The compiled parts of the trace, each of which fits one word. The trace begins with the
    /// first.
    pub parts: Vec<Part>,
    /// The service that owns the trace; `None` if all services may run it.
    pub owner: Option<String>,
}

impl Registered {
    /// Returns whether `service` may run the trace: `service` owns the trace, or the trace has no
    /// owner. A `service` of `None` means the operator, who may run all traces.
    pub fn is_for(&self, service: Option<&str>) -> bool {
        service.is_none() || self.owner.is_none() || self.owner.as_deref() == service
    }
}

/// A collection of named traces (short programs of accelerator calls), from which a trace memory is
/// linked. A trace may name another in a tail even before the other is registered.
#[derive(Clone, Debug, Default)]
pub struct Library {
    traces: Vec<Registered>,
}

impl Library {
    /// Creates a library without traces.
    pub fn new() -> Library {
        Library::default()
    }

    /// Adds the trace `source` under `name` if it passes the check ([`check_trace`]). Returns the
    /// check's warnings. Registering the same source again under the same name has no effect.
    ///
    /// # Errors
    /// [`RegisterError`] for
    ///
    /// * an invalid name, or a name that belongs to a different trace;
    /// * a source that breaks a rule of the trace language;
    /// * declarations of custom accelerators that conflict, or are too many.
    pub fn register(&mut self, name: &str, source: Nodes) -> Result<&[Warning], RegisterError> {
        self.add(None, name, source, check_trace)
    }

    /// Adds a trace like [`Library::register`], but its branches may also test payload values
    /// (facts) that no accelerator before them extracts.
    ///
    /// This is for simulated workloads, since their files state the payload values. When the
    /// runtime processes real messages, such a branch fails.
    ///
    /// # Errors
    /// The errors of [`Library::register`].
    pub fn register_for_stated_facts(
        &mut self,
        name: &str,
        source: Nodes,
    ) -> Result<&[Warning], RegisterError> {
        self.add(None, name, source, check_with_stated_facts)
    }

    /// Adds a trace like [`Library::register`] and makes `service` its owner: no other service can
    /// run or remove the trace. If `service` is `None`, the trace has no owner, and all services
    /// can run it. A trace that is registered already keeps its owner.
    ///
    /// # Errors
    /// The errors of [`Library::register`]. If `service` is given, [`RegisterError::Owned`] if a
    /// trace called `name` belongs to another service, or has no owner and a different source.
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
            let known = &self.traces[index];
            if known.source != source {
                self.may_change(service, name)?;
                return Err(RegisterError::Duplicate(name.to_owned()));
            }
            // Otherwise the caller would believe that it may run the trace.
            if !known.is_for(service) {
                self.may_change(service, name)?;
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

    /// Removes the trace `name`, so that another trace can be registered under this name. Returns
    /// whether there was such a trace.
    pub fn remove(&mut self, name: &str) -> bool {
        let before = self.traces.len();
        self.traces.retain(|t| t.name != name);
        self.traces.len() < before
    }

    /// Removes the trace `name` on behalf of `service`. Returns whether there was such a trace. A
    /// `service` of `None` means the operator, who may remove all traces.
    ///
    /// # Errors
    /// [`RegisterError::Owned`] for a trace of another service or without an owner, unless
    /// `service` is `None`.
    pub fn remove_for(&mut self, service: Option<&str>, name: &str) -> Result<bool, RegisterError> {
        self.may_change(service, name)?;
        Ok(self.remove(name))
    }

    /// Checks that `service` may replace or remove the trace `name`. It may change only its own
    /// traces.
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

    /// Returns the trace called `name`; `None` if it is not registered.
    pub fn get(&self, name: &str) -> Option<&Registered> {
        self.traces.iter().find(|t| t.name == name)
    }

    /// Returns the registered traces, in the order of registration.
    pub fn traces(&self) -> &[Registered] {
        &self.traces
    }

    /// Compiles all traces of the library into one trace memory, in which tails refer to traces by
    /// address instead of name.
    ///
    /// # Errors
    /// [`LinkError`] for
    ///
    /// * a tail to an unregistered trace;
    /// * a chain of traces that never ends;
    /// * too many words, branch conditions, custom accelerators or parallel executions.
    pub fn link(&self) -> Result<Image, LinkError> {
        let parts = self
            .traces
            .iter()
            .flat_map(|t| t.parts.iter().cloned())
            .collect();
        link(parts)
    }

    /// Links into one trace memory the traces that `service` may run: those that it owns, and those
    /// without an owner. A `service` of `None` means the operator, who may run all traces.
    ///
    /// # Errors
    /// [`LinkError`], as for [`Library::link`]. Traces of other services count as unregistered.
    pub fn link_for(&self, service: Option<&str>) -> Result<Image, LinkError> {
        let usable = self.traces.iter().filter(|t| t.is_for(service));
        link(usable.flat_map(|t| t.parts.iter().cloned()).collect())
    }

    /// Links into one trace memory only the trace `name` and the traces that can run after it, to
    /// which tails lead. Errors in other traces do not matter. The memory is empty if `name` is not
    /// registered.
    ///
    /// # Errors
    /// [`LinkError`], as for [`Library::link`].
    pub fn link_from(&self, name: &str) -> Result<Image, LinkError> {
        self.link_for_from(None, name)
    }

    /// Links into one trace memory the trace `name` and the traces that can run after it, like
    /// [`Library::link_from`], but only those that `service` may run. Traces of other services
    /// count as unregistered: a tail to one is an error, and the memory is empty if `name` is one.
    /// A `service` of `None` means the operator, who may run all traces.
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

/// Returns the names of the traces to which the tails in `nodes` lead, in source order. A name may
/// occur more than once.
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
