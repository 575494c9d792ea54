//! The recorder of services: runs them in rounds, and takes medians of the measured costs.

use std::io;
use std::ops::ControlFlow;

use accelflow_accel::{AccelError, Ensemble};
use accelflow_trace::Image;
use accelflow_workload::profile::{
    Calibration, Direction, RecordedChain, RecordedPhase, RecordedService, RecordedStep, Recording,
    by_size, quantiles,
};
use accelflow_workload::services::Service;

use super::clock::Clock;
use super::median::{median, median_size};
use super::timed::TimedBodies;
use crate::executor::Executor;
use crate::outcome::Step;
use crate::service::{PhaseRun, ServiceRun, ServiceRunError, ServiceRunner};

/// The number of runs of each service that are not measured at the start of each round of a
/// recording. They warm up caches and allocators.
pub const WARM_UP_RUNS: u32 = 3;

/// Options of [`record`], which measures the costs of services on this machine: the numbers of
/// runs, the seed of their messages, and texts about the machine and the date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordOptions {
    /// The seed from which the contents of messages are generated.
    pub seed: u64,
    /// The number of different messages (samples) for each service; at least 1.
    pub samples: u32,
    /// The number of runs for each message in each round; at least 1.
    pub repetitions: u32,
    /// The number of rounds; at least 1. Each round measures all services.
    pub rounds: u32,
    /// A description of the machine, such as the text of [`machine`].
    pub machine: String,
    /// The date of the recording, as `YYYY-MM-DD`.
    pub date: String,
}

impl RecordOptions {
    /// Creates options with default numbers: 10 rounds, 32 samples and 8 repetitions. So every step
    /// of a service is measured 10 * 32 * 8 = 2,560 times. Such a recording takes some seconds.
    /// `machine` and `date` describe the recording.
    ///
    /// Builds with debug assertions are many times slower, so their default is 1 repetition, and
    /// every step is measured 320 times. Such recordings are only for tests.
    pub fn new(machine: &str, date: &str) -> RecordOptions {
        RecordOptions {
            seed: 1,
            samples: 32,
            repetitions: if cfg!(debug_assertions) { 1 } else { 8 },
            rounds: 10,
            machine: machine.to_owned(),
            date: date.to_owned(),
        }
    }
}

/// The progress of [`record`]: how many of the runs have been measured, and the current service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The name of the service whose runs have just been measured.
    pub service: &'a str,
    /// The number of measured runs so far, over all services and rounds; without warm-up runs.
    pub done: u64,
    /// The number of measured runs in the whole recording.
    pub total: u64,
}

