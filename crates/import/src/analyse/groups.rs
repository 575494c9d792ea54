//! Grouping of the calls of a request into a sequence of steps; the calls of one step are
//! concurrent.

use super::calls::{Call, Class, Request, TOLERANCE_NS};
use crate::error::ImportError;
use crate::report::Findings;
use crate::topics;

/// A call of a path, or several calls that are one in the trace language.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) call: Call,
    pub(super) wait_ns: u64,
    /// The read of the database that followed a miss, and whether the cache was then refilled.
    pub(super) miss: Option<Miss>,
    /// Attempts that failed before this one, their durations together, and the times between
    /// attempts.
    pub(super) failures: u32,
    pub(super) failed_ns: u64,
    pub(super) backoff_ns: u64,
}

/// The calls that followed a miss.
#[derive(Clone, Copy, Debug)]
pub(super) struct Miss {
    pub(super) wait_ns: u64,
    pub(super) refilled: bool,
}

/// The path of a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    /// The calls of each step, in an order that does not depend on time.
    pub(super) steps: Vec<Vec<Item>>,
    /// Times before, between and after the steps in ns: one more than there are steps. The time by
    /// which later starts of parallel calls prolong a step is in the one before it.
    pub(super) gaps_ns: Vec<u64>,
    /// Whether spans that are marked as application logic give these times.
    pub(super) marked: bool,
    /// Whether the error of a call in the last step ended the request.
    pub(super) failed: bool,
    /// Time between parts of one item in ns, which belongs to no step.
    pub(super) inner_ns: u64,
}

struct Step {
    items: Vec<Item>,
    start_ns: u64,
    /// The ends of the call that ended first and of the one that ended last.
    ends_ns: (u64, u64),
}

/// The path of `request`.
///
/// # Errors
/// [`ImportError::Strict`] for a guess if the options refuse guesses.
pub(super) fn path(
    request: &Request,
    place: &str,
    findings: &mut Findings,
) -> Result<Path, ImportError> {
    let marked = !request.application_ns.is_empty();
    let mut steps = match marked {
        true => marked_steps(request),
        false => steps(request, place, findings)?,
    };
    let inner_ns = fold_retries(&mut steps) + fold_misses(&mut steps);
    let last = steps.last();
    let fails = |item: &&Item| item.call.facts.error && !item.call.detached;
    let error = last.is_some_and(|step| step.items.iter().any(|item| fails(&item)));
    let failed = error && request.facts.error;
    for (number, step) in steps.iter().enumerate() {
        let ends = failed && number + 1 == steps.len();
        let errors = step.items.iter().filter(fails);
        let handled = if ends { 0 } else { errors.count() as u64 };
        findings.count_many(&topics::HANDLED, handled, || place.to_owned())?;
    }
    let gaps_ns = match marked {
        true => marked_gaps(request, &steps),
        false => {
            let staggered = steps.iter().filter(|step| step.stagger_ns() > TOLERANCE_NS);
            let count = staggered.count() as u64;
            findings.count_many(&topics::STAGGER, count, || place.to_owned())?;
            gaps(request, &steps)
        }
    };
    Ok(Path {
        gaps_ns,
        marked,
        steps: steps.into_iter().map(Step::ordered).collect(),
        failed,
        inner_ns,
    })
}

/// Steps by the times of calls.
fn steps(
    request: &Request,
    place: &str,
    findings: &mut Findings,
) -> Result<Vec<Step>, ImportError> {
    let mut steps: Vec<Step> = Vec::new();
    for call in &request.calls {
        if call.detached {
            // It joins concurrent calls without changing their time.
            match steps.last_mut() {
                Some(step) if call.start_ns < step.ends_ns.1 + TOLERANCE_NS => step.add(call),
                _ => steps.push(Step::of(call)),
            }
            continue;
        }
        let joined = steps.last_mut().is_some_and(|step| step.takes(call));
        let late = steps.last().map_or(0, |step| step.ends_ns.1);
        let partly = match (joined, steps.last()) {
            (true, Some(step)) => call.start_ns + TOLERANCE_NS >= step.ends_ns.0,
            _ => call.start_ns + TOLERANCE_NS < late,
        };
        if partly && call.end_ns > call.start_ns {
            findings.count(&topics::PARTLY, || place.to_owned())?;
        }
        match steps.last_mut() {
            Some(step) if joined => step.add(call),
            _ => steps.push(Step::of(call)),
        }
    }
    Ok(steps)
}

