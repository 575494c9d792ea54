//! The arrival rates of a workload's services.

use accelflow_parameters::{Refusal, number_text};

use super::tree::{Rate, Service, Workload};

use super::values::Arrivals;

/// The name of the set of arrival rates that gives all services the same rate. Every workload has
/// this set.
pub const EQUAL: &str = "equal";

/// The name of the set of arrival rates in which each service has the rate of its own fields in the
/// workload file: `rate_rps`, `arrivals` or `rate_share`. [`Workload::rate_shares`] says which rate
/// a service without these fields has.
pub const OWN: &str = "own";

impl Workload {
    /// Returns the names of the sets of arrival rates: [`EQUAL`], [`OWN`] if any service states a
    /// rate, and the sets in the workload file. A set determines the ratios between the rates of
    /// the services.
    pub fn rate_names(&self) -> Vec<&str> {
        let own = self.has_own_rates().then_some(OWN);
        let named = self.rates.keys().map(String::as_str);
        std::iter::once(EQUAL).chain(own).chain(named).collect()
    }

    /// Whether any service of the workload states its own arrival rate, or its own rate relative to
    /// the mean of all services.
    pub fn has_own_rates(&self) -> bool {
        let of =
            |service: &Service| service.rate_share.is_some() || service.stated_rate().is_some();
        self.services.iter().any(of)
    }

    /// Returns the mean arrival rate of `service`, in requests per second: the first of these that
    /// the file states: the service's `rate_rps`, the rate of the service's arrival process, the
    /// `rate_rps` of `defaults`, the rate of the arrival process of `defaults`. If the file states
    /// none of these, returns 0 for a service that other services call, else `None`.
    pub fn rate_of(&self, service: &Service) -> Option<f64> {
        let stated = service.stated_rate();
        let stated = stated.or(self.defaults.rate_rps.map(|rate| rate.0));
        let stated = stated.or_else(|| self.defaults.arrivals.as_ref().and_then(mean_rate));
        stated.or_else(|| self.is_called(service).then_some(0.0))
    }

    /// Returns how the requests for `service` arrive, as the service itself or the file's
    /// `defaults` state it; `None` if neither does.
    pub fn arrivals_of<'a>(&'a self, service: &'a Service) -> Option<&'a Arrivals> {
        let own = service.arrivals.as_ref();
        own.or(self.defaults.arrivals.as_ref())
    }

    /// The mean rate of the table that `service`'s arrivals follow. It is the rate stated beside
    /// the table, which differs from the table's mean by rounding only ([`check_mean`]).
    pub(super) fn table_rate(&self, service: &Service) -> Option<f64> {
        let (arrivals, beside) = match &service.arrivals {
            Some(own) => (own, service.rate_rps),
            None => (self.defaults.arrivals.as_ref()?, self.defaults.rate_rps),
        };
        beside.map(|rate| rate.0).or_else(|| mean_rate(arrivals))
    }

    /// Whether another service of the workload calls `service`, so that `service` needs no arrival
    /// rate.
    pub fn is_called(&self, service: &Service) -> bool {
        let callers = self.services.iter();
        let mut chains = callers.flat_map(|caller| caller.chains());
        chains.any(|(_, _, chain)| chain.calls.as_deref() == Some(&service.name))
    }

    /// Returns the mean of the services' arrival rates ([`Workload::rate_of`]), in requests per
    /// second; `None` if a service has no rate. Services with rate 0, which only other services
    /// call, do not count.
    pub fn mean_rate(&self) -> Option<f64> {
        // If all have one default rate, the mean is that rate exactly.
        if !self
            .services
            .iter()
            .any(|service| service.stated_rate().is_some())
            && let Some(rate) = self.defaults.rate_rps
        {
            return Some(rate.0);
        }
        let rates = self.services.iter().map(|service| self.rate_of(service));
        let rates: Vec<f64> = rates.collect::<Option<_>>()?;
        let own = rates.iter().filter(|rate| **rate > 0.0).count();
        Some(rates.iter().sum::<f64>() / own as f64)
    }

