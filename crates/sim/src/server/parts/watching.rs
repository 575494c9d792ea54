//! The observer of a server, and the last state that it was shown.

use std::cell::RefCell;

use crate::server::observer::Observer;
use crate::server::state::{JobId, Unit};

/// An observer of one or more servers.
pub(crate) type Shared<'r> = RefCell<&'r mut (dyn Observer + 'r)>;

/// The observer of a server, and the last state that it was shown.
pub(crate) struct Watching<'r> {
    /// The number of the server.
    pub server: usize,
    /// The observer, which all servers of the run share.
    pub observer: &'r Shared<'r>,
    /// Whether it follows the hardware.
    pub follows: bool,
    /// The lengths of queues, in the order of `Engine::for_each_queue`. It grows in the first call.
    pub lengths: Vec<usize>,
    /// By core, the number of the task's start.
    pub tasks: Vec<Option<u32>>,
    /// By unit, the entry that its dispatcher handles.
    pub dispatched: Vec<Option<JobId>>,
    /// The accelerator instances or tenants' shares of them.
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
