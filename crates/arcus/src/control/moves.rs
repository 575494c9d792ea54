//! Moves of flows between the routes of an over-subscribed platform, where no route may give a flow
//! all that it is promised.

use std::collections::BTreeMap;

use accelflow_units::Time;

use super::oversubscribed::allocation;
use super::profile::ProfileTable;
use super::route::RouteEntry;
use super::status::FlowStatus;
use super::thresholds::KNOWN;
use crate::PlatformError;

/// The route among `routes` on which the division of the capacity serves all flows best, if the
/// flow `number` should leave its present route for it. `demands` are what the flows demand, in
/// gigabits per second by flow index.
///
/// A flow to which the division gives less than it demands leaves only for a route on which it gets
/// more. Other flows may lose by the move, but the flow's gain must outweigh their losses
/// ([`exceeds`]). So with the same demands no move undoes an earlier one. A flow that misses its
/// promise although the division gives it all leaves for a route on which it would have all, too.
pub(super) fn better_route(
    profiles: &mut ProfileTable,
    flows: &[FlowStatus],
    number: usize,
    routes: &[RouteEntry],
    demands: &[f64],
) -> Result<Option<RouteEntry>, PlatformError> {
    let now = allocation(profiles, flows, demands)?;
    let known = KNOWN * demands[number];
    let gain = match now[number] < demands[number] - known {
        true => known,
        false => -known,
    };
    let mut best = (by_priority(flows, demands, &now), None);
    *best.0.entry(flows[number].request.priority).or_default() += gain;
    for route in routes {
        let mut moved = flows.to_vec();
        moved[number].route = route.clone();
        let then = allocation(profiles, &moved, demands)?;
        let all = by_priority(flows, demands, &then);
        if then[number] > now[number] + gain && exceeds(&all, &best.0) {
            best = (all, Some(route.clone()));
        }
    }
    Ok(best.1)
}

/// How long a flow stays on its route.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stay {
    until: Time,
    moves: u32,
}

impl Stay {
    /// Whether the flow may move at `now`.
    pub(super) fn over(self, now: Time) -> bool {
        now >= self.until
    }

    /// Lets the flow stay until its measured rate shows the rate that it is given at `now`, with
    /// control periods of length `period`.
    pub(super) fn settle(&mut self, now: Time, period: Time) {
        self.until = self.until.max(now + period * SETTLED);
    }

    /// Counts a move at `now`. The flow stays twice as long after each, so that it does not move to
    /// and fro between routes of which none keeps its promise.
    pub(super) fn moved(&mut self, now: Time, period: Time) {
        self.until = now + period * (SETTLED << self.moves);
        self.moves = (self.moves + 1).min(MOST_DOUBLINGS);
    }
}

/// The number of control periods after which a measured rate shows a change: the latest has the
/// weight of a fourth.
const SETTLED: u64 = 4;

/// The number of doublings after which stays get no longer.
const MOST_DOUBLINGS: u32 = 20;

/// The sum of the rates of each priority with demands, in gigabits per second by priority.
fn by_priority(flows: &[FlowStatus], demands: &[f64], rates: &[f64]) -> BTreeMap<u8, f64> {
    let mut sums = BTreeMap::new();
    for ((flow, demand), rate) in flows.iter().zip(demands).zip(rates) {
        if *demand > 0.0 {
            *sums.entry(flow.request.priority).or_default() += rate;
        }
    }
    sums
}

/// Whether the rates `one` serve all flows better than `other`, both by the same priorities. A rate
/// counts a hundred times as much as one of the next priority that is present. Only differences are
/// weighed, from the first priority that has one: beside the sums of rates, those of later
/// priorities would be rounded off.
fn exceeds(one: &BTreeMap<u8, f64>, other: &BTreeMap<u8, f64>) -> bool {
    let each = one
        .values()
        .zip(other.values())
        .map(|(one, other)| one - other);
    let different = each.skip_while(|difference| difference.abs() < ROUNDED);
    let (mut sum, mut weight) = (0.0, 1.0);
    for difference in different {
        sum += weight * difference;
        weight /= 100.0;
    }
    sum > 0.0
}

/// The difference of two sums below which they are equal but for rounding, in gigabits per second.
const ROUNDED: f64 = 1e-9;
