//! The capacity that remains after promises, and its division among opportunistic flows.

use super::profile::ProfileTable;
use super::request::ServiceClass;
use super::route::{RouteEntry, Traffic, add};
use super::status::FlowStatus;
use super::thresholds::{KNOWN, REST_HALVINGS, TRICKLE};
use crate::PlatformError;

/// The fraction of the planned rates of opportunistic flows that fits in addition to flows with
/// promises. Accounts for flows that share a link, engine or storage but no accelerator. `rates`
/// are those of the flows with promises, in gigabits per second by flow index.
///
/// The fraction is found from loads of the platform: at most 8, or 22 if flows with promises use
/// the headroom. There is one more for each doubling above 8 of the multiple of the planned rates
/// that fills the platform. If flows have more than four pairs of route and size, each new load is
/// a simulation.
pub(super) fn fitting(
    profiles: &mut ProfileTable,
    flows: &[FlowStatus],
    rates: &[f64],
) -> Result<f64, PlatformError> {
    let first = flows.first().map(|flow| flow.route.clone());
    let apart = |route: &RouteEntry| flows.iter().any(|flow| !flow.route.meets(route));
    let any = |flow: &FlowStatus| flow.request.class == ServiceClass::Opportunistic;
    if !first.as_ref().is_some_and(apart) || !flows.iter().any(any) {
        return Ok(1.0);
    }
    let promised = traffic_of(flows, rates);
    let mut planned = vec![0.0; flows.len()];
    for number in (0..flows.len()).filter(|number| any(&flows[*number])) {
        let free = unused(profiles, flows, &flows[number].route, |number, _| {
            rates[number]
        })?;
        planned[number] = part(profiles, flows, number, free, 1.0)?;
    }
    let planned = traffic_of(flows, &planned);
    let load = profiles.load(&promised)?;
    let most = ServiceClass::RESERVED_SHARE;
    let beside = Rest { promised, planned };
    if load <= most {
        return beside.most(profiles, most, (0.0, 1.0), STEP);
    }
    // A resource is loaded beyond the share that leaves headroom. The opportunistic flows may use
    // others, which need headroom too, but only the load of the most loaded one is known. The load
    // of a resource grows in proportion to the added traffic, so its growth above `load` tells how
    // much less traffic keeps it at the share.
    let load = load + KNOWN;
    let headroom = load - most;
    let above = load + ABOVE * headroom;
    let widest = above / profiles.load(&beside.planned)?;
    // The fraction is `(4 * reaches - exceeds) / 3`, and `exceeds` is at most `widest`. So only
    // multiples matter with which it is from 0 to 1.
    let all = ABOVE + 1.0;
    let range = (0.0, widest.min((widest + ABOVE) / all));
    let reaches = beside.most(profiles, load, range, 0.5 * STEP)?;
    let range = (
        reaches.max(all * reaches - ABOVE),
        widest.min(all * reaches),
    );
    let exceeds = beside.most(profiles, above, range, 0.5 * STEP)?;
    Ok(((all * reaches - exceeds) / ABOVE).clamp(0.0, 1.0))
}

/// The precision of the fraction of the planned rates.
const STEP: f64 = 1.0 / (1_u32 << REST_HALVINGS) as f64;

/// How far above a load its growth is looked at, in multiples of the headroom. Interpolation rounds
/// off the bend where another resource becomes the most loaded one; it does so less farther away.
const ABOVE: f64 = 3.0;

/// The traffic of flows at these rates, in gigabits per second by flow index.
fn traffic_of(flows: &[FlowStatus], rates: &[f64]) -> Vec<Traffic> {
    let mut all = Vec::new();
    for (flow, rate) in flows.iter().zip(rates).filter(|(_, rate)| **rate > 0.0) {
        for traffic in flow.traffic(*rate) {
            add(&mut all, traffic);
        }
    }
    all
}

/// Opportunistic flows beside flows with promises.
struct Rest {
    promised: Vec<Traffic>,
    /// The traffic of the opportunistic flows at their planned rates.
    planned: Vec<Traffic>,
}

