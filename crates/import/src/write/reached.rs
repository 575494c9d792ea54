//! The services that requests reach: from outside, or by calls of services that are reached.

use std::collections::{HashMap, HashSet};

use crate::analyse::{Shape, Totals};
use crate::options::Options;
use crate::span::Method;

/// The most chains at once.
pub(super) const MOST_AT_ONCE: usize = 64;

/// An operation, with the shapes that the workload has of it. Each shape is a service; the first is
/// the most common one, which others call.
pub(super) struct Chosen {
    pub(super) method: Method,
    pub(super) totals: Totals,
    /// The number of shapes in the files, if it is known.
    pub(super) found: Option<usize>,
    pub(super) shapes: Vec<Shape>,
    pub(super) kept: Kept,
    /// How many requests from outside each one of the shapes stands for.
    pub(super) stands_for: f64,
    /// Whether no service calls the most common shape, so that it is left out.
    pub(super) unreached: bool,
}

/// The part of an operation that is in the workload.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) shapes: usize,
    pub(super) requests: u64,
    /// The number of requests that count for its rate.
    pub(super) arrived: u64,
    pub(super) time_ns: f64,
    pub(super) inner_ns: f64,
}

impl Kept {
    pub(super) fn add(&mut self, shape: &Shape, options: &Options) {
        self.shapes += 1;
        self.requests += shape.requests;
        self.arrived += counted(shape.requests, shape.outside, options);
        self.time_ns += shape.time.sum();
        self.inner_ns += shape.inner_ns;
    }
}

/// The services that requests reach, as the index of the operation and that of its shape: first
/// those that requests from outside reach, then those that others call, after their first caller.
/// Removes other shapes from `chosen`: without callers and without a rate they cannot be simulated.
pub(super) fn reached(chosen: &mut [Chosen], options: &Options) -> Vec<(usize, usize)> {
    let order = search(chosen, options);
    let seen: HashSet<(usize, usize)> = order.iter().copied().collect();
    for (index, one) in chosen.iter_mut().enumerate() {
        // Only the most common shape may have no requests from outside.
        one.unreached = !one.shapes.is_empty() && !seen.contains(&(index, 0));
        if one.unreached {
            one.shapes.remove(0);
            one.kept = Kept::default();
            for shape in &one.shapes {
                one.kept.add(shape, options);
            }
        }
    }
    let now = |(index, number): (usize, usize)| match chosen[index].unreached {
        true => (index, number - 1),
        false => (index, number),
    };
    order.into_iter().map(now).collect()
}

/// The services that requests reach, by breadth.
fn search(chosen: &[Chosen], options: &Options) -> Vec<(usize, usize)> {
    let present = chosen.iter().enumerate();
    let present = present.filter(|(_, one)| !one.shapes.is_empty());
    let called: HashMap<Method, usize> = present.map(|(i, one)| (one.method, i)).collect();
    let mut order = Vec::new();
    for (index, one) in chosen.iter().enumerate() {
        let arrived = |shape: &Shape| counted(shape.requests, shape.outside, options) > 0;
        let shapes = one.shapes.iter().enumerate();
        let outside = shapes.filter(|(_, shape)| arrived(shape));
        order.extend(outside.map(|(number, _)| (index, number)));
    }
    let mut seen: HashSet<(usize, usize)> = order.iter().copied().collect();
    let mut next = 0;
    while let Some(&(index, number)) = order.get(next) {
        next += 1;
        let steps = chosen[index].shapes[number].steps.iter();
        let items = steps.flat_map(|step| step.iter().take(MOST_AT_ONCE));
        for item in items.filter(|item| item.answered && options.simulate_calls) {
            let callee = called.get(&item.target).map(|&index| (index, 0));
            order.extend(callee.filter(|&callee| seen.insert(callee)));
        }
    }
    order
}

/// How many of an operation's or a shape's requests count for its rate.
pub(super) fn counted(requests: u64, outside: u64, options: &Options) -> u64 {
    match options.simulate_calls {
        true => outside,
        false => requests,
    }
}
