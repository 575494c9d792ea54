//! Records trails. A trail is the work for a request from its arrival to its response: application
//! logic, and the chains of traces that the handler starts.
//!
//! A server records a trail on the thread that calls a handler ([`follow`]). The code that runs
//! chains of traces for the handler adds them to the trail ([`add`]). Chains that run in parallel
//! on other threads are collected on those threads ([`collect`]), and then added to the trail as
//! one phase ([`add_parallel`]). Without a trail, nothing is recorded and no clock is read.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use accelflow_accel::{AccelError, Job};
use accelflow_trace::{Accel, Kind, Transform};

use crate::bodies::Bodies;
use crate::outcome::Step;
use crate::processor_time::{nanoseconds, thread_time};
use crate::terms::Terms;

/// The recorded times of a server's work on one request, as phases: application logic in the
/// request's handler, and chains of traces (programs of accelerator calls) that the handler starts.
/// The first and the last phase are application logic.
#[derive(Clone, Debug, Default)]
pub struct Trail {
    /// The phases of the work, in order of time.
    pub phases: Vec<TrailPhase>,
    /// The processor time of application logic on other threads, if it is known.
    other_threads_cpu: Option<Duration>,
}

impl Trail {
    /// Returns this trail with `spent` noted as the processor time of application logic on other
    /// threads, for instance of a coroutine.
    #[must_use]
    pub fn with_other_threads_cpu(self, spent: Duration) -> Trail {
        Trail {
            other_threads_cpu: Some(spent),
            ..self
        }
    }

    /// Completes the processor time of application logic. If that of other threads is known
    /// ([`Trail::with_other_threads_cpu`]), it is added to the last phase. Otherwise, if the
    /// handler has started no traces, `wall`, the handler's wall time, replaces the processor time:
    /// the handler may have let other threads work, whose processor time is not known.
    #[must_use]
    pub fn or_wall(mut self, wall: Duration) -> Trail {
        if let (Some(others), Some(TrailPhase::Cpu(spent))) =
            (self.other_threads_cpu, self.phases.last_mut())
        {
            *spent += others;
        } else if let [TrailPhase::Cpu(spent)] = self.phases.as_mut_slice() {
            *spent = wall;
        }
        self
    }
}

/// A phase of a server's work on a request: application logic, or chains of traces.
#[derive(Clone, Debug)]
pub enum TrailPhase {
    /// Application logic. Holds the processor time that the handler's thread has used.
    /// [`Trail::or_wall`] adds that of other threads, or replaces it by the handler's wall time.
    Cpu(Duration),
    /// One or several chains of traces. Several chains ran in parallel.
    Chains(Vec<TrailChain>),
}

/// A chain of traces that a request's handler has started, with its measured costs. A chain is a
/// trace (a program of accelerator calls) and all traces that follow it.
#[derive(Clone, Debug)]
pub struct TrailChain {
    /// The accelerator calls of the chain, in order.
    pub steps: Vec<Step>,
    /// The cost of each call in `steps`, in nanoseconds: the wall time in the accelerator's code,
    /// plus for TCP the processor time of the system calls.
    pub costs_ns: Vec<f64>,
    /// For each response: the name of the trace that received it, and the wall time that the chain
    /// waited for it.
    pub waits: Vec<(String, Duration)>,
}

/// The measured times of an exchange over a socket: sending a message, waiting, and receiving the
/// response.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exchange {
    /// The processor time of sending the message.
    pub send: Duration,
    /// The processor time of receiving the response.
    pub receive: Duration,
    /// The wait for the response: the wall time from the end of sending to the end of receiving,
    /// minus `receive`.
    pub wait: Duration,
}

/// A meter that measures [`Exchange`]s over sockets while it is switched on. At first it is off.
#[derive(Debug, Default)]
pub struct Exchanges(Option<Vec<Exchange>>);

impl Exchanges {
    /// Switches this meter on if `wanted`, else off. In both cases, discards the exchanges measured
    /// so far.
    pub fn note(&mut self, wanted: bool) {
        self.0 = wanted.then(Vec::new);
    }

