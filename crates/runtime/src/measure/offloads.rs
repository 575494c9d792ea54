//! Measures three parameters of Accelerometer: o0 (setup) and L (transfer) of offloads to
//! accelerators that do nothing, and o1 (the switch between two threads).

use std::hint::black_box;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use accelflow_accel::{AccelError, Accelerator, Call, Ensemble, Job};
use accelflow_trace::{Accel, Image, Node, templates};

use super::error::MeasureError;
use crate::affinity::on_core;
use crate::connection::connection;
use crate::ensemble::{Notification, PoolSettings, Pools, TraceRequest};
use crate::outcome::{Conversation, Detail, Message};
use crate::peer::NoPeer;
use crate::processor_time::{nanoseconds, thread_time};
use crate::record::median::median;

/// How often the host looks for a response whose taking is measured.
const CHECK: Duration = Duration::from_micros(50);

/// A body that does nothing.
struct Nothing(Accel);

impl Accelerator for Nothing {
    fn kind(&self) -> Accel {
        self.0
    }

    fn run(&mut self, _: &mut Job) -> Result<(), AccelError> {
        Ok(())
    }
}

fn nothing() -> Result<Ensemble, AccelError> {
    let mut ensemble = Ensemble::with_cores(2)?;
    for accel in Accel::ALL {
        ensemble.replace(Box::new(Nothing(accel)));
    }
    Ok(ensemble)
}

/// An ensemble of worker threads on one core whose accelerators do nothing, so that the time of an
/// offload to them is pure overhead.
#[derive(Debug)]
pub struct NothingEnsemble {
    pools: Pools,
    image: Arc<Image>,
}

/// The cost of an offload to accelerators that do nothing: Accelerometer's parameters o0 (setup)
/// and L (transfer), in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OffloadCost {
    /// Accelerometer's parameter o0, in nanoseconds: the host's processor time to begin the offload
    /// and to take the result.
    pub setup_ns: f64,
    /// Accelerometer's parameter L, in nanoseconds: the time from the start of the offload until
    /// its result is there, minus o0.
    pub transfer_ns: f64,
}

fn name(chain: usize) -> String {
    format!("nothing{chain}")
}

impl NothingEnsemble {
    /// Starts the worker threads of accelerators that do nothing, on the core that the operating
    /// system numbers `core`. Each element of `chains` is a list of accelerators, and becomes a
    /// trace (program) that calls them one after another.
    ///
    /// # Errors
    /// [`MeasureError`] if threads cannot be started or bound to the core, or a chain is not a
    /// valid trace.
    pub fn start(core: usize, chains: &[&[Accel]]) -> Result<NothingEnsemble, MeasureError> {
        let mut library = templates().map_err(failed)?;
        for (number, chain) in chains.iter().enumerate() {
            let steps: Vec<Node> = chain.iter().map(|accel| Node::Accel(*accel)).collect();
            library.register(&name(number), steps).map_err(failed)?;
        }
        // Workers stay on the core of the thread that starts them.
        let pools = on_core(core, || Pools::start(PoolSettings::default(), nothing))??;
        Ok(NothingEnsemble {
            pools,
            image: Arc::new(library.link().map_err(failed)?),
        })
    }

    /// Offloads a chain of accelerators `calls` times from this thread, and returns the median
    /// costs. `chain` is the index of the chain in the argument `chains` of
    /// [`NothingEnsemble::start`].
    ///
    /// # Errors
    /// [`MeasureError`] for an index without a chain, and for a run that the ensemble refuses or
    /// that fails.
    pub fn cost(&self, chain: usize, calls: usize) -> Result<OffloadCost, MeasureError> {
        let make = || {
            let message = Message::json(&[], Call::None);
            let (_, session) = connection(0)?;
            Ok(TraceRequest {
                detail: Detail::Results,
                conversation: Conversation {
                    session,
                    caller: None,
                },
                ..TraceRequest::new(&name(chain), Vec::new(), &message, Box::new(NoPeer))
            })
        };
        let setup = setup_ns(&self.pools, &self.image, make, calls)?;
        let whole = round_trip_ns(&self.pools, &self.image, make, calls)?;
        Ok(OffloadCost {
            setup_ns: setup,
            transfer_ns: (whole - setup).max(0.0),
        })
    }
}

