//! The recorded requests of one gRPC connection, with their costs.

use std::cell::RefCell;
use std::mem::take;
use std::rc::Rc;
use std::sync::Arc;

use accelflow_runtime::trail::Trail;

use crate::observe::ledger::{Ledger, Tally, whole_steps};
use crate::observe::recorder::Recorder;
use crate::observe::run::TraceRun;

/// An answered request whose response has not been sent completely.
pub(crate) struct Answered {
    pub(crate) function: String,
    pub(crate) received: TraceRun,
    pub(crate) trail: Trail,
    pub(crate) sent: TraceRun,
    /// Whether Cmp compressed the response.
    pub(crate) compressed: bool,
    /// The costs of the request's records.
    pub(crate) records: Tally,
    /// The size of the response's message.
    pub(crate) bytes: usize,
}

/// The requests of one recorded connection.
pub(crate) struct Account {
    recorder: Arc<Recorder>,
    secure: bool,
    pub(crate) ledger: RefCell<Ledger>,
    answered: RefCell<Vec<Answered>>,
    /// The sizes of messages that were sent and are not recorded.
    unrecorded: RefCell<Vec<usize>>,
}

/// A message that is being sent and is not recorded. It is forgotten if this value is dropped before
/// the message was sent.
pub(crate) struct Unrecorded {
    account: Rc<Account>,
    bytes: usize,
}

impl Unrecorded {
    /// Notes that the whole message was passed to the HTTP/2 library.
    pub(crate) fn sent(mut self) {
        let bytes = take(&mut self.bytes);
        self.account.unrecorded.borrow_mut().push(bytes);
    }
}

impl Drop for Unrecorded {
    fn drop(&mut self) {
        self.account.ledger.borrow_mut().forget_sent(self.bytes);
    }
}

impl Account {
    pub(crate) fn new(recorder: Arc<Recorder>, secure: bool) -> Account {
        Account {
            recorder,
            secure,
            ledger: RefCell::default(),
            answered: RefCell::default(),
            unrecorded: RefCell::default(),
        }
    }

    /// Adds a request whose response was passed to the HTTP/2 library. It is recorded once its TLS
    /// records have been sent.
    pub(crate) fn answered(&self, request: Answered) {
        self.answered.borrow_mut().push(request);
    }

    /// Leaves a message of `bytes` that is about to be sent out of the records of other requests.
    pub(crate) fn sends_unrecorded(self: &Rc<Account>, bytes: usize) -> Unrecorded {
        self.ledger.borrow_mut().sends(bytes);
        Unrecorded {
            account: self.clone(),
            bytes,
        }
    }

    /// Records the answered requests, now that everything has been sent.
    pub(crate) fn settle(&self) {
        let mut ledger = self.ledger.borrow_mut();
        let recorded: usize = self
            .answered
            .borrow()
            .iter()
            .map(|request| request.bytes)
            .sum();
        let others: usize = self.unrecorded.borrow().iter().sum();
        // The library still has frames, which the next records will contain.
        if !ledger.has_sent(recorded + others) {
            return;
        }
        for bytes in self.unrecorded.borrow_mut().drain(..) {
            ledger.charge_sent(bytes);
        }
        for request in self.answered.borrow_mut().drain(..) {
            let records = ledger.charge_sent(request.bytes);
            self.keep(request, &records);
        }
    }

    fn keep(&self, request: Answered, records: &Tally) {
        let (mut received, mut sent) = (request.received, request.sent);
        let timed = |run: &TraceRun| run.costs_ns.len() == run.outcome.steps.len();
        if !timed(&received) || !timed(&sent) {
            // A core has done some of the work, which was not timed.
            return;
        }
        let whole = |run: &mut TraceRun, name, receives, records: &Tally| {
            let message = (&*run.outcome.steps, &*run.costs_ns);
            let (steps, costs) = whole_steps(name, receives, self.secure, records, message);
            run.outcome.steps = steps;
            run.costs_ns = costs;
        };
        let names = match (self.secure, request.compressed) {
            (true, false) => ("T1", "T2"),
            (true, true) => ("T1", "T3"),
            (false, false) => ("T1_plain", "T2_plain"),
            (false, true) => ("T1_plain", "T3_plain"),
        };
        whole(&mut received, names.0, true, &request.records);
        whole(&mut sent, names.1, false, records);
        // The thread also serves other streams, so its remaining time does not belong to this
        // request alone.
        self.recorder
            .keep(&request.function, &received, &request.trail, &sent, None);
    }
}