    /// Returns the exchanges measured since the last [`Exchanges::note`], and switches the meter
    /// off.
    pub fn take(&mut self) -> Vec<Exchange> {
        self.0.take().unwrap_or_default()
    }

    /// Calls `send`, which sends a message over `socket`, and then `receive`, whose result is the
    /// response. Records the times of both as an [`Exchange`] if the meter is on and both succeed.
    ///
    /// # Errors
    /// The errors of `send` and `receive`.
    pub fn measure<S, T, E>(
        &mut self,
        socket: &mut S,
        send: impl FnOnce(&mut S) -> Result<(), E>,
        receive: impl FnOnce(&mut S) -> Result<T, E>,
    ) -> Result<T, E> {
        let Some(noted) = &mut self.0 else {
            send(socket)?;
            return receive(socket);
        };
        let start = thread_time();
        send(socket)?;
        let (sent, asked) = (thread_time(), Instant::now());
        let answer = receive(socket)?;
        let (waited, received) = (asked.elapsed(), thread_time());
        let receive = received.saturating_sub(sent);
        noted.push(Exchange {
            send: sent.saturating_sub(start),
            receive,
            wait: waited.saturating_sub(receive),
        });
        Ok(answer)
    }
}

impl TrailChain {
    /// Creates a chain from its accelerator calls `steps`, the cost of each in `costs_ns`, and
    /// `exchanges` (sent messages with their responses), all in order of time. Adds the processor
    /// times of the exchanges to the costs of the TCP calls that send and receive.
    pub fn new(steps: Vec<Step>, mut costs_ns: Vec<f64>, exchanges: &[Exchange]) -> TrailChain {
        let sends = |step: &&Step| step.accel == Accel::Tcp && !step.receives;
        let receives = |step: &&Step| step.accel == Accel::Tcp && step.receives;
        let mut add = |wanted: &dyn Fn(&&Step) -> bool, spent: &dyn Fn(&Exchange) -> Duration| {
            let places = steps.iter().enumerate().filter(|(_, step)| wanted(step));
            for ((place, _), exchange) in places.zip(exchanges) {
                if let Some(cost) = costs_ns.get_mut(place) {
                    *cost += nanoseconds(spent(exchange));
                }
            }
        };
        add(&sends, &|exchange| exchange.send);
        add(&receives, &|exchange| exchange.receive);
        let waits = steps.iter().filter(receives).zip(exchanges);
        let waits = waits.map(|(step, exchange)| (step.trace.clone(), exchange.wait));
        TrailChain {
            waits: waits.collect(),
            steps,
            costs_ns,
        }
    }
}

struct Open {
    trail: Trail,
    /// The thread's processor time when the current phase of application logic began.
    begun: Duration,
}

impl Open {
    fn new() -> Open {
        Open {
            trail: Trail::default(),
            begun: thread_time(),
        }
    }

    fn end_logic(&mut self) {
        let now = thread_time();
        let logic = now.saturating_sub(self.begun);
        self.trail.phases.push(TrailPhase::Cpu(logic));
    }
}

thread_local! {
    static OPEN: RefCell<Option<Open>> = const { RefCell::new(None) };
}

/// Whether this thread is recording a [`Trail`]: the times of a server's work on a request. If not,
/// callers need not measure.
pub fn is_open() -> bool {
    OPEN.with_borrow(Option::is_some)
}

/// Calls `work` and returns its result. If `wanted`, also records and returns a [`Trail`]: the
/// phases of application logic in `work`, and the chains that `work` passes to [`add`] and
/// [`add_parallel`], in order; otherwise `None`.
pub fn follow<T>(wanted: bool, work: impl FnOnce() -> T) -> (T, Option<Trail>) {
    if !wanted {
        return (work(), None);
    }
    let before = OPEN.replace(Some(Open::new()));
    let done = work();
    let open = OPEN.replace(before);
    let trail = open.map(|mut open| {
        open.end_logic();
        open.trail
    });
    (done, trail)
}

/// Notes the processor time `spent` of application logic on other threads in this thread's
/// [`Trail`], for [`Trail::or_wall`], instead of one noted before. Does nothing if this thread
/// records no trail.
pub fn set_other_threads_cpu(spent: Duration) {
    OPEN.with_borrow_mut(|open| {
        if let Some(open) = open {
            open.trail.other_threads_cpu = Some(spent);
        }
    });
}

