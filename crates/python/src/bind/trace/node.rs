//! `TraceNode`: the nodes of a trace's source, and the functions that make nodes.

use std::sync::Arc;

use accelflow_parameters::Refusal;
use accelflow_trace::limits::{MAX_DEPTH, MAX_NODES};
use accelflow_trace::source::{self, Node, Nodes};
use accelflow_trace::{CheckError, Directions, FactType, Kind, Part, text};
use pyo3::prelude::*;

use super::failure::Failure;

/// One element of a trace's source: a call, a branch, a fork, a tail, ... Immutable.
///
/// The functions of `accelflow.trace` create nodes. An attribute that does not apply to a kind of
/// node is None, or an empty list for `arms`.
#[pyclass(frozen, eq, hash, name = "TraceNode", module = "accelflow._native")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct PyNode {
    inner: Node,
    nodes: usize,
    depth: usize,
}

impl PyNode {
    /// The declaration of a custom accelerator.
    pub(crate) fn own(&self) -> Option<&Arc<Kind>> {
        match &self.inner {
            Node::Kind(kind) => Some(kind),
            _ => None,
        }
    }

    /// Wraps a node that is known to be within the limits, such as one from a library.
    pub(crate) fn wrap(inner: &Node) -> PyNode {
        let arms = arms(inner);
        let inside = arms.iter().flat_map(|arm| arm.iter()).map(PyNode::wrap);
        let (nodes, below) = inside.fold((1, 0), |(nodes, below), node| {
            (nodes + node.nodes, below.max(node.depth))
        });
        PyNode {
            inner: inner.clone(),
            nodes,
            depth: below + usize::from(!arms.is_empty()),
        }
    }

    /// Wraps a node around `inside`. The limits apply here too, and not only to whole traces, since
    /// recursion over any node must be bounded.
    fn around(inner: Node, inside: &[PyRef<'_, PyNode>]) -> Result<PyNode, Failure> {
        let nodes = 1 + total(inside);
        let depth = 1 + inside.iter().map(|node| node.depth).max().unwrap_or(0);
        if depth > MAX_DEPTH {
            return Err(CheckError::TooDeep.into());
        }
        Ok(PyNode {
            inner,
            nodes,
            depth,
        })
    }
}

fn total(nodes: &[PyRef<'_, PyNode>]) -> usize {
    nodes.iter().map(|node| node.nodes).sum()
}

fn limit(nodes: &[PyRef<'_, PyNode>]) -> Result<(), Failure> {
    match total(nodes) {
        total if total > MAX_NODES => Err(CheckError::TooLong(total).into()),
        _ => Ok(()),
    }
}

fn arms(node: &Node) -> Vec<&Nodes> {
    match node {
        Node::Branch {
            on_true, on_false, ..
        } => vec![on_true, on_false],
        Node::Fork(arms) | Node::Join(arms) => arms.iter().collect(),
        _ => Vec::new(),
    }
}

/// The nodes of a Python sequence.
///
/// # Errors
/// More nodes than a trace may have.
pub(crate) fn unwrap(nodes: &[PyRef<'_, PyNode>]) -> Result<Nodes, Failure> {
    limit(nodes)?;
    Ok(nodes.iter().map(|node| node.inner.clone()).collect())
}

/// Nodes as Python objects.
pub(crate) fn wrap(nodes: &[Node]) -> Vec<PyNode> {
    nodes.iter().map(PyNode::wrap).collect()
}

#[pymethods]
impl PyNode {
    /// The kind of node: accelerator, branch, trans, fork, join, meet, tail, continue or notify.
    ///
    /// `trans` is a change of the payload's format, `meet` the point where the arms of a join meet,
    /// `continue` the load of another word of a long trace.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.inner {
            Node::Accel(_) | Node::Kind(_) => "accelerator",
            Node::Branch { .. } => "branch",
            Node::Transform(_) => "trans",
            Node::Fork(_) => "fork",
            Node::Join(_) => "join",
            Node::Meet => "meet",
            Node::Tail(_) => "tail",
            Node::Continue(_) => "continue",
            Node::Notify => "notify",
        }
    }

    /// The name of the called accelerator, or of what a tail or a continue leads to.
    ///
    /// A tail leads to a trace, a continue to another word of a long trace, such as NAME.1.
    #[getter]
    pub(crate) fn name(&self) -> Option<&str> {
        match &self.inner {
            Node::Accel(accel) => Some(accel.name()),
            Node::Kind(kind) => Some(kind.name()),
            Node::Tail(name) | Node::Continue(name) => Some(name),
            _ => None,
        }
    }

    /// The declaration of the custom accelerator that is called, in the language of traces.
    #[getter]
    fn declaration(&self) -> Option<String> {
        match &self.inner {
            Node::Kind(kind) => Some(kind.to_string()),
            _ => None,
        }
    }

    /// The condition of a branch, as text in its normal form.
    #[getter]
    fn condition(&self) -> Option<String> {
        match &self.inner {
            Node::Branch { condition, .. } => Some(condition.to_string()),
            _ => None,
        }
    }

    /// The outcome of a branch that the trace's author expects; None if not stated.
    #[getter]
    fn likely(&self) -> Option<bool> {
        match self.inner {
            Node::Branch { likely, .. } => likely,
            _ => None,
        }
    }

    /// The true and the false arm of a branch, or the arms of a fork or join.
    #[getter]
    fn arms(&self) -> Vec<Vec<PyNode>> {
        arms(&self.inner).into_iter().map(|arm| wrap(arm)).collect()
    }

    /// The payload's format before a transformation.
    #[getter]
    fn src(&self) -> Option<&'static str> {
        match self.inner {
            Node::Transform(change) => Some(change.src.name()),
            _ => None,
        }
    }

    /// The payload's format after a transformation.
    #[getter]
    fn dst(&self) -> Option<&'static str> {
        match self.inner {
            Node::Transform(change) => Some(change.dst.name()),
            _ => None,
        }
    }

