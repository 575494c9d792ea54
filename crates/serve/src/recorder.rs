//! What live requests cost, kept for a recording that the simulator reads.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use accelflow_runtime::{Outcome, Step};
use accelflow_trace::Accel;
use accelflow_workload::profile::{
    Direction, RecordedChain, RecordedPhase, RecordedService, RecordedStep, Recording,
};
use rustix::time::{ClockId, clock_gettime};

/// How many requests of a path are kept: the latest.
const KEPT: usize = 4_096;

/// How many different paths of one function are told apart; requests on further ones are not kept.
const MAX_PATHS: usize = 16;

/// The shortest time that is reported, in nanoseconds.
const LEAST_NS: f64 = 1.0;

/// Why there is no recording.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    /// The server was not asked to keep what requests cost.
    #[error("the server does not record; ask it to before it is started")]
    Off,
    /// A function that no request was answered for with a result.
    #[error("there was no request to {function} yet; there were requests to {seen}")]
    NoRequests {
        /// The function.
        function: String,
        /// Those that there were.
        seen: String,
    },
}

/// The processor time that this thread has used: of a system call that waits, what it works.
pub(crate) fn thread_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// A trace of one request: what it did, and what each step cost without the socket's share.
pub(crate) struct Ran {
    pub(crate) outcome: Outcome,
    /// In nanoseconds, one for each step; empty if the steps were not timed.
    pub(crate) costs_ns: Vec<f64>,
}

impl Ran {
    /// Adds to the TCP step what the operating system's part of it took.
    pub(crate) fn add_socket(&mut self, spent: Duration) {
        let tcp = |step: &Step| step.accel == Accel::Tcp;
        let place = self.outcome.steps.iter().position(tcp);
        if let Some(cost) = place.and_then(|place| self.costs_ns.get_mut(place)) {
            *cost += nanoseconds(spent);
        }
    }
}

/// Exact below 2^53 ns, which is 104 days.
pub(crate) fn nanoseconds(spent: Duration) -> f64 {
    spent.as_nanos() as f64
}

/// What requests cost, by function and path.
#[derive(Default)]
pub(crate) struct Recorder {
    functions: Mutex<BTreeMap<String, Vec<Path>>>,
}

/// The requests to one function that took the same steps.
struct Path {
    places: Vec<Place>,
    /// How many of the steps are those of receiving.
    received: usize,
    seen: usize,
    steps: Vec<Samples>,
    app_ns: Vec<f64>,
}

#[derive(Clone, PartialEq)]
struct Place {
    trace: String,
    accel: Accel,
    direction: Direction,
    facts: Vec<(String, i64)>,
}

#[derive(Default)]
struct Samples {
    input_bytes: Vec<u64>,
    output_bytes: Vec<u64>,
    cost_ns: Vec<f64>,
}

impl Recorder {
    /// Keeps a request that was answered with a result.
    pub(crate) fn keep(&self, function: &str, received: &Ran, app: Duration, sent: &Ran) {
        let steps = || received.outcome.steps.iter().chain(&sent.outcome.steps);
        let costs = received.costs_ns.len() + sent.costs_ns.len();
        if costs != steps().count() {
            // A core has done some of the work, untimed.
            return;
        }
        let places: Vec<Place> = steps().map(Place::of).collect();
        let mut functions = self
            .functions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let paths = functions.entry(function.to_owned()).or_default();
        let known = paths.iter().position(|path| path.places == places);
        let index = match known {
            Some(index) => index,
            None if paths.len() == MAX_PATHS => return,
            None => {
                paths.push(Path::new(places, received.outcome.steps.len()));
                paths.len() - 1
            }
        };
        let costs = received.costs_ns.iter().chain(&sent.costs_ns);
        paths[index].keep(steps().zip(costs.copied()), app);
    }

    /// The recording of `services`: names of functions, and what their services are called.
    pub(crate) fn recording(
        &self,
        services: &[(&str, &str)],
        machine: &str,
        date: &str,
    ) -> Result<Recording, RecordingError> {
        let functions = self
            .functions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut recording = Recording::new(machine, date);
        for (function, service) in services {
            let paths = functions.get(*function).map(Vec::as_slice).unwrap_or(&[]);
            let Some(most_common) = paths.iter().max_by_key(|path| path.seen) else {
                let seen: Vec<&str> = functions.keys().map(String::as_str).collect();
                return Err(RecordingError::NoRequests {
                    function: (*function).to_owned(),
                    seen: match seen.is_empty() {
                        true => "none".to_owned(),
                        false => seen.join(", "),
                    },
                });
            };
            recording.services.push(RecordedService {
                service: (*service).to_owned(),
                phases: most_common.phases(),
            });
        }
        Ok(recording)
    }
}

impl Place {
    fn of(step: &Step) -> Place {
        Place {
            trace: step.trace.clone(),
            accel: step.accel,
            direction: match step.direction {
                accelflow_accel::Direction::Receive => Direction::Receive,
                accelflow_accel::Direction::Send => Direction::Send,
            },
            facts: step.facts.clone(),
        }
    }
}

impl Path {
    fn new(places: Vec<Place>, received: usize) -> Path {
        let steps = places.iter().map(|_| Samples::default()).collect();
        Path {
            places,
            received,
            seen: 0,
            steps,
            app_ns: Vec::new(),
        }
    }

    fn keep<'s>(&mut self, steps: impl Iterator<Item = (&'s Step, f64)>, app: Duration) {
        let slot = self.seen % KEPT;
        self.seen += 1;
        for (samples, (step, cost)) in self.steps.iter_mut().zip(steps) {
            put(&mut samples.input_bytes, slot, step.input_bytes as u64);
            put(&mut samples.output_bytes, slot, step.output_bytes as u64);
            put(&mut samples.cost_ns, slot, cost.max(LEAST_NS));
        }
        put(&mut self.app_ns, slot, nanoseconds(app).max(LEAST_NS));
    }

    fn phases(&self) -> Vec<RecordedPhase> {
        let samples = self.app_ns.len() as u64;
        let mut steps = self
            .places
            .iter()
            .zip(&self.steps)
            .map(|(place, kept)| RecordedStep {
                trace: place.trace.clone(),
                accelerator: place.accel.name().to_owned(),
                direction: place.direction,
                input_bytes: median(&kept.input_bytes, u64::cmp),
                output_bytes: median(&kept.output_bytes, u64::cmp),
                facts: place.facts.iter().cloned().collect(),
                cost_ns: median(&kept.cost_ns, f64::total_cmp),
                samples,
            });
        let chain = |steps: Vec<RecordedStep>| RecordedPhase::Chains(vec![RecordedChain { steps }]);
        let received = chain(steps.by_ref().take(self.received).collect());
        let app_ns = Some(median(&self.app_ns, f64::total_cmp));
        let handler = RecordedPhase::Cpu { app_ns, samples };
        vec![received, handler, chain(steps.collect())]
    }
}

fn put<T>(kept: &mut Vec<T>, slot: usize, value: T) {
    match kept.get_mut(slot) {
        Some(place) => *place = value,
        None => kept.push(value),
    }
}

/// The lower median, a value that did occur; of none, the default.
fn median<T: Copy + Default>(kept: &[T], order: impl Fn(&T, &T) -> std::cmp::Ordering) -> T {
    let mut sorted = kept.to_vec();
    sorted.sort_by(order);
    let middle = sorted.len().saturating_sub(1) / 2;
    sorted.get(middle).copied().unwrap_or_default()
}
