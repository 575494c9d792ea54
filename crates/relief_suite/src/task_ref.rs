//! References to tasks of graphs in flight.

/// A task of one of the graphs in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TaskRef {
    /// The graph, numbered in order of arrival.
    pub(crate) graph: usize,
    /// The task's number in its graph.
    pub(crate) task: usize,
}
