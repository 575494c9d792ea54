//! The costs of live requests, kept for a recording that the simulator reads.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use accelflow_parameters::{Refusal, quoted};
use accelflow_runtime::Step;
use accelflow_runtime::trail::{Trail, TrailPhase};
use accelflow_workload::profile::{
    Direction, RecordedChain, RecordedOutside, RecordedPhase, RecordedRequest, RecordedService,
    RecordedStep, Recording, by_size, quantiles,
};

use super::run::{TraceRun, nanoseconds};

/// The number of latest requests that are kept per path.
const KEPT: usize = 4_096;

/// The number of paths that are kept per function.
const MAX_PATHS: usize = 16;

/// The shortest time that is reported, in nanoseconds.
const LEAST_NS: f64 = 1.0;

/// The error of a server that cannot make a recording of its requests.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    /// The server does not record requests: recording was not switched on before the server
    /// started.
    #[error(
        "recording is off: switch it on before the server starts (in Python \
         Observability(record=True), in Rust set_recording)"
    )]
    Off,
    /// A function has had no successful request that was recorded.
    #[error(
        "function = '{function}': must have had a request that succeeded; functions with such \
         requests: {seen}"
    )]
    NoRequests {
        /// The name of the function, as given.
        function: String,
        /// The names of the functions with recorded requests, or `none`.
        seen: String,
    },
    /// The date of the recording or the name of a service is not allowed, or two services have the
    /// same name.
    #[error(transparent)]
    Setting(#[from] Refusal),
}

/// Refuses what [`Recording`]s must not have: a date other than `YYYY-MM-DD`, a name that is empty
/// or not printable, and a service that occurs twice.
fn check(services: &[(&str, &str)], date: &str) -> Result<(), Refusal> {
    if !is_date(date) {
        let allowed = "must be a date, as YYYY-MM-DD";
        return Err(Refusal::new("date", quoted(date), allowed));
    }
    for (index, (function, service)) in services.iter().enumerate() {
        let refuse = |allowed: String| {
            let place = format!("service name for {function}");
            Err(Refusal::new(place, quoted(service), allowed))
        };
        if service.is_empty() || service.chars().any(char::is_control) {
            return refuse("must be a name of printable characters".to_owned());
        }
        let before = services[..index].iter().find(|other| other.1 == *service);
        if let Some((other, _)) = before {
            return refuse(format!("must differ from the name for {other}"));
        }
    }
    Ok(())
}

