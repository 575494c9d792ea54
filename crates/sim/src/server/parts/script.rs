//! Chains of traces, compiled before a run. The compiled form consists of legs. A leg states what
//! an output dispatcher reads from one position of a chain up to the next operation. What depends
//! on randomly drawn facts is not compiled.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use accelflow_trace::{
    Accel, Action, AtmAddress, Effect, Facts, Field, Link, PositionMark, Step, step,
};
use accelflow_workload::services::PayloadFacts;

use super::reading::Reading;
use crate::orchestrators::Next;
use crate::plan::{ChainPlan, Law, PhasePlan, Plan};
use crate::server::state::{Cursor, LegId};

/// A position in a chain of traces: trace, word, mark.
type Position = (AtmAddress, AtmAddress, PositionMark);

/// A leg of a chain: what an output dispatcher reads from a position up to the next operation, a
/// wait, or the end. A leg has no fork and no join.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leg {
    /// The address of the first word of the trace in which the dispatcher stops reading.
    pub trace: AtmAddress,
    /// The address of the word in which the dispatcher stops reading.
    pub word: AtmAddress,
    /// The position within `word` at which the dispatcher stops reading.
    pub mark: PositionMark,
    /// The leg (what a dispatcher reads up to the next operation) that begins where this leg ends;
    /// [`LegId::NONE`] if that leg is not compiled.
    pub then: LegId,
    /// What the trace does when the dispatcher stops reading: an operation, a wait for a message,
    /// or its end.
    pub next: Next,
    /// Numbers of branches, words and transformations that the dispatcher reads before it stops.
    pub reading: Reading,
    /// Properties of the next trace of the chain, if the dispatcher enters that trace before it
    /// stops reading; else `None`.
    pub begins: Option<Begins>,
    /// Whether the next operation receives a message.
    pub receives: bool,
    /// The core time of the next operation as a function of the message's size. `None` if there is
    /// no next operation, if its core time is drawn at random, or if its payload was recorded.
    pub law: Option<Law>,
    /// The accelerator of the previous operation. `None` at the start of a trace, in an arm of a
    /// fork, after a join, and if several accelerators may come before.
    pub from: Option<Accel>,
}

/// The beginning of the next trace of a chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begins {
    /// Whether the trace's message arrives compressed; `None` if this is drawn for each request.
    pub compressed: Option<bool>,
    /// Whether the trace sends an error response: true if it does not begin with the receipt of a
    /// message.
    pub error: bool,
}

/// The compiled chains of a run.
#[derive(Debug, Default)]
pub(crate) struct Scripts {
    legs: Vec<Leg>,
    scripts: Vec<Script>,
    /// By service, then by phase, the index of the first chain's script; no phases for services
    /// that are not compiled.
    first: Vec<Vec<u32>>,
}

/// The number of words from which on a leg is not compiled.
const MOST_LOADS: u8 = 16;

/// A compiled chain.
#[derive(Debug)]
struct Script {
    /// The legs by their positions, in ascending order.
    legs: Vec<(Position, LegId)>,
    /// The leg from the beginning on.
    first: LegId,
    /// Whether the first message arrives compressed; `None` if that is drawn.
    compressed: Option<bool>,
}

impl Scripts {
    /// Compiles the chains of `services`, indices of services of `plan`.
    pub(crate) fn new(plan: &Plan, services: impl Iterator<Item = usize>) -> Scripts {
        let mut scripts = Scripts {
            first: vec![Vec::new(); plan.services.len()],
            ..Scripts::default()
        };
        for service in services {
            if !scripts.first[service].is_empty() {
                continue;
            }
            for phase in &plan.services[service].phases {
                let first = scripts.scripts.len() as u32;
                scripts.first[service].push(first);
                if let PhasePlan::Chains(chains) = phase {
                    chains.iter().for_each(|chain| scripts.add(plan, chain));
                }
            }
        }
        scripts
    }

