//! Measuring what the steps of services cost on this machine.
//!
//! Method. Every service runs on its most common path, on one thread, with software bodies, for
//! a number of message samples and repetitions of each. A cost is the wall time of the body
//! alone by the monotonic clock, without the clock's own cost (at least 1 ns remains); peers,
//! branches and transformations are outside. TCP's cost adds, to its framing body, the time of a
//! `send` or `recv` of the same message on a connected pair of 127.0.0.1 sockets: for a receive
//! the data is already there; for a send, loopback makes the kernel do the receiver's protocol
//! work in the same call. A step's cost is the median, over the samples, of the medians over the
//! repetitions; nothing is dropped but [`WARM_UP_RUNS`] runs of each service before. Application
//! logic is not part of this project, so its time is left open (`app_ns` is null).

mod socket;
mod timed;

use std::io;
use std::ops::ControlFlow;

use accelflow_accel::{AccelError, Ensemble};
use accelflow_trace::Image;
use accelflow_workload::profile::{
    Direction, RecordedChain, RecordedPhase, RecordedService, RecordedStep, Recording,
};
use accelflow_workload::services::Service;

use crate::executor::Executor;
use crate::outcome::Step;
use crate::service::{PhaseRun, ServiceRun, ServiceRunError, ServiceRunner};
use timed::TimedBodies;

/// Runs of each service that warm caches and allocators up and are not counted.
pub const WARM_UP_RUNS: u32 = 3;

/// What to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordOptions {
    /// The seed of the message contents.
    pub seed: u64,
    /// How many different messages each service is run on; at least 1.
    pub samples: u32,
    /// How often each message is run; at least 1.
    pub repetitions: u32,
    /// What is measured on; [`machine`] tells.
    pub machine: String,
    /// The date, as `YYYY-MM-DD`.
    pub date: String,
}

impl RecordOptions {
    /// 32 samples of 32 repetitions, 1,024 calls of every step: a few seconds.
    pub fn new(machine: &str, date: &str) -> RecordOptions {
        RecordOptions {
            seed: 1,
            samples: 32,
            repetitions: 32,
            machine: machine.to_owned(),
            date: date.to_owned(),
        }
    }
}

/// How far a recording is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The service that is being run.
    pub service: &'a str,
    /// Invocations done, of all services.
    pub done: u64,
    /// Invocations in all.
    pub total: u64,
}

