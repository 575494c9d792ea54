//! The status of a tenant: a row of ARCUS's PerFlowStatusTable.

use accelflow_units::Time;

use super::numbers::{BEYOND, CATCH_UP, TOLERANCE};
use super::slo::{Slo, seconds};

/// Whether a promise to a tenant has been kept so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The tenant has no promise.
    NoPromise,
    /// The promise has been kept: at most the allowed share of periods or requests missed it.
    Kept,
    /// There have been too few periods or requests to tell whether the promise is kept: the
    /// allowed share is less than one period or request so far.
    TooShort,
    /// The promise has been missed in more than one period or request, and in more than the allowed
    /// share of periods or requests.
    Missed,
}

impl Verdict {
    /// Returns the name of the verdict in files and reports, such as `kept`.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::NoPromise => "no promise",
            Verdict::Kept => "kept",
            Verdict::TooShort => "too short",
            Verdict::Missed => "missed",
        }
    }
}

/// The counts of a tenant's requests in one period of the control plane.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// Number of the tenant's requests that ended in the period.
    pub requests: u64,
    /// The sum of the accelerator times of the tenant's requests that ended in the period.
    pub time: Time,
    /// Number of the tenant's requests that ended in the period and took longer than the promised
    /// latency.
    pub late: u64,
    /// Number of the tenant's requests that wait for tokens of the traffic shaper at the end of the
    /// period.
    pub waiting: usize,
    /// The measured accelerator time of a request of the promised size ([`Slo::size`]); `None` if
    /// it has not been measured.
    pub request_time: Option<Time>,
}

/// The status of a tenant in the control plane: the promise to the tenant, the tenant's rates, and
/// the counts of its periods and requests.
#[derive(Clone, Debug, PartialEq)]
pub struct TenantStatus {
    /// The name of the tenant.
    pub name: String,
    /// The promise to the tenant; `None` for a tenant that shares the remaining capacity. In a
    /// promise with a message size, the time of a request is the current one ([`Slo::size`]).
    pub slo: Option<Slo>,
    /// The rate that the tenant's traffic shaper allows, in seconds of accelerator time per second.
    pub shaped: f64,
    /// The accelerator time that the tenant recently used: a moving mean, in seconds per second.
    pub measured: f64,
    /// Number of periods since the promise was made.
    pub periods: u64,
    /// Number of periods since the promise was made in which the promised rate was missed. A period
    /// counts as missed if all of this holds: requests of the tenant wait at the end of the period;
    /// the tenant received less than 99 % of the promised requests and of the promised accelerator
    /// time in the period; and since the tenant's requests began to wait, the sum of the amounts
    /// below 99 % is more than one request and that request's accelerator time.
    pub missed: u64,
    /// Number of requests that ended since the promise was made.
    pub requests: u64,
    /// Number of requests that ended since the promise was made and took longer than the promised
    /// latency.
    pub late: u64,
    /// The time of a request when the promise was given.
    pub(super) admitted: Time,
    /// How far its shaped rate exceeds the promise to make up for a shortfall, as a part of it.
    pub(super) catch_up: f64,
    owed: Owed,
}

/// The promised requests and time that a tenant has not received since its requests began to wait.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Owed {
    requests: f64,
    time_s: f64,
}

impl TenantStatus {
    pub(super) fn new(name: &str) -> TenantStatus {
        TenantStatus {
            name: name.to_owned(),
            slo: None,
            shaped: 0.0,
            measured: 0.0,
            periods: 0,
            missed: 0,
            requests: 0,
            late: 0,
            admitted: Time::ZERO,
            catch_up: 0.0,
            owed: Owed::default(),
        }
    }

    /// Replaces the promise and resets the counters.
    pub(super) fn promise(&mut self, slo: Option<Slo>) {
        *self = TenantStatus {
            slo,
            shaped: self.shaped,
            measured: self.measured,
            admitted: slo.map_or(Time::ZERO, |slo| slo.time),
            ..TenantStatus::new(&self.name)
        };
    }

    /// Counts a period of `period` seconds. Returns whether a promise was missed in it.
    pub(super) fn look(&mut self, counted: &Counters, period: f64) -> bool {
        let Some(slo) = self.slo else { return false };
        let behind = self.falls_behind(slo, counted, period);
        self.periods += 1;
        self.missed += u64::from(behind);
        self.requests += counted.requests;
        self.late += counted.late;
        let late = slo.latency.is_some_and(|latency| {
            counted.late as f64 > counted.requests as f64 * (1.0 - latency.quantile)
        });
        behind || late
    }

    /// Whether a period was missed: requests wait, and the tenant is owed more than one request, in
    /// number and in time, and got less than promised in this period. Time counts because requests
    /// may be larger than promised.
    ///
    /// One request may be owed, since the end of a period cuts one, which counts in the next. What
    /// is owed adds up over periods, so that promises of less than a request a period are judged,
    /// too.
    fn falls_behind(&mut self, slo: Slo, counted: &Counters, period: f64) -> bool {
        let enough = period * (1.0 - TOLERANCE);
        let lacks = Owed {
            requests: slo.requests_per_s * enough - counted.requests as f64,
            time_s: slo.share() * enough - seconds(counted.time),
        };
        // At most a period's promise: others need not make up for a long stall.
        let most = (slo.requests_per_s * period).max(2.0);
        self.owed = match counted.waiting {
            // A tenant without waiting requests limits itself.
            0 => Owed::default(),
            _ => Owed {
                requests: (self.owed.requests + lacks.requests).clamp(0.0, most),
                time_s: (self.owed.time_s + lacks.time_s).clamp(0.0, most * seconds(slo.time)),
            },
        };
        let beyond = self.owed.requests - 1.0;
        let is_owed = beyond > 0.0 && self.owed.time_s > seconds(slo.time);
        self.catch_up = match is_owed {
            true => (beyond / (slo.requests_per_s * period)).min(CATCH_UP - 1.0),
            false => 0.0,
        };
        is_owed && lacks.requests > 0.0 && lacks.time_s > 0.0
    }

    /// Returns the accelerator time promised to the tenant, in seconds per second; 0 without a
    /// promise.
    pub fn promised(&self) -> f64 {
        self.slo.map_or(0.0, |slo| slo.share())
    }

    /// Returns whether the promised rate has been kept; [`Verdict::NoPromise`] without a promise.
    pub fn rate_verdict(&self) -> Verdict {
        match self.slo {
            None => Verdict::NoPromise,
            Some(slo) => judged(self.periods, self.missed, slo.periods),
        }
    }

    /// Returns whether the promised latency has been kept; [`Verdict::NoPromise`] if no latency is
    /// promised.
    pub fn latency_verdict(&self) -> Verdict {
        match self.slo.and_then(|slo| slo.latency) {
            None => Verdict::NoPromise,
            Some(latency) => judged(self.requests, self.late, latency.quantile),
        }
    }

    /// Returns the worse of the verdicts on the rate and the latency. From worst to best, verdicts
    /// are `Missed`, `TooShort`, `Kept` and `NoPromise`.
    pub fn verdict(&self) -> Verdict {
        self.rate_verdict().max(self.latency_verdict())
    }
}

/// Whether at most the promised share of `all` was missed. Few samples do not allow a verdict.
fn judged(all: u64, missed: u64, promised: f64) -> Verdict {
    let allowed = all as f64 * (1.0 - promised);
    if missed as f64 > allowed.max(BEYOND) {
        return Verdict::Missed;
    }
    match allowed >= BEYOND {
        true => Verdict::Kept,
        false => Verdict::TooShort,
    }
}
