//! `TraceLibrary`: collections of registered traces.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use accelflow_parameters::{Refusal, quoted};
use accelflow_serve::TraceSource;
use accelflow_trace::{
    Image, Library, LinkError, Registered, TEMPLATES, Warning, check_trace, is_name,
    register_templates, templates, text,
};
use pyo3::prelude::*;

use super::failure::Failure;
use super::image::PyImage;
use super::node::{PyNode, parts, unwrap, wrap};

/// A collection of named traces, which may refer to one another.
///
/// A trace may be registered before the traces that its tails name. Safe to use from several
/// threads.
#[pyclass(frozen, name = "TraceLibrary", module = "accelflow._native")]
pub(crate) struct PyLibrary {
    inner: Arc<Mutex<State>>,
    /// The service whose view of the library this is; `None` for the operator's.
    service: Option<String>,
}

struct State {
    library: Library,
    /// The linked image of each service's view, cached until the library changes.
    linked: HashMap<Option<String>, Image>,
}

impl PyLibrary {
    /// Locks the library. No method leaves it half changed, so a poisoned lock can still be used.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The traces as they are now, for the service.
    pub(crate) fn source(&self) -> TraceSource {
        let source = TraceSource::of_library(&self.lock().library);
        match &self.service {
            Some(service) => source.for_service(service),
            None => source,
        }
    }

    fn service(&self) -> Option<&str> {
        self.service.as_deref()
    }

    fn visible<'s>(&'s self, state: &'s State) -> impl Iterator<Item = &'s Registered> {
        let traces = state.library.traces().iter();
        traces.filter(|trace| trace.is_for(self.service()))
    }
}

#[pymethods]
impl PyLibrary {
    /// Creates a library, with the paper's traces T1 to T12 if `templates` is true.
    #[new]
    #[pyo3(signature = (*, templates=true))]
    fn new(templates: bool) -> PyResult<PyLibrary> {
        let mut library = Library::new();
        if templates {
            register_templates(&mut library).map_err(Failure::from)?;
        }
        Ok(PyLibrary {
            inner: Arc::new(Mutex::new(State {
                library,
                linked: HashMap::new(),
            })),
            service: None,
        })
    }

    /// Creates a library of the paper's traces and of those that `text` describes in the language
    /// of traces. Also returns the names of the latter. Those with a name of the paper's replace
    /// it.
    ///
    /// Branches may test facts that no accelerator yields, as in a workload that states them.
    #[staticmethod]
    fn from_text(text: &str) -> PyResult<(PyLibrary, Vec<String>)> {
        let mut library = Library::new();
        register_templates(&mut library).map_err(Failure::from)?;
        let mut names: Vec<String> = Vec::new();
        for (name, nodes) in text::parse(text).map_err(Failure::from)? {
            if !names.contains(&name) {
                library.remove_for(None, &name).map_err(Failure::from)?;
                names.push(name.clone());
            }
            let added = library.register_for_stated_facts(&name, nodes);
            added.map_err(Failure::from)?;
        }
        let library = PyLibrary {
            inner: Arc::new(Mutex::new(State {
                library,
                linked: HashMap::new(),
            })),
            service: None,
        };
        Ok((library, names))
    }

    /// Returns a view of the library with the rights of the service `name`.
    ///
    /// The service may run its own traces and those without an owner, and replace and remove only
    /// its own. Raises TraceError for an invalid name, and if this view belongs to another service.
    fn of_service(&self, name: &str) -> PyResult<PyLibrary> {
        match &self.service {
            Some(own) if own != name => {
                let allowed = format!("must be '{own}', the owner of this view of the library");
                let why = Refusal::new("service", quoted(name), allowed);
                return Err(Failure::new("not_the_owner", why).into());
            }
            _ => {}
        }
        if !is_name(name) {
            let why = Refusal::new(
                "service",
                quoted(name),
                "must be letters, digits, '_', '+' or '-', starting with a letter",
            );
            return Err(Failure::new("bad_name", why).into());
        }
        Ok(PyLibrary {
            inner: self.inner.clone(),
            service: Some(name.to_owned()),
        })
    }

    /// The service with whose rights the library is viewed; None for the operator's view.
    #[getter]
    fn service_name(&self) -> Option<&str> {
        self.service()
    }

    /// Returns the service that owns the trace `name`; None if all services may use it. Raises
    /// TraceError for an unknown trace.
    fn owner(&self, name: &str) -> PyResult<Option<String>> {
        let state = self.lock();
        match state.library.get(name) {
            Some(found) => Ok(found.owner.clone()),
            None => Err(self.unknown(&state, name)),
        }
    }

    /// Registers the trace `nodes` as `name`, and returns warnings about it.
    ///
    /// An equal trace may be registered again. Raises TraceError for an invalid trace and, unless
    /// `replace` is true, for a name that another trace has; the library is then unchanged.
    #[pyo3(signature = (name, nodes, *, replace=false))]
    fn register(
        &self,
        name: &str,
        nodes: Vec<PyRef<'_, PyNode>>,
        replace: bool,
    ) -> PyResult<Vec<String>> {
        let nodes = unwrap(&nodes)?;
        let mut state = self.lock();
        let known = state.library.get(name).map(|t| t.source == nodes);
        let words = |warnings: &[Warning]| warnings.iter().map(ToString::to_string).collect();
        if replace && known == Some(false) {
            // On a copy, since the old trace stays if the new one is refused.
            let mut changed = state.library.clone();
            // It keeps its owner if the operator replaces it.
            let owner = changed.get(name).and_then(|found| found.owner.clone());
            changed
                .remove_for(self.service(), name)
                .map_err(Failure::from)?;
            let added = changed.register_for(owner.as_deref(), name, nodes);
            let words = words(added.map_err(Failure::from)?);
            (state.library, state.linked) = (changed, HashMap::new());
            return Ok(words);
        }
        let added = state.library.register_for(self.service(), name, nodes);
        let words = words(added.map_err(Failure::from)?);
        if known.is_none() {
            state.linked.clear();
        }
        Ok(words)
    }

