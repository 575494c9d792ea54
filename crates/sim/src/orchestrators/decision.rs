//! Decisions about completions.

use accelflow_units::Time;

use super::completion::Completion;
use super::costs::instructions;
use crate::config::Config;

/// The decision on a completion: the times for which dispatcher, manager and core are busy with it,
/// one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Time of the accelerator's output dispatcher.
    pub dispatcher: Time,
    /// Number of instructions that the dispatcher executes.
    pub instructions: u64,
    /// The visit to the central manager, if there is one.
    pub manager: Option<ManagerVisit>,
    /// Time of the request's core for which the trace waits.
    pub core: Time,
    /// Time of the request's core that overlaps with the trace's wait for a message.
    pub background: Time,
}

impl Decision {
    /// Whether the output dispatcher is the only one to be busy with it.
    pub(crate) fn is_alone(&self) -> bool {
        self.manager.is_none() && self.core == Time::ZERO && self.background == Time::ZERO
    }
}

/// A visit to the central manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ManagerVisit {
    /// The time for which the manager serves no other visit.
    pub occupancy: Time,
    /// Time from the start of the visit until its decision takes effect.
    pub latency: Time,
}

impl ManagerVisit {
    /// A visit to RELIEF's manager.
    pub fn of(config: &Config) -> ManagerVisit {
        ManagerVisit {
            occupancy: config.relief.occupancy,
            latency: config.relief.latency,
        }
    }

    /// Creates a visit in which the manager also resolves branches and transforms the payload. It
    /// needs the instructions of an output dispatcher for them.
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