/// Whether `text` is a day of the Gregorian calendar, as `YYYY-MM-DD`.
fn is_date(text: &str) -> bool {
    let form = |(index, byte): (usize, u8)| match index {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    if text.len() != 10 || !text.bytes().enumerate().all(form) {
        return false;
    }
    let number = |range: std::ops::Range<usize>| text[range].parse::<u32>().unwrap_or(0);
    let (year, month, day) = (number(0..4), number(5..7), number(8..10));
    let leaps = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(leaps),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// The costs of requests by function and path.
#[derive(Default)]
pub(crate) struct Recorder {
    functions: Mutex<BTreeMap<String, Vec<Path>>>,
}

/// The requests to one function that took the same steps.
struct Path {
    shape: Vec<Shape>,
    seen: usize,
    /// The number of requests on the path, less those that found no room for paths of their own
    /// while this path was the rarest.
    credit: usize,
    /// The samples of all steps, chain after chain.
    steps: Vec<Samples>,
    /// The times of each phase of application logic.
    app_ns: Vec<Vec<f64>>,
    /// The waits for responses in nanoseconds, by the trace that received them.
    waits_ns: BTreeMap<String, Latest>,
    /// The processor time outside of steps and the handler, in nanoseconds, for requests for which
    /// it is known.
    outside_ns: Latest,
}

/// The latest samples of a time in nanoseconds, and the number of samples seen.
#[derive(Default)]
struct Latest {
    kept: Vec<f64>,
    seen: usize,
}

/// A phase of a path.
#[derive(PartialEq)]
enum Shape {
    Cpu,
    Chains(Vec<Vec<Place>>),
}

#[derive(Clone, PartialEq)]
struct Place {
    trace: String,
    accelerator: String,
    direction: Direction,
    facts: Vec<(String, i64)>,
}

#[derive(Default)]
struct Samples {
    input_bytes: Vec<u64>,
    output_bytes: Vec<u64>,
    cost_ns: Vec<f64>,
}

/// A path that requests to one function have taken, as recorded: the sequence of traces and
/// application phases, with their costs and waiting times.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedPath {
    /// The number of recorded requests that took this path.
    pub requests: u64,
    /// The phases of the path. The costs of the phases are medians of the latest requests (up to
    /// 4,096) that took the path.
    pub phases: Vec<RecordedPhase>,
    /// The times that requests waited for responses of other services and of storage, in
    /// nanoseconds, by the name of the trace that received the response. For each trace, the latest
    /// 4,096 waits are kept.
    pub waits_ns: BTreeMap<String, Vec<f64>>,
    /// The processor time that the latest requests on the path (up to 4,096) took outside of
    /// accelerator calls and the handler; `None` if this time was measured for no request.
    pub outside: Option<RecordedOutside>,
}

impl Recorder {
    /// Adds a request that was answered with a result. `outside` is the processor time of its
    /// thread outside of the traces' steps and the handler; `None` if the thread also did other
    /// work.
    pub(crate) fn keep(
        &self,
        function: &str,
        received: &TraceRun,
        trail: &Trail,
        sent: &TraceRun,
        outside: Option<Duration>,
    ) {
        let timed = |run: &TraceRun| run.costs_ns.len() == run.outcome.steps.len();
        if !timed(received) || !timed(sent) || !is_timed(trail) {
            // A core has done some of the work, which was not timed.
            return;
        }
        let chain = |steps: &[Step]| steps.iter().map(Place::of).collect::<Vec<_>>();
        let mut shape = vec![Shape::Chains(vec![chain(&received.outcome.steps)])];
        shape.extend(trail.phases.iter().map(|phase| match phase {
            TrailPhase::Cpu(_) => Shape::Cpu,
            TrailPhase::Chains(chains) => {
                Shape::Chains(chains.iter().map(|known| chain(&known.steps)).collect())
            }
        }));
        shape.push(Shape::Chains(vec![chain(&sent.outcome.steps)]));
        let mut functions = self
            .functions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let paths = functions.entry(function.to_owned()).or_default();
        let known = paths.iter().position(|path| path.shape == shape);
        let index = match known {
            Some(index) => index,
            None if paths.len() == MAX_PATHS => return make_room(paths),
            None => {
                paths.push(Path::new(shape));
                paths.len() - 1
            }
        };
        paths[index].credit += 1;
        paths[index].keep(received, trail, sent);
        if let Some(outside) = outside {
            paths[index].outside_ns.put(nanoseconds(outside));
        }
    }

    /// All paths that requests to `function` have taken, the most common one first.
    pub(crate) fn paths(&self, function: &str) -> Vec<RecordedPath> {
        let functions = self
            .functions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let paths = functions.get(function).map(Vec::as_slice).unwrap_or(&[]);
        let mut recorded: Vec<RecordedPath> = paths
            .iter()
            .map(|path| RecordedPath {
                requests: path.seen as u64,
                phases: path.phases(),
                waits_ns: path.waits_ns(),
                outside: path.outside(),
            })
            .collect();
        recorded.sort_by_key(|path| std::cmp::Reverse(path.requests));
        recorded
    }

    /// Creates a recording of `services`: pairs of a function's name and its service's name.
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
        check(services, date)?;
        let mut recording = Recording::new(machine, date);
        for (function, service) in services {
            let paths = named(&functions, function)
                .map(Vec::as_slice)
                .unwrap_or(&[]);
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
                calibration: None,
                service: (*service).to_owned(),
                phases: most_common.phases(),
                outside: most_common.outside(),
                requests: paths
                    .iter()
                    .filter(|path| path.has_phases_of(most_common))
                    .map(Path::requests)
                    .collect(),
            });
        }
        Ok(recording)
    }
}

