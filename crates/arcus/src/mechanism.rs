//! The mechanisms by which flows share accelerators (the systems of section 5.1).

use accelflow_shaping::{FlowConfig, Timing};

use crate::hardware::{SoftwareConfig, SoftwareRate};
use crate::{Flow, PlatformError};

/// The order in which the device serves flows that have messages waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Round robin by message. Of larger messages, a turn has at most [`crate::DmaConfig::burst`]
    /// bytes.
    RoundRobin,
    /// By [`Flow::priority`], the lowest number first, and in order of arrival within one.
    Priority,
    /// The flow with the fewest bytes sent over [`Flow::weight`] is next (start-time fair
    /// queueing). A flow that waits for buffer space does not block flows that need other
    /// resources.
    WeightedFair,
    /// Like [`Order::WeightedFair`], but a flow that waits for buffer space blocks all others, so
    /// that all flows get rates in proportion to their weights. This is not a scheduler of the
    /// paper; profiles are measured with it.
    InProportion,
}

/// A mechanism by which flows share accelerators, with its settings.
#[derive(Clone, Debug, PartialEq)]
pub enum Mechanism {
    /// No shaping (the paper's `Host_noTS`): a queue per flow, served round robin.
    NoShaping,
    /// A scheduler on the device without shaping (`Bypassed_noTS_panic`): the descriptors of
    /// messages from the network are in one buffer. Messages that find it full are dropped.
    Panic {
        /// The order in which the scheduler serves flows.
        order: Order,
        /// The capacity of the buffer, in descriptors.
        buffer: usize,
    },
    /// Shaping by the host's software (`Host_TS_*`): a thread releases messages, and the device
    /// serves them round robin.
    Software {
        /// The parameters of the shaping thread.
        config: SoftwareConfig,
        /// The rate limit of each flow, by flow number.
        rates: Vec<SoftwareRate>,
    },
    /// ARCUS: a queue and a token bucket per flow in hardware, and round robin among released
    /// segments.
    Arcus {
        /// The clock and the latencies of the shaper.
        timing: Timing,
        /// The shaping of each flow by number: unit, registers and segments. The capacity of its
        /// queue is [`Flow::queue_limit`].
        flows: Vec<FlowConfig>,
    },
}

impl Mechanism {
    /// Creates the mechanism ARCUS with the clock and latencies of the paper's shaper, and this
    /// shaping of each flow.
    pub fn arcus(flows: Vec<FlowConfig>) -> Mechanism {
        let timing = Timing::default();
        Mechanism::Arcus { timing, flows }
    }

    /// The paper's name of the mechanism, used in reports.
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
                    "buffer of PANIC's scheduler",
                    0.0,
                    "at least 1 descriptor",
                );
            }
            Mechanism::Software { config, rates } => {
                config.check()?;
                for rate in rates {
                    let good = rate.per_s.is_finite() && rate.per_s > 0.0;
                    PlatformError::unless(
                        good,
                        "rate of software shaping",
                        rate.per_s,
                        "a number above 0",
                    )?;
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
