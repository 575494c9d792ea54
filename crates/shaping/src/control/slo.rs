//! Promises to tenants, and the errors of refused promises.

use accelflow_units::{Bytes, Time};

use super::numbers::PERIODS;

/// The largest allowed rate and capacity, far above any server's.
const LARGEST: f64 = 1e9;

/// A promised percentile of latencies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencySlo {
    /// The share of requests for which the latency is promised, from 0.5 to below 1.
    pub quantile: f64,
    /// The promised latency, from admission to answer.
    pub within: Time,
}

impl LatencySlo {
    /// Returns the largest utilization of the capacity at which the latency is predicted to hold
    /// for requests of `time`. It is 0 or less if it never holds. Each core is modelled as a
    /// separate M/M/1 queue, whose latencies are exponential.
    pub fn most_used(self, time: Time) -> f64 {
        1.0 - self.alone(time).as_ps() as f64 / self.within.as_ps() as f64
    }

    /// Returns the promised percentile on idle accelerators.
    fn alone(self, time: Time) -> Time {
        Time::from_ps((time.as_ps() as f64 * -(1.0 - self.quantile).ln()) as u64)
    }
}

/// A promise to a tenant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slo {
    /// The rate of requests per second.
    pub requests_per_s: f64,
    /// The mean accelerator time of a request, for which the rate is promised.
    pub time: Time,
    /// The message size from which `time` was predicted, if it was. `time` is then updated to
    /// measured times.
    pub size: Option<Bytes>,
    /// The share of periods in which the rate must be met, from 0.5 to below 1.
    pub periods: f64,
    /// The promised latency percentile, if any.
    pub latency: Option<LatencySlo>,
}

impl Slo {
    /// Creates a promise of a rate, for requests of `time`, in 99 % of all periods.
    pub const fn new(requests_per_s: f64, time: Time) -> Slo {
        Slo {
            requests_per_s,
            time,
            size: None,
            periods: PERIODS,
            latency: None,
        }
    }

    /// The promised accelerator seconds per second.
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

/// The error of a refused promise or invalid settings.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ControlError {
    /// The remaining capacity is too small.
    #[error(
        "tenant '{tenant}': {requests_per_s} requests/s of {} us take {asked} accelerator seconds per second: \
         {left} are left ({left_requests_per_s} requests/s) of {most} {}",
        .time.as_us_f64(),
        at_most(limit)
    )]
    NotAdmitted {
        /// The tenant.
        tenant: String,
        /// The requested rate.
        requests_per_s: f64,
        /// The accelerator time of a request.
        time: Time,
        /// The requested accelerator seconds per second.
        asked: f64,
        /// The remaining accelerator seconds per second.
        left: f64,
        /// The remaining requests per second of that time, rounded down.
        left_requests_per_s: f64,
        /// The accelerator seconds per second that may be promised in total.
        most: f64,
        /// The reason for this limit.
        limit: Limit,
    },
    /// A latency that is impossible even on idle accelerators.
    #[error(
        "tenant '{tenant}': {} of requests within {} us: must be at least {} us, the percentile on idle accelerators",
        percent(.latency.quantile), .latency.within.as_us_f64(), .alone.as_us_f64()
    )]
    LatencyImpossible {
        /// The tenant.
        tenant: String,
        /// The requested latency.
        latency: LatencySlo,
        /// The percentile on idle accelerators.
        alone: Time,
    },
    /// A value out of its range.
    #[error("tenant '{tenant}': {what} = {value}: must be {allowed}")]
    OutOfRange {
        /// The tenant; empty for the settings of the control plane.
        tenant: String,
        /// The name of the value.
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
