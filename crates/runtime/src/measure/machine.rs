//! Measurements of software accelerators, offloads and thread switches on this machine, in rounds.

use accelflow_trace::Accel;

use super::bodies::{self, SIZES};
use super::error::MeasureError;
use super::offloads::{NothingEnsemble, switch_ns};
use crate::affinity::{on_core, usable_cores};

/// Options of [`measure`] and [`measure_chains`]: the number of rounds, and the number of calls in
/// a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasureOptions {
    /// The number of rounds, at least 1. Each round gives one value of every measured time.
    pub rounds: u32,
    /// The number of samples of each time in a round, such as calls of an accelerator, offloads or
    /// thread switches; at least 1. Their median is the round's value.
    pub calls: u32,
}

impl Default for MeasureOptions {
    fn default() -> MeasureOptions {
        MeasureOptions {
            rounds: 15,
            calls: 60,
        }
    }
}

/// The measured times of one software accelerator for messages of one size: one value for each
/// round of [`measure`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SizeTimes {
    /// The size of the accelerator's input, in bytes.
    pub input_bytes: usize,
    /// The median time of a call on the core that makes offloads (the host), in nanoseconds, for
    /// each round.
    pub host_ns: Vec<f64>,
    /// The median time of a call on the core to which all worker threads of the ensemble are bound,
    /// in nanoseconds, for each round.
    pub worker_ns: Vec<f64>,
}

/// The measurements of one software accelerator: its times for each size of message, and the cost
/// of an offload to it.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredBody {
    /// The measured accelerator.
    pub accel: Accel,
    /// The times of a call, for each text length of [`SIZES`].
    pub sizes: Vec<SizeTimes>,
    /// Accelerometer's parameter o0 in nanoseconds, for each round: the host's processor time to
    /// begin an offload and to take the result.
    pub setup_ns: Vec<f64>,
    /// Accelerometer's parameter L in nanoseconds, for each round. It is the time of an offload to
    /// an accelerator that does nothing, minus o0; the host polls for the result. In this time the
    /// worker is woken, and the queue entry passes to the worker and back.
    pub transfer_ns: Vec<f64>,
}

/// The result of [`measure`]: the times of the nine software accelerators, of offloads to them, and
/// of thread switches.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredBodies {
    /// The measurements of the nine accelerators, in the order of [`Accel::ALL`].
    pub bodies: Vec<MeasuredBody>,
    /// Accelerometer's parameter o1 in nanoseconds, for each round: the time of a switch between
    /// two threads on the host's core.
    pub thread_switch_ns: Vec<f64>,
}

/// Measures on this machine the times of the nine software accelerators, the cost of an offload to
/// the worker thread of each, and the time of a switch between two threads.
///
/// # Errors
/// [`MeasureError`] for an option of 0, for a process that may use only one core, if a run fails,
/// and if threads, the ensemble or the messages cannot be created.
pub fn measure(options: &MeasureOptions) -> Result<MeasuredBodies, MeasureError> {
    let (host, workers) = cores(options)?;
    let calls = options.calls as usize;
    let chains = Accel::ALL.map(|accel| [accel]);
    let chains = chains.each_ref().map(|chain| &chain[..]);
    let nothing = NothingEnsemble::start(workers, &chains)?;
    let mut found = MeasuredBodies {
        bodies: Accel::ALL.map(empty).to_vec(),
        thread_switch_ns: Vec::new(),
    };
    for _ in 0..options.rounds {
        let times = bodies::times([host, workers], calls)?;
        for (index, body) in found.bodies.iter_mut().enumerate() {
            for (size, [on_host, on_worker]) in body.sizes.iter_mut().zip(&times) {
                size.input_bytes = on_host[index].input_bytes;
                size.host_ns.push(on_host[index].ns);
                size.worker_ns.push(on_worker[index].ns);
            }
            let cost = on_core(host, || nothing.cost(index, calls))??;
            body.setup_ns.push(cost.setup_ns);
            body.transfer_ns.push(cost.transfer_ns);
        }
        let switch = on_core(host, || switch_ns(calls))?;
        found.thread_switch_ns.push(switch);
    }
    Ok(found)
}

/// The measured costs of offloading a chain of accelerators that do nothing, so that the costs are
/// pure overhead.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChainCosts {
    /// The number of accelerators in the chain.
    pub steps: usize,
    /// Accelerometer's parameter o0 in nanoseconds, for each round: the host's processor time to
    /// begin the offload and to take the result.
    pub setup_ns: Vec<f64>,
    /// Accelerometer's parameter L in nanoseconds, for each round: the time of the offload minus
    /// o0. In this time the worker of each accelerator in the chain is woken.
    pub transfer_ns: Vec<f64>,
}

