//! What may be promised, and why a promise is refused.

use accelflow_units::{Bytes, Time};

use super::numbers::PERIODS;

/// The largest rate and capacity; no server is near it.
const LARGEST: f64 = 1e9;

/// A promised percentile of latencies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencySlo {
    /// The share of requests that it holds for, from 0.5 to below 1.
    pub quantile: f64,
    /// The time within which they are answered, from when they may pass.
    pub within: Time,
}

impl LatencySlo {
    /// The share of the capacity in use up to which it is predicted to hold for requests of `time`; 0 or
    /// less if it never does. Each core is taken as a queue of its own with exponential times (M/M/1),
    /// whose latencies are exponential, too.
    pub fn most_used(self, time: Time) -> f64 {
        1.0 - self.alone(time).as_ps() as f64 / self.within.as_ps() as f64
    }

    /// The promised percentile on idle accelerators.
    fn alone(self, time: Time) -> Time {
        Time::from_ps((time.as_ps() as f64 * -(1.0 - self.quantile).ln()) as u64)
    }
}

/// A promise to a tenant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slo {
    /// Its requests a second.
    pub requests_per_s: f64,
    /// The mean accelerator time of a request, for which the rate holds.
    pub time: Time,
    /// The size of message that the rate holds for, if the time was predicted from that; it then follows
    /// what is measured.
    pub size: Option<Bytes>,
    /// The share of all periods in which the rate holds, from 0.5 to below 1.
    pub periods: f64,
    /// The percentile of latencies, if one is promised.
    pub latency: Option<LatencySlo>,
}

impl Slo {
    /// A rate of requests of `time` in 99 % of all periods.
    pub const fn new(requests_per_s: f64, time: Time) -> Slo {
        Slo {
            requests_per_s,
            time,
            size: None,
            periods: PERIODS,
            latency: None,
        }
    }

    /// Accelerator time a second.
    pub fn share(&self) -> f64 {
        self.requests_per_s * seconds(self.time)
    }

    pub(super) fn check(&self, tenant: &str) -> Result<(), ControlError> {
        let check = |good: bool, what: &'static str, value: String, allowed: &'static str| {
            let tenant = tenant.to_owned();
            match good {
                true => Ok(()),
                false => Err(ControlError::OutOfRange {
                    tenant,
                    what,
                    value,
                    allowed,
                }),
            }
        };
        let rate = self.requests_per_s;
        let good = rate > 0.0 && rate <= LARGEST;
        let allowed = "above 0 and at most 1000000000";
        check(good, "requests_per_s", rate.to_string(), allowed)?;
        let (least, most) = (Time::from_ns(1), Time::from_us(10_000_000));
        let within = |time: Time| (least..=most).contains(&time);
        let text = |time: Time| format!("{} us", time.as_us_f64());
        let allowed = "from 1 ns to 10 s";
        check(within(self.time), "request time", text(self.time), allowed)?;
        let is_share = |share: f64| (0.5..1.0).contains(&share);
        let allowed = "from 0.5 to below 1";
        let periods = self.periods;
        check(is_share(periods), "periods", periods.to_string(), allowed)?;
        if let Some(latency) = self.latency {
            let quantile = latency.quantile;
            check(
                is_share(quantile),
                "quantile",
                quantile.to_string(),
                allowed,
            )?;
            let text = text(latency.within);
            check(within(latency.within), "within", text, "from 1 ns to 10 s")?;
        }
        Ok(())
    }
}

/// What limits the accelerator time that may be promised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The share of the capacity that the operator allows.
    Capacity,
    /// The latency that this tenant has been promised.
    Latency(String),
}

/// A promise that the control plane does not give, or settings that it cannot have.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ControlError {
    /// There is not so much left.
    #[error(
        "tenant '{tenant}': {requests_per_s} requests/s of {} us take {asked} s of accelerators a second: \
         {left} are left ({left_requests_per_s} requests/s) of {most} {}",
        .time.as_us_f64(),
        at_most(limit)
    )]
    NotAdmitted {
        /// The tenant.
        tenant: String,
        /// The rate as asked.
        requests_per_s: f64,
        /// The accelerator time of a request.
        time: Time,
        /// The accelerator time a second that the promise takes.
        asked: f64,
        /// What is left of it.
        left: f64,
        /// The same in requests of that time, rounded down.
        left_requests_per_s: f64,
        /// What may be promised in all.
        most: f64,
        /// Why no more than that may be promised.
        limit: Limit,
    },
    /// A latency that not even idle accelerators have.
    #[error(
        "tenant '{tenant}': {} of requests within {} us: they take {} us on idle accelerators",
        percent(.latency.quantile), .latency.within.as_us_f64(), .alone.as_us_f64()
    )]
    LatencyImpossible {
        /// The tenant.
        tenant: String,
        /// The promise as asked.
        latency: LatencySlo,
        /// The percentile on idle accelerators.
        alone: Time,
    },
    /// A value out of its range.
    #[error("tenant '{tenant}': {what} = {value}: must be {allowed}")]
    OutOfRange {
        /// The tenant; empty for the settings of the control plane.
        tenant: String,
        /// What has the value.
        what: &'static str,
        /// The value as given.
        value: String,
        /// The allowed values.
        allowed: &'static str,
    },
    /// A setting of the control plane out of its range.
    #[error("control: {what} = {value}: must be {allowed}")]
    Setting {
        /// The setting.
        what: &'static str,
        /// The value as given.
        value: f64,
        /// The allowed values.
        allowed: &'static str,
    },
}

impl ControlError {
    pub(super) fn impossible(tenant: &str, latency: LatencySlo, time: Time) -> ControlError {
        ControlError::LatencyImpossible {
            tenant: tenant.to_owned(),
            latency,
            alone: latency.alone(time),
        }
    }
}

fn at_most(limit: &Limit) -> String {
    match limit {
        Limit::Capacity => "that may be promised".to_owned(),
        Limit::Latency(tenant) => format!("at which '{tenant}' has its promised latency"),
    }
}

/// A share as a percentage.
fn percent(share: f64) -> String {
    format!("{} %", (share * 1e6).round() / 1e4)
}

/// A time in seconds.
pub(super) fn seconds(time: Time) -> f64 {
    time.as_ps() as f64 / 1e12
}
