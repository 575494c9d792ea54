//! The ensemble of accelerators: its start, the admission of runs, and its shutdown.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use accelflow_accel::{AccelError, Ensemble};
use accelflow_trace::{Accel, Field, Image};
use accelflow_units::Time;

use super::cursor::{Cursor, Next};
use super::dispatcher::Dispatcher;
use super::ending::Ending;
use super::flow::{Flow, Run, Standing, Turn};
use super::handle::{Finished, Shared, TraceHandle};
use super::hub::{Hub, Observe};
use super::pace::Pace;
use super::request::{Busy, Refused, TraceRequest};
use super::settings::{PoolCounters, PoolError, PoolSettings};
use super::worker::{Alarm, give_up, watch, work, work_as_core};
use crate::affinity::{pin, usable_cores};
use crate::book::Book;
use crate::bookmark::{Bookmark, open_ahead};
use crate::error::unknown_trace;
use crate::execution::Execution;
use crate::outcome::Conversation;

/// The ensemble in software: the nine accelerators, each with queues and worker threads. A core (a
/// calling thread) begins a run of a trace, a program of accelerator calls. The worker threads then
/// pass the work from accelerator to accelerator without the core.
///
/// Dropping this value stops the workers: runs that wait for a response fail, and all other runs
/// are completed first.
pub struct Pools {
    dispatcher: Arc<Dispatcher>,
    alarm: Arc<Alarm>,
    threads: Vec<JoinHandle<()>>,
}

impl fmt::Debug for Pools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pools")
            .field("threads", &self.threads.len())
            .finish_non_exhaustive()
    }
}

impl Pools {
    /// Starts the worker threads of an ensemble. `make` creates the bodies of all accelerators: the
    /// software or the devices that do their work. It is called several times, since each worker
    /// has its own body, and again to replace a body that has panicked.
    ///
    /// # Errors
    /// [`PoolError`] for a setting out of range, and if `make` fails or a thread cannot be started.
    pub fn start(
        settings: PoolSettings,
        make: impl Fn() -> Result<Ensemble, AccelError> + Send + Sync + 'static,
    ) -> Result<Pools, PoolError> {
        Pools::launch(settings, Box::new(make), None)
    }

    /// Starts an ensemble like [`Pools::start`], and calls `observe` after each accelerator call,
    /// for example to collect latencies. The arguments of `observe` are the accelerator, its name
    /// if it is a custom one (else `None`), and the time from the call's arrival in the queue to
    /// the call's end.
    ///
    /// # Errors
    /// The errors of [`Pools::start`].
    pub fn start_observed(
        settings: PoolSettings,
        make: impl Fn() -> Result<Ensemble, AccelError> + Send + Sync + 'static,
        observe: impl Fn(Accel, Option<&str>, Duration) + Send + Sync + 'static,
    ) -> Result<Pools, PoolError> {
        Pools::launch(settings, Box::new(make), Some(Box::new(observe)))
    }

    fn launch(
        settings: PoolSettings,
        make: Box<super::hub::MakeEnsemble>,
        observe: Option<Box<Observe>>,
    ) -> Result<Pools, PoolError> {
        settings.check()?;
        let limits = make()?.limits();
        let dispatcher = Arc::new(Dispatcher {
            hub: Arc::new(Hub::new(settings, make, observe)),
            limits,
        });
        let mut pools = Pools {
            dispatcher,
            alarm: Arc::default(),
            threads: Vec::new(),
        };
        pools.start_workers(settings)?;
        let (hub, alarm) = (pools.dispatcher.hub.clone(), pools.alarm.clone());
        pools.spawn("parked".to_owned(), None, move || watch(&hub, &alarm))?;
        Ok(pools)
    }

    fn start_workers(&mut self, settings: PoolSettings) -> Result<(), PoolError> {
        let cores = match settings.pinned {
            true => usable_cores()?,
            false => Vec::new(),
        };
        let hub = self.dispatcher.hub.clone();
        let most = Accel::ALL.map(|accel| settings.workers_of(accel));
        let most = most.into_iter().max().unwrap_or(1);
        for number in 0..settings.instances * most {
            let (instance, element) = (number / most, number % most);
            for body in (hub.make)()?.into_bodies() {
                let accel = body.kind();
                if element >= settings.workers_of(accel) {
                    continue;
                }
                let own = hub.instances[accel.index()][instance].clone();
                let core = self.threads.len().checked_rem(cores.len());
                let dispatcher = self.dispatcher.clone();
                let name = format!("{accel}-{number}");
                self.spawn(name, core.map(|at| cores[at]), move || {
                    work(&own, element, body, &dispatcher);
                })?;
            }
        }
        for number in 0..settings.core_workers {
            let bodies = (hub.make)()?;
            let dispatcher = self.dispatcher.clone();
            self.spawn(format!("core-{number}"), None, move || {
                work_as_core(number, bodies, &dispatcher);
            })?;
        }
        Ok(())
    }