/// Measures the overhead of offloads to chains of 1 to `longest` accelerators, which do nothing.
/// Returns one element for each length, none if `longest` is 0. The first usable core makes the
/// offloads (it is the host), and the accelerators' worker threads are on the second.
///
/// # Errors
/// [`MeasureError`] for an option of 0, for a process that may use only one core, if a run fails,
/// and if threads or the ensemble cannot be created.
pub fn measure_chains(
    options: &MeasureOptions,
    longest: usize,
) -> Result<Vec<ChainCosts>, MeasureError> {
    let (host, workers) = cores(options)?;
    // A message is received once, and nothing follows a load balancer; these are visited in turn.
    let others = [Accel::Decr, Accel::Rpc, Accel::Dser];
    let others = others.into_iter().cycle();
    let accels: Vec<Accel> = [Accel::Tcp]
        .into_iter()
        .chain(others)
        .take(longest)
        .collect();
    let chains: Vec<&[Accel]> = (1..=longest).map(|steps| &accels[..steps]).collect();
    let nothing = NothingEnsemble::start(workers, &chains)?;
    let mut found: Vec<ChainCosts> = (1..=longest)
        .map(|steps| ChainCosts {
            steps,
            ..ChainCosts::default()
        })
        .collect();
    for _ in 0..options.rounds {
        for (chain, costs) in found.iter_mut().enumerate() {
            let cost = on_core(host, || nothing.cost(chain, options.calls as usize))??;
            costs.setup_ns.push(cost.setup_ns);
            costs.transfer_ns.push(cost.transfer_ns);
        }
    }
    Ok(found)
}

/// The cores of the host and of the ensemble.
fn cores(options: &MeasureOptions) -> Result<(usize, usize), MeasureError> {
    for (name, count) in [("rounds", options.rounds), ("calls", options.calls)] {
        if count == 0 {
            return Err(MeasureError::Zero(name));
        }
    }
    match usable_cores()?[..] {
        [host, workers, ..] => Ok((host, workers)),
        _ => Err(MeasureError::OneCore),
    }
}

fn empty(accel: Accel) -> MeasuredBody {
    MeasuredBody {
        accel,
        sizes: vec![SizeTimes::default(); SIZES.len()],
        setup_ns: Vec::new(),
        transfer_ns: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_body_is_measured_in_every_round() {
        let options = MeasureOptions {
            rounds: 2,
            calls: 3,
        };
        let found = match measure(&options) {
            Err(MeasureError::OneCore) => return,
            found => found.expect("a measurement"),
        };
        let accels: Vec<Accel> = found.bodies.iter().map(|body| body.accel).collect();
        assert_eq!(accels, Accel::ALL);
        assert_eq!(found.thread_switch_ns.len(), 2);
        for body in &found.bodies {
            assert_eq!((body.setup_ns.len(), body.transfer_ns.len()), (2, 2));
            assert!(body.setup_ns.iter().all(|time| *time > 0.0), "{body:?}");
            assert_eq!(body.sizes.len(), SIZES.len());
            let bytes: Vec<usize> = body.sizes.iter().map(|size| size.input_bytes).collect();
            assert!(
                bytes.is_sorted() && bytes[0] > 0,
                "{:?} {bytes:?}",
                body.accel
            );
            for size in &body.sizes {
                assert_eq!((size.host_ns.len(), size.worker_ns.len()), (2, 2));
                assert!(size.host_ns.iter().all(|time| *time >= 1.0), "{size:?}");
            }
        }
    }

    #[test]
    fn chains_longer_than_any_trace_are_measured() {
        let options = MeasureOptions {
            rounds: 2,
            calls: 3,
        };
        let found = match measure_chains(&options, 9) {
            Err(MeasureError::OneCore) => return,
            found => found.expect("a measurement"),
        };
        let steps: Vec<usize> = found.iter().map(|chain| chain.steps).collect();
        assert_eq!(steps, (1..=9).collect::<Vec<_>>());
        for chain in &found {
            assert_eq!((chain.setup_ns.len(), chain.transfer_ns.len()), (2, 2));
            assert!(chain.setup_ns.iter().all(|time| *time > 0.0), "{chain:?}");
        }
    }

    #[test]
    fn nothing_to_do_is_refused() {
        let options = MeasureOptions {
            calls: 0,
            ..MeasureOptions::default()
        };
        let error = measure(&options).expect_err("no calls");
        assert_eq!(error.to_string(), "calls = 0: must be at least 1");
    }
}
