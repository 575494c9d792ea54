//! Runs of traces that borrow a peer from the thread that waits for the run.
//!
//! The waiting thread makes all calls to the peer for the run. So the peer may block, and need not
//! outlive the call that runs the trace.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

use accelflow_accel::{Call, Session};
use accelflow_trace::{Accel, Image};

use super::dispatcher::Dispatcher;
use super::flow::Flow;
use super::handle::Finished;
use super::pools::{Pools, first_accel};
use super::request::{Refused, TraceRequest};
use crate::peer::{Peer, PeerError, Reply};

/// A request from a run to the thread that waits for it.
enum Ask {
    Lend(Call, Sender<Result<Session, PeerError>>),
    TakeBack(Call, Option<Session>),
    Exchange(Call, Vec<u8>, Reply),
    /// The run has ended.
    Nothing,
}

/// A peer that forwards its calls to the waiting thread, which has the real peer.
struct Lent(Sender<Ask>);

impl Pools {
    /// Runs a trace in the ensemble, and waits for the end of the run. `request` names the trace,
    /// which is in the trace memory `image`. `peer`, which answers the run's messages, replaces the
    /// request's own peer. Only the calling thread calls the methods of `peer`, so these methods
    /// may block.
    ///
    /// # Errors
    /// The errors of [`Pools::enqueue`]. The request in [`Refused::request`] then no longer has the
    /// peer with which it was created.
    pub fn run_with(
        &self,
        image: &Arc<Image>,
        request: TraceRequest,
        peer: &mut dyn Peer,
    ) -> Result<Finished, Refused> {
        let (asks, asked) = mpsc::channel();
        let request = TraceRequest {
            peer: Box::new(Lent(asks.clone())),
            ..request
        };
        let handle = self.begin(image, request, start)?;
        handle.on_done(move || {
            // The receiver exists until the end of the run.
            let _ = asks.send(Ask::Nothing);
        });
        answer(&asked, peer);
        Ok(handle.wait())
    }
}

/// Moves the first execution on: on this thread, unless it may at once ask this thread for a
/// connection.
fn start(dispatcher: &Dispatcher, flow: Box<Flow>) {
    match first_accel(flow.cursor, &flow.run.image) {
        None | Some(Accel::Tcp | Accel::Encr) => dispatcher.hub.begin_on_core(flow),
        Some(_) => dispatcher.dispatch(flow),
    }
}

/// Serves the run's requests to `peer` until the run has ended.
fn answer(asked: &Receiver<Ask>, peer: &mut dyn Peer) {
    while let Ok(ask) = asked.recv() {
        match ask {
            Ask::Lend(call, to) => {
                if let Err(unheard) = to.send(peer.lend(&call)) {
                    peer.take_back(&call, unheard.0.ok());
                }
            }
            Ask::TakeBack(call, session) => peer.take_back(&call, session),
            Ask::Exchange(call, packets, reply) => reply.give(peer.exchange(&call, &packets)),
            Ask::Nothing => return,
        }
    }
}

impl Peer for Lent {
    fn lend(&mut self, call: &Call) -> Result<Session, PeerError> {
        let (to, lent) = mpsc::channel();
        let asked = self.0.send(Ask::Lend(call.clone(), to));
        let lent = asked.ok().and_then(|()| lent.recv().ok());
        lent.unwrap_or(Err(PeerError::Dropped))
    }

    fn take_back(&mut self, call: &Call, session: Option<Session>) {
        // If the other thread is gone, its peer is gone as well.
        let _ = self.0.send(Ask::TakeBack(call.clone(), session));
    }

    fn exchange(&mut self, call: &Call, packets: &[u8]) -> Result<Vec<u8>, PeerError> {
        let (to, answered) = mpsc::channel();
        let reply = Reply::new(move |response| {
            let _ = to.send(response);
        });
        self.begin_exchange(call, packets, reply);
        answered.recv().unwrap_or(Err(PeerError::Dropped))
    }

    fn begin_exchange(&mut self, call: &Call, packets: &[u8], reply: Reply) {
        // If the other thread is gone, the reply is dropped, which reports the failure.
        let _ = self
            .0
            .send(Ask::Exchange(call.clone(), packets.to_vec(), reply));
    }
}