    fn __repr__(&self) -> String {
        let listing = source::listing(std::slice::from_ref(&self.inner));
        let mut lines = listing.lines();
        let first = lines.next().unwrap_or_default();
        let more = if lines.next().is_some() { " ..." } else { "" };
        format!("<TraceNode {first}{more}>")
    }
}

/// Returns a call of the accelerator `name`. Raises TraceError if it is not one of the nine.
#[pyfunction]
pub(crate) fn trace_accel(name: &str) -> PyResult<PyNode> {
    let node = source::accel(name).map_err(Failure::from)?;
    Ok(PyNode::wrap(&node))
}

/// Declares a custom accelerator, and returns a call of it.
///
/// The accelerator processes messages of `directions` (both, receives or sends). It yields facts,
/// which branches can test, each a name and a type (number or text). Raises TraceError for an
/// invalid declaration.
#[pyfunction]
pub(crate) fn trace_kind(
    name: &str,
    directions: &str,
    yields: Vec<(String, String)>,
) -> PyResult<PyNode> {
    let unknown = |refusal: Refusal| Failure::new("bad_kind", refusal.within(name));
    let mut all = Directions::ALL.into_iter();
    let found = all.find(|known| known.name() == directions);
    let directions = found.ok_or_else(|| {
        let known = Directions::ALL.map(Directions::name);
        unknown(Refusal::unknown("directions", directions, known))
    })?;
    let facts = yields.into_iter().map(|(fact, of)| {
        let found = FactType::ALL.into_iter().find(|known| known.name() == of);
        let found = found.ok_or_else(|| {
            let known = FactType::ALL.map(FactType::name);
            unknown(Refusal::unknown(format!("yields.{fact}"), &of, known))
        })?;
        Ok((fact, found))
    });
    let facts = facts.collect::<Result<Vec<_>, Failure>>()?;
    let kind = Kind::new(name, directions, facts).map_err(Failure::from)?;
    Ok(PyNode::wrap(&Node::Kind(Arc::new(kind))))
}