    fn spawn(
        &mut self,
        name: String,
        core: Option<usize>,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<(), PoolError> {
        let thread = thread::Builder::new().name(name).spawn(move || {
            // If the core is no longer usable, pinning fails and the worker runs on any core.
            let _ = core.map(pin);
            work();
        })?;
        self.threads.push(thread);
        Ok(())
    }

    /// Makes the threads that act as cores create new bodies (software accelerators) with the
    /// `make` of [`Pools::start`] before their next steps. Call this function when `make` returns
    /// other bodies than before. The accelerators' own workers keep their bodies.
    pub fn renew_cores(&self) {
        self.dispatcher.hub.renewals.fetch_add(1, Ordering::Release);
    }

    /// Creates the bodies of one worker.
    pub(super) fn make_bodies(&self) -> Result<Ensemble, AccelError> {
        (self.dispatcher.hub.make)()
    }

    /// The settings with which the ensemble was started.
    pub fn settings(&self) -> &PoolSettings {
        &self.dispatcher.hub.settings
    }

    /// The counters of each accelerator, in the order of [`Accel::ALL`].
    pub fn counters(&self) -> [PoolCounters; Accel::COUNT] {
        Accel::ALL.map(|accel| self.dispatcher.hub.counters(accel))
    }

    /// The number of accelerator calls that wait now in the input queues and overflow areas of each
    /// accelerator, in the order of [`Accel::ALL`].
    pub fn waiting(&self) -> [usize; Accel::COUNT] {
        let hub = &self.dispatcher.hub;
        let of = |accel: Accel| hub.instances[accel.index()].iter();
        Accel::ALL.map(|accel| of(accel).map(|instance| instance.station.waiting()).sum())
    }

    /// The number of runs that the ensemble has refused so far because their payloads were too
    /// small to offload ([`PoolSettings::least_bytes`]).
    pub fn too_small(&self) -> u64 {
        self.dispatcher.hub.too_small.load(Ordering::Relaxed)
    }

    /// The number of runs of traces that are in progress in the ensemble.
    pub fn running(&self) -> usize {
        self.dispatcher.hub.runs.running()
    }

    /// Begins a run of a trace in the ensemble, and returns at once with a handle to wait for the
    /// end (the paper's instruction `Enqueue`). `request` names the trace, which is in the trace
    /// memory `image`. The calling thread does only the work before the first accelerator.
    ///
    /// # Errors
    /// [`Refused`], which gives the request back, if there is no room, a limit of runs is reached,
    /// the payload is too small to offload, or the ensemble shuts down ([`Busy`]). An unknown trace
    /// and the failure of a run that has begun are not errors here: the handle returns them.
    pub fn enqueue(
        &self,
        image: &Arc<Image>,
        request: TraceRequest,
    ) -> Result<TraceHandle, Refused> {
        self.begin(image, request, Dispatcher::dispatch)
    }

    /// Like [`Pools::enqueue`]; `start` moves the first execution on.
    pub(super) fn begin(
        &self,
        image: &Arc<Image>,
        request: TraceRequest,
        start: impl FnOnce(&Dispatcher, Box<Flow>),
    ) -> Result<TraceHandle, Refused> {
        let shared = Arc::<Shared>::default();
        let handle = TraceHandle::new(shared.clone());
        let Some(cursor) = Cursor::at(image, &request.name) else {
            shared.finish(Finished {
                result: Err(Box::new(unknown_trace(&request.name, image))),
                conversation: request.conversation,
            });
            return Ok(handle);
        };
        let hub = &self.dispatcher.hub;
        let (bytes, least) = (request.payload.len(), hub.settings.least_bytes);
        let running = match first_accel(cursor, image) {
            _ if bytes < least => {
                hub.too_small.fetch_add(1, Ordering::Relaxed);
                Err(Busy::Small { bytes, least })
            }
            Some(accel) if !hub.has_room(accel) => Err(Busy::Queue(accel)),
            _ => hub.runs.begin(request.terms.tenant),
        };
        match running {
            Ok(running) => {
                let known = hub.traces.clone();
                let mark = Bookmark::of(&request.conversation.session);
                let name = request.name.clone();
                let ending = Ending::new(name, mark, shared.clone(), known, running);
                let flow = self.flow(image, request, cursor, (shared, ending));
                start(&self.dispatcher, Box::new(flow));
                Ok(handle)
            }
            Err(why) => Err(Refused {
                why,
                request: Box::new(request),
            }),
        }
    }

    fn flow(
        &self,
        image: &Arc<Image>,
        request: TraceRequest,
        cursor: Cursor,
        (shared, ending): (Arc<Shared>, Ending),
    ) -> Flow {
        let hub = &self.dispatcher.hub;
        let message = request.message();
        let TraceRequest {
            name,
            payload,
            mut conversation,
            peer,
            ..
        } = request;
        let payload = open_ahead(&mut conversation.session, payload, message.opened);
        let session = std::mem::take(&mut conversation.session);
        Flow {
            execution: Execution::first(payload, &message, session),
            cursor,
            standing: Standing::InTurn(Box::new(Turn {
                book: Book::new(peer, Box::<Conversation>::new(conversation), request.detail),
                queue: std::collections::VecDeque::new(),
                work: Time::ZERO,
                ending,
            })),
            pace: Pace::begin(&name, message.terms.due, hub.epoch, &hub.traces),
            call: None,
            run: Arc::new(Run {
                image: image.clone(),
                detail: request.detail,
                terms: message.terms,
                early: request.early,
                shared,
                ahead: AtomicUsize::new(0),
            }),
        }
    }
}

/// The first accelerator of a trace; `None` if it depends on the payload.
pub(super) fn first_accel(mut cursor: Cursor, image: &Image) -> Option<Accel> {
    let unknown = |_: Field<'_>| None;
    loop {
        let (next, behind) = cursor.next(image, &unknown).ok()?;
        match next {
            Next::Enter | Next::Transform(_) => cursor = behind,
            Next::Call { accel, .. } => return Some(accel),
            Next::Fork { .. } | Next::Join | Next::Notify => return None,
        }
    }
}

impl Drop for Pools {
    fn drop(&mut self) {
        let hub = &self.dispatcher.hub;
        hub.runs.close();
        self.alarm.end();
        while hub.runs.running() > 0 {
            // A run in progress may still start to wait for a response.
            give_up(hub, |_| true, "the peer before the ensemble was shut down");
            hub.runs.wait_for_none(Duration::from_millis(10));
        }
        for instance in hub.instances.iter().flatten() {
            instance.station.close();
        }
        hub.core.close();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
