//! The recorded requests of one HTTP/2 connection.

use std::cell::RefCell;
use std::sync::Arc;

use accelflow_runtime::trail::Trail;

use crate::observe::ledger::{Ledger, Tally, whole_steps};
use crate::observe::recorder::Recorder;
use crate::observe::run::TraceRun;

/// A request that is answered, whose response's records have not all been sent.
pub(crate) struct Answered {
    pub(crate) function: String,
    pub(crate) received: TraceRun,
    pub(crate) trail: Trail,
    pub(crate) sent: TraceRun,
    /// Whether Cmp took part.
    pub(crate) compressed: bool,
    /// What the records of the request cost.
    pub(crate) records: Tally,
    /// The size of the response's message.
    pub(crate) bytes: usize,
}

/// The requests of one connection of a server that records.
pub(crate) struct Account {
    recorder: Arc<Recorder>,
    secure: bool,
    pub(crate) ledger: RefCell<Ledger>,
    answered: RefCell<Vec<Answered>>,
}

impl Account {
    pub(crate) fn new(recorder: Arc<Recorder>, secure: bool) -> Account {
        Account {
            recorder,
            secure,
            ledger: RefCell::default(),
            answered: RefCell::default(),
        }
    }

    /// A response is with the library; it counts once its records have been sent.
    pub(crate) fn answered(&self, request: Answered) {
        self.answered.borrow_mut().push(request);
    }

    /// Everything that was to be sent has been: keeps the requests that were answered with it.
    pub(crate) fn settle(&self) {
        let mut ledger = self.ledger.borrow_mut();
        let waiting: usize = self
            .answered
            .borrow()
            .iter()
            .map(|request| request.bytes)
            .sum();
        // Frames that are still with the library come with the next records.
        if !ledger.has_sent(waiting) {
            return;
        }
        for request in self.answered.borrow_mut().drain(..) {
            let records = ledger.charge_sent(request.bytes);
            self.keep(request, &records);
        }
    }

    fn keep(&self, request: Answered, records: &Tally) {
        let (mut received, mut sent) = (request.received, request.sent);
        let timed = |ran: &TraceRun| ran.costs_ns.len() == ran.outcome.steps.len();
        if !timed(&received) || !timed(&sent) {
            // A core has done some of the work, untimed.
            return;
        }
        let whole = |ran: &mut TraceRun, name, receives, records: &Tally| {
            let message = (&*ran.outcome.steps, &*ran.costs_ns);
            let (steps, costs) = whole_steps(name, receives, self.secure, records, message);
            ran.outcome.steps = steps;
            ran.costs_ns = costs;
        };
        let names = match (self.secure, request.compressed) {
            (true, false) => ("T1", "T2"),
            (true, true) => ("T1", "T3"),
            (false, false) => ("T1_plain", "T2_plain"),
            (false, true) => ("T1_plain", "T3_plain"),
        };
        whole(&mut received, names.0, true, &request.records);
        whole(&mut sent, names.1, false, records);
        self.recorder
            .keep(&request.function, &received, &request.trail, &sent);
    }
}
