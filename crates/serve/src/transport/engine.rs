//! Executors of a client's traces. Traces run on the calling thread, or in an ensemble that the
//! executors share.

use std::sync::Arc;

use accelflow_accel::{AccelError, Ensemble};
use accelflow_runtime::trail::Clocked;
use accelflow_runtime::{
    Bodies, Conversation, Detail, Executor, Failure, Finished, Message, NoPeer, Outcome, Peer,
    PoolSettings, Pools, TraceRequest,
};
use accelflow_trace::Image;

use crate::config::{Execution, MAX_TIME_LIMIT};
use crate::error::ServeError;
use crate::observe::run::nanoseconds;
use crate::traces::bodies::{CustomBodies, Equipment};

/// Makes the software bodies of one executor.
pub(crate) type MakeEnsemble = dyn Fn() -> Result<Ensemble, AccelError> + Send + Sync;

/// Creates the executors that run one client's traces (programs of accelerator calls). All these
/// executors share the engine's factory of accelerators and, if configured, its ensemble: worker
/// threads for each accelerator.
pub struct Engine {
    make: Arc<MakeEnsemble>,
    pools: Option<Arc<Pools>>,
    /// The custom bodies of the ensemble's cores.
    equipment: Equipment,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("pools", &self.pools)
            .finish_non_exhaustive()
    }
}

impl Engine {
    /// Creates an engine that executes traces on the threads that `execution` selects. `make`
    /// creates a set of software accelerators; it is called for each executor and, with an
    /// ensemble, for the ensemble's workers. [`PoolSettings::response_timeout`] does not apply: a
    /// trace waits for a response as long as its peer does.
    ///
    /// # Errors
    /// [`ServeError::Pools`] if the ensemble cannot be started.
    pub fn new(
        execution: Execution,
        make: impl Fn() -> Result<Ensemble, AccelError> + Send + Sync + 'static,
    ) -> Result<Engine, ServeError> {
        let make: Arc<MakeEnsemble> = Arc::new(make);
        let equipment = Equipment::default();
        let pools = match execution {
            Execution::Inline => None,
            Execution::Ensemble(settings) => {
                let settings = PoolSettings {
                    // Exchanges of clients end with the time limits of their calls.
                    response_timeout: settings.response_timeout.max(MAX_TIME_LIMIT),
                    ..settings
                };
                let (bodies, equipment) = (make.clone(), equipment.clone());
                let bodies = move || {
                    let mut bodies = bodies()?;
                    equipment.equip(&mut bodies);
                    Ok(bodies)
                };
                Some(Arc::new(Pools::start(settings, bodies)?))
            }
        };
        Ok(Engine {
            make,
            pools,
            equipment,
        })
    }

    /// Returns the ensemble's worker pools; `None` if traces run on the calling thread.
    pub fn pools(&self) -> Option<Arc<Pools>> {
        self.pools.clone()
    }

    /// Creates an executor for the traces in the trace memory `image`, with the custom accelerators
    /// in `bodies`. `generation` is the number of times that the client has replaced its traces so
    /// far.
    ///
    /// # Errors
    /// The errors of the function `make` that was given to [`Engine::new`].
    pub fn executor(
        &self,
        image: &Image,
        bodies: &CustomBodies,
        generation: u64,
    ) -> Result<EngineExecutor, AccelError> {
        let mut own = Executor::new(Image::default(), Clocked::new((self.make)()?));
        own.set_detail(Detail::Results);
        let shared = self.pools.clone().map(|pools| Shared {
            pools,
            image: Arc::default(),
            equipment: self.equipment.clone(),
        });
        let mut executor = EngineExecutor {
            own,
            shared,
            noted: false,
            costs_ns: Vec::new(),
        };
        executor.set_image(image, bodies, generation);
        Ok(executor)
    }
}

/// An executor that runs a client's traces one after another. Each trace runs in the engine's
/// ensemble if there is one and its queues have room, otherwise on the calling thread.
#[derive(Debug)]
pub struct EngineExecutor {
    /// With the bodies of the calling thread.
    own: Executor<Clocked<Ensemble>>,
    shared: Option<Shared>,
    /// Whether steps and their costs are recorded.
    noted: bool,
    costs_ns: Vec<f64>,
}