/// Returns the declarations of the custom accelerators that `nodes` call, one per line.
#[pyfunction]
pub(crate) fn trace_declarations(nodes: Vec<PyRef<'_, PyNode>>) -> PyResult<String> {
    let nodes = unwrap(&nodes)?;
    Ok(text::declarations([nodes.as_slice()]).map_err(Failure::from)?)
}

/// Returns a branch: if `condition` holds for the payload, `on_true` runs, otherwise `on_false`.
///
/// `likely` is the outcome that the author expects. Raises TraceError, with the position of the
/// offending character, for a condition that does not parse or type-check.
#[pyfunction]
#[pyo3(signature = (condition, on_true, on_false, likely=None))]
pub(crate) fn trace_branch(
    condition: &str,
    on_true: Vec<PyRef<'_, PyNode>>,
    on_false: Vec<PyRef<'_, PyNode>>,
    likely: Option<bool>,
) -> PyResult<PyNode> {
    let mut node =
        source::branch(condition, unwrap(&on_true)?, unwrap(&on_false)?).map_err(Failure::from)?;
    if let Some(outcome) = likely {
        node = node.expecting(outcome);
    }
    let inside: Vec<_> = on_true.into_iter().chain(on_false).collect();
    limit(&inside)?;
    Ok(PyNode::around(node, &inside)?)
}

/// Returns a transformation of the payload from the format `src` to the format `dst`.
///
/// Raises TraceError for an unknown format, and if `src` and `dst` are equal.
#[pyfunction]
pub(crate) fn trace_trans(src: &str, dst: &str) -> PyResult<PyNode> {
    let node = source::trans(src, dst).map_err(Failure::from)?;
    Ok(PyNode::wrap(&node))
}

/// Returns a fork: the traces in `arms` run in parallel, each to its own end.
#[pyfunction]
pub(crate) fn trace_fork(arms: Vec<Vec<PyRef<'_, PyNode>>>) -> PyResult<PyNode> {
    parallel(arms, source::fork)
}

/// Returns a join: the traces in `arms` run in parallel, then the next node runs.
#[pyfunction]
pub(crate) fn trace_join(arms: Vec<Vec<PyRef<'_, PyNode>>>) -> PyResult<PyNode> {
    parallel(arms, source::join)
}

fn parallel(
    arms: Vec<Vec<PyRef<'_, PyNode>>>,
    of: impl FnOnce(Vec<Nodes>) -> Node,
) -> PyResult<PyNode> {
    let unwrapped = arms
        .iter()
        .map(|arm| unwrap(arm))
        .collect::<Result<_, _>>()?;
    let inside: Vec<_> = arms.into_iter().flatten().collect();
    limit(&inside)?;
    Ok(PyNode::around(of(unwrapped), &inside)?)
}

/// Returns the end of a trace after which the trace called `name` runs.
#[pyfunction]
pub(crate) fn trace_tail(name: &str) -> PyNode {
    PyNode::wrap(&source::tail(name))
}

/// Returns the end of a trace that notifies the core.
#[pyfunction]
pub(crate) fn trace_notify() -> PyNode {
    PyNode::wrap(&Node::Notify)
}

/// Returns the source text of `nodes`, in the language of traces.
#[pyfunction]
pub(crate) fn trace_listing(nodes: Vec<PyRef<'_, PyNode>>) -> PyResult<String> {
    Ok(source::listing(&unwrap(&nodes)?))
}

/// The name and the nodes of each part of a trace.
pub(crate) fn parts(parts: &[Part]) -> Vec<(String, Vec<PyNode>)> {
    let pair = |part: &Part| (part.name.clone(), wrap(&part.nodes));
    parts.iter().map(pair).collect()
}
