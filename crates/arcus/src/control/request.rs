//! Requests to admit a flow: its traffic, and its promises.

use accelflow_shaping::Unit;
use accelflow_units::{Bytes, Time};

use super::Rate;
use crate::{Path, PlatformError, Sizes};

/// The service class of a flow, which determines its promise (section 6).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ServiceClass {
    /// The SLO is always kept. Such flows may use only [`ServiceClass::RESERVED_SHARE`] of the
    /// capacity; the rest is headroom for effects outside the profile.
    Reserved,
    /// The SLO is almost always kept while the flow is registered. Such flows may fill the
    /// capacity.
    OnDemand,
    /// The SLO is always kept, and the flow may get `factor` times its rate for `allowance` in each
    /// `window`, if capacity remains.
    ManagedBurst {
        /// The factor, at least 1.
        factor: f64,
        /// The time of bursts in a window.
        allowance: Time,
        /// The window.
        window: Time,
    },
    /// There is no promise, and the flow gets remaining capacity. It needs no SLO; a given SLO is
    /// ignored.
    Opportunistic,
}

impl ServiceClass {
    /// The share of the capacity that may be promised to reserved flows. The headroom is assumed to
    /// be that between the paper's promises of 30 Gbit/s and 32 Gbit/s in Table 1.
    pub const RESERVED_SHARE: f64 = 30.0 / 32.0;

    /// The name in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            ServiceClass::Reserved => "reserved",
            ServiceClass::OnDemand => "on-demand",
            ServiceClass::ManagedBurst { .. } => "managed-burst",
            ServiceClass::Opportunistic => "opportunistic",
        }
    }

    /// The share of a capacity into which a flow of this class is admitted.
    pub(crate) fn admitted_share(self) -> f64 {
        match self {
            ServiceClass::Reserved | ServiceClass::Opportunistic => ServiceClass::RESERVED_SHARE,
            ServiceClass::OnDemand | ServiceClass::ManagedBurst { .. } => 1.0,
        }
    }

    fn check(self) -> Result<(), PlatformError> {
        let ServiceClass::ManagedBurst {
            factor,
            allowance,
            window,
        } = self
        else {
            return Ok(());
        };
        let good = factor.is_finite() && (1.0..=100.0).contains(&factor);
        PlatformError::unless(good, "burst factor", factor, "from 1 to 100")?;
        let good = allowance <= window && window > Time::ZERO;
        let value = allowance.as_us_f64();
        PlatformError::unless(good, "burst allowance us", value, "at most the window")
    }
}

/// The availability of a promised rate, which is kept in `percent` of all periods of this length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Availability {
    /// From 50 to below 100.
    pub percent: f64,
    /// The period.
    pub period: Time,
}

/// A promised percentile of latencies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencySlo {
    /// From 50 to below 100.
    pub percent: f64,
    /// The latency that `percent` of all messages must not exceed.
    pub most: Time,
}

/// A request to admit a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct AdmissionRequest {
    /// Its unique name.
    pub name: String,
    /// Its VM.
    pub vm: usize,
    /// The accelerator, by the name of an entry of the AccTable.
    pub accelerator: String,
    /// Alternatives to `accelerator`, by name.
    pub instead: Vec<String>,
    /// Further accelerators that its messages pass after `accelerator`, in order.
    pub then: Vec<String>,
    /// Its path.
    pub path: Path,
    /// Alternatives to that path.
    pub other_paths: Vec<Path>,
    /// The sizes of its messages.
    pub sizes: Sizes,
    /// Its SLO; optional only for opportunistic flows.
    pub slo: Option<Rate>,
    /// A second limit, in the other unit. Both limits apply, and the smaller one is promised.
    pub also: Option<Rate>,
    /// Its service class.
    pub class: ServiceClass,
    /// The availability of the promise; by default it applies to the rate over a whole run.
    pub availability: Option<Availability>,
    /// A percentile of its latencies, if one is promised.
    pub latency: Option<LatencySlo>,
    /// The priority under over-subscription; 0 comes before 1.
    pub priority: u8,
    /// Number of messages that may pass at once after a pause: the bucket holds the tokens of so
    /// many of the largest, and a refill. From 1 to 65,536; with 1, a message that is cut into
    /// segments passes segment by segment.
    pub burst: u32,
}

impl AdmissionRequest {
    /// Creates a request of VM 0 for an on-demand flow of messages of one size.
    pub fn new(name: &str, accelerator: &str, path: Path, size: Bytes, slo: Rate) -> Self {
        AdmissionRequest {
            name: name.to_owned(),
            vm: 0,
            accelerator: accelerator.to_owned(),
            instead: Vec::new(),
            then: Vec::new(),
            path,
            other_paths: Vec::new(),
            sizes: Sizes::Fixed(size),
            slo: Some(slo),
            also: None,
            class: ServiceClass::OnDemand,
            availability: None,
            latency: None,
            priority: 0,
            burst: 1,
        }
    }

    /// The requested rate, in gigabits per second; `None` without an SLO.
    pub fn asked_gbit_per_s(&self) -> Option<f64> {
        let mean = self.sizes.mean();
        let slo = self.slo.map(|rate| rate.gbit_per_s_of(mean));
        let also = self.also.map(|rate| rate.gbit_per_s_of(mean));
        match (slo, also) {
            // Not `min`, which would hide a NaN from the check.
            (Some(slo), Some(also)) if also.is_nan() || also < slo => Some(also),
            (slo, also) => slo.or(also),
        }
    }

    /// The unit of its first limit's tokens.
    pub fn unit(&self) -> Unit {
        match self.slo {
            Some(rate) if self.class != ServiceClass::Opportunistic => rate.unit(),
            _ => Unit::Bytes,
        }
    }

    pub(super) fn check(&self) -> Result<(), PlatformError> {
        self.class.check()?;
        self.sizes.check()?;
        for rate in [self.slo, self.also].into_iter().flatten() {
            let asked = rate.gbit_per_s_of(self.sizes.mean());
            let good = asked.is_finite() && asked > 0.0;
            PlatformError::unless(good, "slo in Gbit/s", asked, "a number above 0")?;
        }
        self.check_shares()?;
        match (self.slo, self.also) {
            (None, _) if self.class != ServiceClass::Opportunistic => {
                Err(PlatformError::NeedsSlo {
                    name: self.name.clone(),
                    policy: self.class.name(),
                })
            }
            (Some(slo), Some(also)) if also.unit() == slo.unit() => {
                Err(PlatformError::SameUnit(self.name.clone()))
            }
            _ => Ok(()),
        }
    }

    fn check_shares(&self) -> Result<(), PlatformError> {
        let good = (1..=65_536).contains(&self.burst);
        PlatformError::unless(
            good,
            "slo burst messages",
            f64::from(self.burst),
            "from 1 to 65536",
        )?;
        let allowed = "from 50 to below 100";
        let periods = self.availability.map(|target| target.percent);
        for percent in periods
            .into_iter()
            .chain(self.latency.map(|target| target.percent))
        {
            let good = (50.0..100.0).contains(&percent);
            PlatformError::unless(good, "slo percent", percent, allowed)?;
        }
        if let Some(Availability { period, .. }) = self.availability {
            let good = period > Time::ZERO;
            PlatformError::unless(good, "slo period us", period.as_us_f64(), "above 0")?;
        }
        match self.latency {
            Some(LatencySlo { most, .. }) => {
                let good = most > Time::ZERO;
                PlatformError::unless(good, "slo latency us", most.as_us_f64(), "above 0")
            }
            None => Ok(()),
        }
    }
}