/// Steps of a request whose application logic is marked: calls without any between them are
/// concurrent, except for calls that follow a miss of a cache.
fn marked_steps(request: &Request) -> Vec<Step> {
    let before = |call: &Call| {
        let marks = request.application_ns.iter();
        marks
            .filter(|(start_ns, _)| *start_ns < call.start_ns)
            .count()
    };
    let mut steps: Vec<Step> = Vec::new();
    let mut last_before = None;
    for call in &request.calls {
        let call = &sent_before(call, request);
        let now_before = Some(before(call));
        let joined = steps.last().is_some_and(|step| {
            let classes = (step.only().map(|item| item.call.class), call.class);
            now_before == last_before
                && !matches!(
                    classes,
                    (Some(Class::CacheRead), Class::DatabaseRead)
                        | (Some(Class::DatabaseRead), Class::CacheWrite)
                )
        });
        last_before = now_before;
        match steps.last_mut() {
            Some(step) if joined => step.add(call),
            _ => steps.push(Step::of(call)),
        }
    }
    steps
}

/// Moves the start of a detached call to the start of the application logic that began while it was
/// being sent. Leaves other calls unchanged.
fn sent_before(call: &Call, request: &Request) -> Call {
    let mut marks = request.application_ns.iter();
    let inside = marks.find(|(start_ns, duration_ns)| {
        call.detached && (*start_ns..start_ns + duration_ns).contains(&call.start_ns)
    });
    let earlier = inside.map_or(0, |(start_ns, _)| call.start_ns - start_ns);
    Call {
        start_ns: call.start_ns - earlier,
        end_ns: call.end_ns - earlier,
        ..*call
    }
}

impl Step {
    fn of(call: &Call) -> Step {
        let end_ns = if call.detached {
            call.start_ns
        } else {
            call.end_ns
        };
        Step {
            items: vec![Item::of(call)],
            start_ns: call.start_ns,
            ends_ns: (end_ns, end_ns),
        }
    }

    /// Whether `call` is concurrent with the calls of this step: it begins before any of them has
    /// ended, or at least half of it is before the end of the last.
    fn takes(&self, call: &Call) -> bool {
        let overlap = self.ends_ns.1.saturating_sub(call.start_ns);
        let half = call.end_ns.saturating_sub(call.start_ns) / 2;
        call.start_ns + TOLERANCE_NS < self.ends_ns.0 || (overlap > TOLERANCE_NS && overlap > half)
    }

    fn add(&mut self, call: &Call) {
        self.items.push(Item::of(call));
        if call.detached {
            return;
        }
        self.ends_ns.0 = self.ends_ns.0.min(call.end_ns);
        self.ends_ns.1 = self.ends_ns.1.max(call.end_ns);
    }

