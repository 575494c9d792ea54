//! Promises to tenants, and the errors of refused promises.

use accelflow_units::{Bytes, Time};

use super::numbers::PERIODS;

/// The largest allowed rate, in requests per second, far above that of any server.
const LARGEST: f64 = 1e9;

/// A promised percentile of response times, such as 99 % within 200 us.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencySlo {
    /// The share of requests that must be answered within the promised latency, from 0.5 to below
    /// 1.
    pub quantile: f64,
    /// The promised latency, from the admission of a request to its answer: 1 ns to 10 s.
    pub within: Time,
}

impl LatencySlo {
    /// Returns the largest utilization (1 is the whole capacity) at which the promised latency is
    /// predicted to hold, for requests whose accelerator time is `time`. The result is 0 or less if
    /// the latency holds at no utilization above 0. The model is a separate M/M/1 queue for each
    /// core that does the work of an accelerator, with exponentially distributed latencies.
    pub fn most_used(self, time: Time) -> f64 {
        1.0 - self.alone(time).as_ps() as f64 / self.within.as_ps() as f64
    }

    /// Returns the promised percentile on idle accelerators.
    fn alone(self, time: Time) -> Time {
        Time::from_ps((time.as_ps() as f64 * -(1.0 - self.quantile).ln()) as u64)
    }
}

/// The service-level objective that is promised to a tenant: a request rate and, optionally, a
/// latency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slo {
    /// The promised rate, in requests per second: above 0 and at most 10^9.
    pub requests_per_s: f64,
    /// The mean accelerator time of a request, from which the promised accelerator time follows: 1
    /// ns to 10 s.
    pub time: Time,
    /// The message size from which `time` was predicted; `None` if `time` was given directly. With
    /// a size, `time` follows the measured times of messages of this size, as long as the capacity
    /// suffices, but never falls below its value at admission.
    pub size: Option<Bytes>,
    /// The share of periods in which the promised rate must be met, from 0.5 to below 1.
    pub periods: f64,
    /// The promised latency percentile; `None` if only the rate is promised.
    pub latency: Option<LatencySlo>,
}

impl Slo {
    /// Creates a promise of a rate, in 99 % of all periods, for requests whose mean accelerator
    /// time is `time`. No latency is promised.
    pub const fn new(requests_per_s: f64, time: Time) -> Slo {
        Slo {
            requests_per_s,
            time,
            size: None,
            periods: PERIODS,
            latency: None,
        }
    }

    /// Returns the promised accelerator time, in seconds per second: the promised rate times the
    /// accelerator time of a request.
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
        let allowed = "from 0.5 to below 1, as a share of all periods";
        let periods = self.periods;
        check(is_share(periods), "periods", periods.to_string(), allowed)?;
        if let Some(latency) = self.latency {
            let quantile = latency.quantile;
            check(
                is_share(quantile),
                "latency.quantile",
                quantile.to_string(),
                "from 0.5 to below 1",
            )?;
            let text = text(latency.within);
            check(
                within(latency.within),
                "latency.within",
                text,
                "from 1 ns to 10 s",
            )?;
        }
        Ok(())
    }
}

/// What limits the accelerator time that tenants may use or be promised: the allowed share of the
/// capacity, or a promised latency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The share of the capacity that the operator allows
    /// ([`ControlSettings::most`](super::ControlSettings::most)).
    Capacity,
    /// The latency promised to the tenant with this name, which a higher utilization would break.
    Latency(String),
}

/// The error of a refused promise to a tenant, or of invalid settings of the control plane.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ControlError {
    /// The promise needs more of the capacity than is left.
    #[error(
        "tenant '{tenant}': requests_per_s = {requests_per_s}: must be at most {left_requests_per_s} for \
         requests of {} us: {requests_per_s} of them need {asked} s of accelerator time per \
         second, but only {left} s are left of the {most} s {}",
        .time.as_us_f64(),
        at_most(limit)
    )]
    NotAdmitted {
        /// The name of the tenant whose promise is refused.
        tenant: String,
        /// The requested rate, in requests per second.
        requests_per_s: f64,
        /// The mean accelerator time of a request.
        time: Time,
        /// The accelerator time that the promise needs, in seconds per second.
        asked: f64,
        /// The accelerator time that is not promised to other tenants, in seconds per second.
        left: f64,
        /// The largest rate that would be admitted, in requests per second, rounded down.
        left_requests_per_s: f64,
        /// The accelerator time that may be promised to all tenants together, in seconds per
        /// second.
        most: f64,
        /// What limits the accelerator time that may be promised in total.
        limit: Limit,
    },
    /// The requested latency is impossible, or possible only on idle accelerators.
    #[error(
        "tenant '{tenant}': latency of {} of the requests = {} us: must be more than {} us, their \
         latency on idle accelerators",
        percent(.latency.quantile), .latency.within.as_us_f64(), .alone.as_us_f64()
    )]
    LatencyImpossible {
        /// The name of the tenant whose promise is refused.
        tenant: String,
        /// The latency that was to be promised.
        latency: LatencySlo,
        /// The time within which the same share of requests is answered on idle accelerators. Only
        /// a longer latency could be promised.
        alone: Time,
    },
    /// A value of a promise is out of its range.
    #[error("tenant '{tenant}': {what} = {value}: must be {allowed}")]
    OutOfRange {
        /// The name of the tenant whose promise is refused.
        tenant: String,
        /// The name of the value, such as `requests_per_s`.
        what: &'static str,
        /// The value as it was given; a time has its unit.
        value: String,
        /// The allowed values, as words after `must be`.
        allowed: &'static str,
    },
    /// A setting of the control plane is out of its range.
    #[error("control: {what} = {value}: must be {allowed}")]
    Setting {
        /// The name of the setting, such as `period_s`.
        what: &'static str,
        /// The value of the setting as it was given.
        value: f64,
        /// The allowed values, as words after `must be`.
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
        Limit::Latency(tenant) => format!("at which '{tenant}' still gets its promised latency"),
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
