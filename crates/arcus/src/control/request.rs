//! Requests to admit a flow: what the flow sends, and what the server promises the flow.

use accelflow_shaping::Unit;
use accelflow_units::{Bytes, Time};

use super::Rate;
use crate::{Path, PlatformError, Sizes};

/// The service class of a flow: how firmly the server promises the flow's SLO (section 6). Under
/// over-subscription, flows of every class may get less than they are promised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ServiceClass {
    /// The flow always gets its promised rate. A reserved flow is admitted only if the promises to
    /// all flows, its own included, need at most [`ServiceClass::RESERVED_SHARE`] of the capacity.
    /// The remaining capacity is headroom for effects that profiles do not cover.
    Reserved,
    /// The flow almost always gets its promised rate while it is registered. Promises to on-demand
    /// flows may use the whole capacity.
    OnDemand,
    /// The flow always gets its promised rate. While messages of the flow wait, it may get more
    /// from spare capacity: in total up to `factor` times its promised rate, for at most
    /// `allowance` in each `window`. Promises to such flows may use the whole capacity.
    ManagedBurst {
        /// The largest rate during a burst, as a multiple of the promised rate; from 1 to 100.
        factor: f64,
        /// The total time of bursts in each window, from 0 to `window`.
        allowance: Time,
        /// The length of the window in which bursts may last for `allowance`; above 0.
        window: Time,
    },
    /// No rate is promised: the flow gets capacity that other flows leave. The flow needs no SLO; a
    /// given SLO must be valid, but is not promised.
    Opportunistic,
}

impl ServiceClass {
    /// The load up to which reserved flows are admitted, as a share of the capacity. Its value is
    /// an assumption: the ratio of 30 Gbit/s to 32 Gbit/s, both from the paper's Table 1.
    pub const RESERVED_SHARE: f64 = 30.0 / 32.0;

    /// The service class's name in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            ServiceClass::Reserved => "reserved",
            ServiceClass::OnDemand => "on-demand",
            ServiceClass::ManagedBurst { .. } => "managed-burst",
            ServiceClass::Opportunistic => "opportunistic",
        }
    }

    /// The load up to which a flow of this class is admitted, as a share of the capacity.
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
        PlatformError::unless(
            good,
            "burst allowance in us",
            value,
            "at most a window above 0",
        )
    }
}

/// The promise of a rate in a percentage of periods: the flow gets its rate in `percent` percent of
/// all periods of length `period`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Availability {
    /// The percentage of periods in which the flow gets its rate, from 50 to below 100.
    pub percent: f64,
    /// The length of a period; above 0.
    pub period: Time,
}

/// The promise of a latency: `percent` percent of a flow's messages have a latency of at most
/// `most`. [`Verdict`](super::Verdict)s check this promise; admission and shaping ignore it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencySlo {
    /// The percentage of messages whose latency must be at most `most`, from 50 to below 100.
    pub percent: f64,
    /// The latency that `percent` of all messages must not exceed; above 0.
    pub most: Time,
}

/// A request to admit a flow: the messages that the flow sends, the routes that it may take, and
/// the promises that it asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct AdmissionRequest {
    /// The flow's name, which must differ from the names of all registered flows.
    pub name: String,
    /// The identifier of the VM that sends the flow's messages.
    pub vm: usize,
    /// The accelerator that the flow asks for, by its name in the AccTable; [`super::STORAGE`] for
    /// a flow that uses only the storage.
    pub accelerator: String,
    /// The names of other accelerators that may serve the flow instead of `accelerator`.
    pub instead: Vec<String>,
    /// The names of further accelerators that the flow's messages pass after `accelerator`, in
    /// order.
    pub then: Vec<String>,
    /// The path of the flow's messages between host, network, accelerators and storage.
    pub path: Path,
    /// Other paths that the flow may take instead of `path`.
    pub other_paths: Vec<Path>,
    /// The sizes of the flow's messages.
    pub sizes: Sizes,
    /// The SLO: the rate that the flow asks for. `None` is allowed only for opportunistic flows.
    pub slo: Option<Rate>,
    /// A second rate that the flow asks for, in the other unit than `slo`: messages instead of
    /// bits, or bits instead of messages. Both rates limit the flow, and the smaller one is
    /// promised.
    pub also: Option<Rate>,
    /// The service class, which says how firmly the rate is promised.
    pub class: ServiceClass,
    /// The percentage of periods in which the flow gets the promised rate. `None` promises the mean
    /// rate over the measured time in which the flow is present instead. An opportunistic flow has
    /// no promised rate, so its value must be valid, but has no effect.
    pub availability: Option<Availability>,
    /// The promised percentile of message latencies; `None` without such a promise.
    pub latency: Option<LatencySlo>,
    /// The flow's priority if over-subscription promises more than the capacity: flows of priority
    /// 0 keep their rates longest.
    pub priority: u8,
    /// The number of messages that may pass at once after a pause, from 1 to 65,536. The flow's
    /// token bucket has space for this number of messages of the largest size, and for a refill.
    /// With 1, a message that is cut into segments passes segment by segment. With `availability`,
    /// 1 % of the messages of a period at the promised rate may pass at once if these are more.
    pub burst: u32,
}

impl AdmissionRequest {
    /// Creates a request of VM 0 for an on-demand flow with the rate `slo`, whose messages all have
    /// `size`.
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

    /// The requested rate in gigabits per second: the smaller one of `slo` and `also`. `None` if
    /// the request has neither.
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

    /// The unit of the tokens of the flow's shaper: operations (messages or, if messages are cut,
    /// segments) if the flow is promised messages per second in `slo`, otherwise bytes.
    pub fn unit(&self) -> Unit {
        match self.slo {
            Some(rate) if self.class != ServiceClass::Opportunistic => rate.unit(),
            _ => Unit::Bytes,
        }
    }

    pub(super) fn check(&self) -> Result<(), PlatformError> {
        self.check_traffic()?;
        for rate in [self.slo, self.also].into_iter().flatten() {
            let asked = rate.gbit_per_s_of(self.sizes.mean());
            let good = asked.is_finite() && asked > 0.0;
            PlatformError::unless(good, "slo in Gbit/s", asked, "a number above 0")?;
        }
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

    /// Checks everything except the rates, which need not be given.
    pub(super) fn check_traffic(&self) -> Result<(), PlatformError> {
        self.class.check()?;
        self.sizes.check()?;
        self.check_shares()
    }

    fn check_shares(&self) -> Result<(), PlatformError> {
        let good = (1..=65_536).contains(&self.burst);
        PlatformError::unless(
            good,
            "messages of a burst",
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
            PlatformError::unless(good, "percentage of an SLO", percent, allowed)?;
        }
        if let Some(Availability { period, .. }) = self.availability {
            let good = period > Time::ZERO;
            PlatformError::unless(
                good,
                "period of an SLO in us",
                period.as_us_f64(),
                "above 0",
            )?;
        }
        match self.latency {
            Some(LatencySlo { most, .. }) => {
                let good = most > Time::ZERO;
                PlatformError::unless(good, "latency of an SLO in us", most.as_us_f64(), "above 0")
            }
            None => Ok(()),
        }
    }
}
