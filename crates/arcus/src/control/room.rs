//! The capacity that is left on a route, for a promise and beside all promises.

use accelflow_units::Bytes;

use super::manager::{AdmissionRequest, Manager, RouteEntry, ServiceClass};
use super::{Context, FlowStatus};
use crate::{Path, PlatformError};

/// Path, size and gigabits a second of flows that a profile cannot tell apart.
type Traffic = (Path, Bytes, f64);

/// The least that an opportunistic flow is shaped to, as a share of what it could have alone: a rate
/// cannot be zero.
const TRICKLE: f64 = 0.001;

/// A new flow beside flows with promises.
struct Beside {
    route: RouteEntry,
    /// Path and size of the newcomer's traffic.
    kind: (Path, Bytes),
    others: Vec<Traffic>,
    /// The promises of the others, in gigabits a second.
    promised: f64,
    /// The share of the capacity that may be promised.
    share: f64,
}

/// A mixture of which the newcomer has a part.
#[derive(Clone, Copy)]
struct Point {
    /// The part, in percent.
    percent: u32,
    /// The newcomer's rate if the others get their promises, in gigabits a second.
    gbit_per_s: f64,
    /// The share of the mixture's capacity that this takes.
    load: f64,
}

/// The promise at which the load is `share`, if the load grows evenly from `low` to `high`.
fn between(low: Point, high: Point, share: f64) -> f64 {
    let part = (share - low.load) / (high.load - low.load);
    low.gbit_per_s + (high.gbit_per_s - low.gbit_per_s).max(0.0) * part.clamp(0.0, 1.0)
}

impl Manager {
    /// The largest SLO that this flow could be admitted with on any route, in gigabits a second. It does
    /// not depend on what the flow asks for.
    ///
    /// # Errors
    /// [`PlatformError::UnknownAccelerator`] and what the platform refuses.
    pub fn left(&mut self, request: &AdmissionRequest) -> Result<f64, PlatformError> {
        let mut best: f64 = 0.0;
        for route in self.routes(request)? {
            best = best.max(self.room(request, route)?);
        }
        Ok(best)
    }

    /// The same on one route: with how large a part of the traffic the route delivers what it would
    /// have been promised to, by search among whole percents of it, and between two of them in
    /// proportion. Requests are admitted up to there: a larger promise never fits where a smaller
    /// did not.
    pub(super) fn room(
        &mut self,
        request: &AdmissionRequest,
        route: RouteEntry,
    ) -> Result<f64, PlatformError> {
        let others = self.promised_on(route, &request.name);
        let beside = Beside {
            route,
            kind: self.kind(request, route),
            promised: others.iter().map(|flow| flow.2).sum(),
            others,
            share: request.class.admitted_share(),
        };
        let mut high = self.point(&beside, 100)?;
        if beside.promised <= 0.0 {
            return Ok(high.gbit_per_s);
        }
        let mut low = self.point(&beside, 0)?;
        if low.load > beside.share {
            return Ok(0.0);
        }
        // Load is nearly even in the promise, so that the first guesses mostly find it.
        for step in 0.. {
            if high.percent - low.percent <= 1 {
                break;
            }
            let guess = match step {
                0..3 => {
                    let gbit_per_s = between(low, high, beside.share);
                    (100.0 * gbit_per_s / (gbit_per_s + beside.promised)) as u32
                }
                _ => u32::midpoint(low.percent, high.percent),
            };
            let middle = guess.clamp(low.percent + 1, high.percent - 1);
            let point = self.point(&beside, middle)?;
            match point.load <= beside.share {
                true => low = point,
                false => high = point,
            }
        }
        Ok(between(low, high, beside.share))
    }

    fn point(&mut self, beside: &Beside, percent: u32) -> Result<Point, PlatformError> {
        let part = f64::from(percent) / 100.0;
        let mut flows: Vec<Traffic> = Vec::new();
        if percent > 0 {
            flows.push((beside.kind.0, beside.kind.1, part));
        }
        if percent < 100 {
            for (path, size, rate) in &beside.others {
                let rate = (1.0 - part) * rate / beside.promised;
                add(&mut flows, (*path, *size, rate));
            }
        }
        let capacity = self.capacity_of(beside.route, &flows)?;
        let gbit_per_s = match percent {
            100 => beside.share * capacity,
            _ => beside.promised * part / (1.0 - part),
        };
        Ok(Point {
            percent,
            gbit_per_s,
            load: (beside.promised + gbit_per_s) / capacity,
        })
    }