    /// Removes the trace called `name`, and returns whether it was registered.
    ///
    /// Trace memories that are already linked keep the trace. Raises TraceError for a trace that
    /// the service does not own.
    fn remove(&self, name: &str) -> PyResult<bool> {
        let mut state = self.lock();
        let removed = state.library.remove_for(self.service(), name);
        let removed = removed.map_err(Failure::from)?;
        state.linked.clear();
        Ok(removed)
    }

    /// Returns the names of all traces, in the order of registration.
    fn names(&self) -> Vec<String> {
        let state = self.lock();
        self.visible(&state).map(|t| t.name.clone()).collect()
    }

    /// Returns the trace `name`. Raises TraceError, with the known names, for an unknown name.
    fn get(&self, name: &str) -> PyResult<PyRegistered> {
        let state = self.lock();
        match state.library.get(name) {
            Some(found) => Ok(PyRegistered {
                inner: found.clone(),
            }),
            None => Err(self.unknown(&state, name)),
        }
    }

    /// Links all traces into a trace memory.
    ///
    /// Raises TraceError for a tail to a trace that is not registered, a chain that never ends, too
    /// many conditions or a full memory.
    fn link(&self, py: Python<'_>) -> PyResult<PyImage> {
        let link = || {
            let mut state = self.lock();
            if let Some(image) = state.linked.get(&self.service) {
                return Ok(image.clone());
            }
            let image = state.library.link_for(self.service())?;
            state.linked.insert(self.service.clone(), image.clone());
            Ok(image)
        };
        Ok(PyImage::new(
            py.detach(link)
                .map_err(|error: LinkError| Failure::from(error))?,
        ))
    }

    /// Links the trace called `name`, and the traces that its tails lead to, into a trace memory.
    ///
    /// Raises TraceError as `link` does, but only for errors of these traces.
    fn link_from(&self, py: Python<'_>, name: &str) -> PyResult<PyImage> {
        let link = || {
            let state = self.lock();
            let found = state.library.get(name);
            if let Some(trace) = found.filter(|trace| !trace.is_for(self.service())) {
                let owner = trace.owner.clone().unwrap_or_default();
                let why = format!("trace '{name}' belongs to the service '{owner}'");
                return Err(Failure::new("not_the_owner", why).of(name));
            }
            Ok(state.library.link_for_from(self.service(), name)?)
        };
        Ok(PyImage::new(py.detach(link)?))
    }

    fn __contains__(&self, name: &str) -> bool {
        let state = self.lock();
        self.visible(&state).any(|trace| trace.name == name)
    }

    fn __len__(&self) -> usize {
        let state = self.lock();
        self.visible(&state).count()
    }
}

impl PyLibrary {
    fn unknown(&self, state: &State, name: &str) -> PyErr {
        let known = self.visible(state).map(|t| t.name.as_str());
        Failure::unknown(name, known).into()
    }
}

/// A trace that is registered in a `TraceLibrary`.
#[pyclass(frozen, name = "RegisteredTrace", module = "accelflow._native")]
pub(crate) struct PyRegistered {
    inner: Registered,
}

#[pymethods]
impl PyRegistered {
    /// The trace's name.
    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    /// The trace's source, as it was registered.
    #[getter]
    fn nodes(&self) -> Vec<PyNode> {
        wrap(&self.inner.source)
    }

    /// Warnings about the trace, one sentence each.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.inner
            .warnings
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    /// The parts of the trace, each of which fits a 64-bit word, in order: (name, nodes).
    #[getter]
    fn parts(&self) -> Vec<(String, Vec<PyNode>)> {
        parts(&self.inner.parts)
    }

    fn __repr__(&self) -> String {
        format!("<RegisteredTrace {}>", self.inner.name)
    }
}

/// Returns warnings about the trace `nodes`. Raises TraceError if they are not a valid trace.
#[pyfunction]
pub(crate) fn trace_check(nodes: Vec<PyRef<'_, PyNode>>) -> PyResult<Vec<String>> {
    let warnings = check_trace(&unwrap(&nodes)?).map_err(Failure::from)?;
    Ok(warnings.iter().map(ToString::to_string).collect())
}

/// Returns the paper's traces T1 to T12: name, description in Table II, and source of each.
#[pyfunction]
pub(crate) fn trace_templates() -> PyResult<Vec<(&'static str, &'static str, Vec<PyNode>)>> {
    let library = templates().map_err(Failure::from)?;
    let source = |name| library.get(name).map_or(Vec::new(), |t| wrap(&t.source));
    let found = TEMPLATES
        .iter()
        .map(|template| (template.name, template.about, source(template.name)));
    Ok(found.collect())
}
