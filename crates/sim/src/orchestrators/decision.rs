//! Decisions about completions.

use accelflow_units::Time;

use super::completion::Completion;
use super::costs::instructions;
use crate::config::Config;

/// The cost of orchestrating one [`Completion`]: for how long dispatcher,
/// manager and core are busy with it, one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Time for which the accelerator's output dispatcher is busy.
    pub dispatcher: Time,
    /// Number of instructions that the output dispatcher executes.
    pub instructions: u64,
    /// The work of the central hardware manager; `None` if it is not involved.
    pub manager: Option<ManagerVisit>,
    /// Time for which the request's core is busy while the trace waits for it.
    pub core: Time,
    /// Time for which the request's core is busy while the trace waits for a message anyway.
    pub background: Time,
}

impl Decision {
    /// Whether the output dispatcher is the only one to be busy with it.
    pub(crate) fn is_alone(&self) -> bool {
        self.manager.is_none() && self.core == Time::ZERO && self.background == Time::ZERO
    }
}

/// The cost of one task of the central hardware manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ManagerVisit {
    /// Time for which the manager can serve nothing else.
    pub occupancy: Time,
    /// Time from the start of the task until the manager's decision takes effect.
    pub latency: Time,
}

impl ManagerVisit {
    /// Creates a task with RELIEF's occupancy and latency (the parameters `relief.*`).
    pub fn of(config: &Config) -> ManagerVisit {
        ManagerVisit {
            occupancy: config.relief.occupancy,
            latency: config.relief.latency,
        }
    }

    /// Creates a task in which the manager also resolves branches and transforms the payload. This
    /// takes as many instructions as an output dispatcher needs.
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