    /// The flows with promises on a route, without the one of this name.
    fn promised_on(&self, route: RouteEntry, but: &str) -> Vec<Traffic> {
        let mut flows = Vec::new();
        for flow in self.flows().iter().filter(|flow| flow.route == route) {
            let promised = flow.counted_gbit_per_s();
            if promised > 0.0 && flow.request.name != but {
                let (path, size) = flow.kind();
                add(&mut flows, (path, size, promised));
            }
        }
        flows
    }

    fn capacity_of(&mut self, route: RouteEntry, flows: &[Traffic]) -> Result<f64, PlatformError> {
        let context = Context::new(route.accelerator, route.engine, flows);
        Ok(self.profiles().capacity(&context)?.gbit_per_s)
    }

    /// The rate of a flow alone on its route, in gigabits a second.
    pub(super) fn alone(
        &mut self,
        (path, size): (Path, Bytes),
        route: RouteEntry,
    ) -> Result<f64, PlatformError> {
        self.capacity_of(route, &[(path, size, 1.0)])
    }

    /// The share of a route that its flows may use together; a flow's use is its rate over its rate
    /// alone. Not usable are the headroom of [`ServiceClass::RESERVED_SHARE`], and the loss of the
    /// planned mixture against flows one after the other.
    pub(super) fn usable(&mut self, route: RouteEntry) -> Result<f64, PlatformError> {
        let mut flows = self.promised_on(route, "");
        let (mut load, mut promised) = (0.0, 0.0);
        for (path, size, rate) in &flows {
            load += rate / self.alone((*path, *size), route)?;
            promised += rate;
        }
        let rest = self.opportunistic_on(route);
        let free = (ServiceClass::RESERVED_SHARE - load).max(0.0) / rest.len().max(1) as f64;
        for number in rest {
            let kind = self.flows()[number].kind();
            let rate = free.max(TRICKLE) * self.alone(kind, route)?;
            add(&mut flows, (kind.0, kind.1, rate));
            (load, promised) = (load + free.max(TRICKLE), promised + rate);
        }
        if flows.is_empty() {
            return Ok(ServiceClass::RESERVED_SHARE);
        }
        let delivered = load * self.capacity_of(route, &flows)? / promised;
        Ok(ServiceClass::RESERVED_SHARE * delivered.min(1.0))
    }

    /// The share of a route that is left beside the flows with promises, whose use in gigabits a
    /// second is `used`; a share like that of [`Manager::usable`].
    pub(super) fn unused(
        &mut self,
        route: RouteEntry,
        used: impl Fn(usize, &FlowStatus) -> f64,
    ) -> Result<f64, PlatformError> {
        let mut free = self.usable(route)?;
        for number in 0..self.flows().len() {
            let status = &self.flows()[number];
            if status.route == route && status.request.class != ServiceClass::Opportunistic {
                let (rate, kind) = (used(number, status), status.kind());
                free -= rate / self.alone(kind, route)?;
            }
        }
        Ok(free.max(0.0))
    }

    /// The rate of an opportunistic flow if this share of its route is left, in gigabits a second:
    /// equal parts for all of them.
    pub(super) fn part_of_rest(&mut self, number: usize, free: f64) -> Result<f64, PlatformError> {
        let status = &self.flows()[number];
        let (kind, route) = (status.kind(), status.route);
        let part = free / self.opportunistic_on(route).len().max(1) as f64;
        Ok(part.max(TRICKLE) * self.alone(kind, route)?)
    }

    /// The numbers of the opportunistic flows of a route.
    pub(super) fn opportunistic_on(&self, route: RouteEntry) -> Vec<usize> {
        let is_rest = |status: &FlowStatus| {
            status.route == route && status.request.class == ServiceClass::Opportunistic
        };
        let all = self.flows().iter().enumerate();
        all.filter(|flow| is_rest(flow.1))
            .map(|flow| flow.0)
            .collect()
    }
}

/// Adds traffic to the entry of its kind.
fn add(flows: &mut Vec<Traffic>, traffic: Traffic) {
    let same = |other: &&mut Traffic| (other.0, other.1) == (traffic.0, traffic.1);
    match flows.iter_mut().find(same) {
        Some(entry) => entry.2 += traffic.2,
        None => flows.push(traffic),
    }
}
