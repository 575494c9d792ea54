//! The operations of services: their shapes (sequences of calls), and the frequency and durations
//! of each shape.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use super::calls::{Class, Request};
use super::durations::Durations;
use super::groups::{Item, Path};
use super::sample::{Mean, Sample};
use crate::span::{Method, Protocol};

/// The data of an operation.
#[derive(Debug, Default)]
pub(crate) struct Operation {
    pub(crate) totals: Totals,
    shapes: HashMap<ShapeKey, Shape>,
    /// Whether shapes were dropped.
    forgets: bool,
}

/// Totals over all requests of an operation.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) requests: u64,
    /// Requests from outside, which no request of the files has made.
    pub(crate) outside: u64,
    /// Requests that came by HTTP.
    pub(crate) http: u64,
    pub(crate) failed: u64,
    pub(crate) time: Durations,
    pub(crate) request_compressed: Share,
    pub(crate) response_compressed: Share,
    pub(crate) request_bytes: Sample,
    pub(crate) response_bytes: Sample,
}

/// The calls of each step, and whether an error in the last one has ended the request.
type ShapeKey = (Vec<Vec<CallKey>>, bool);

/// The class of a call, its target, and whether it is detached.
type CallKey = (Class, Method, bool);

/// A share: the number of cases in which something held, of those that state it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Share {
    pub(crate) yes: u64,
    pub(crate) known: u64,
}

/// One sequence of steps that requests of an operation take.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) steps: Vec<Vec<ItemStats>>,
    /// Application time before, between and after the steps.
    pub(crate) gaps_ns: Vec<Mean>,
    pub(crate) requests: u64,
    pub(crate) outside: u64,
    /// The durations of its requests.
    pub(crate) time: Durations,
    pub(crate) inner_ns: f64,
    /// Requests whose application logic is marked by spans.
    pub(crate) marked: u64,
    /// The first trace with this shape.
    pub(crate) place: String,
}

/// The data of a call of a shape.
#[derive(Debug)]
pub(crate) struct ItemStats {
    pub(crate) class: Class,
    pub(crate) target: Method,
    pub(crate) answered: bool,
    /// Whether it is detached: nothing waits for it.
    pub(crate) detached: bool,
    pub(crate) count: u64,
    /// Calls of services without a server span.
    unanswered: u64,
    pub(crate) wait_ns: Sample,
    pub(crate) hit: Share,
    pub(crate) misses: u64,
    pub(crate) miss_wait_ns: Sample,
    pub(crate) refills: u64,
    /// Errors that ended the request.
    pub(crate) errors: u64,
    /// Attempts that failed and were followed by another one, and the most attempts of a call.
    pub(crate) failures: u64,
    pub(crate) attempts: u32,
    /// The durations of those attempts together, and the times until the next attempts, in ns.
    pub(crate) failed_ns: f64,
    pub(crate) backoff_ns: f64,
    /// The part of the wait outside of the operation that answers, in ns.
    pub(crate) network_ns: Mean,
    pub(crate) request_compressed: Share,
    pub(crate) response_compressed: Share,
    pub(crate) request_bytes: Sample,
    pub(crate) response_bytes: Sample,
}

impl Share {
    fn add(&mut self, truth: Option<bool>) {
        self.known += u64::from(truth.is_some());
        self.yes += u64::from(truth == Some(true));
    }

    fn merge(&mut self, other: Share) {
        self.known += other.known;
        self.yes += other.yes;
    }

    /// The share of `all` cases, of which those that do not state it do not hold.
    pub(crate) fn among(self, all: u64) -> f64 {
        match all {
            0 => 0.0,
            all => self.yes as f64 / all as f64,
        }
    }

    /// The share of the cases that state it; `None` if no case states it.
    pub(crate) fn value(self) -> Option<f64> {
        (self.known > 0).then(|| self.yes as f64 / self.known as f64)
    }
}

impl Operation {
    /// Counts a request.
    pub(super) fn arrived(&mut self, request: &Request) {
        let totals = &mut self.totals;
        let facts = &request.facts;
        totals.requests += 1;
        totals.outside += u64::from(request.outside);
        totals.http += u64::from(facts.protocol == Some(Protocol::Http));
        totals.failed += u64::from(facts.error);
        totals.time.add((request.end_ns - request.start_ns) as f64);
        totals.request_compressed.add(facts.request_compressed);
        totals.response_compressed.add(facts.response_compressed);
        let add = |sample: &mut Sample, bytes: Option<u32>| {
            bytes.into_iter().for_each(|b| sample.add(f64::from(b)));
        };
        add(&mut totals.request_bytes, facts.request_bytes);
        add(&mut totals.response_bytes, facts.response_bytes);
    }