/// The ensemble, and the traces in its form.
#[derive(Debug)]
struct Shared {
    pools: Arc<Pools>,
    image: Arc<Image>,
    equipment: Equipment,
}

impl EngineExecutor {
    /// Replaces the trace memory by `image`, and the implementations of the custom accelerators by
    /// `bodies`. `generation` is the number of replacements so far, including this one.
    pub fn set_image(&mut self, image: &Image, bodies: &CustomBodies, generation: u64) {
        self.own.set_image(image.clone());
        bodies.equip(self.own.bodies_mut().inner_mut());
        if let Some(shared) = &mut self.shared {
            shared.image = Arc::new(image.clone());
            if shared.equipment.replace(bodies, generation) {
                shared.pools.renew_cores();
            }
        }
    }

    /// Discards the data of earlier messages in this executor's nine accelerators; custom
    /// accelerators keep theirs. Call this before a run for another tenant. The workers of an
    /// ensemble discard such data by themselves.
    pub fn forget(&mut self) {
        self.own.bodies_mut().forget();
    }

    /// Switches the recording of the costs of accelerator calls on (if `wanted` is true) or off.
    /// Also discards all costs recorded so far. Recording is off at first.
    pub fn note(&mut self, wanted: bool) {
        self.noted = wanted;
        self.costs_ns.clear();
        self.own.bodies_mut().note(wanted);
        self.own.set_detail(self.detail());
    }

    /// Returns the costs of the accelerator calls since the last [`EngineExecutor::note`], in
    /// nanoseconds. Empty if costs are not recorded. Call [`EngineExecutor::note`] again before the
    /// next recorded run. In the ensemble, a cost is the processor time of the worker, without the
    /// wait in queues; on this thread, it is the wall time of the call.
    pub fn take_costs(&mut self) -> Vec<f64> {
        let mut costs_ns = std::mem::take(&mut self.costs_ns);
        costs_ns.extend(self.own.bodies_mut().take());
        costs_ns
    }

    /// Runs the trace `name` on `message`, like [`Executor::run`]. Exchanges of messages with
    /// `peer`, the other end of connections, take place on the calling thread.
    ///
    /// # Errors
    /// The errors of [`Executor::run`].
    pub fn run(
        &mut self,
        name: &str,
        message: &Message<'_>,
        conversation: &mut Conversation,
        peer: &mut dyn Peer,
    ) -> Result<Outcome, Box<Failure>> {
        self.run_on(name, message.bytes.to_vec(), message, conversation, peer)
    }

    /// Like [`EngineExecutor::run`], but takes the message's bytes from `payload` instead of
    /// `message`.
    ///
    /// # Errors
    /// The errors of [`Executor::run_on`].
    pub fn run_on(
        &mut self,
        name: &str,
        payload: Vec<u8>,
        message: &Message<'_>,
        conversation: &mut Conversation,
        peer: &mut dyn Peer,
    ) -> Result<Outcome, Box<Failure>> {
        let Some(shared) = &self.shared else {
            return self.own.run_on(name, payload, message, conversation, peer);
        };
        let request = TraceRequest {
            conversation: std::mem::take(conversation),
            detail: self.detail(),
            ..TraceRequest::new(name, payload, message, Box::new(NoPeer))
        };
        match shared.pools.run_with(&shared.image, request, peer) {
            Ok(Finished {
                result,
                conversation: returned,
            }) => {
                *conversation = returned;
                let mut outcome = result?;
                let times = std::mem::take(&mut outcome.times);
                let spent = times.into_iter().map(|time| nanoseconds(time.worked));
                self.costs_ns.extend(spent.filter(|_| self.noted));
                Ok(outcome)
            }
            Err(refused) => {
                // The ensemble has no room.
                let TraceRequest {
                    payload,
                    conversation: returned,
                    ..
                } = *refused.request;
                *conversation = returned;
                self.own.run_on(name, payload, message, conversation, peer)
            }
        }
    }

    fn detail(&self) -> Detail {
        match self.noted {
            true => Detail::Steps,
            false => Detail::Results,
        }
    }
}
