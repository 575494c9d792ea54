//! The capacity that remains after promises, and its division among opportunistic flows.

use super::manager::Manager;
use super::request::ServiceClass;
use super::route::{RouteEntry, Traffic, add};
use super::status::FlowStatus;
use super::thresholds::{REST_HALVINGS, TRICKLE};
use crate::PlatformError;

impl Manager {
    /// Plans the opportunistic flows of a route: they share in equal parts the capacity that the
    /// promised flows leave when these use all of theirs. The runtime gives them more while the
    /// others use less.
    pub(super) fn share_rest(&mut self, route: &RouteEntry) -> Result<(), PlatformError> {
        let before = self.rest;
        self.rest = 1.0;
        let here = self.opportunistic_on(route);
        self.divide(&here, route)?;
        self.rest = self.fitting_rest()?;
        if self.rest < 1.0 || before < 1.0 {
            for number in 0..self.flows().len() {
                if self.flows()[number].request.class == ServiceClass::Opportunistic {
                    let route = self.flows()[number].route.clone();
                    self.divide(&[number], &route)?;
                }
            }
        }
        Ok(())
    }

    /// Shapes these opportunistic flows of a route to their parts.
    fn divide(&mut self, rest: &[usize], route: &RouteEntry) -> Result<(), PlatformError> {
        if rest.is_empty() {
            return Ok(());
        }
        let free = self.unused(route, |_, flow| flow.counted_gbit_per_s())?;
        for &number in rest {
            let part = self.part_of_rest(number, free)?;
            self.reshape(number, part)?;
        }
        Ok(())
    }

    /// The fraction of the planned rates of opportunistic flows that fits in addition to all
    /// promises. Accounts for flows that share a link, engine or storage but no accelerator.
    fn fitting_rest(&mut self) -> Result<f64, PlatformError> {
        let flows = self.flows();
        let first = flows.first().map(|flow| flow.route.clone());
        let apart = |route: &RouteEntry| flows.iter().any(|flow| !flow.route.meets(route));
        let any = |flow: &FlowStatus| flow.request.class == ServiceClass::Opportunistic;
        if !first.as_ref().is_some_and(apart) || !flows.iter().any(any) {
            return Ok(1.0);
        }
        let promised = self.promised("");
        let least = match promised.is_empty() {
            true => 0.0,
            false => self.load(&promised)?,
        };
        let most = ServiceClass::RESERVED_SHARE.max(least);
        let (mut fits, mut exceeds) = (0.0, 1.0);
        if self.load_with_rest(&promised, 1.0)? <= most {
            return Ok(1.0);
        }
        for _ in 0..REST_HALVINGS {
            let middle = 0.5 * (fits + exceeds);
            match self.load_with_rest(&promised, middle)? <= most {
                true => fits = middle,
                false => exceeds = middle,
            }
        }
        Ok(fits)
    }

    fn load_with_rest(&mut self, promised: &[Traffic], part: f64) -> Result<f64, PlatformError> {
        let mut flows = promised.to_vec();
        for flow in self.flows() {
            if flow.request.class == ServiceClass::Opportunistic {
                for traffic in flow.traffic(part * flow.shaped_gbit_per_s) {
                    add(&mut flows, traffic);
                }
            }
        }
        self.load(&flows)
    }

    /// The load: the share of the platform's capacity that this traffic takes.
    pub(super) fn load(&mut self, flows: &[Traffic]) -> Result<f64, PlatformError> {
        let total: f64 = flows.iter().map(|flow| flow.gbit_per_s).sum();
        Ok(total / self.capacity_of(flows)?)
    }

    /// The rate of a flow alone on its route, in gigabits a second.
    pub(super) fn alone_of(&mut self, number: usize) -> Result<f64, PlatformError> {
        let flow = &self.flows()[number];
        let (sizes, segment, route) =
            (flow.request.sizes.clone(), flow.segment, flow.route.clone());
        self.alone(&sizes, segment, &route)
    }

    /// The share of a route's accelerators that its flows may use together; a flow's use is its
    /// rate over its rate alone. It excludes the headroom of [`ServiceClass::RESERVED_SHARE`], and
    /// the loss of the planned mixture compared with flows one after the other.
    fn usable(&mut self, route: &RouteEntry) -> Result<f64, PlatformError> {
        let mut flows: Vec<Traffic> = Vec::new();
        for flow in self.flows().iter().filter(|flow| flow.route.meets(route)) {
            let promised = flow.counted_gbit_per_s();
            if promised > 0.0 {
                for traffic in flow.traffic(promised) {
                    add(&mut flows, traffic);
                }
            }
        }
        let (mut load, mut promised) = (0.0, 0.0);
        for traffic in flows.clone() {
            let rate = traffic.gbit_per_s;
            load += rate / self.capacity_of(&[traffic])?;
            promised += rate;
        }
        let rest = self.opportunistic_on(route);
        let free = (ServiceClass::RESERVED_SHARE - load).max(0.0) / rest.len().max(1) as f64;
        for number in rest {
            let rate = free.max(TRICKLE) * self.alone_of(number)?;
            for traffic in self.flows()[number].traffic(rate) {
                add(&mut flows, traffic);
            }
            (load, promised) = (load + free.max(TRICKLE), promised + rate);
        }
        if flows.is_empty() {
            return Ok(ServiceClass::RESERVED_SHARE);
        }
        let delivered = load * self.capacity_of(&flows)? / promised;
        Ok(ServiceClass::RESERVED_SHARE * delivered.min(1.0))
    }

    /// The share of a route's accelerators that flows with promises leave unused. `used` is their
    /// use in gigabits per second. The share is like that of [`Manager::usable`].
    pub(super) fn unused(
        &mut self,
        route: &RouteEntry,
        used: impl Fn(usize, &FlowStatus) -> f64,
    ) -> Result<f64, PlatformError> {
        let mut free = self.usable(route)?;
        for number in 0..self.flows().len() {
            let status = &self.flows()[number];
            let promised = status.request.class != ServiceClass::Opportunistic;
            if status.route.meets(route) && promised {
                let rate = used(number, status);
                free -= rate / self.alone_of(number)?;
            }
        }
        Ok(free.max(0.0))
    }

    /// The rate of an opportunistic flow if this share of its route is left, in gigabits per
    /// second: all of them get equal parts, as far as the resources that all flows share allow.
    pub(super) fn part_of_rest(&mut self, number: usize, free: f64) -> Result<f64, PlatformError> {
        let route = self.flows()[number].route.clone();
        let part = self.rest * free / self.opportunistic_on(&route).len().max(1) as f64;
        Ok(part.max(TRICKLE) * self.alone_of(number)?)
    }

    /// The numbers of the opportunistic flows of a route.
    pub(super) fn opportunistic_on(&self, route: &RouteEntry) -> Vec<usize> {
        let is_rest = |status: &FlowStatus| {
            status.route.meets(route) && status.request.class == ServiceClass::Opportunistic
        };
        let all = self.flows().iter().enumerate();
        all.filter(|flow| is_rest(flow.1))
            .map(|flow| flow.0)
            .collect()
    }
}