    /// The beginning of the chain number `chain` of a phase of a service, whose first trace is
    /// `entry`; and whether its message arrives compressed, unless that is drawn.
    pub(crate) fn begin(
        &self,
        service: u16,
        phase: u16,
        chain: u16,
        entry: AtmAddress,
    ) -> (Cursor, Option<bool>) {
        let phases = &self.first[usize::from(service)];
        let first = phases.get(usize::from(phase)).copied();
        let number = first.map_or(u32::MAX, |first| first + u32::from(chain));
        let script = self.scripts.get(number as usize);
        let cursor = Cursor {
            chain,
            trace: entry,
            word: entry,
            mark: PositionMark::START,
            ordinal: 0,
            script: number,
            leg: script.map_or(LegId::NONE, |script| script.first),
        };
        (cursor, script.and_then(|script| script.compressed))
    }

    /// The leg with this number.
    #[inline]
    pub(crate) fn leg(&self, id: LegId) -> Option<&Leg> {
        self.legs.get(id.index())
    }

    /// The leg from the position of a cursor, found by the position.
    pub(crate) fn leg_at(&self, cursor: &Cursor) -> LegId {
        let script = self.scripts.get(cursor.script as usize);
        script.map_or(LegId::NONE, |script| {
            script.find((cursor.trace, cursor.word, cursor.mark))
        })
    }

    /// All legs, in the order of their numbers.
    pub(crate) fn legs(&self) -> &[Leg] {
        &self.legs
    }

    fn add(&mut self, plan: &Plan, chain: &ChainPlan) {
        let (reader, first) = (Reader { plan, chain }, self.legs.len());
        let mut script = Vec::new();
        for (position, from) in reader.positions() {
            if let Some(leg) = reader.leg(position, from) {
                script.push((position, LegId::new(self.legs.len())));
                self.legs.push(leg);
            }
        }
        let entry = chain.facts.entry();
        let mut script = Script {
            legs: script,
            first: LegId::NONE,
            compressed: reader.begins(entry).and_then(|begins| begins.compressed),
        };
        script.first = script.find((entry, entry, PositionMark::START));
        for leg in &mut self.legs[first..] {
            leg.then = script.find((leg.trace, leg.word, leg.mark));
        }
        self.scripts.push(script);
    }
}

impl Script {
    fn find(&self, position: Position) -> LegId {
        let found = self.legs.binary_search_by_key(&position, |leg| leg.0);
        found.map_or(LegId::NONE, |place| self.legs[place].1)
    }
}

/// Reads a chain before the run.
struct Reader<'p> {
    plan: &'p Plan,
    chain: &'p ChainPlan,
}

