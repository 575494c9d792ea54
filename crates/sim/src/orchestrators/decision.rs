//! The decision of an orchestrator about a completion.

use accelflow_units::Time;

use super::completion::Completion;
use super::costs::instructions;
use crate::config::Config;

/// The decision of an orchestrator about one [`Completion`] (the end of an operation): how long the
/// output dispatcher, the central manager and the core are busy with the completion, one after the
/// other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Time that the accelerator's output dispatcher needs for the completion; zero if it is not
    /// involved. Reads of the trace memory and, by the parameter `dispatcher.busy`, the transfer of
    /// the data occupy the dispatcher in addition.
    pub dispatcher: Time,
    /// Number of instructions that the output dispatcher executes for the completion. The number is
    /// for statistics alone: `dispatcher` has the time.
    pub instructions: u64,
    /// The work of the central hardware manager; `None` if the manager is not involved.
    pub manager: Option<ManagerVisit>,
    /// Time for which the request's core handles the completion, for example with an interrupt and
    /// the submission of the next operation. The trace continues only afterwards.
    pub core: Time,
    /// Time for which the request's core handles the completion while the trace waits for a message
    /// anyway. The trace is not delayed.
    pub background: Time,
}

impl Decision {
    /// Whether the output dispatcher handles the completion alone, without manager and core.
    pub(crate) fn is_alone(&self) -> bool {
        self.manager.is_none() && self.core == Time::ZERO && self.background == Time::ZERO
    }
}

/// The cost of one task of the central hardware manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ManagerVisit {
    /// Time for which the task occupies the manager.
    pub occupancy: Time,
    /// Time from the start of the task until the manager's decision takes effect. If `occupancy` is
    /// longer, it counts instead.
    pub latency: Time,
}

impl ManagerVisit {
    /// Creates a task that takes as long as in the system RELIEF: with the occupancy and latency of
    /// the parameters `relief.occupancy_ns` and `relief.latency_ns`.
    pub fn of(config: &Config) -> ManagerVisit {
        ManagerVisit {
            occupancy: config.relief.occupancy,
            latency: config.relief.latency,
        }
    }

    /// Creates a task in which the manager also resolves the branches of `completion`, loads the
    /// next words of the trace, transforms the payload and ends the trace, whichever of these the
    /// completion needs. This adds the time that an output dispatcher takes for the same
    /// instructions.
    pub fn resolving(completion: &Completion, config: &Config) -> ManagerVisit {
        let extra = instructions(completion, config).saturating_sub(config.dispatcher.plain);
        let resolving = config.dispatch(extra);
        let visit = ManagerVisit::of(config);
        ManagerVisit {
            occupancy: visit.occupancy + resolving,
            latency: visit.latency + resolving,
        }
    }
}
