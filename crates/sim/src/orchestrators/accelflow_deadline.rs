use accelflow_units::Time;

use super::accelflow::AccelFlow;
use super::{Completion, Decision, Links, Orchestrator};
use crate::config::{Config, Policy};

/// AccelFlow whose input dispatchers serve deadlines (AccelFlow, sections IV.C and VII.A.3).
pub(super) struct AccelFlowDeadline;

impl Orchestrator for AccelFlowDeadline {
    fn id(&self) -> &'static str {
        "accelflow_deadline"
    }

    fn paper_name(&self) -> &'static str {
        "AccelFlow+Deadlines" // the paper has no name of its own for it
    }

    fn parks(&self) -> bool {
        AccelFlow.parks()
    }

    fn policy(&self, _: &Config) -> Policy {
        Policy::Deadline
    }

    fn start(&self, config: &Config) -> Time {
        AccelFlow.start(config)
    }

    fn decide(&self, completion: &Completion, config: &Config, links: &Links) -> Decision {
        AccelFlow.decide(completion, config, links)
    }

    fn notified(&self, config: &Config) -> Time {
        AccelFlow.notified(config)
    }
}