impl Reader<'_> {
    /// The positions from which the chain may be read, and the only operation before each.
    fn positions(&self) -> BTreeMap<Position, Option<Accel>> {
        let entry = self.chain.facts.entry();
        let begin = (entry, entry, PositionMark::START);
        let (mut found, mut left) = (BTreeMap::from([(begin, None)]), vec![begin]);
        while let Some(position) = left.pop() {
            for (next, from) in self.after(position) {
                match found.entry(next) {
                    Entry::Vacant(place) => {
                        place.insert(from);
                        left.push(next);
                    }
                    Entry::Occupied(mut place) if *place.get() != from => {
                        place.insert(None);
                    }
                    Entry::Occupied(_) => {}
                }
            }
        }
        found
    }

    /// The positions from which the chain may be read after `position` has been. A branch on a
    /// drawn fact leads both ways.
    fn after(&self, position: Position) -> Vec<(Position, Option<Accel>)> {
        let (mut after, mut seen, mut left) = (Vec::new(), BTreeSet::new(), vec![position]);
        while let Some((trace, word, mark)) = left.pop() {
            let read = self.plan.image.word(word).ok();
            let Some((instruction, next)) = read.and_then(|word| word.decode(mark).ok()) else {
                continue;
            };
            if !seen.insert((trace, word, mark)) {
                continue;
            }
            let at = |mark| (trace, word, mark);
            match Effect::of(instruction) {
                Effect::Jump(to) => left.push(at(to)),
                Effect::Branch {
                    predicate,
                    otherwise,
                } => {
                    let held = self.holds(trace, predicate);
                    left.extend((held != Some(false)).then_some(at(next)));
                    left.extend((held != Some(true)).then_some(at(otherwise)));
                }
                Effect::Act(action) => match action {
                    Action::Forward(accel) => after.push((at(next), Some(accel))),
                    Action::Transform(_) => left.push(at(next)),
                    Action::Join => after.push((at(next), None)),
                    Action::Notify => {}
                    Action::Fork { arm } | Action::Scatter { arm } => {
                        after.push((at(arm), None));
                        left.push(at(next));
                    }
                    Action::LoadAtm { address, link } => {
                        let trace = if link == Link::Next { address } else { trace };
                        let begin = (trace, address, PositionMark::START);
                        after.push((begin, None));
                        left.push(begin);
                    }
                },
            }
        }
        after
    }

    /// Whether a predicate holds in a trace; `None` if that is drawn, or cannot be told.
    fn holds(&self, trace: AtmAddress, predicate: u8) -> Option<bool> {
        let predicates = self.plan.image.predicates();
        let facts = self.chain.facts.fixed(trace)?;
        let predicate = predicates.get(predicate)?;
        predicate.holds(predicates.fields(), &facts).ok()
    }

    /// The leg from `position`, by [`step`], if nothing drawn decides it.
    fn leg(&self, position: Position, from: Option<Accel>) -> Option<Leg> {
        let (mut trace, mut word, mut mark) = position;
        let (mut reading, mut begins) = (Reading::default(), None);
        let leg = |next, after: Position, reading, begins| Leg {
            trace: after.0,
            word: after.1,
            mark: after.2,
            then: LegId::NONE,
            next,
            reading,
            begins,
            receives: false,
            law: None,
            from,
        };
        while reading.loads < MOST_LOADS {
            let at_start = word == trace && mark == PositionMark::START;
            let read = self.step((trace, word, mark))?;
            reading.branches += read.branches;
            mark = read.next;
            let after = (trace, word, mark);
            match read.action {
                Action::Transform(_) => reading.transforms += 1,
                Action::Fork { .. } | Action::Scatter { .. } | Action::Join => return None,
                Action::Notify => return Some(leg(Next::End, after, reading, begins)),
                Action::Forward(accel) => {
                    let receives = at_start && accel == Accel::Tcp;
                    return Some(Leg {
                        receives,
                        law: self.chain.law(trace, accel, receives),
                        ..leg(Next::Forward(accel), after, reading, begins)
                    });
                }
                Action::LoadAtm { address, link } => {
                    reading.loads += 1;
                    (word, mark) = (address, PositionMark::START);
                    if link == Link::Continue {
                        continue;
                    }
                    if begins.is_some() {
                        return None;
                    }
                    trace = address;
                    begins = Some(self.begins(trace)?);
                    if begins.is_some_and(|begins| !begins.error) {
                        let after = (trace, word, mark);
                        return Some(leg(Next::Park, after, reading, begins));
                    }
                }
            }
        }
        None
    }

    /// The next step from a position, if no drawn fact decides it.
    fn step(&self, (trace, word, mark): Position) -> Option<Step> {
        let (image, nothing) = (&self.plan.image, |_: Field<'_>| None);
        let word = image.word(word).ok()?;
        let read = match self.chain.facts.fixed(trace) {
            Some(facts) => step(word, mark, image.predicates(), &facts),
            None => step(word, mark, image.predicates(), &nothing),
        };
        read.ok()
    }

    fn begins(&self, trace: AtmAddress) -> Option<Begins> {
        let field = self.plan.compressed_field();
        let fixed = self.chain.facts.fixed(trace);
        let compressed = |facts: PayloadFacts<'_>| {
            let value = field.and_then(|field| facts.get(field));
            value == Some(1)
        };
        let word = self.plan.image.word(trace).ok()?;
        Some(Begins {
            compressed: fixed.map(compressed),
            error: word.first() != Some(Accel::Tcp),
        })
    }
}
