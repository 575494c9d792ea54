//! The paths through the branches of a chain, and the share of sequences that have a branch.
//!
//! A *sequence* is what accelerators do without a core in between. AccelFlow's section III, Q2,
//! counts "sequences of accelerators that need no intervening CPU involvement" and how many of them
//! have a conditional. Here, a sequence begins when a message arrives or a core starts it, and ends
//! when it notifies the core. Tails, and waits for messages, do not end it. In the paths of Table
//! IV, `4x(T9-T10)` is one sequence, of which four copies run in parallel; different chains between
//! two CPU phases are different sequences. With this reading, 18 of the 26 sequences in Table IV
//! have a branch: 69.2 %, as the paper prints for SocialNetwork.

use accelflow_trace::{Action, AtmAddress, Fault, Field, Image, Joins, Link, PositionMark, step};

use super::error::ServiceError;
use super::place::Place;
use super::service::{Chain, Service};

/// One path through the branches of a chain of traces: the payload values that lead along it, and
/// the number of its branches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainPath {
    /// The chain with the payload values that lead it along this path, and no others.
    pub chain: Chain,
    /// The number of branches on this path, including those in the arms of forks.
    pub conditionals: u32,
}

/// A sequence of accelerator calls without a core in between (AccelFlow, section III, Q2). It
/// begins when a message arrives or a core starts it, and ends when it notifies the core. Chains of
/// traces that run in parallel count as one sequence if their first traces have the same name up to
/// a `+`, such as `T9` and `T9+Cmp`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// The name of the sequence's first trace without a suffix: `T9` for both `T9` and `T9+Cmp`.
    pub entry: String,
    /// The largest number of branches that one execution of the sequence resolves.
    pub conditionals: u32,
}

impl Chain {
    /// Returns all paths through the branches of this chain's traces, one path for each combination
    /// of branch outcomes. Every payload field that a branch tests is taken to be 0 or 1, as in all
    /// traces of the AccelFlow paper. Values that are set in this chain are ignored. `place` is the
    /// chain's place, for error messages.
    ///
    /// # Errors
    /// [`ServiceError`] for an unknown first trace and for a trace that cannot run to its end.
    pub fn outcomes(&self, place: &Place, image: &Image) -> Result<Vec<ChainPath>, ServiceError> {
        let unknown = || ServiceError::UnknownTrace {
            place: place.clone(),
            trace: self.entry().to_owned(),
        };
        let entry = image.entry(self.entry()).ok_or_else(unknown)?;
        let mut found = Vec::new();
        let mut open = vec![Chain::new(self.entry())];
        while let Some(chain) = open.pop() {
            match execute(&chain, entry, image) {
                Ok(conditionals) => found.push(ChainPath {
                    chain,
                    conditionals,
                }),
                Err((trace, Fault::MissingField(field))) => {
                    open.extend([0, 1].map(|value| chain.clone().with(&trace, &field, value)));
                }
                Err((trace, fault)) => {
                    return Err(ServiceError::Fault {
                        place: place.clone(),
                        trace,
                        fault,
                    });
                }
            }
        }
        Ok(found)
    }
}

/// The largest number of paths through one chain that are examined.
pub(crate) const MAX_WAYS: usize = 1 << 16;

impl Chain {
    /// Checks that the chain's traces can run to their end. A payload field for which
    /// `is_open(trace, field)` is true is tried with both values, 0 and 1; any other field has the
    /// value that is set in the chain. At most 65,536 combinations of values are checked; the
    /// result is true if these are all combinations. `place` is the chain's place, for error
    /// messages.
    ///
    /// # Errors
    /// [`ServiceError::UnknownTrace`] for an unknown first trace, and [`ServiceError::Fault`] for a
    /// trace that cannot continue. For example, the trace tests a field for which `is_open` is
    /// false and the chain sets no value.
    pub fn check_odds(
        &self,
        place: &Place,
        image: &Image,
        is_open: &dyn Fn(&str, &str) -> bool,
    ) -> Result<bool, ServiceError> {
        let unknown = || ServiceError::UnknownTrace {
            place: place.clone(),
            trace: self.entry().to_owned(),
        };
        let entry = image.entry(self.entry()).ok_or_else(unknown)?;
        let mut closed = Chain::new(self.entry());
        for (trace, field, value) in self.facts().filter(|fact| !is_open(fact.0, fact.1)) {
            closed = closed.with(trace, field, value);
        }
        let mut open = vec![closed];
        let mut ways = 0;
        while let Some(chain) = open.pop() {
            ways += 1;
            if ways > MAX_WAYS {
                return Ok(false);
            }
            match execute(&chain, entry, image) {
                Ok(_) => {}
                Err((trace, Fault::MissingField(field))) if is_open(&trace, &field) => {
                    open.extend([0, 1].map(|value| chain.clone().with(&trace, &field, value)));
                }
                Err((trace, fault)) => {
                    let place = place.clone();
                    return Err(ServiceError::Fault {
                        place,
                        trace,
                        fault,
                    });
                }
            }
        }
        Ok(true)
    }
}

