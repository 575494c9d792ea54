//! The accelerator calls of one invocation of a service, found by following its traces.

use accelflow_trace::{Accel, Image, Visit, Walker};

use super::error::ServiceError;
use super::facts::ChainFacts;
use super::place::Place;
use super::service::{Chain, Phase, Service};

/// One accelerator call in a chain of traces: the calling trace, the accelerator, and whether the
/// call receives a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The name of the trace that makes the call.
    pub trace: String,
    /// The accelerator that is called.
    pub accel: Accel,
    /// Whether the accelerator is TCP and the call receives a message, as the first call of a
    /// trace. Any later call of TCP sends a message.
    pub receives: bool,
    /// The index of the parallel execution (arm) that makes the call: 0 for the execution with
    /// which the chain begins, then 1, 2 ... for the arms that forks start, in the order in which a
    /// [`Walker`] follows them.
    pub arm: usize,
}

/// The traces that a chain runs on its most common path, and their accelerator calls. Parallel arms
/// of forks are listed one after another, in the order in which a [`Walker`] visits them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainWalk {
    /// The names of the traces that the chain runs, in the order in which it enters them.
    pub traces: Vec<String>,
    /// The accelerator calls of the chain, in order.
    pub operations: Vec<Operation>,
}

/// The work of one phase of a service: application logic, or the accelerator calls of its chains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PhaseWalk {
    /// Application logic on a core.
    Cpu,
    /// Chains of traces that run in parallel, one entry each.
    Traces(Vec<ChainWalk>),
}

/// The number of accelerator calls and the list of traces in one invocation of a service, on its
/// most common path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// The total number of accelerator calls: the last column of AccelFlow's Table IV.
    pub total: u32,
    /// The number of calls of each accelerator, at the index [`Accel::index`].
    pub by_accel: [u32; Accel::MOST],
    /// The names of the traces that run, in order, with repetitions; parallel chains and arms of
    /// forks follow one another.
    pub traces: Vec<String>,
    /// The service's path as AccelFlow's Table IV prints it, such as `T1-CPU-3x(T8-T7)-CPU-T2`.
    /// Suffixes of traces are left out: `T8+Cmp`, which compresses the request that it sends, is
    /// `T8`.
    pub path: String,
}

impl Counts {
    /// Returns the number of calls of the accelerator `accel` in one invocation.
    pub fn of(&self, accel: Accel) -> u32 {
        self.by_accel[accel.index()]
    }
}

/// Counts the accelerator calls of each accelerator in one invocation of `service`, and lists the
/// traces that run. Follows the most common path through the traces of `image`.
///
/// # Errors
/// The errors of [`Service::walk`].
pub fn invocations(service: &Service, image: &Image) -> Result<Counts, ServiceError> {
    let phases = service.walk(image)?;
    let mut counts = Counts {
        total: 0,
        by_accel: [0; Accel::MOST],
        traces: Vec::new(),
        path: phases
            .iter()
            .map(PhaseWalk::as_printed)
            .collect::<Vec<_>>()
            .join("-"),
    };
    for walk in phases.iter().flat_map(PhaseWalk::chains) {
        counts.traces.extend_from_slice(&walk.traces);
        for operation in &walk.operations {
            counts.total += 1;
            counts.by_accel[operation.accel.index()] += 1;
        }
    }
    Ok(counts)
}

impl Service {
    /// Returns the work of each phase of the service: application logic, or the traces and
    /// accelerator calls of its chains. Follows the most common path through the traces of `image`.
    ///
    /// # Errors
    /// [`ServiceError`] for names that `image` does not have, for a first chain that does not begin
    /// with TCP, for a later chain that begins with TCP, and for traces that cannot continue with
    /// the payload values (facts) that are set in their chain.
    pub fn walk(&self, image: &Image) -> Result<Vec<PhaseWalk>, ServiceError> {
        let mut phases = Vec::with_capacity(self.path().len());
        for (phase, part) in self.path().iter().enumerate() {
            phases.push(match part {
                Phase::Cpu => PhaseWalk::Cpu,
                Phase::Traces(chains) => {
                    let walks = chains.iter().enumerate().map(|(chain, traces)| {
                        let place = Place {
                            service: self.name().to_owned(),
                            phase,
                            chain,
                        };
                        walk_chain(traces, place, image)
                    });
                    PhaseWalk::Traces(walks.collect::<Result<_, _>>()?)
                }
            });
        }
        Ok(phases)
    }
}