impl Rest {
    /// The largest multiple of the planned traffic within `range` with which the platform's load is
    /// at most `load`, found in steps of at most `step`. The least of the range is taken to fit.
    fn most(
        &self,
        profiles: &mut ProfileTable,
        load: f64,
        range: (f64, f64),
        step: f64,
    ) -> Result<f64, PlatformError> {
        let mut fits = |part: f64| -> Result<bool, PlatformError> {
            let mut all = self.promised.clone();
            for traffic in &self.planned {
                let gbit_per_s = part * traffic.gbit_per_s;
                add(
                    &mut all,
                    Traffic {
                        gbit_per_s,
                        ..traffic.clone()
                    },
                );
            }
            Ok(profiles.load(&all)? <= load)
        };
        let (mut least, mut exceeds) = range;
        if fits(exceeds)? {
            return Ok(exceeds);
        }
        for _ in 0..halvings(exceeds - least, step) {
            let middle = 0.5 * (least + exceeds);
            match fits(middle)? {
                true => least = middle,
                false => exceeds = middle,
            }
        }
        Ok(least)
    }
}

/// How often a range is halved until it is no wider than `step`.
fn halvings(width: f64, step: f64) -> u32 {
    let halvings = (width / step).log2().ceil();
    halvings.clamp(0.0, MOST_HALVINGS) as u32
}

/// The halvings after which a multiple is known to the precision of its number.
const MOST_HALVINGS: f64 = 52.0;

/// The rate of a flow alone on its route, in gigabits per second.
pub(super) fn alone(profiles: &mut ProfileTable, flow: &FlowStatus) -> Result<f64, PlatformError> {
    profiles.capacity_of(&flow.traffic(1.0))
}

/// The share of a route's accelerators that its flows may use together; a flow's use is its rate
/// over its rate alone. It excludes the headroom of [`ServiceClass::RESERVED_SHARE`], and the loss
/// of the planned mixture compared with flows one after the other.
fn usable(
    profiles: &mut ProfileTable,
    flows: &[FlowStatus],
    route: &RouteEntry,
) -> Result<f64, PlatformError> {
    let mut all: Vec<Traffic> = Vec::new();
    for flow in flows.iter().filter(|flow| flow.route.meets(route)) {
        let promised = flow.counted_gbit_per_s();
        if promised > 0.0 {
            for traffic in flow.traffic(promised) {
                add(&mut all, traffic);
            }
        }
    }
    let (mut load, mut promised) = (0.0, 0.0);
    for traffic in all.clone() {
        let rate = traffic.gbit_per_s;
        load += rate / profiles.capacity_of(&[traffic])?;
        promised += rate;
    }
    let rest = opportunistic_on(flows, route);
    let free = (ServiceClass::RESERVED_SHARE - load).max(0.0) / rest.len().max(1) as f64;
    for number in rest {
        let rate = free.max(TRICKLE) * alone(profiles, &flows[number])?;
        for traffic in flows[number].traffic(rate) {
            add(&mut all, traffic);
        }
        (load, promised) = (load + free.max(TRICKLE), promised + rate);
    }
    if all.is_empty() {
        return Ok(ServiceClass::RESERVED_SHARE);
    }
    let delivered = load * profiles.capacity_of(&all)? / promised;
    Ok(ServiceClass::RESERVED_SHARE * delivered.min(1.0))
}

/// The share of a route's accelerators that flows with promises leave unused. `used` is their use
/// in gigabits per second.
pub(super) fn unused(
    profiles: &mut ProfileTable,
    flows: &[FlowStatus],
    route: &RouteEntry,
    used: impl Fn(usize, &FlowStatus) -> f64,
) -> Result<f64, PlatformError> {
    let mut free = usable(profiles, flows, route)?;
    for (number, status) in flows.iter().enumerate() {
        let promised = status.request.class != ServiceClass::Opportunistic;
        if status.route.meets(route) && promised {
            free -= used(number, status) / alone(profiles, status)?;
        }
    }
    Ok(free.max(0.0))
}

/// The rate of an opportunistic flow if the share `free` of its route is left, in gigabits per
/// second. All opportunistic flows of the route get equal parts of `free`. The fraction `rest` of a
/// part fits on the resources that all flows share.
pub(super) fn part(
    profiles: &mut ProfileTable,
    flows: &[FlowStatus],
    number: usize,
    free: f64,
    rest: f64,
) -> Result<f64, PlatformError> {
    let sharers = opportunistic_on(flows, &flows[number].route).len().max(1);
    let part = rest * free / sharers as f64;
    Ok(part.max(TRICKLE) * alone(profiles, &flows[number])?)
}

/// The indices of the opportunistic flows of a route.
pub(super) fn opportunistic_on(flows: &[FlowStatus], route: &RouteEntry) -> Vec<usize> {
    let is_rest = |status: &FlowStatus| {
        status.route.meets(route) && status.request.class == ServiceClass::Opportunistic
    };
    let all = flows.iter().enumerate();
    all.filter(|flow| is_rest(flow.1))
        .map(|flow| flow.0)
        .collect()
}
