//! Times that remote sides take to answer, by the trace that waits for the answer.

use std::sync::Arc;

use accelflow_kernel::attribute_unit;
use accelflow_parameters::Provenance;
use accelflow_units::Time;

use super::number::{ProfileParameter, number};

/// A distribution of times, such as those that a remote side takes to answer: log-normal, constant,
/// or a table of quantiles.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitDistribution {
    median: Time,
    sigma: f64,
    quantiles: Option<Arc<[(f64, Time)]>>,
}

/// The times that remote sides (other servers, caches and databases) take to answer, from the
/// departure of a request to the arrival of the response. Each trace that receives a response may
/// have its own distribution of these times.
#[derive(Clone, Debug, PartialEq)]
pub struct RemoteWaits {
    by_trace: Vec<(String, Wait)>,
    other: Wait,
}

/// A distribution of times, with the origin of its median and of its spread.
#[derive(Clone, Debug, PartialEq)]
struct Wait {
    distribution: WaitDistribution,
    median: Origin,
    spread: Origin,
}

/// Where a number comes from.
type Origin = (Provenance, &'static str);

/// The name of the distribution for all traces without one of their own.
const OTHER: &str = "other";

const GIVEN: Origin = (Provenance::Assumed, "given by the user");
const STATED: Origin = (Provenance::Assumed, "as the workload's file states it");

impl Wait {
    const fn of(distribution: WaitDistribution, origin: Origin) -> Wait {
        Wait {
            distribution,
            median: origin,
            spread: origin,
        }
    }
}

impl WaitDistribution {
    /// The largest allowed standard deviation of the natural logarithm of a time in a log-normal
    /// distribution. With this value, the 99th percentile is about ten thousand times the median.
    pub const MAX_SIGMA: f64 = 4.0;

    /// Creates a distribution in which every time is `wait`.
    pub const fn constant(wait: Time) -> WaitDistribution {
        WaitDistribution {
            median: wait,
            sigma: 0.0,
            quantiles: None,
        }
    }

    /// Creates a log-normal distribution of times with the median `median`. `sigma` is the standard
    /// deviation of the time's natural logarithm. `sigma` is limited to 0 to
    /// [`WaitDistribution::MAX_SIGMA`], and NaN counts as 0.
    pub fn log_normal(median: Time, sigma: f64) -> WaitDistribution {
        let sigma = if sigma.is_nan() {
            0.0
        } else {
            sigma.clamp(0.0, Self::MAX_SIGMA)
        };
        WaitDistribution {
            median,
            sigma,
            quantiles: None,
        }
    }

    /// Creates a distribution from points (probability p, time t): a share p of all times is at
    /// most t. Between points, times are evenly distributed. Returns `None` if the probabilities do
    /// not go from 0 to 1, or if probabilities or times decrease.
    pub fn of_quantiles(points: &[(f64, Time)]) -> Option<WaitDistribution> {
        let (first, last) = (points.first()?, points.last()?);
        let rises = |pair: &[(f64, Time)]| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1;
        let whole = first.0 == 0.0 && last.0 == 1.0;
        (whole && points.windows(2).all(rises)).then(|| WaitDistribution {
            median: at(points, 0.5),
            sigma: 0.0,
            quantiles: Some(points.into()),
        })
    }

    /// Returns the median time.
    pub const fn median(&self) -> Time {
        self.median
    }

    /// Returns the standard deviation of the time's natural logarithm, for a log-normal
    /// distribution; 0 for a constant and for a table of quantiles.
    pub const fn sigma(&self) -> f64 {
        self.sigma
    }

    /// Returns the mean time.
    pub fn mean(&self) -> Time {
        let Some(points) = &self.quantiles else {
            return self.median.scale((self.sigma * self.sigma / 2.0).exp());
        };
        let part = |pair: &[(f64, Time)]| {
            (pair[1].0 - pair[0].0) * (pair[0].1.as_ns_f64() + pair[1].1.as_ns_f64()) / 2.0
        };
        Time::from_ns_f64(points.windows(2).map(part).sum())
    }

    /// Returns the probability of a time longer than `limit`.
    pub fn exceeds(&self, limit: Time) -> f64 {
        if let Some(points) = &self.quantiles {
            return 1.0 - share_up_to(points, limit);
        }
        if self.sigma == 0.0 || self.median == Time::ZERO {
            return f64::from(self.median > limit);
        }
        let ratio = limit.as_ns_f64() / self.median.as_ns_f64();
        let deviations = ratio.ln() / self.sigma;
        libm::erfc(deviations / std::f64::consts::SQRT_2) / 2.0
    }

    /// Draws a random time for request `request`. `index` distinguishes several draws for the same
    /// request. The result depends only on the distribution and the arguments, so all systems that
    /// are compared see the same times. Indices for one request must be at least 2 apart, since a
    /// draw also uses `index + 1`.
    pub fn draw(&self, seed: u64, request: u64, index: u64) -> Time {
        if let Some(points) = &self.quantiles {
            return at(points, attribute_unit(seed, request, index));
        }
        if self.sigma == 0.0 {
            return self.median;
        }
        // In (0, 1], for the logarithm.
        let radius = 1.0 - attribute_unit(seed, request, index);
        let angle = std::f64::consts::TAU * attribute_unit(seed, request, index + 1);
        let normal = (-2.0 * radius.ln()).sqrt() * angle.cos();
        self.median.scale((self.sigma * normal).exp())
    }
}

/// The wait that the share `probability` of all waits does not exceed.
fn at(points: &[(f64, Time)], probability: f64) -> Time {
    let above = points.partition_point(|point| point.0 <= probability);
    let above = above.clamp(1, points.len() - 1);
    let ((p, from), (q, to)) = (points[above - 1], points[above]);
    let part = if q > p {
        ((probability - p) / (q - p)).clamp(0.0, 1.0)
    } else {
        1.0
    };
    Time::from_ns_f64(from.as_ns_f64() + part * (to.as_ns_f64() - from.as_ns_f64()))
}

/// The probability of a wait of at most `limit`.
fn share_up_to(points: &[(f64, Time)], limit: Time) -> f64 {
    let above = points.partition_point(|point| point.1 <= limit);
    let (Some(before), Some(&(q, to))) = (above.checked_sub(1), points.get(above)) else {
        return f64::from(u8::from(above > 0));
    };
    let (p, from) = points[before];
    let part = (limit.as_ns_f64() - from.as_ns_f64()) / (to.as_ns_f64() - from.as_ns_f64());
    p + (q - p) * part
}

impl RemoteWaits {
    /// Creates times of 5 us for every answer of a remote side, such as a database in the same rack
    /// with little work.
    ///
    /// Provenance: assumed. The AccelFlow paper prints no times of remote sides. Its shares of
    /// datacenter tax and application logic add up to the whole execution, so they leave this time
    /// out.
    pub fn short() -> RemoteWaits {
        let origin = (
            Provenance::Assumed,
            "a remote side in the same rack; the paper prints no remote times",
        );
        RemoteWaits {
            by_trace: Vec::new(),
            other: Wait::of(WaitDistribution::constant(Time::from_us(5)), origin),
        }
    }

    /// Creates the times that the remote sides of DeathStarBench's SocialNetwork take to answer.
    /// Each time is constant: the median of spans in DeathStarBench's own Jaeger capture of 20
    /// compose-post requests (socialNetwork, delimitrou/DeathStarBench at 6ecb0970).
    ///
    /// The trace T5 waits for a get from redis (social_graph_redis_get, 72 us), T6 for a find in
    /// MongoDB (social_graph_mongo_find, 276 us), and T7 for an insert into MongoDB
    /// (post_storage_mongo_insert, 242 us). T10 waits for another service: the median of the
    /// medians of the seven servers that ComposePost calls (6, 7, 13, 269, 452, 542 and 1,434 us).
    /// Other traces, such as T12, were not measured and have the time of T10. The spans include the
    /// remote side's own datacenter tax.
    pub fn social_network() -> RemoteWaits {
        let origin = (
            Provenance::Measured,
            "median span in the Jaeger capture of DeathStarBench's SocialNetwork",
        );
        let constant = |us| Wait::of(WaitDistribution::constant(Time::from_us(us)), origin);
        RemoteWaits {
            by_trace: [("T5", 72), ("T6", 276), ("T7", 242)]
                .map(|(trace, us)| (trace.to_owned(), constant(us)))
                .to_vec(),
            other: constant(269),
        }
    }

    /// Makes these times vary at random: those of T5, T6 and T7, and of all traces without a time
    /// of their own, become log-normal with unchanged median. The variation is that of the remote
    /// sides in the Jaeger capture of [`RemoteWaits::social_network`].
    ///
    /// Provenance: derived. Each kind of span was captured 20 times, so the 99th percentile in the
    /// capture's statistics is the longest span. The largest of 20 normal values lies 1.867
    /// standard deviations above the median on average, so the standard deviation of the logarithm
    /// is ln(longest / median) / 1.867. T5 (longest 184 us, median 72 us): 0.503. T6 (737 us, 276
    /// us): 0.526. T7 (328 us, 242 us): 0.163. T10 and others: 0.210, from 1.48, the median of the
    /// seven servers' ratios of longest span to median. The log-normal form is assumed.
    #[must_use]
    pub fn spread(mut self) -> RemoteWaits {
        const CAPTURED: [(&str, f64); 3] = [("T5", 0.503), ("T6", 0.526), ("T7", 0.163)];
        const OTHERS: f64 = 0.210;
        let spread = |wait: &Wait, sigma| Wait {
            distribution: WaitDistribution::log_normal(wait.distribution.median, sigma),
            median: wait.median,
            spread: (
                Provenance::Derived,
                "log-normal; ln(longest / median) of 20 captured spans over 1.867",
            ),
        };
        for (trace, sigma) in CAPTURED {
            let wait = spread(self.wait(trace), sigma);
            self.put(trace, wait);
        }
        self.other = spread(&self.other, OTHERS);
        self
    }

    /// Creates times of `time` for every answer of a remote side.
    /// [`Profile::parameters`](super::Profile::parameters) states the origin of this time as "given
    /// by the user".
    pub fn constant(time: Time) -> RemoteWaits {
        RemoteWaits {
            by_trace: Vec::new(),
            other: Wait::of(WaitDistribution::constant(time), GIVEN),
        }
    }

    /// Sets how long the trace called `trace` waits for the answer of its remote side: always
    /// `time`. Other traces keep their times.
    #[must_use]
    pub fn with(self, trace: &str, time: Time) -> RemoteWaits {
        self.with_distribution(trace, WaitDistribution::constant(time))
    }

    /// Sets how long the trace called `trace` waits for the answer of its remote side: times drawn
    /// from `distribution`. [`Profile::parameters`](super::Profile::parameters) states their origin
    /// as "given by the user".
    #[must_use]
    pub fn with_distribution(mut self, trace: &str, distribution: WaitDistribution) -> RemoteWaits {
        self.put(trace, Wait::of(distribution, GIVEN));
        self
    }

    /// Sets the distribution of the times that remote sides take to give the answer that the trace
    /// `trace` receives. If `trace` is `other`, sets the distribution for all traces without one of
    /// their own. [`Profile::parameters`](super::Profile::parameters) states the origin of these
    /// times as "as the workload's file states it".
    #[must_use]
    pub fn stated(mut self, trace: &str, distribution: WaitDistribution) -> RemoteWaits {
        let wait = Wait::of(distribution, STATED);
        match trace {
            OTHER => self.other = wait,
            trace => self.put(trace, wait),
        }
        self
    }

    /// Returns the median of the times that remote sides take to give the answer that the trace
    /// `trace` receives.
    pub fn of(&self, trace: &str) -> Time {
        self.wait(trace).distribution.median
    }

    /// Returns the distribution of the times that remote sides take to give the answer that the
    /// trace `trace` receives.
    pub fn distribution(&self, trace: &str) -> WaitDistribution {
        self.wait(trace).distribution.clone()
    }

    fn wait(&self, trace: &str) -> &Wait {
        let mut named = self.by_trace.iter();
        let found = named.find(|(name, _)| name == trace);
        found.map_or(&self.other, |(_, wait)| wait)
    }

    fn put(&mut self, trace: &str, wait: Wait) {
        self.by_trace.retain(|(name, _)| name != trace);
        self.by_trace.push((trace.to_owned(), wait));
    }

    pub(super) fn parameters(&self) -> impl Iterator<Item = ProfileParameter> + '_ {
        let named = self
            .by_trace
            .iter()
            .map(|(name, wait)| (name.as_str(), wait));
        named
            .chain([(OTHER, &self.other)])
            .flat_map(|(trace, wait)| {
                let (provenance, note) = wait.median;
                let median = number(
                    format!("remote_wait.{trace}_ns"),
                    wait.distribution.median.as_ns_f64(),
                    provenance,
                    note,
                );
                let sigma = wait.distribution.sigma;
                let (provenance, note) = wait.spread;
                let sigma = (sigma > 0.0).then(|| {
                    number(
                        format!("remote_wait_sigma.{trace}"),
                        sigma,
                        provenance,
                        note,
                    )
                });
                std::iter::once(median).chain(sigma)
            })
    }
}