/// The error of [`record`], which measures the costs of services.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// An option is 0 but must be at least 1. Holds the option's name.
    #[error("{0} = 0: must be at least 1")]
    Zero(&'static str),
    /// The callback `progress` of [`record`] asked to end the recording.
    #[error("the recording was interrupted")]
    Interrupted,
    /// The loopback sockets that measure TCP failed.
    #[error("the loopback socket failed: {0}")]
    Socket(#[from] io::Error),
    /// The software accelerators could not be created.
    #[error(transparent)]
    Accel(#[from] AccelError),
    /// A service could not run on its messages.
    #[error(transparent)]
    Service(#[from] ServiceRunError),
    /// Two runs of a service made different accelerator calls.
    #[error(
        "service {service}, message sample {sample}: the steps of this run differ from those of \
         the service's first run, but all runs of a recorded service need the same steps"
    )]
    Unstable {
        /// The name of the service.
        service: String,
        /// The index of the message sample, counted from 0.
        sample: u32,
    },
}

/// Measures the costs of `services` on this machine, step by step (accelerator call by accelerator
/// call). Runs each service many times on generated messages with the traces in the trace memory
/// `image`, and returns the medians. `progress` is called after each message, and may return
/// [`ControlFlow::Break`] to end the recording.
///
/// # Errors
/// [`RecordError`] for an option of 0, if `progress` ends the recording, if a service fails or its
/// steps differ between runs, and if sockets or software accelerators cannot be created.
pub fn record(
    image: &Image,
    services: &[Service],
    options: &RecordOptions,
    progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<Recording, RecordError> {
    for (name, count) in [
        ("samples", options.samples),
        ("repetitions", options.repetitions),
        ("rounds", options.rounds),
    ] {
        if count == 0 {
            return Err(RecordError::Zero(name));
        }
    }
    let each = u64::from(options.samples) * u64::from(options.repetitions);
    let total = each * u64::from(options.rounds) * services.len() as u64;
    let mut done = 0;
    let mut found: Vec<Found> = services.iter().map(|_| Found::default()).collect();
    for round in 0..options.rounds as usize {
        let mut recorder = Recorder::new(image, options)?;
        for place in 0..services.len() {
            let index = (place + round) % services.len();
            let service = &services[index];
            recorder.round(service, &mut found[index], &mut || {
                done += u64::from(options.repetitions);
                progress(Progress {
                    service: service.name(),
                    done,
                    total,
                })
            })?;
        }
    }
    let mut recording = Recording::new(&options.machine, &options.date);
    let samples = each * u64::from(options.rounds);
    let both = services.iter().zip(found);
    recording.services = both
        .map(|(step, found)| found.recorded(step, samples))
        .collect();
    Ok(recording)
}

/// The number of cores that LdB chooses from, as in the paper's server (Table III).
const CORES: usize = 36;

/// Returns a description of this machine for [`RecordOptions::machine`]: the processor's model, the
/// operating system's name, and the processor's architecture.
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

impl<'o> Recorder<'o> {
    fn new(image: &Image, options: &'o RecordOptions) -> Result<Recorder<'o>, RecordError> {
        let bodies = TimedBodies::new(Ensemble::with_cores(CORES)?)?;
        Ok(Recorder {
            executor: Executor::new(image.clone(), bodies),
            runner: ServiceRunner::new()?,
            options,
        })
    }

    /// Measures one round of `service`. `progress` is called after each message sample.
    fn round(
        &mut self,
        service: &Service,
        found: &mut Found,
        progress: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<(), RecordError> {
        let (mut run, _) = self.run(service, 0)?;
        for _ in 1..WARM_UP_RUNS {
            run = self.run(service, 0)?.0;
        }
        found.begin(run);
        let clock = Clock::start();
        for sample in 0..self.options.samples {
            let same = self.sample(service, sample, found)?;
            if !same {
                let service = service.name().to_owned();
                return Err(RecordError::Unstable { service, sample });
            }
            if progress().is_break() {
                return Err(RecordError::Interrupted);
            }
        }
        found.end(&clock);
        Ok(())
    }

    /// Measures one message sample. Returns whether its steps are those of the first run.
    fn sample(
        &mut self,
        service: &Service,
        sample: u32,
        found: &mut Found,
    ) -> Result<bool, RecordError> {
        let mut costs: Vec<Vec<f64>> = vec![Vec::new(); found.steps.len()];
        for repetition in 0..self.options.repetitions {
            let (run, costs_ns) = self.run(service, sample.into())?;
            let reference = found.reference.iter().flat_map(steps);
            let same = reference.map(place).eq(steps(&run).map(place));
            if !same || costs_ns.len() != found.steps.len() {
                return Ok(false);
            }
            for (cost, into) in costs_ns.into_iter().zip(&mut costs) {
                into.push(cost);
            }
            if repetition == 0 {
                for (step, into) in steps(&run).zip(&mut found.steps) {
                    into.input_bytes.push(step.input_bytes as u64);
                    into.output_bytes.push(step.output_bytes as u64);
                }
            }
        }
        for (costs, into) in costs.iter_mut().zip(&mut found.steps) {
            into.cost_ns.push(median(costs));
            let size = into.input_bytes.last().copied().unwrap_or_default();
            into.calls.extend(costs.iter().map(|&cost| (size, cost)));
        }
        Ok(true)
    }

    /// Runs the service once. Returns the run and the cost of each step.
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
}

/// The measurements of one service.
#[derive(Default)]
struct Found {
    /// The first run; all others must have its steps.
    reference: Option<ServiceRun>,
    steps: Vec<Measured>,
    round_costs_ns: Vec<f64>,
    clock: Clock,
}

impl Found {
    fn begin(&mut self, run: ServiceRun) {
        let reference = self.reference.get_or_insert(run);
        if self.steps.is_empty() {
            self.steps = vec![Measured::default(); steps(reference).count()];
        }
    }

    /// Ends a round that began at `clock`.
    fn end(&mut self, clock: &Clock) {
        let costs = self.steps.iter_mut().map(Measured::end_round);
        self.round_costs_ns.push(costs.sum());
        self.clock.add(clock);
    }

    fn recorded(self, service: &Service, samples: u64) -> RecordedService {
        let mut measured = self.steps.into_iter();
        let mut chain = |steps: &[Step]| RecordedChain {
            steps: steps
                .iter()
                .zip(&mut measured)
                .map(|(step, measured)| measured.recorded(step, samples))
                .collect(),
        };
        let phases = self.reference.iter().flat_map(|run| &run.phases);
        let phases = phases.map(|phase| match phase {
            PhaseRun::Cpu => RecordedPhase::Cpu {
                app_ns: None,
                app_quantiles_ns: Vec::new(),
                samples: 0,
            },
            PhaseRun::Chains(chains) => {
                RecordedPhase::Chains(chains.iter().map(|steps| chain(&steps.steps)).collect())
            }
        });
        RecordedService {
            service: service.name().to_owned(),
            phases: phases.collect(),
            requests: Vec::new(),
            // No server runs.
            outside: None,
            calibration: Some(Calibration {
                round_costs_ns: self.round_costs_ns,
                waited_ratio: Some(self.clock.waited_ratio()),
            }),
        }
    }
}

/// The measurements of one step.
#[derive(Clone, Default)]
struct Measured {
    /// By message sample and round.
    input_bytes: Vec<u64>,
    output_bytes: Vec<u64>,
    /// By message sample of this round.
    cost_ns: Vec<f64>,
    /// Input size and cost of all calls.
    calls: Vec<(u64, f64)>,
    /// By round.
    round_costs_ns: Vec<f64>,
}

impl Measured {
    /// Ends a round; returns the step's cost in it.
    fn end_round(&mut self) -> f64 {
        let cost = median(&mut std::mem::take(&mut self.cost_ns));
        self.round_costs_ns.push(cost);
        cost
    }

    fn recorded(mut self, step: &Step, samples: u64) -> RecordedStep {
        let costs: Vec<f64> = self.calls.iter().map(|&(_, cost)| cost).collect();
        RecordedStep {
            trace: step.trace.clone(),
            accelerator: step.name().to_owned(),
            direction: match step.direction {
                accelflow_accel::Direction::Receive => Direction::Receive,
                accelflow_accel::Direction::Send => Direction::Send,
            },
            input_bytes: median_size(&mut self.input_bytes),
            output_bytes: median_size(&mut self.output_bytes),
            facts: step.facts.iter().cloned().collect(),
            cost_ns: median(&mut self.round_costs_ns),
            cost_quantiles_ns: quantiles(&costs),
            by_size: by_size(&self.calls),
            samples,
        }
    }
}

/// Returns the steps of all chains, in order.
fn steps(run: &ServiceRun) -> impl Iterator<Item = &Step> {
    let chains = run.phases.iter().flat_map(PhaseRun::chains);
    chains.flat_map(|chain| &chain.steps)
}

/// The part of a step that must be the same in every run. Facts may differ, since a number in the
/// message may have the name of another trace's fact.
fn place(step: &Step) -> (&str, accelflow_trace::Accel, bool, usize) {
    (&step.trace, step.accel, step.receives, step.arm)
}