    /// Adds a request to its shape. Returns the calls of the shape if it is new.
    pub(super) fn add(&mut self, request: &Request, path: &Path, place: &str) -> usize {
        let key = |step: &Vec<Item>| {
            let calls = step.iter().map(|item| &item.call);
            let keys = calls.map(|call| (call.class, call.target, call.detached));
            keys.collect::<Vec<_>>()
        };
        let key = (path.steps.iter().map(key).collect(), path.failed);
        let mut grown = 0;
        let shape = self.shapes.entry(key).or_insert_with(|| {
            // A shape without calls has a size, too.
            grown = 1 + path.steps.iter().map(Vec::len).sum::<usize>();
            Shape::empty(path, place)
        });
        shape.add(request, path);
        grown
    }

    /// Drops the shapes with at most `most` requests, but with `keep_one` not the most frequent
    /// one. Returns how many calls they had.
    pub(super) fn forget_up_to(&mut self, most: u64, keep_one: bool) -> usize {
        // Of equal ones the first, in the order of the keys, so that equal files give equal
        // results.
        let frequent = self.shapes.iter().filter(|_| keep_one);
        let kept = frequent.max_by(|(a, first), (b, second)| {
            let requests = first.requests.cmp(&second.requests);
            requests.then_with(|| b.cmp(a))
        });
        let kept = kept.map(|(key, _)| key.clone());
        let mut freed = 0;
        self.shapes.retain(|key, shape| {
            let keep = shape.requests > most || kept.as_ref() == Some(key);
            if !keep {
                freed += 1 + shape.steps.iter().map(Vec::len).sum::<usize>();
            }
            keep
        });
        self.forgets |= freed > 0;
        freed
    }

    /// Gives each call its final target: the numbers of names by `renumbered`, and first the
    /// operation that `answers` finds for calls without a server span. Shapes that are alike then
    /// become one. Returns the number of these calls of each shape, with a trace that has one.
    pub(super) fn settle(
        &mut self,
        answers: impl Fn(Method) -> Option<Method>,
        renumbered: impl Fn(Method) -> Method,
    ) -> Vec<(u64, String)> {
        let mut found = Vec::new();
        // In the order of the keys, so that equal files give equal results.
        let old: BTreeMap<ShapeKey, Shape> = std::mem::take(&mut self.shapes).into_iter().collect();
        for ((_, failed), mut shape) in old {
            let mut count = 0;
            for item in shape.steps.iter_mut().flatten() {
                if item.unanswered > 0
                    && let Some(target) = answers(item.target)
                {
                    count += item.unanswered;
                    (item.target, item.answered) = (target, true);
                }
                item.target = renumbered(item.target);
            }
            found.push((count, shape.place.clone()));
            for step in &mut shape.steps {
                step.sort_by_key(ItemStats::key);
            }
            match self.shapes.entry((shape.keys(), failed)) {
                Entry::Occupied(mut same) => same.get_mut().merge(&shape, shape.gaps_ns.len()),
                Entry::Vacant(free) => {
                    free.insert(shape);
                }
            }
        }
        found
    }

    /// Whether shapes were dropped, so that their number is not known.
    pub(crate) fn forgets(&self) -> bool {
        self.forgets
    }

    /// The totals, and the shapes, the most common first. Requests that ended with an error count
    /// for the most common shape that begins with the same steps.
    pub(crate) fn into_parts(self) -> (Totals, Vec<Shape>) {
        // In the order of the keys, so that equal files give equal results.
        let shapes: BTreeMap<ShapeKey, Shape> = self.shapes.into_iter().collect();
        let (mut ended, mut whole) = (Vec::new(), Vec::new());
        for ((_, failed), shape) in shapes {
            match failed {
                true => ended.push(shape),
                false => whole.push(shape),
            }
        }
        whole.sort_by_key(|shape| Reverse(shape.requests));
        for shape in ended {
            match whole.iter_mut().find(|other| shape.begins(other)) {
                // The gap after the last step is that of reporting the error, not one of the path.
                Some(other) => other.merge(&shape, shape.steps.len()),
                None => whole.push(shape),
            }
        }
        whole.sort_by_key(|shape| Reverse(shape.requests));
        (self.totals, whole)
    }
}

impl Shape {
    fn empty(path: &Path, place: &str) -> Shape {
        let step = |step: &Vec<Item>| step.iter().map(ItemStats::empty).collect();
        Shape {
            steps: path.steps.iter().map(step).collect(),
            gaps_ns: vec![Mean::default(); path.gaps_ns.len()],
            requests: 0,
            outside: 0,
            time: Durations::default(),
            inner_ns: 0.0,
            marked: 0,
            place: place.to_owned(),
        }
    }