    /// Returns the arrival rate of each service divided by the mean rate of the services, in the
    /// order of the workload file. `name` is the set of arrival rates to use; `None` for an unknown
    /// name. `scaled` is true if the scenario (not the workload file) gives the mean rate.
    ///
    /// In the set [`OWN`], a service that states `rate_share` has this value, and a service with a
    /// rate ([`Workload::rate_of`]) has the rate divided by the mean rate. For a service with both,
    /// `rate_share` takes precedence only if `scaled` is true. A service with neither has 1. If any
    /// service has no rate, there is no mean rate ([`Workload::mean_rate`]), and no rate counts.
    pub fn rate_shares(&self, name: &str, scaled: bool) -> Option<Vec<f64>> {
        if name == EQUAL {
            return Some(vec![1.0; self.services.len()]);
        }
        if name == OWN && self.has_own_rates() {
            let mean = self.mean_rate();
            let share = |service: &Service| {
                let own = self
                    .rate_of(service)
                    .zip(mean)
                    .map(|(rate, mean)| rate / mean);
                let stated = service.rate_share.filter(|_| scaled || own.is_none());
                stated.or(own).unwrap_or(1.0)
            };
            return Some(self.services.iter().map(share).collect());
        }
        let rates = self.rates.get(name)?;
        let mean = rates.values().map(|rate| rate.0).sum::<f64>() / rates.len() as f64;
        let share = |service: &Service| Some(rates.get(&service.name)?.0 / mean);
        self.services.iter().map(share).collect()
    }
}

impl Service {
    /// The mean rate that the service itself states.
    fn stated_rate(&self) -> Option<f64> {
        let own = self.rate_rps.map(|rate| rate.0);
        own.or_else(|| self.arrivals.as_ref().and_then(mean_rate))
    }
}

/// The relative difference that a stated rate may have from the mean of the rates beside it.
const ROUNDED: f64 = 0.01;

/// Checks that a rate stated beside a table of rates is their mean, except for rounding.
///
/// # Errors
/// [`Refusal`] for another rate.
pub(super) fn check_mean(
    rate: Option<Rate>,
    arrivals: Option<&Arrivals>,
    place: &str,
) -> Result<(), Refusal> {
    let table = arrivals.filter(|arrivals| matches!(arrivals, Arrivals::Rates { .. }));
    match (rate, table.and_then(mean_rate)) {
        (Some(rate), Some(mean)) if (rate.0 / mean - 1.0).abs() > ROUNDED => {
            let allowed = format!(
                "must be left out, or be the mean of arrivals.rates, {}",
                number_text(mean)
            );
            Err(Refusal::number(
                format!("{place}.rate_rps"),
                rate.0,
                allowed,
            ))
        }
        _ => Ok(()),
    }
}

/// The mean rate of given times or rates. The last of several rates counts as long as the one
/// before it.
fn mean_rate(arrivals: &Arrivals) -> Option<f64> {
    match arrivals {
        Arrivals::Times { times_us, .. } => {
            let times = times_us.as_ref()?;
            let span_us = times.last()? - times.first()?;
            (span_us > 0.0).then(|| (times.len() - 1) as f64 / (span_us * 1e-6))
        }
        Arrivals::Rates { rates, .. } => {
            let rates = rates.as_ref()?;
            let lengths = rates.windows(2).map(|pair| pair[1].0 - pair[0].0);
            let lengths: Vec<f64> = lengths.collect();
            let last = lengths.last().copied().unwrap_or(1.0);
            let all = lengths.iter().copied().chain([last]);
            let weighted: f64 = rates
                .iter()
                .zip(all)
                .map(|(row, length)| row.1 * length)
                .sum();
            let whole = lengths.iter().sum::<f64>() + last;
            Some(weighted / whole).filter(|rate| *rate > 0.0)
        }
        Arrivals::Poisson {} | Arrivals::Modulated { .. } | Arrivals::Preset { .. } => None,
    }
}
