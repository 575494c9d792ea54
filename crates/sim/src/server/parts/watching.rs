//! The observer of a server, and the last state that it was shown.

use std::cell::RefCell;

use crate::server::observer::Observer;
use crate::server::state::{JobId, Unit};

/// An observer of one or more servers.
pub(crate) type Shared<'r> = RefCell<&'r mut (dyn Observer + 'r)>;

/// The observer of a server, and the last state that it was shown.
pub(crate) struct Watching<'r> {
    /// The ID of the server.
    pub server: usize,
    /// The observer, which all servers of the run share.
    pub observer: &'r Shared<'r>,
    /// Whether the observer follows the hardware.
    pub follows: bool,
    /// The queue lengths that the observer was shown last, in the order of
    /// `Engine::for_each_queue`; empty before the first call.
    pub lengths: Vec<usize>,
    /// By core, the start number of the task that the observer was shown last; `None` for an idle
    /// core.
    pub tasks: Vec<Option<u32>>,
    /// By unit, the entry of its dispatcher that the observer was shown last; `None` for an idle
    /// dispatcher.
    pub dispatched: Vec<Option<JobId>>,
    /// The accelerator instances, or the tenants' shares of these instances.
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
