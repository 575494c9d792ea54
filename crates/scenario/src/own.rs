//! Defaults from the workload, for fields that the scenario leaves out.

use std::collections::BTreeMap;

use accelflow_parameters::Refusal;
use accelflow_workload::file::{Costs as StatedCosts, EQUAL, OWN, Service, Sizes, Workload};
use accelflow_workload::sizes::SizePreset;

use crate::choice::OrOwn;
use crate::error::ScenarioError;
use crate::limits::ASSUMED_TCP_COST_NS;
use crate::names::{Arrivals, CostSource, Costs, FactSource, Remote};
use crate::scenario::Scenario;

/// A scenario with its workload.
pub(crate) struct Own<'s> {
    pub(crate) scenario: &'s Scenario,
    pub(crate) workload: &'s Workload,
}

impl Own<'_> {
    pub(crate) fn costs(&self) -> Costs {
        match self.scenario.profile {
            Some(CostSource::Paper) => Costs::Paper,
            Some(CostSource::Measured) => Costs::Measured,
            None if self.scenario.recording.is_some() => Costs::Recording,
            None if self.workload.has_own_costs() => Costs::Own,
            None => match &self.workload.defaults.costs {
                Some(StatedCosts::Measured {}) => Costs::Measured,
                _ => Costs::Paper,
            },
        }
    }

    pub(crate) fn tcp_cost_ns(&self) -> f64 {
        let stated = self.workload.defaults.costs.as_ref();
        let stated = stated.and_then(StatedCosts::tcp_cost_ns);
        let given = self.scenario.tcp_cost_ns.or(stated);
        given.unwrap_or(ASSUMED_TCP_COST_NS)
    }

    /// The mean rate over the services.
    ///
    /// # Errors
    /// [`Refusal`] if neither the scenario nor the workload has one.
    pub(crate) fn rate_rps(&self) -> Result<f64, ScenarioError> {
        let given = mean_of(&self.scenario.rates_rps).or(self.scenario.rate_rps);
        let found = given.or_else(|| self.workload.mean_rate());
        found.ok_or_else(|| {
            let silent = |service: &Service| self.workload.rate_of(service).is_none();
            let services = &self.workload.services;
            let index = services.iter().position(silent);
            let place = format!("workload.services[{}].rate_rps", index.unwrap_or(0));
            let allowed = match index.is_some_and(|index| self.is_timed(&services[index])) {
                true => {
                    "must be a rate in requests per second here or in defaults, since arrival \
                         times that are all equal give none"
                }
                false => {
                    "must be given in requests per second, here, in defaults, or as rate_rps of \
                         the scenario"
                }
            };
            Refusal::left_out(place, allowed).into()
        })
    }

    /// The name of the rates by which services share the mean rate. Alibaba's rates are those of
    /// the paper's production experiment (section VI), which uses the paper's costs.
    pub(crate) fn rates(&self) -> String {
        if let Some(rates) = &self.scenario.rates {
            return rates.clone();
        }
        if !self.scenario.rates_rps.is_empty() {
            return EQUAL.to_owned();
        }
        let of_paper = self.costs() == Costs::Paper && self.scenario.rate_rps.is_none();
        let production = self.workload.defaults.rates.as_ref().filter(|_| of_paper);
        let own = self.workload.has_own_rates().then_some(OWN);
        production.map_or_else(|| own.unwrap_or(EQUAL).to_owned(), String::clone)
    }

    /// Whether services have different rates, if they share the rate by `rates`.
    pub(crate) fn rates_differ(&self, rates: &str) -> bool {
        let mut given = self.scenario.rates_rps.values();
        match given.next() {
            Some(first) => given.any(|rate| rate != first),
            None => rates != EQUAL,
        }
    }

    pub(crate) fn arrivals(&self) -> OrOwn<Arrivals> {
        let stated = |service: &Service| service.arrivals.is_some();
        let own =
            self.workload.defaults.arrivals.is_some() || self.workload.services.iter().any(stated);
        match self.scenario.arrivals {
            Some(arrivals) => OrOwn::Chosen(arrivals),
            None if own => OrOwn::Own,
            None => OrOwn::Chosen(Arrivals::Poisson),
        }
    }

    pub(crate) fn remote(&self) -> OrOwn<Remote> {
        match self.scenario.remote {
            Some(remote) => OrOwn::Chosen(remote),
            None if self.workload.has_waits() => OrOwn::Own,
            None => OrOwn::Chosen(Remote::Short),
        }
    }

    pub(crate) fn sizes(&self) -> OrOwn<SizePreset> {
        let stated = |service: &Service| {
            service.sizes.is_some() || service.chains().any(|(_, _, chain)| chain.sizes.is_some())
        };
        let own = self.workload.services.iter().any(stated);
        match (&self.scenario.sizes, &self.workload.defaults.sizes) {
            (Some(sizes), _) => OrOwn::Chosen(*sizes),
            (None, _) if own => OrOwn::Own,
            (None, Some(Sizes::Preset(preset))) => OrOwn::Chosen(preset.preset()),
            (None, Some(_)) => OrOwn::Own,
            (None, None) => OrOwn::Chosen(SizePreset::Fleet),
        }
    }

    pub(crate) fn facts(&self) -> FactSource {
        let own = match self.workload.has_odds() {
            true => FactSource::Drawn,
            false => FactSource::Common,
        };
        self.scenario.facts.unwrap_or(own)
    }

    /// The SLOs of services in us.
    pub(crate) fn slo_us(&self) -> BTreeMap<String, f64> {
        let defaults = &self.workload.defaults;
        let of = |service: &Service| {
            let own = service
                .slo_us
                .or(defaults.slo_us.filter(|_| service.slo_factor.is_none()));
            Some((service.name.clone(), own?))
        };
        let mut found: BTreeMap<String, f64> =
            self.workload.services.iter().filter_map(of).collect();
        found.extend(self.scenario.slo_us.clone());
        found
    }

    /// The SLOs of services that have one as a multiple of their time on an idle server.
    pub(crate) fn slo_factors(&self) -> BTreeMap<String, f64> {
        let defaults = &self.workload.defaults;
        let of = |service: &Service| {
            let own = service.slo_factor;
            let own = own.or(defaults.slo_factor.filter(|_| service.slo_us.is_none()));
            Some((service.name.clone(), own?))
        };
        self.workload.services.iter().filter_map(of).collect()
    }

    pub(crate) fn tenants(&self) -> BTreeMap<String, u16> {
        let stated = self.workload.services.iter();
        let stated = stated.filter_map(|service| Some((service.name.clone(), service.tenant?)));
        stated.chain(self.scenario.tenants.clone()).collect()
    }

    pub(crate) fn priorities(&self) -> BTreeMap<String, u8> {
        let stated = self.workload.services.iter();
        let stated = stated.filter_map(|service| Some((service.name.clone(), service.priority?)));
        stated.chain(self.scenario.priorities.clone()).collect()
    }

    /// Whether requests for `service` arrive at times that the workload states: not if the scenario
    /// has another arrival process.
    fn is_timed(&self, service: &Service) -> bool {
        self.number_of_times(service).is_some()
    }

    /// The number of times at which requests for `service` arrive, if the workload states them and
    /// the scenario has no other arrival process.
    pub(crate) fn number_of_times(&self, service: &Service) -> Option<u64> {
        use accelflow_workload::file::Arrivals as Stated;
        let defaults = self.workload.defaults.arrivals.as_ref();
        match service.arrivals.as_ref().or(defaults) {
            Some(Stated::Times { times_us, .. }) if self.scenario.arrivals.is_none() => {
                // The times of a file are already here.
                Some(times_us.as_ref().map_or(0, Vec::len) as u64)
            }
            _ => None,
        }
    }

    /// Refuses arrival times together with a rate set from outside, which cannot scale them.
    pub(crate) fn check_times(&self) -> Result<(), Refusal> {
        let services = self.workload.services.iter();
        let mut all = services.filter(|service| self.is_timed(service));
        let set = |service: &&Service| self.scenario.rates_rps.contains_key(&service.name);
        if let Some(service) = all.clone().find(set) {
            let place = format!("rates_rps['{}']", service.name);
            let allowed = "must be left out, since the workload states when each request for the service arrives";
            return Err(Refusal::number(
                place,
                self.scenario.rates_rps[&service.name],
                allowed,
            ));
        }
        match (all.next(), self.scenario.rate_rps) {
            (Some(service), Some(rate)) => {
                let allowed = format!(
                    "must be left out, since the workload states when each request for {} arrives",
                    service.name
                );
                Err(Refusal::number("rate_rps", rate, allowed))
            }
            _ => Ok(()),
        }
    }
}

/// The mean of `rates_rps`; `None` without any.
fn mean_of(rates_rps: &BTreeMap<String, f64>) -> Option<f64> {
    let count = rates_rps.len();
    (count > 0).then(|| rates_rps.values().sum::<f64>() / count as f64)
}