    fn only(&self) -> Option<&Item> {
        match self.items.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// How much longer the step takes than the longest of its calls, since they start one after
    /// another.
    fn stagger_ns(&self) -> u64 {
        if self.only().is_some() {
            return 0;
        }
        let waited = self.items.iter().filter(|item| !item.call.detached);
        let longest = waited.map(|item| item.wait_ns).max().unwrap_or(0);
        let whole = self.ends_ns.1.saturating_sub(self.start_ns);
        whole.saturating_sub(longest)
    }

    fn ordered(mut self) -> Vec<Item> {
        self.items
            .sort_by_key(|item| (item.call.class, item.call.target, item.call.detached));
        self.items
    }
}

impl Item {
    fn of(call: &Call) -> Item {
        Item {
            call: *call,
            wait_ns: call.end_ns - call.start_ns,
            miss: None,
            failures: 0,
            failed_ns: 0,
            backoff_ns: 0,
        }
    }
}

/// Whether both calls are of one target, or may be: an attempt without a server span is known by
/// its client's name only.
fn is_same(first: &Call, second: &Call) -> bool {
    let by_name = !first.answered || !second.answered;
    first.target == second.target || (by_name && first.asked == second.asked)
}

/// Makes one step of a failed call and the same call again. Returns the time between them.
fn fold_retries(steps: &mut Vec<Step>) -> u64 {
    let mut at = 1;
    let mut between = 0;
    while at < steps.len() {
        let pair = steps[at - 1].only().zip(steps[at].only());
        let again = pair.filter(|(first, second)| {
            let same = first.call.class == second.call.class && is_same(&first.call, &second.call);
            let waited = !first.call.detached && !second.call.detached;
            same && waited && first.call.facts.error
        });
        let Some((first, _)) = again else {
            at += 1;
            continue;
        };
        let (failures, backoff_ns) = (first.failures, first.backoff_ns);
        let failed_ns = first.failed_ns + first.wait_ns;
        let first = steps.remove(at - 1);
        let step = &mut steps[at - 1];
        let pause = step.start_ns.saturating_sub(first.ends_ns.1);
        let item = &mut step.items[0];
        item.failures = failures + 1;
        item.failed_ns = failed_ns;
        item.backoff_ns = backoff_ns + pause;
        // The time of the failed attempts is not a gap of the path.
        between += step.start_ns.saturating_sub(first.start_ns);
        step.start_ns = first.start_ns;
    }
    between
}

/// Makes one step of a read of a cache, the read of a database that follows it, and the write that
/// refills the cache: the traces T4 to T7. Returns the time between them.
fn fold_misses(steps: &mut Vec<Step>) -> u64 {
    let class = |step: Option<&Step>| step.and_then(Step::only).map(|item| item.call.class);
    let mut between = 0;
    for at in 0.. {
        if at >= steps.len() {
            break;
        }
        let hit = steps[at].only().and_then(|item| item.call.facts.hit);
        let waited = |at: usize| {
            let only = steps.get(at).and_then(Step::only);
            only.is_some_and(|item| !item.call.detached)
        };
        let reads = class(steps.get(at)) == Some(Class::CacheRead) && hit != Some(true);
        let misses = reads && class(steps.get(at + 1)) == Some(Class::DatabaseRead);
        if !misses || !waited(at) || !waited(at + 1) {
            continue;
        }
        let read = steps.remove(at + 1);
        let mut pause = read.start_ns.saturating_sub(steps[at].ends_ns.1);
        let refilled = class(steps.get(at + 1)) == Some(Class::CacheWrite);
        let mut end = read.ends_ns.1;
        if refilled {
            // The core does not wait for the refill, which a fork of T6 sends.
            let write = steps.remove(at + 1);
            pause += write.ends_ns.1.saturating_sub(read.ends_ns.1);
            end = write.ends_ns.1;
        }
        between += pause;
        let wait_ns = read.items.first().map_or(0, |item| item.wait_ns);
        let step = &mut steps[at];
        step.items[0].miss = Some(Miss { wait_ns, refilled });
        step.items[0].call.facts.error |= read.items.iter().any(|item| item.call.facts.error);
        step.ends_ns = (end, end);
    }
    between
}

/// The times of marked application logic, each in the gap before the first step that begins after
/// it.
fn marked_gaps(request: &Request, steps: &[Step]) -> Vec<u64> {
    let mut gaps = vec![0; steps.len() + 1];
    for (start_ns, duration_ns) in &request.application_ns {
        let gap = steps.partition_point(|step| step.start_ns <= *start_ns);
        gaps[gap] += duration_ns;
    }
    gaps
}

/// The times before, between and after `steps`. Parallel chains of a workload begin together, so
/// what the starts of a step's calls take is in the time before it.
fn gaps(request: &Request, steps: &[Step]) -> Vec<u64> {
    let mut from = request.start_ns;
    let mut gaps = Vec::with_capacity(steps.len() + 1);
    for step in steps {
        gaps.push(step.start_ns.saturating_sub(from) + step.stagger_ns());
        from = from.max(step.ends_ns.1);
    }
    gaps.push(request.end_ns.saturating_sub(from));
    gaps
}
