//! Traffic shaping in the host's software, by a thread that other work interrupts.

use accelflow_kernel::Stream;
use accelflow_shaping::Unit;
use accelflow_units::{Bytes, Time};

use crate::PlatformError;

/// The rate limit of one flow whose messages a software shaper releases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftwareRate {
    /// The unit in which the rate is given: bytes or messages.
    pub unit: Unit,
    /// The rate in bytes or messages per second, as `unit` says; above 0.
    pub per_s: f64,
}

/// The parameters of the thread that shapes traffic in the host's software.
/// [`SoftwareConfig::REFLEX`] and [`SoftwareConfig::FIRECRACKER`] approximate the paper's two
/// baselines; neither is reproduced in detail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftwareConfig {
    /// The name of the shaping system in reports.
    pub name: &'static str,
    /// The time from the end of the thread's work in one round over all flows to the beginning of
    /// the next round, while the thread is not interrupted; above 0.
    pub period: Time,
    /// The size of each flow's token bucket, given as the time in which the bucket fills; at least
    /// `period`. While the thread is interrupted, a flow gains at most one full bucket; the tokens
    /// of a longer interruption are lost.
    pub bucket: Time,
    /// The processor time that the thread takes for each message that it releases.
    pub per_message: Time,
    /// The time from a message's release by the thread until the device knows of the message.
    pub latency: Time,
    /// The mean time between two interruptions of the thread by the VMs' work; above 0.
    pub interrupted_every: Time,
    /// The mean length of an interruption. Lengths are uniformly distributed from zero to twice the
    /// mean.
    pub interrupted_for: Time,
}

impl SoftwareConfig {
    /// The parameters of a polling thread with a small token bucket, like ReFlex. The thread does
    /// not make up for time that it loses to interruptions.
    pub const REFLEX: SoftwareConfig = SoftwareConfig {
        name: "Host_TS_reflex",
        period: Time::from_us(10),
        bucket: Time::from_us(40),
        per_message: Time::from_ns(300),
        latency: Time::from_us(1),
        interrupted_every: Time::from_us(500),
        interrupted_for: Time::from_us(70),
    };
    /// The parameters of a thread on a timer with a deep token bucket, like Firecracker. After an
    /// interruption, the thread makes up for the lost time with a burst.
    pub const FIRECRACKER: SoftwareConfig = SoftwareConfig {
        name: "Host_TS_firecracker",
        bucket: Time::from_us(100_000),
        ..SoftwareConfig::REFLEX
    };

    /// Checks that every parameter of the thread is allowed.
    ///
    /// # Errors
    /// [`PlatformError::OutOfRange`] for the first parameter that is outside its range.
    pub fn check(&self) -> Result<(), PlatformError> {
        let period = self.period.as_us_f64();
        PlatformError::unless(
            period > 0.0,
            "period of the shaping thread in us",
            period,
            "above 0",
        )?;
        let every = self.interrupted_every.as_us_f64();
        PlatformError::unless(
            every > 0.0,
            "interval of interruptions in us",
            every,
            "above 0",
        )?;
        let bucket = self.bucket.as_us_f64();
        let good = self.bucket >= self.period;
        PlatformError::unless(
            good,
            "software bucket in us",
            bucket,
            "at least the period of the shaping thread",
        )
    }
}

/// The token buckets of a software shaper, and its thread's clock.
#[derive(Clone, Debug)]
pub(crate) struct SoftwareShaper {
    config: SoftwareConfig,
    rates: Vec<SoftwareRate>,
    tokens: Vec<f64>,
    collected: Time,
    stream: Stream,
}

impl SoftwareShaper {
    pub(crate) fn new(config: SoftwareConfig, rates: Vec<SoftwareRate>, stream: Stream) -> Self {
        SoftwareShaper {
            tokens: vec![0.0; rates.len()],
            config,
            rates,
            collected: Time::ZERO,
            stream,
        }
    }

    pub(crate) fn config(&self) -> &SoftwareConfig {
        &self.config
    }

    /// Adds the tokens of the time since the last round.
    pub(crate) fn collect(&mut self, now: Time) {
        let elapsed = now.saturating_sub(self.collected).as_s_f64();
        self.collected = now;
        for (tokens, rate) in self.tokens.iter_mut().zip(&self.rates) {
            let most = rate.per_s * self.config.bucket.as_s_f64();
            *tokens = (*tokens + rate.per_s * elapsed).min(most);
        }
    }

    /// Spends the cost of a message if the bucket has any tokens. The last message of a round may
    /// leave a debt, so that a message larger than the bucket can still pass.
    pub(crate) fn spend(&mut self, flow: usize, size: Bytes) -> bool {
        let enough = self.tokens[flow] > 0.0;
        if enough {
            self.tokens[flow] -= match self.rates[flow].unit {
                Unit::Bytes => size.get() as f64,
                Unit::Operations => 1.0,
            };
        }
        enough
    }

    /// The time until the thread's next round, after it has worked for `worked`.
    pub(crate) fn pause(&mut self, worked: Time) -> Time {
        let round = self.config.period + worked;
        let odds = round.as_s_f64() / self.config.interrupted_every.as_s_f64();
        let interrupted = self.stream.bernoulli(1.0 - libm::exp(-odds));
        match interrupted {
            true => {
                round
                    + self
                        .config
                        .interrupted_for
                        .scale(2.0 * self.stream.uniform())
            }
            false => round,
        }
    }
}