/// Follows `chain` to its end and counts branches. The error is the trace that does not end, and
/// the reason.
pub(super) fn execute(
    chain: &Chain,
    entry: AtmAddress,
    image: &Image,
) -> Result<u32, (String, Fault)> {
    let mut open = vec![(entry, entry, PositionMark::START, None)];
    let mut joins = Joins::default();
    let mut branches = 0;
    while let Some((mut trace, mut address, mut mark, mut seat)) = open.pop() {
        loop {
            let name = image.name(trace);
            let failed = |fault| (name.to_owned(), fault);
            let facts = |field: Field<'_>| chain.fact(name, field.name);
            let word = image.word(address).map_err(failed)?;
            let step = step(word, mark, image.predicates(), &facts).map_err(failed)?;
            branches += u32::from(step.branches);
            mark = step.next;
            match step.action {
                Action::Forward(_) | Action::Transform(_) => {}
                Action::Fork { arm } => open.push((trace, address, arm, joins.fork(seat))),
                Action::Scatter { arm } => {
                    let [own, other] = joins.scatter(seat).map(Some);
                    open.push((trace, address, arm, other));
                    seat = own;
                }
                Action::Join => {
                    let place = seat.ok_or_else(|| failed(Fault::NoJoin))?;
                    match joins.arrive(place, ()) {
                        Some((_, outer)) => seat = outer,
                        None => break,
                    }
                }
                Action::Notify => break,
                Action::LoadAtm {
                    address: next,
                    link,
                } => {
                    (address, mark) = (next, PositionMark::START);
                    if link == Link::Next {
                        trace = next;
                    }
                }
            }
        }
    }
    Ok(branches)
}

/// Returns the accelerator sequences of `service`, in the order of its path: the accelerator calls
/// without a core in between. Chains of traces in one phase count as one sequence if the names of
/// their first traces are equal up to a `+`, such as `T9` and `T9+Cmp`.
///
/// # Errors
/// The errors of [`Chain::outcomes`].
pub fn sequences(service: &Service, image: &Image) -> Result<Vec<Sequence>, ServiceError> {
    let mut found: Vec<(usize, Sequence)> = Vec::new();
    for (place, chain) in service.chains() {
        let entry = chain.entry().split('+').next().unwrap_or(chain.entry());
        if found
            .iter()
            .any(|(phase, sequence)| *phase == place.phase && sequence.entry == entry)
        {
            continue;
        }
        let outcomes = chain.outcomes(&place, image)?;
        let most = outcomes.iter().map(|outcome| outcome.conditionals).max();
        let sequence = Sequence {
            entry: entry.to_owned(),
            conditionals: most.unwrap_or(0),
        };
        found.push((place.phase, sequence));
    }
    Ok(found.into_iter().map(|(_, sequence)| sequence).collect())
}

/// Returns the share, from 0 to 1, of the accelerator sequences of `services` that have at least
/// one branch (AccelFlow, section III, Q2). Returns 0 if there are no sequences. [`sequences`]
/// defines them.
///
/// # Errors
/// The errors of [`Chain::outcomes`].
pub fn branching_share(services: &[Service], image: &Image) -> Result<f64, ServiceError> {
    let (mut all, mut branching) = (0_usize, 0_usize);
    for service in services {
        let sequences = sequences(service, image)?;
        all += sequences.len();
        branching += sequences
            .iter()
            .filter(|sequence| sequence.conditionals > 0)
            .count();
    }
    Ok(if all == 0 {
        0.0
    } else {
        branching as f64 / all as f64
    })
}