/// Takes a credit from the rarest path for a request on a path that has no room. A path without
/// credit makes room. So a path that becomes common later is recorded, and many rare paths do not
/// displace each other.
fn make_room(paths: &mut Vec<Path>) {
    let rarest = (0..paths.len()).min_by_key(|index| paths[*index].credit);
    if let Some(rarest) = rarest {
        paths[rarest].credit -= 1;
        if paths[rarest].credit == 0 {
            paths.remove(rarest);
        }
    }
}

impl Place {
    fn of(step: &Step) -> Place {
        Place {
            trace: step.trace.clone(),
            accelerator: step.name().to_owned(),
            direction: match step.direction {
                accelflow_accel::Direction::Receive => Direction::Receive,
                accelflow_accel::Direction::Send => Direction::Send,
            },
            facts: step.facts.clone(),
        }
    }
}

fn is_timed(trail: &Trail) -> bool {
    trail.phases.iter().all(|phase| match phase {
        TrailPhase::Cpu(_) => true,
        TrailPhase::Chains(chains) => chains
            .iter()
            .all(|chain| chain.costs_ns.len() == chain.steps.len()),
    })
}

impl Path {
    fn new(shape: Vec<Shape>) -> Path {
        let steps = shape.iter().map(|phase| match phase {
            Shape::Cpu => 0,
            Shape::Chains(chains) => chains.iter().map(Vec::len).sum(),
        });
        let steps = steps.sum();
        let cpu = |phase: &&Shape| **phase == Shape::Cpu;
        Path {
            seen: 0,
            credit: 0,
            steps: std::iter::repeat_with(Samples::default)
                .take(steps)
                .collect(),
            app_ns: vec![Vec::new(); shape.iter().filter(cpu).count()],
            waits_ns: BTreeMap::new(),
            outside_ns: Latest::default(),
            shape,
        }
    }

    fn keep(&mut self, received: &TraceRun, trail: &Trail, sent: &TraceRun) {
        let slot = self.seen % KEPT;
        self.seen += 1;
        let mut chains = vec![(&received.outcome.steps, &received.costs_ns)];
        let mut logic = self.app_ns.iter_mut();
        for phase in &trail.phases {
            match phase {
                TrailPhase::Cpu(spent) => {
                    if let Some(kept) = logic.next() {
                        put(kept, slot, nanoseconds(*spent).max(LEAST_NS));
                    }
                }
                TrailPhase::Chains(several) => {
                    chains.extend(several.iter().map(|chain| (&chain.steps, &chain.costs_ns)));
                    for (trace, wait) in several.iter().flat_map(|chain| &chain.waits) {
                        let waits = self.waits_ns.entry(trace.clone()).or_default();
                        waits.put(nanoseconds(*wait));
                    }
                }
            }
        }
        chains.push((&sent.outcome.steps, &sent.costs_ns));
        let all = chains
            .into_iter()
            .flat_map(|(steps, costs)| steps.iter().zip(costs.iter().copied()));
        for (samples, (step, cost)) in self.steps.iter_mut().zip(all) {
            put(&mut samples.input_bytes, slot, step.input_bytes as u64);
            put(&mut samples.output_bytes, slot, step.output_bytes as u64);
            put(&mut samples.cost_ns, slot, cost.max(LEAST_NS));
        }
    }

    fn waits_ns(&self) -> BTreeMap<String, Vec<f64>> {
        let waits = self.waits_ns.iter();
        waits
            .map(|(trace, waits)| (trace.clone(), waits.kept.clone()))
            .collect()
    }

    fn outside(&self) -> Option<RecordedOutside> {
        let kept = &self.outside_ns.kept;
        (!kept.is_empty()).then(|| RecordedOutside {
            core_quantiles_ns: quantiles(kept),
            client_quantiles_ns: Vec::new(),
            samples: kept.len() as u64,
        })
    }

