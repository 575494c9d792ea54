//! The capacity that remains after promises, and its division among opportunistic flows.

use super::oversubscribed::allocation;
use super::profile::ProfileTable;
use super::request::ServiceClass;
use super::route::{RouteEntry, Traffic, add};
use super::status::{FlowStatus, promised};
use super::thresholds::{KNOWN, REST_HALVINGS, TRICKLE};
use crate::PlatformError;

/// The fraction of the planned rates of opportunistic flows that fits in addition to all promises.
/// Accounts for flows that share a link, engine or storage but no accelerator.
pub(super) fn fitting(
    profiles: &mut ProfileTable,
    flows: &[FlowStatus],
) -> Result<f64, PlatformError> {
    let first = flows.first().map(|flow| flow.route.clone());
    let apart = |route: &RouteEntry| flows.iter().any(|flow| !flow.route.meets(route));
    let any = |flow: &FlowStatus| flow.request.class == ServiceClass::Opportunistic;
    if !first.as_ref().is_some_and(apart) || !flows.iter().any(any) {
        return Ok(1.0);
    }
    let mut promised = promised(flows, "");
    if profiles.load(&promised)? > 1.0 + KNOWN {
        promised = allocated(profiles, flows)?;
    }
    let most = ServiceClass::RESERVED_SHARE.max(profiles.load(&promised)?);
    let mut fits = |part: f64| -> Result<bool, PlatformError> {
        let mut all = promised.clone();
        for flow in flows {
            if flow.request.class == ServiceClass::Opportunistic {
                for traffic in flow.traffic(part * flow.shaped_gbit_per_s) {
                    add(&mut all, traffic);
                }
            }
        }
        Ok(profiles.load(&all)? <= most)
    };
    if fits(1.0)? {
        return Ok(1.0);
    }
    let (mut least, mut exceeds) = (0.0, 1.0);
    for _ in 0..REST_HALVINGS {
        let middle = 0.5 * (least + exceeds);
        match fits(middle)? {
            true => least = middle,
            false => exceeds = middle,
        }
    }
    Ok(least)
}

/// The traffic of flows with promises if all use their promises in full and the platform is
/// over-subscribed, so that some get less.
fn allocated(
    profiles: &mut ProfileTable,
    flows: &[FlowStatus],
) -> Result<Vec<Traffic>, PlatformError> {
    let promises: Vec<f64> = flows.iter().map(FlowStatus::counted_gbit_per_s).collect();
    let rates = allocation(profiles, flows, &promises)?;
    let mut all = Vec::new();
    for (flow, rate) in flows.iter().zip(rates).filter(|(_, rate)| *rate > 0.0) {
        for traffic in flow.traffic(rate) {
            add(&mut all, traffic);
        }
    }
    Ok(all)
}

/// The rate of a flow alone on its route, in gigabits per second.
pub(super) fn alone(profiles: &mut ProfileTable, flow: &FlowStatus) -> Result<f64, PlatformError> {
    profiles.capacity_of(&flow.traffic(1.0))
}

/// The share of a route's accelerators that its flows may use together; a flow's use is its rate
/// over its rate alone. It excludes the headroom of [`ServiceClass::RESERVED_SHARE`], and the loss of
/// the planned mixture compared with flows one after the other.
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
