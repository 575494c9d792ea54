//! The ways to share accelerators (section 5.1's systems).

use accelflow_shaping::{FlowConfig, Timing};

use crate::hardware::{SoftwareConfig, SoftwareRate};
use crate::{Flow, PlatformError};

/// The order in which the device's interface serves flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Round robin by message, or by bursts of [`crate::DmaConfig::burst`] for larger messages.
    RoundRobin,
    /// By [`Flow::priority`], and in order of arrival within one.
    Priority,
    /// By bytes sent over [`Flow::weight`] (start-time fair queueing). A flow that waits for room
    /// does not block flows that need other resources.
    WeightedFair,
    /// Like [`Order::WeightedFair`], but a flow that waits for room blocks all others, so that all
    /// flows get rates in proportion to their weights. This is not a scheduler of the paper, but is
    /// used to measure profiles.
    InProportion,
}

/// A way to share accelerators.
#[derive(Clone, Debug, PartialEq)]
pub enum Mechanism {
    /// `Host_noTS`: a queue per flow, served round robin.
    NoShaping,
    /// `Bypassed_noTS_panic`: descriptors of messages from the network in one buffer, and a scheduler.
    /// Messages that find the buffer full are dropped.
    Panic {
        /// The scheduler's policy.
        order: Order,
        /// The capacity of the buffer, in descriptors.
        buffer: usize,
    },
    /// `Host_TS_*`: the host's software releases messages, and the device serves them round robin.
    Software {
        /// The thread.
        config: SoftwareConfig,
        /// The limit of each flow.
        rates: Vec<SoftwareRate>,
    },
    /// ARCUS: a hardware queue and token bucket per flow, and round robin among released segments.
    Arcus {
        /// The shaper's clock and latencies.
        timing: Timing,
        /// Each flow's unit, registers and splitting; its queue limit is the flow's own.
        flows: Vec<FlowConfig>,
    },
}

impl Mechanism {
    /// ARCUS's shaper as the paper built it.
    pub fn arcus(flows: Vec<FlowConfig>) -> Mechanism {
        let timing = Timing::default();
        Mechanism::Arcus { timing, flows }
    }

    /// The paper's name, used in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Mechanism::NoShaping => "Host_noTS",
            Mechanism::Panic { .. } => "Bypassed_noTS_panic",
            Mechanism::Software { config, .. } => config.name,
            Mechanism::Arcus { .. } => "Arcus",
        }
    }

    pub(crate) fn order(&self) -> Order {
        match self {
            Mechanism::Panic { order, .. } => *order,
            _ => Order::RoundRobin,
        }
    }

    pub(crate) fn check(&self, flows: &[Flow]) -> Result<(), PlatformError> {
        let given = match self {
            Mechanism::NoShaping => return Ok(()),
            Mechanism::Panic { buffer, .. } => {
                return PlatformError::unless(
                    *buffer > 0,
                    "panic buffer",
                    0.0,
                    "at least 1 descriptor",
                );
            }
            Mechanism::Software { config, rates } => {
                config.check()?;
                for rate in rates {
                    let good = rate.per_s.is_finite() && rate.per_s > 0.0;
                    PlatformError::unless(good, "software rate", rate.per_s, "a number above 0")?;
                }
                rates.len()
            }
            Mechanism::Arcus { flows, .. } => flows.len(),
        };
        let (mechanism, flows) = (self.name(), flows.len());
        match given == flows {
            true => Ok(()),
            false => Err(PlatformError::FlowCount {
                mechanism,
                given,
                flows,
            }),
        }
    }
}
