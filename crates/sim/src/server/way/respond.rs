//! The response of a request, or its end without one.

use accelflow_units::Time;

use crate::server::engine::Engine;
use crate::server::observer::RequestEvent;
use crate::server::state::{JobId, RequestId};
use crate::stats::Breakdown;

impl Engine<'_> {
    /// Handles the end of an execution that sent a message. In the last phase that message is the
    /// response. A response with an error ends the path of the request with the current phase.
    pub(crate) fn respond_if_last(&mut self, sender: JobId, now: Time) {
        let job = self.jobs.get(sender);
        let (id, error, spent) = (job.request, job.next_step.error, job.path.spent);
        let chain = Some(usize::from(job.cursor.chain));
        let request = self.requests.get(id);
        if !error && !self.requests.is_last_phase(request) {
            return;
        }
        if !request.responded {
            self.show_request_continues(sender, now);
        }
        match error {
            true => self.fail(id, chain, &spent, now),
            false => self.respond(id, chain, &spent, now),
        }
    }

    /// The request is answered with an error, unless it had its response before, and its path ends
    /// with the current phase.
    pub(crate) fn fail(
        &mut self,
        id: RequestId,
        chain: Option<usize>,
        spent: &Breakdown,
        now: Time,
    ) {
        let request = self.requests.get_mut(id);
        request.terminated = true;
        let first = !request.responded;
        if first {
            self.measures.count_error(request);
        }
        self.respond(id, chain, spent, now);
    }

    /// The request has its response, unless it had it before: with the first message that its
    /// last phase sends, or with the end of that phase if it sends none.
    pub(crate) fn respond(
        &mut self,
        id: RequestId,
        chain: Option<usize>,
        spent: &Breakdown,
        now: Time,
    ) {
        let request = self.requests.get_mut(id);
        if std::mem::replace(&mut request.responded, true) {
            return;
        }
        let arrives = self.arrivals.continue_at(request.service);
        self.measures.count_response(request, spent, arrives, now);
        self.show(id, now, |engine| RequestEvent::Responded {
            error: engine.requests.get(id).terminated,
            chain,
        });
        self.answer_caller(id, now);
    }

    /// Terminates a request, since a message to its chain `chain` has not come. Without a response
    /// it has no response time.
    pub(crate) fn terminate(&mut self, id: RequestId, chain: u16, now: Time) {
        let request = self.requests.get_mut(id);
        request.terminated = true;
        if !std::mem::replace(&mut request.responded, true) {
            self.measures.count_timeout(request, now);
            self.show(id, now, |_| RequestEvent::Terminated {
                chain: usize::from(chain),
            });
        }
    }
}
