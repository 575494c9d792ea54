//! The observer of a server, and what the observer was shown last.

use std::cell::RefCell;

use crate::server::observer::Observer;
use crate::server::state::{JobId, Unit};

/// An observer of one or more servers.
pub(crate) type Shared<'r> = RefCell<&'r mut (dyn Observer + 'r)>;

/// The observer of a server, and the last state that it was shown.
pub(crate) struct Watching<'r> {
    /// The ID of the server that is observed.
    pub server: usize,
    /// The observer, which all servers of the run share.
    pub observer: &'r Shared<'r>,
    /// Whether the observer gets the activities of the hardware in addition to the events of
    /// requests.
    pub follows: bool,
    /// For each queue, in the order of `Engine::for_each_queue`, the length that was last reported
    /// to the observer; empty before the first report.
    pub lengths: Vec<usize>,
    /// For each core, the task that was last reported to the observer, identified by how many tasks
    /// the core had started or resumed by then; `None` for an idle core.
    pub tasks: Vec<Option<u32>>,
    /// For each unit, in the order of `units`, the trace that its output dispatcher handled
    /// according to the last report to the observer; `None` for an idle dispatcher.
    pub dispatched: Vec<Option<JobId>>,
    /// The accelerator instances or, if tenants reserve shares of the instances, these shares.
    pub units: Vec<Unit>,
}

impl<'r> Watching<'r> {
    /// Makes the state for an observer that has been shown nothing yet, of a server with `cores`
    /// cores and with `units`.
    pub(crate) fn new(
        server: usize,
        observer: &'r Shared<'r>,
        cores: usize,
        units: Vec<Unit>,
    ) -> Watching<'r> {
        Watching {
            server,
            follows: observer.borrow().follows_hardware(),
            observer,
            lengths: Vec::new(),
            tasks: vec![None; cores],
            dispatched: vec![None; units.len()],
            units,
        }
    }
}
