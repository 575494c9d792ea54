//! Registered traces: `TraceLibrary`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use accelflow_trace::{
    Image, Library, LinkError, Registered, Role, TEMPLATES, Warning, check, register_templates,
    templates,
};
use pyo3::prelude::*;

use super::failure::Failure;
use super::image::PyImage;
use super::node::{PyNode, parts, unwrap, wrap};

/// Named traces that may refer to one another in any order of registration.
///
/// Safe to use from several threads.
#[pyclass(frozen, name = "TraceLibrary", module = "accelflow._native")]
pub(crate) struct PyLibrary {
    inner: Mutex<State>,
}

struct State {
    library: Library,
    /// What it linked to, until it changes: runs ask for it again and again.
    linked: Option<Image>,
}

impl PyLibrary {
    /// No method leaves the library half changed, so a poisoned lock is still good.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PyLibrary {
    /// A library with or without the templates of the paper.
    #[new]
    #[pyo3(signature = (*, templates=true))]
    fn new(templates: bool) -> PyResult<PyLibrary> {
        let mut library = Library::new();
        if templates {
            register_templates(&mut library).map_err(Failure::from)?;
        }
        Ok(PyLibrary {
            inner: Mutex::new(State {
                library,
                linked: None,
            }),
        })
    }

    /// Checks `nodes`, adds them as `name` and returns what is unusual about them, in words.
    ///
    /// The same trace may be registered twice. Raises TraceError for an impossible trace and, if
    /// not `replace`, for a name that another trace has; the library is then as it was.
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
            // On a copy, for the trace stays if the new one is refused.
            let mut changed = state.library.clone();
            changed.remove(name);
            let words = words(changed.register(name, nodes).map_err(Failure::from)?);
            (state.library, state.linked) = (changed, None);
            return Ok(words);
        }
        let words = words(state.library.register(name, nodes).map_err(Failure::from)?);
        if known.is_none() {
            state.linked = None;
        }
        Ok(words)
    }

    /// Removes the trace called `name`; whether it was there.
    fn remove(&self, name: &str) -> bool {
        let mut state = self.lock();
        state.linked = None;
        state.library.remove(name)
    }

    /// The names of all traces, in the order of registration.
    fn names(&self) -> Vec<String> {
        let state = self.lock();
        let traces = state.library.traces().iter();
        traces.map(|t| t.name.clone()).collect()
    }

    /// The trace called `name`. Raises TraceError, with the names that there are, for another.
    fn get(&self, name: &str) -> PyResult<PyRegistered> {
        let state = self.lock();
        match state.library.get(name) {
            Some(found) => Ok(PyRegistered {
                inner: found.clone(),
            }),
            None => {
                let known = state.library.traces().iter().map(|t| t.name.as_str());
                Err(Failure::unknown(name, known).into())
            }
        }
    }

    /// Lays all traces out in a trace memory. Raises TraceError for a tail to nothing, a chain
    /// that never ends, too many conditions or a full memory.
    fn link(&self, py: Python<'_>) -> PyResult<PyImage> {
        let link = || {
            let mut state = self.lock();
            if let Some(image) = &state.linked {
                return Ok(image.clone());
            }
            let image = state.library.link()?;
            state.linked = Some(image.clone());
            Ok(image)
        };
        Ok(PyImage::new(
            py.detach(link)
                .map_err(|error: LinkError| Failure::from(error))?,
        ))
    }

    /// Lays out the trace called `name` and those that its tails lead to. Raises TraceError as
    /// link does, but only for what these say.
    fn link_from(&self, py: Python<'_>, name: &str) -> PyResult<PyImage> {
        let link = || self.lock().library.link_from(name);
        Ok(PyImage::new(
            py.detach(link)
                .map_err(|error: LinkError| Failure::from(error))?,
        ))
    }

    fn __contains__(&self, name: &str) -> bool {
        self.lock().library.get(name).is_some()
    }

    fn __len__(&self) -> usize {
        self.lock().library.traces().len()
    }
}

/// A trace of a library.
#[pyclass(frozen, name = "RegisteredTrace", module = "accelflow._native")]
pub(crate) struct PyRegistered {
    inner: Registered,
}

#[pymethods]
impl PyRegistered {
    /// The name.
    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    /// The source as registered.
    #[getter]
    fn nodes(&self) -> Vec<PyNode> {
        wrap(&self.inner.source)
    }

    /// What is unusual about it, in words.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.inner
            .warnings
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    /// The names and nodes of the pieces that fit a word each, the entry first.
    #[getter]
    fn parts(&self) -> Vec<(String, Vec<PyNode>)> {
        parts(&self.inner.parts)
    }

    fn __repr__(&self) -> String {
        format!("<RegisteredTrace {}>", self.inner.name)
    }
}

/// What is unusual about `nodes` as a trace, in words. Raises TraceError if they are none.
#[pyfunction]
pub(crate) fn trace_check(nodes: Vec<PyRef<'_, PyNode>>) -> PyResult<Vec<String>> {
    let warnings = check(&unwrap(&nodes)?, Role::Trace).map_err(Failure::from)?;
    Ok(warnings.iter().map(ToString::to_string).collect())
}

/// Name, what Table II says about it, and source of each template of the paper.
#[pyfunction]
pub(crate) fn trace_templates() -> PyResult<Vec<(&'static str, &'static str, Vec<PyNode>)>> {
    let library = templates().map_err(Failure::from)?;
    let source = |name| library.get(name).map_or(Vec::new(), |t| wrap(&t.source));
    let found = TEMPLATES
        .iter()
        .map(|template| (template.name, template.about, source(template.name)));
    Ok(found.collect())
}
