//! The status of a tenant: a row of ARCUS's PerFlowStatusTable.

use accelflow_units::Time;

use super::Slo;
use super::numbers::BEYOND;

/// The verdict on a promise so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Nothing is promised.
    NoPromise,
    /// The promise was kept.
    Kept,
    /// There were too few periods or requests for a verdict.
    TooShort,
    /// The promise was missed.
    Missed,
}

impl Verdict {
    /// The name in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::NoPromise => "no promise",
            Verdict::Kept => "kept",
            Verdict::TooShort => "too short",
            Verdict::Missed => "missed",
        }
    }
}

/// The status of a tenant in the control plane.
#[derive(Clone, Debug, PartialEq)]
pub struct TenantStatus {
    /// The name of the tenant.
    pub name: String,
    /// The tenant's promise, with the present time of a request. Tenants without a promise share
    /// the remaining capacity.
    pub slo: Option<Slo>,
    /// The rate of its shaper, in accelerator seconds per second.
    pub shaped: f64,
    /// Its recent use, in accelerator seconds per second.
    pub measured: f64,
    /// Periods since the promise was given.
    pub periods: u64,
    /// The number of these periods in which requests waited and the tenant got less than promised.
    pub missed: u64,
    /// Requests since the promise was given.
    pub requests: u64,
    /// The number of these requests that took longer than promised.
    pub late: u64,
    /// The time of a request when the promise was given.
    pub(super) admitted: Time,
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

    /// The tenant's promised accelerator seconds per second.
    pub fn promised(&self) -> f64 {
        self.slo.map_or(0.0, |slo| slo.share())
    }

    /// The verdict on the promised rate.
    pub fn rate_verdict(&self) -> Verdict {
        match self.slo {
            None => Verdict::NoPromise,
            Some(slo) => judged(self.periods, self.missed, slo.periods),
        }
    }

    /// The verdict on the promised latency.
    pub fn latency_verdict(&self) -> Verdict {
        match self.slo.and_then(|slo| slo.latency) {
            None => Verdict::NoPromise,
            Some(latency) => judged(self.requests, self.late, latency.quantile),
        }
    }

    /// The worst of the verdicts on rate and latency.
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
