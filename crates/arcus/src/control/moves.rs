//! Moves of flows between the routes of an over-subscribed platform, where no route may give a flow
//! all that it is promised.

use accelflow_units::Time;

use super::oversubscribed::allocation;
use super::profile::ProfileTable;
use super::route::RouteEntry;
use super::status::FlowStatus;
use super::thresholds::KNOWN;
use crate::PlatformError;

/// The route among `routes` on which the division of the capacity serves all flows best, if the flow
/// `number` should leave its present route for it. `demands` are what the flows demand, in gigabits
/// per second by flow index.
///
/// A flow to which the division gives less than it demands leaves only for a route on which it gets
/// more, at no such loss of flows that matter as much: it stays where other routes do not help
/// either, and with the same demands each of its moves raises [`worth`]. A flow that misses its
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
    let mut best = (worth(flows, &now) + gain * weight(&flows[number]), None);
    for route in routes {
        let mut moved = flows.to_vec();
        moved[number].route = route.clone();
        let then = allocation(profiles, &moved, demands)?;
        let all = worth(flows, &then);
        if then[number] > now[number] + gain && all > best.0 {
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

/// What a division of the capacity is worth: the sum of the rates, in which a priority counts far
/// more than those after it.
fn worth(flows: &[FlowStatus], rates: &[f64]) -> f64 {
    let each = flows.iter().zip(rates);
    each.map(|(flow, rate)| weight(flow) * rate).sum()
}

/// The weight of a flow's rate: a hundredth of that of a flow of the priority before it.
fn weight(flow: &FlowStatus) -> f64 {
    100_f64.powi(-i32::from(flow.request.priority))
}
