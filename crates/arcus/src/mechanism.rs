//! The mechanisms by which flows share accelerators: the systems that section 5.1 compares.

use accelflow_shaping::{FlowConfig, Timing};

use crate::hardware::{SoftwareConfig, SoftwareRate};
use crate::{Flow, PlatformError};

/// The order in which the device serves flows that have messages waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Flows take turns, with one message in each turn. A turn ends after
    /// [`crate::DmaConfig::burst`] bytes of a larger message.
    RoundRobin,
    /// Flows are served by [`Flow::priority`], the lowest number first. Messages of equal priority
    /// are served in order of arrival.
    Priority,
    /// The flow that has sent the fewest bytes in proportion to its [`Flow::weight`] is served next
    /// (start-time fair queueing). A flow that waits for buffer space does not block flows that
    /// need other resources.
    WeightedFair,
    /// Like [`Order::WeightedFair`], but a flow that waits for buffer space blocks all other flows,
    /// so that all flows get rates in proportion to their weights. The capacities of contexts are
    /// measured with this order; it is not a scheduler of the paper.
    InProportion,
}

/// A mechanism by which flows share accelerators, with its settings.
#[derive(Clone, Debug, PartialEq)]
pub enum Mechanism {
    /// No shaping (the paper's `Host_noTS`): each flow has a queue, and the device serves the
    /// queues round robin.
    NoShaping,
    /// A scheduler on the device without shaping (the paper's `Bypassed_noTS_panic`). The
    /// descriptors of all messages from the network share one buffer; messages that find it full
    /// are dropped, and those of closed loops wait.
    Panic {
        /// The order in which the scheduler serves flows.
        order: Order,
        /// The capacity of the shared buffer, in descriptors; above 0.
        buffer: usize,
    },
    /// Shaping by the host's software (the paper's `Host_TS_*`): a thread releases messages, and
    /// the device serves the flows' released messages round robin. Messages on
    /// [`Path::InlineRx`](crate::Path::InlineRx) do not pass the thread, so nothing limits them.
    Software {
        /// The parameters of the shaping thread.
        config: SoftwareConfig,
        /// The rate limit of each flow, by flow index.
        rates: Vec<SoftwareRate>,
    },
    /// ARCUS: in hardware, each flow has a queue and one or two token buckets, and the device
    /// serves the flows' released segments round robin.
    Arcus {
        /// The clock and the latencies of the shaper.
        timing: Timing,
        /// The settings of each flow's shaper, by flow index: unit of tokens, registers and
        /// segments. The capacity of the flow's queue is [`Flow::queue_limit`].
        flows: Vec<FlowConfig>,
    },
}

impl Mechanism {
    /// Creates ARCUS's mechanism, a traffic shaper in hardware, with the clock and latencies of the
    /// paper's prototype. `flows` has the settings of each flow's shaper.
    pub fn arcus(flows: Vec<FlowConfig>) -> Mechanism {
        let timing = Timing::default();
        Mechanism::Arcus { timing, flows }
    }

    /// The paper's name of the mechanism, used in reports, such as `Host_noTS`.
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