    /// Whether `other` has the same number of phases, and each phase the same number of chains. All
    /// paths of a recorded service must.
    fn has_phases_of(&self, other: &Path) -> bool {
        let chains = |phase: &Shape| match phase {
            Shape::Cpu => None,
            Shape::Chains(chains) => Some(chains.len()),
        };
        let counts = self.shape.iter().map(chains);
        counts.eq(other.shape.iter().map(chains))
    }

    /// The facts of its requests.
    fn requests(&self) -> RecordedRequest {
        let phase = |phase: &Shape| match phase {
            Shape::Cpu => Vec::new(),
            Shape::Chains(chains) => chains.iter().map(|places| said(places)).collect(),
        };
        RecordedRequest {
            count: self.seen as u64,
            facts: self.shape.iter().map(phase).collect(),
        }
    }

    fn phases(&self) -> Vec<RecordedPhase> {
        let (mut steps, mut logic) = (self.steps.iter(), self.app_ns.iter());
        let phase = |phase: &Shape| match phase {
            Shape::Cpu => {
                let kept = logic.next().map(Vec::as_slice).unwrap_or(&[]);
                RecordedPhase::Cpu {
                    app_ns: Some(median(kept, f64::total_cmp)),
                    app_quantiles_ns: quantiles(kept),
                    samples: kept.len() as u64,
                }
            }
            Shape::Chains(chains) => {
                let chain = |places: &Vec<Place>| RecordedChain {
                    steps: places
                        .iter()
                        .zip(steps.by_ref())
                        .map(|(place, kept)| kept.step(place))
                        .collect(),
                };
                RecordedPhase::Chains(chains.iter().map(chain).collect())
            }
        };
        self.shape.iter().map(phase).collect()
    }
}

impl Latest {
    fn put(&mut self, time_ns: f64) {
        put(&mut self.kept, self.seen % KEPT, time_ns);
        self.seen += 1;
    }
}

impl Samples {
    fn step(&self, place: &Place) -> RecordedStep {
        let costs = self.cost_ns.iter().copied();
        let calls: Vec<(u64, f64)> = self.input_bytes.iter().copied().zip(costs).collect();
        RecordedStep {
            trace: place.trace.clone(),
            accelerator: place.accelerator.clone(),
            direction: place.direction,
            input_bytes: median(&self.input_bytes, u64::cmp),
            output_bytes: median(&self.output_bytes, u64::cmp),
            facts: place.facts.iter().cloned().collect(),
            cost_ns: median(&self.cost_ns, f64::total_cmp),
            cost_quantiles_ns: quantiles(&self.cost_ns),
            by_size: by_size(&calls),
            samples: self.cost_ns.len() as u64,
        }
    }
}

/// Returns the facts that branches read in each trace. Later operations such as Dcmp may change a
/// fact; branches read its first value.
fn said(places: &[Place]) -> BTreeMap<String, BTreeMap<String, i64>> {
    let mut facts: BTreeMap<String, BTreeMap<String, i64>> = BTreeMap::new();
    for place in places {
        for (field, value) in &place.facts {
            let trace = facts.entry(place.trace.clone()).or_default();
            trace.entry(field.clone()).or_insert(*value);
        }
    }
    facts
}

fn put<T>(kept: &mut Vec<T>, slot: usize, value: T) {
    match kept.get_mut(slot) {
        Some(place) => *place = value,
        None => kept.push(value),
    }
}

/// What belongs to the function called `name`, or to the only one whose name ends with `.name`.
fn named<'f, T>(functions: &'f BTreeMap<String, T>, name: &str) -> Option<&'f T> {
    let ends = format!(".{name}");
    let mut found = functions.iter().filter(|(full, _)| full.ends_with(&ends));
    functions
        .get(name)
        .or_else(|| match (found.next(), found.next()) {
            (Some((_, only)), None) => Some(only),
            _ => None,
        })
}

/// The lower median, which is one of the values; the default if there are none.
fn median<T: Copy + Default>(kept: &[T], order: impl Fn(&T, &T) -> std::cmp::Ordering) -> T {
    let mut sorted = kept.to_vec();
    sorted.sort_by(order);
    let middle = sorted.len().saturating_sub(1) / 2;
    sorted.get(middle).copied().unwrap_or_default()
}
