//! The load of a simulated server: the number, arrival times and kinds of requests.

use accelflow_parameters::{Refusal, number_text};

/// The largest number of senders. More senders, each with a request in flight, would fill the
/// memory.
const MAX_SENDERS: usize = 100_000_000;

/// The longest time in which requests may arrive on average. The clock ends after 1.8e7 s, and
/// intervals are random.
pub(crate) const MOST_SECONDS: f64 = 1e6;

/// The arrival process of the requests at the simulated server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// A closed loop with this number of senders. Each sender sends its next request when its last
    /// one is answered or given up.
    Closed(usize),
    /// Poisson arrivals at this mean rate, in requests per second.
    Rate(f64),
    /// Poisson arrivals at this share of the server's capacity, above 0. The capacity is the
    /// throughput of a closed loop that keeps all cores busy, without a limit on the NIC's memory.
    Share(f64),
}

/// The load of a simulation: how many requests arrive, when, and for which functions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// The arrival process of the requests.
    pub arrivals: Arrivals,
    /// The number of requests, including those of the warm-up.
    pub requests: usize,
    /// The number of requests at the beginning that do not count in the means.
    pub warmup: usize,
    /// The seed of the random arrival times, functions and kinds ([`crate::Kind`]) of requests.
    pub seed: u64,
    /// The share of requests that are made to call a function which is not in the schema map of
    /// Cerebros, from 0 to 1. Requests to functions for which the map has no room come on top.
    pub unknown: f64,
    /// The share of requests whose payload does not follow the function's schema, from 0 to 1. The
    /// sum of `unknown` and `malformed` must be at most 1.
    pub malformed: f64,
}

impl Load {
    /// Creates a load of `requests` valid requests with seed 1, without a warm-up.
    pub fn new(arrivals: Arrivals, requests: usize) -> Load {
        Load {
            arrivals,
            requests,
            warmup: 0,
            seed: 1,
            unknown: 0.0,
            malformed: 0.0,
        }
    }

    /// # Errors
    /// [`Refusal`] for counts, shares and rates out of range.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        if self.requests <= self.warmup || self.requests > 100_000_000 {
            let allowed = format!(
                "must be above the number of warm-up requests ({}), at most 1e8",
                self.warmup
            );
            return Err(Refusal::new("requests", self.requests, allowed));
        }
        let shares = [
            ("unknown_ratio", self.unknown),
            ("malformed_ratio", self.malformed),
            (
                "unknown_ratio + malformed_ratio",
                self.unknown + self.malformed,
            ),
        ];
        for (place, value) in shares {
            if !(0.0..=1.0).contains(&value) {
                return Err(Refusal::new(place, value, "must be from 0 to 1"));
            }
        }
        match self.arrivals {
            Arrivals::Closed(senders) if !(1..=MAX_SENDERS).contains(&senders) => {
                let allowed = format!("must be a whole number from 1 to {MAX_SENDERS}");
                Err(Refusal::new("senders", senders, allowed))
            }
            Arrivals::Rate(rate) if !(rate > 0.0 && rate <= 1e12) => Err(Refusal::new(
                "rate_rps",
                rate,
                "must be above 0, at most 1e12",
            )),
            Arrivals::Rate(rate) => self.check_span("rate_rps", rate, rate),
            Arrivals::Share(share) if !(share > 0.0 && share <= 100.0) => Err(Refusal::new(
                "load_ratio",
                share,
                "must be above 0, at most 100",
            )),
            _ => Ok(()),
        }
    }

    /// Checks that requests at `rate_rps` arrive before the clock ends. `value` is the value of the
    /// parameter `place` that sets the rate.
    ///
    /// # Errors
    /// [`Refusal`] for a rate that is too low for the number of requests.
    pub(crate) fn check_span(&self, place: &str, value: f64, rate_rps: f64) -> Result<(), Refusal> {
        let least_rps = self.requests as f64 / MOST_SECONDS;
        if rate_rps >= least_rps {
            return Ok(());
        }
        let allowed = format!(
            "must be at least {} for {} requests, which must arrive in {MOST_SECONDS} s",
            number_text(value * least_rps / rate_rps),
            self.requests
        );
        Err(Refusal::number(place, value, allowed))
    }
}