fn failed(error: impl std::fmt::Display) -> MeasureError {
    MeasureError::Trace(error.to_string())
}

/// Returns o0 in nanoseconds: this thread's processor time to begin an offload and to take its
/// result, while the accelerator is idle. It is the median over `calls` of the requests that `make`
/// returns.
///
/// # Errors
/// [`MeasureError::Trace`] for a run that the ensemble refuses or that fails; the errors of `make`.
fn setup_ns(
    pools: &Pools,
    image: &Arc<Image>,
    mut make: impl FnMut() -> Result<TraceRequest, AccelError>,
    calls: usize,
) -> Result<f64, MeasureError> {
    let mut samples = Vec::with_capacity(calls);
    for _ in 0..calls {
        let request = make()?;
        let before = thread_time();
        let begun = pools.enqueue(image, request);
        let begin = thread_time().saturating_sub(before);
        let handle = begun.map_err(|refused| failed(refused.why))?;
        handle.wait_by(Notification::Check(CHECK), None);
        let before = thread_time();
        let finished = handle.wait();
        let take = thread_time().saturating_sub(before);
        finished.result.map_err(|failure| failed(failure.error))?;
        samples.push(nanoseconds(begin + take));
    }
    // Each of the two intervals has one reading of the clock in it.
    let mut empty = Vec::with_capacity(calls);
    for _ in 0..calls {
        let before = thread_time();
        let spent = black_box(thread_time()).saturating_sub(before);
        empty.push(nanoseconds(spent));
    }
    Ok((median(&mut samples) - 2.0 * median(&mut empty)).max(0.0))
}

/// Returns the time of an offload on the clock in nanoseconds, for which this thread spins: the
/// median over `calls` of the requests that `make` returns.
///
/// # Errors
/// Those of [`setup_ns`].
fn round_trip_ns(
    pools: &Pools,
    image: &Arc<Image>,
    mut make: impl FnMut() -> Result<TraceRequest, AccelError>,
    calls: usize,
) -> Result<f64, MeasureError> {
    let mut samples = Vec::with_capacity(calls);
    for _ in 0..calls {
        let request = make()?;
        let begun = Instant::now();
        let run = pools.enqueue(image, request);
        let handle = run.map_err(|refused| failed(refused.why))?;
        handle.wait_by(Notification::Poll, None);
        let finished = handle.wait();
        let spent = begun.elapsed();
        finished.result.map_err(|failure| failed(failure.error))?;
        samples.push(nanoseconds(spent));
    }
    Ok(median(&mut samples))
}

/// Measures the time of a switch between two threads, which is Accelerometer's parameter o1.
/// Returns the median of `switches` switches in nanoseconds. This thread and a new thread wake each
/// other in turn. Both share a core if this thread is bound to one.
pub fn switch_ns(switches: usize) -> f64 {
    let turn = (Mutex::new(false), Condvar::new());
    let play = |mine: bool| {
        let (lock, changed) = &turn;
        let mut samples = Vec::with_capacity(switches);
        for _ in 0..switches {
            let begun = Instant::now();
            let mut now = lock.lock().unwrap_or_else(PoisonError::into_inner);
            while *now != mine {
                now = changed.wait(now).unwrap_or_else(PoisonError::into_inner);
            }
            *now = !mine;
            drop(now);
            changed.notify_one();
            samples.push(nanoseconds(begun.elapsed()) / 2.0);
        }
        samples
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| play(true));
        let mut samples = play(false);
        drop(other.join());
        median(&mut samples)
    })
}
