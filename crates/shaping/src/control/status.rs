//! What the control plane knows of a tenant: a row of ARCUS's PerFlowStatusTable.

use accelflow_units::Time;

use super::Slo;
use super::numbers::BEYOND;

/// Whether a promise was kept so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Nothing is promised.
    NoPromise,
    /// It was kept.
    Kept,
    /// There were too few periods or requests to tell.
    TooShort,
    /// It was missed.
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

/// What is known of a tenant.
#[derive(Clone, Debug, PartialEq)]
pub struct TenantStatus {
    /// Its name.
    pub name: String,
    /// What it is promised, with the time of a request as it is taken now. A tenant without a promise
    /// shares what is left.
    pub slo: Option<Slo>,
    /// The rate of its shaper, in seconds of accelerators a second.
    pub shaped: f64,
    /// What it used lately, in the same unit.
    pub measured: f64,
    /// Periods since the promise was given.
    pub periods: u64,
    /// Of these, periods in which requests waited and it got less than was promised.
    pub missed: u64,
    /// Requests since the promise was given.
    pub requests: u64,
    /// Of these, requests that took longer than was promised.
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

    /// Replaces the promise, and counts anew.
    pub(super) fn promise(&mut self, slo: Option<Slo>) {
        *self = TenantStatus {
            slo,
            shaped: self.shaped,
            measured: self.measured,
            admitted: slo.map_or(Time::ZERO, |slo| slo.time),
            ..TenantStatus::new(&self.name)
        };
    }

    /// The accelerator time a second that it is promised.
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

    /// The verdict on whatever was kept worst.
    pub fn verdict(&self) -> Verdict {
        self.rate_verdict().max(self.latency_verdict())
    }
}

/// Whether at most the promised share of `all` was missed. One of few says nothing of a hundred.
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