/// Adds `chain` (traces that have just run) to this thread's [`Trail`] as a phase. The preceding
/// phase of application logic ends at `begun`, the [`thread_time`] at which the chain began. Does
/// nothing if this thread records no trail.
pub fn add(begun: Duration, chain: TrailChain) {
    add_phase(begun, vec![chain]);
}

/// Calls `work`, which runs one of several parallel chains of traces on this thread. Returns its
/// result. If `wanted`, also returns the chains that `work` passed to [`add`], for
/// [`add_parallel`]; otherwise an empty list.
pub fn collect<T>(wanted: bool, work: impl FnOnce() -> T) -> (T, Vec<TrailChain>) {
    let (done, trail) = follow(wanted, work);
    let phases = trail.unwrap_or_default().phases.into_iter();
    let chains = phases.flat_map(|phase| match phase {
        TrailPhase::Cpu(_) => Vec::new(),
        TrailPhase::Chains(chains) => chains,
    });
    (done, chains.collect())
}

/// Adds `chains`, which ran in parallel on other threads, to this thread's [`Trail`] as one phase.
/// `begun` is this thread's [`thread_time`] when they began. Does nothing if `chains` is empty, or
/// if this thread records no trail.
pub fn add_parallel(begun: Duration, chains: Vec<TrailChain>) {
    if !chains.is_empty() {
        add_phase(begun, chains);
    }
}

fn add_phase(begun: Duration, chains: Vec<TrailChain>) {
    OPEN.with_borrow_mut(|open| {
        let Some(open) = open else { return };
        let logic = begun.saturating_sub(open.begun);
        open.trail.phases.push(TrailPhase::Cpu(logic));
        open.trail.phases.push(TrailPhase::Chains(chains));
        open.begun = thread_time();
    });
}

/// A wrapper of the accelerators `B` with a clock. While the clock is on, the wrapper measures the
/// wall time of each successful accelerator call.
#[derive(Debug)]
pub struct Clocked<B> {
    inner: B,
    costs_ns: Option<Vec<f64>>,
}

impl<B> Clocked<B> {
    /// Wraps the accelerators `inner`, with the clock off.
    pub fn new(inner: B) -> Clocked<B> {
        Clocked {
            inner,
            costs_ns: None,
        }
    }

    /// The wrapped accelerators, so that the caller can change their settings.
    pub fn inner_mut(&mut self) -> &mut B {
        &mut self.inner
    }

    /// Switches the clock on if `wanted`, else off. Discards the times measured so far in both
    /// cases.
    pub fn note(&mut self, wanted: bool) {
        self.costs_ns = wanted.then(Vec::new);
    }

    /// Returns the wall time in nanoseconds of each successful accelerator call since the last
    /// [`Clocked::note`], and switches the clock off.
    pub fn take(&mut self) -> Vec<f64> {
        self.costs_ns.take().unwrap_or_default()
    }
}

impl<B: Bodies> Bodies for Clocked<B> {
    fn begin(&mut self, trace: &str, terms: Terms) {
        self.inner.begin(trace, terms);
    }

    fn forget(&mut self) {
        self.inner.forget();
    }

    fn run(&mut self, accel: Accel, job: &mut Job) -> Result<(), AccelError> {
        let Some(costs_ns) = &mut self.costs_ns else {
            return self.inner.run(accel, job);
        };
        let start = Instant::now();
        self.inner.run(accel, job)?;
        costs_ns.push(nanoseconds(start.elapsed()));
        Ok(())
    }

    fn run_own(&mut self, kind: &Kind, job: &mut Job) -> Result<(), AccelError> {
        let start = Instant::now();
        self.inner.run_own(kind, job)?;
        if let Some(costs_ns) = &mut self.costs_ns {
            costs_ns.push(nanoseconds(start.elapsed()));
        }
        Ok(())
    }

    fn transform(&mut self, step: Transform, job: &mut Job) -> Result<(), AccelError> {
        self.inner.transform(step, job)
    }
}
