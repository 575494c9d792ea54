//! The blocking form of a run in the ensemble.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};

use accelflow_accel::{AccelError, Call, Ensemble, Session};
use accelflow_trace::Image;

use super::handle::{Finished, TraceHandle};
use super::pools::Pools;
use super::request::{Refused, TraceRequest};
use crate::error::{Counters, Failure};
use crate::executor::Executor;
use crate::outcome::{Conversation, Detail, Message, Outcome};
use crate::peer::{Peer, PeerError, Reply};
use crate::run_traces::RunTraces;

/// Runs traces in the ensemble and waits for each. If the ensemble has no room, the calling thread
/// does the work itself with bodies of its own.
#[derive(Debug)]
pub struct PooledExecutor {
    pools: Arc<Pools>,
    image: Arc<Image>,
    core: Executor<Ensemble>,
    detail: Detail,
    counters: Counters,
}

impl PooledExecutor {
    /// An executor of the traces of `image`; `core` are the calling thread's own bodies.
    pub fn new(pools: Arc<Pools>, image: Arc<Image>, core: Ensemble) -> PooledExecutor {
        PooledExecutor {
            core: Executor::new((*image).clone(), core),
            pools,
            image,
            detail: Detail::default(),
            counters: Counters::default(),
        }
    }

    /// As [`PooledExecutor::new`], with the bodies that the ensemble's own cores have.
    ///
    /// # Errors
    /// Those of the function that makes ensembles.
    pub fn of(pools: Arc<Pools>, image: Arc<Image>) -> Result<PooledExecutor, AccelError> {
        let core = pools.make_bodies()?;
        Ok(PooledExecutor::new(pools, image, core))
    }

    /// Sets how much outcomes contain. Default [`Detail::Steps`].
    pub fn set_detail(&mut self, detail: Detail) {
        self.detail = detail;
        self.core.set_detail(detail);
    }

    /// Counts of how runs have ended so far, those of the calling thread's included.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Runs the trace called `name` to the end of all its executions, tails included, and waits
    /// as the ensemble's settings say. Takes the bytes from `payload` instead of the message.
    ///
    /// # Errors
    /// As [`Executor::run_on`].
    pub fn run_on(
        &mut self,
        name: &str,
        payload: Vec<u8>,
        message: &Message<'_>,
        conversation: &mut Conversation,
        peer: Box<dyn Peer + Send>,
    ) -> Result<Outcome, Box<Failure>> {
        let (peer, exchanges) = match peer.waits() {
            true => here(peer),
            false => (peer, None),
        };
        let request = TraceRequest {
            conversation: std::mem::take(conversation),
            detail: self.detail,
            ..TraceRequest::new(name, payload, message, peer)
        };
        let Finished {
            result,
            conversation: returned,
        } = match self.pools.enqueue(&self.image, request) {
            Ok(handle) => {
                if let Some(exchanges) = exchanges {
                    exchanges.make_until(&handle);
                }
                handle.wait_by(self.pools.settings().notification, None);
                handle.wait()
            }
            Err(refused) => self.run_here(refused, message),
        };
        *conversation = returned;
        let ended = result.as_ref().map(|_| ());
        self.counters
            .count(ended.map_err(|failure| failure.error.reason));
        result
    }

    fn run_here(&mut self, refused: Refused, message: &Message<'_>) -> Finished {
        let TraceRequest {
            name,
            payload,
            mut conversation,
            mut peer,
            ..
        } = *refused.request;
        let core = &mut self.core;
        Finished {
            result: core.run_on(&name, payload, message, &mut conversation, &mut peer),
            conversation,
        }
    }
}

impl RunTraces for PooledExecutor {
    fn run_trace(
        &mut self,
        name: &str,
        message: &Message<'_>,
        conversation: &mut Conversation,
        peer: Box<dyn Peer + Send>,
    ) -> Result<Outcome, Box<Failure>> {
        self.run_on(name, message.bytes.to_vec(), message, conversation, peer)
    }
}

type SharedPeer = Arc<Mutex<Box<dyn Peer + Send>>>;

/// A peer whose responses the thread that waits for the run waits for as well.
struct Here {
    peer: SharedPeer,
    asks: Sender<Ask>,
}

/// What the waiting thread is asked for.
enum Ask {
    Exchange(Call, Vec<u8>, Reply),
    TakeBack(Call, Option<Session>),
    /// The run has ended.
    Nothing,
}

/// The exchanges that the waiting thread makes.
struct Exchanges {
    peer: SharedPeer,
    asks: Sender<Ask>,
    asked: Receiver<Ask>,
}

fn here(peer: Box<dyn Peer + Send>) -> (Box<dyn Peer + Send>, Option<Exchanges>) {
    let peer = Arc::new(Mutex::new(peer));
    let (asks, asked) = mpsc::channel();
    let here = Here {
        peer: peer.clone(),
        asks: asks.clone(),
    };
    (Box::new(here), Some(Exchanges { peer, asks, asked }))
}

impl Exchanges {
    /// Makes the exchanges that the run asks for, until it has ended.
    fn make_until(mut self, handle: &TraceHandle) {
        let asks = self.asks;
        handle.on_done(move || {
            // This thread has not gone before the end.
            let _ = asks.send(Ask::Nothing);
        });
        while let Ok(ask) = self.asked.recv() {
            match ask {
                Ask::Exchange(call, packets, reply) => {
                    reply.give(self.peer.exchange(&call, &packets));
                }
                Ask::TakeBack(call, session) => self.peer.take_back(&call, session),
                Ask::Nothing => return,
            }
        }
    }
}

impl Peer for Here {
    fn lend(&mut self, call: &Call) -> Result<Session, PeerError> {
        self.peer.lend(call)
    }

    fn take_back(&mut self, call: &Call, session: Option<Session>) {
        match self.peer.try_lock() {
            Ok(mut peer) => peer.take_back(call, session),
            // The run has failed, since the response that the other thread waits for is late.
            Err(_) => {
                let _ = self.asks.send(Ask::TakeBack(call.clone(), session));
            }
        }
    }

    fn exchange(&mut self, call: &Call, packets: &[u8]) -> Result<Vec<u8>, PeerError> {
        self.peer.exchange(call, packets)
    }

    fn begin_exchange(&mut self, call: &Call, packets: &[u8], reply: Reply) {
        // If nobody is asked any more, the reply tells so.
        let ask = Ask::Exchange(call.clone(), packets.to_vec(), reply);
        let _ = self.asks.send(ask);
    }
}