/// Why there is no recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Nothing to measure.
    #[error("{0} = 0: must be at least 1")]
    Nothing(&'static str),
    /// The callback said so.
    #[error("interrupted")]
    Interrupted,
    /// The loopback sockets failed.
    #[error("loopback socket: {0}")]
    Socket(#[from] io::Error),
    /// The bodies could not be made.
    #[error(transparent)]
    Accel(#[from] AccelError),
    /// A service could not be run.
    #[error(transparent)]
    Service(#[from] ServiceRunError),
    /// Two runs of a service did not visit the same accelerators.
    #[error("service {service}, sample {sample}: other steps than in the first run")]
    Unstable {
        /// The service.
        service: String,
        /// The message sample, counted from 0.
        sample: u32,
    },
}

/// Runs `services` with the traces of `image` and measures every step. `progress` is called after
/// each message sample and ends the recording by returning [`ControlFlow::Break`].
///
/// # Errors
/// [`RecordError`].
pub fn record(
    image: &Image,
    services: &[Service],
    options: &RecordOptions,
    progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<Recording, RecordError> {
    for (name, count) in [
        ("samples", options.samples),
        ("repetitions", options.repetitions),
    ] {
        if count == 0 {
            return Err(RecordError::Nothing(name));
        }
    }
    let bodies = TimedBodies::new(Ensemble::with_cores(CORES)?)?;
    let mut recorder = Recorder {
        executor: Executor::new(image.clone(), bodies),
        runner: ServiceRunner::new()?,
        options,
    };
    let each = u64::from(options.samples) * u64::from(options.repetitions);
    let total = each * services.len() as u64;
    let mut recording = Recording::new(&options.machine, &options.date);
    for (index, service) in services.iter().enumerate() {
        let before = index as u64 * each;
        let recorded = recorder.service(service, &mut |samples| {
            progress(Progress {
                service: service.name(),
                done: before + samples * u64::from(options.repetitions),
                total,
            })
        })?;
        recording.services.push(recorded);
    }
    Ok(recording)
}

/// The cores that LdB chooses from: those of the paper's server (Table III).
const CORES: usize = 36;

/// This machine's processor and system, for [`RecordOptions::machine`].
pub fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map_or("unknown processor", |(_, name)| name.trim());
    format!(
        "{model}, {} {}",
        std::env::consts::OS,
        std::env::consts::ARCH
    )
}

struct Recorder<'o> {
    executor: Executor<TimedBodies>,
    runner: ServiceRunner,
    options: &'o RecordOptions,
}

impl Recorder<'_> {
    fn service(
        &mut self,
        service: &Service,
        progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<RecordedService, RecordError> {
        let (mut reference, _) = self.run(service, 0)?;
        for _ in 1..WARM_UP_RUNS {
            reference = self.run(service, 0)?.0;
        }
        let mut measured = vec![Measured::default(); steps(&reference).count()];
        for sample in 0..self.options.samples {
            let same = self.sample(service, sample, &reference, &mut measured)?;
            if !same {
                let service = service.name().to_owned();
                return Err(RecordError::Unstable { service, sample });
            }
            if progress(u64::from(sample) + 1).is_break() {
                return Err(RecordError::Interrupted);
            }
        }
        Ok(RecordedService {
            service: service.name().to_owned(),
            requests: Vec::new(),
            phases: self.phases(&reference, measured),
        })
    }

    /// Measures one message sample; whether it takes the same steps as `reference`.
    fn sample(
        &mut self,
        service: &Service,
        sample: u32,
        reference: &ServiceRun,
        measured: &mut [Measured],
    ) -> Result<bool, RecordError> {
        let mut costs: Vec<Vec<f64>> = vec![Vec::new(); measured.len()];
        for repetition in 0..self.options.repetitions {
            let (run, costs_ns) = self.run(service, sample.into())?;
            let same = steps(reference).map(place).eq(steps(&run).map(place));
            if !same || costs_ns.len() != measured.len() {
                return Ok(false);
            }
            for (cost, into) in costs_ns.into_iter().zip(&mut costs) {
                into.push(cost);
            }
            if repetition == 0 {
                for (step, into) in steps(&run).zip(&mut *measured) {
                    into.input_bytes.push(step.input_bytes as u64);
                    into.output_bytes.push(step.output_bytes as u64);
                }
            }
        }
        for (costs, into) in costs.iter_mut().zip(measured) {
            into.cost_ns.push(median(costs));
        }
        Ok(true)
    }

    /// One run and the cost of each of its steps.
    fn run(
        &mut self,
        service: &Service,
        index: u64,
    ) -> Result<(ServiceRun, Vec<f64>), RecordError> {
        let seed = self.options.seed;
        let run = self.runner.run(&mut self.executor, service, seed, index);
        let costs = self.executor.bodies_mut().take()?;
        Ok((run?, costs))
    }

    fn phases(&self, run: &ServiceRun, measured: Vec<Measured>) -> Vec<RecordedPhase> {
        let samples = u64::from(self.options.samples) * u64::from(self.options.repetitions);
        let mut measured = measured.into_iter();
        let mut chain = |steps: &[Step]| RecordedChain {
            steps: steps
                .iter()
                .zip(&mut measured)
                .map(|(step, measured)| measured.recorded(step, samples))
                .collect(),
        };
        let phases = run.phases.iter().map(|phase| match phase {
            PhaseRun::Cpu => RecordedPhase::Cpu {
                app_ns: None,
                samples: 0,
            },
            PhaseRun::Chains(chains) => {
                RecordedPhase::Chains(chains.iter().map(|it| chain(&it.steps)).collect())
            }
        });
        phases.collect()
    }
}

/// What was measured of one step, by message sample.
#[derive(Clone, Default)]
struct Measured {
    input_bytes: Vec<u64>,
    output_bytes: Vec<u64>,
    cost_ns: Vec<f64>,
}

impl Measured {
    fn recorded(mut self, step: &Step, samples: u64) -> RecordedStep {
        RecordedStep {
            trace: step.trace.clone(),
            accelerator: step.accel.name().to_owned(),
            direction: match step.direction {
                accelflow_accel::Direction::Receive => Direction::Receive,
                accelflow_accel::Direction::Send => Direction::Send,
            },
            input_bytes: median_size(&mut self.input_bytes),
            output_bytes: median_size(&mut self.output_bytes),
            facts: step.facts.iter().cloned().collect(),
            cost_ns: median(&mut self.cost_ns),
            samples,
        }
    }
}

/// The steps of all chains, in order.
fn steps(run: &ServiceRun) -> impl Iterator<Item = &Step> {
    let chains = run.phases.iter().flat_map(PhaseRun::chains);
    chains.flat_map(|chain| &chain.steps)
}

/// What must be the same in every run. Facts that branches read decide it, and more would not
/// hold: numbers in the message may be named like a fact of another trace.
fn place(step: &Step) -> (&str, accelflow_trace::Accel, bool, usize) {
    (&step.trace, step.accel, step.receives, step.arm)
}

/// The median; of an even number the mean of the two in the middle; of none, 0.
fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    let middle = samples.len() / 2;
    match samples.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => samples[middle],
        _ => f64::midpoint(samples[middle - 1], samples[middle]),
    }
}

/// The median; of an even number the lower of the two in the middle, a size that did occur.
fn median_size(samples: &mut [u64]) -> u64 {
    samples.sort_unstable();
    let middle = samples.len().saturating_sub(1) / 2;
    samples.get(middle).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median_size(&mut [4, 1, 2, 3]), 2);
        assert_eq!(median_size(&mut [9, 7, 8]), 8);
    }
}
