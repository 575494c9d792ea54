//! An executor that runs traces in the ensemble and blocks until they end.

use std::sync::Arc;

use accelflow_accel::{AccelError, Ensemble};
use accelflow_trace::Image;

use super::handle::Finished;
use super::pools::Pools;
use super::request::TraceRequest;
use crate::error::{Counters, Failure};
use crate::executor::Executor;
use crate::outcome::{Conversation, Detail, Message, Outcome};
use crate::peer::{NoPeer, Peer};
use crate::run_traces::RunTraces;

/// Runs traces (programs of accelerator calls) in an ensemble of worker threads ([`Pools`]), and
/// waits for the end of each run. If the ensemble refuses a run, for example because it has no
/// room, the calling thread runs the trace with its own software accelerators.
#[derive(Debug)]
pub struct PooledExecutor {
    pools: Arc<Pools>,
    image: Arc<Image>,
    core: Executor<Ensemble>,
    detail: Detail,
    counters: Counters,
}

impl PooledExecutor {
    /// Creates an executor that runs the traces in the trace memory `image` in the ensemble
    /// `pools`. If the ensemble refuses a run, the calling thread runs the trace on the software
    /// accelerators in `core`.
    pub fn new(pools: Arc<Pools>, image: Arc<Image>, core: Ensemble) -> PooledExecutor {
        PooledExecutor {
            core: Executor::new(image.clone(), core),
            pools,
            image,
            detail: Detail::default(),
            counters: Counters::default(),
        }
    }

    /// Creates an executor that runs the traces in the trace memory `image` in the ensemble
    /// `pools`. If the ensemble refuses a run, the calling thread runs the trace on its own
    /// software accelerators. This function creates them with the function `make` that
    /// [`Pools::start`] got.
    ///
    /// # Errors
    /// The errors of `make`.
    pub fn of(pools: Arc<Pools>, image: Arc<Image>) -> Result<PooledExecutor, AccelError> {
        let core = pools.make_bodies()?;
        Ok(PooledExecutor::new(pools, image, core))
    }

    /// Sets how much the [`Outcome`] of each run records. The default, [`Detail::Steps`], records
    /// everything.
    pub fn set_detail(&mut self, detail: Detail) {
        self.detail = detail;
        self.core.set_detail(detail);
    }

    /// The numbers of runs of traces by this executor so far: those completed, and those that
    /// failed for each reason. Runs on the calling thread are included.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Runs the trace `name` on `payload` until the trace, the traces that follow it (its tails)
    /// and all its forks (parallel arms) have ended. `message` describes the payload, but
    /// `message.bytes` is ignored.
    ///
    /// `peer` answers the messages that the run sends. If the peer's answers take time
    /// ([`Peer::waits`]), the calling thread calls the methods of `peer` while it waits for the
    /// run. Otherwise workers call them, and the calling thread waits as
    /// [`PoolSettings::notification`](super::PoolSettings::notification) states: for example
    /// asleep.
    ///
    /// # Errors
    /// The errors of [`Executor::run_on`].
    pub fn run_on(
        &mut self,
        name: &str,
        payload: Vec<u8>,
        message: &Message<'_>,
        conversation: &mut Conversation,
        peer: Box<dyn Peer + Send>,
    ) -> Result<Outcome, Box<Failure>> {
        let mut peer = peer;
        let request = TraceRequest {
            conversation: std::mem::take(conversation),
            detail: self.detail,
            ..TraceRequest::new(name, payload, message, Box::new(NoPeer))
        };
        let finished = match peer.waits() {
            true => {
                let run = self.pools.run_with(&self.image, request, &mut *peer);
                run.map_err(|mut refused| {
                    refused.request.peer = peer;
                    refused.request
                })
            }
            false => self.enqueue(TraceRequest { peer, ..request }),
        };
        let Finished {
            result,
            conversation: returned,
        } = finished.unwrap_or_else(|request| request.run_inline(&mut self.core));
        *conversation = returned;
        let ended = result.as_ref().map(|_| ());
        self.counters
            .count(ended.map_err(|failure| failure.error.reason));
        result
    }

    /// Runs a trace in the ensemble, or returns the request if the ensemble refuses it.
    fn enqueue(&self, request: TraceRequest) -> Result<Finished, Box<TraceRequest>> {
        match self.pools.enqueue(&self.image, request) {
            Ok(handle) => {
                handle.wait_by(self.pools.settings().notification, None);
                Ok(handle.wait())
            }
            Err(refused) => Err(refused.request),
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