    fn add(&mut self, request: &Request, path: &Path) {
        self.requests += 1;
        self.outside += u64::from(request.outside);
        self.time.add((request.end_ns - request.start_ns) as f64);
        self.inner_ns += path.inner_ns as f64;
        self.marked += u64::from(path.marked);
        for (mean, gap) in self.gaps_ns.iter_mut().zip(&path.gaps_ns) {
            mean.add(*gap as f64);
        }
        let last = path.steps.len();
        for (number, (stats, items)) in self.steps.iter_mut().zip(&path.steps).enumerate() {
            let ends = path.failed && number + 1 == last;
            for (stats, item) in stats.iter_mut().zip(items) {
                stats.add(item, ends);
            }
        }
    }

    fn keys(&self) -> Vec<Vec<CallKey>> {
        let step = |step: &Vec<ItemStats>| step.iter().map(ItemStats::key).collect();
        self.steps.iter().map(step).collect()
    }

    /// Whether `other` begins with the steps of this shape.
    fn begins(&self, other: &Shape) -> bool {
        other.keys().starts_with(&self.keys())
    }

    /// Adds the requests of `ended`, which has the first of the steps, or all. Of the times between
    /// them, the first `gaps` count.
    fn merge(&mut self, ended: &Shape, gaps: usize) {
        self.requests += ended.requests;
        self.outside += ended.outside;
        self.time.merge(&ended.time);
        self.inner_ns += ended.inner_ns;
        self.marked += ended.marked;
        let theirs = ended.gaps_ns.iter().take(gaps);
        for (mean, gap) in self.gaps_ns.iter_mut().zip(theirs) {
            mean.merge(*gap);
        }
        for (own, ended) in self.steps.iter_mut().zip(&ended.steps) {
            for (own, ended) in own.iter_mut().zip(ended) {
                own.merge(ended);
            }
        }
    }
}

impl ItemStats {
    fn empty(item: &Item) -> ItemStats {
        ItemStats {
            class: item.call.class,
            target: item.call.target,
            answered: item.call.answered,
            detached: item.call.detached,
            count: 0,
            unanswered: 0,
            wait_ns: Sample::default(),
            hit: Share::default(),
            misses: 0,
            miss_wait_ns: Sample::default(),
            refills: 0,
            errors: 0,
            failures: 0,
            attempts: 0,
            failed_ns: 0.0,
            backoff_ns: 0.0,
            network_ns: Mean::default(),
            request_compressed: Share::default(),
            response_compressed: Share::default(),
            request_bytes: Sample::default(),
            response_bytes: Sample::default(),
        }
    }

    fn key(&self) -> CallKey {
        (self.class, self.target, self.detached)
    }

    fn add(&mut self, item: &Item, ends: bool) {
        let facts = &item.call.facts;
        self.count += 1;
        self.answered |= item.call.answered;
        let service = matches!(item.call.class, Class::Rpc | Class::Http);
        self.unanswered += u64::from(service && !item.call.answered);
        self.wait_ns.add(item.wait_ns as f64);
        // A following read of the database indicates a miss; without one, it is a hit unless stated
        // otherwise.
        self.hit.add(facts.hit.or(item.miss.map(|_| false)));
        if let Some(miss) = item.miss {
            self.misses += 1;
            self.miss_wait_ns.add(miss.wait_ns as f64);
            self.refills += u64::from(miss.refilled);
        }
        self.errors += u64::from(ends && facts.error && !self.detached);
        self.failures += u64::from(item.failures);
        self.attempts = self.attempts.max(item.failures + 1);
        self.failed_ns += item.failed_ns as f64;
        self.backoff_ns += item.backoff_ns as f64;
        if let Some(callee) = item.call.callee_ns {
            self.network_ns
                .add(item.wait_ns.saturating_sub(callee) as f64);
        }
        self.request_compressed.add(facts.request_compressed);
        self.response_compressed.add(facts.response_compressed);
        let sizes = [
            (&mut self.request_bytes, facts.request_bytes),
            (&mut self.response_bytes, facts.response_bytes),
        ];
        for (sample, bytes) in sizes {
            bytes.into_iter().for_each(|b| sample.add(f64::from(b)));
        }
    }

    pub(crate) fn merge(&mut self, other: &ItemStats) {
        self.count += other.count;
        self.unanswered += other.unanswered;
        self.answered |= other.answered;
        self.wait_ns.merge(&other.wait_ns);
        self.hit.merge(other.hit);
        self.misses += other.misses;
        self.miss_wait_ns.merge(&other.miss_wait_ns);
        self.refills += other.refills;
        self.errors += other.errors;
        self.failures += other.failures;
        self.attempts = self.attempts.max(other.attempts);
        self.failed_ns += other.failed_ns;
        self.backoff_ns += other.backoff_ns;
        self.network_ns.merge(other.network_ns);
        self.request_compressed.merge(other.request_compressed);
        self.response_compressed.merge(other.response_compressed);
        self.request_bytes.merge(&other.request_bytes);
        self.response_bytes.merge(&other.response_bytes);
    }
}