fn walk_chain(chain: &Chain, place: Place, image: &Image) -> Result<ChainWalk, ServiceError> {
    // Refuses every unknown name before the walk, including those that the walk would not reach.
    ChainFacts::resolve(chain, &place, image)?;
    let (walk, _) = follow(chain, &place, image)?;
    let first = place.phase == 0;
    if walk.operations.first().is_some_and(|call| call.receives) != first {
        return Err(ServiceError::Trigger {
            place,
            trace: chain.entry().to_owned(),
            first,
        });
    }
    Ok(walk)
}

/// Follows `chain` to its end. Returns its traces and calls, and whether one of its traces answers
/// the request with an error.
pub(super) fn follow(
    chain: &Chain,
    place: &Place,
    image: &Image,
) -> Result<(ChainWalk, bool), ServiceError> {
    let unknown = || ServiceError::UnknownTrace {
        place: place.clone(),
        trace: chain.entry().to_owned(),
    };
    let mut walker = Walker::new(image, chain.entry()).ok_or_else(unknown)?;
    let mut walk = ChainWalk {
        traces: Vec::new(),
        operations: Vec::new(),
    };
    let (mut arm, mut sent_error, mut fails) = (0, false, false);
    while let Some(trace) = walker.trace() {
        let facts = |field: accelflow_trace::Field<'_>| chain.fact(trace, field.name);
        let visit = walker
            .advance(&facts)
            .map_err(|fault| ServiceError::Fault {
                place: place.clone(),
                trace: trace.to_owned(),
                fault,
            })?;
        match visit {
            None => break,
            Some(Visit::Enter(name)) => walk.traces.push(name),
            Some(Visit::Call { accel, receives }) => {
                let sends = accel == Accel::Tcp && !receives;
                sent_error = sends && reports_errors(trace, &walk, image);
                walk.operations.push(Operation {
                    trace: trace.to_owned(),
                    accel,
                    receives,
                    arm,
                });
            }
            Some(Visit::Notify) => {
                fails |= sent_error;
                arm += 1;
            }
            Some(Visit::Wait) => arm += 1,
            Some(Visit::Transform(_) | Visit::Fork | Visit::Scatter | Visit::Join) => {}
        }
    }
    Ok((walk, fails))
}

/// Whether the message of `trace` reports an error: a tail has led to the trace, which does not
/// wait for a message.
fn reports_errors(trace: &str, walk: &ChainWalk, image: &Image) -> bool {
    let entered = walk.traces.iter().skip(1).any(|name| name == trace);
    let word = image.entry(trace).and_then(|entry| image.word(entry).ok());
    entered && word.is_some_and(|word| word.first() != Some(Accel::Tcp))
}

impl PhaseWalk {
    /// Returns the traces and accelerator calls of each chain of this phase; empty for a CPU phase.
    pub fn chains(&self) -> &[ChainWalk] {
        match self {
            PhaseWalk::Cpu => &[],
            PhaseWalk::Traces(walks) => walks,
        }
    }

    /// The phase as Table IV prints it.
    fn as_printed(&self) -> String {
        let PhaseWalk::Traces(walks) = self else {
            return "CPU".to_owned();
        };
        let mut groups: Vec<(String, usize)> = Vec::new();
        for walk in walks {
            let names = walk
                .traces
                .iter()
                .map(|name| name.split('+').next().unwrap_or(name));
            let text = names.collect::<Vec<_>>().join("-");
            match groups.last_mut() {
                Some((last, count)) if *last == text => *count += 1,
                _ => groups.push((text, 1)),
            }
        }
        match groups.as_slice() {
            [(text, 1)] => text.clone(),
            _ => {
                let times = groups
                    .iter()
                    .map(|(text, count)| format!("{count}x({text})"));
                times.collect::<Vec<_>>().join("|")
            }
        }
    }
}
