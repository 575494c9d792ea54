use accelflow_units::Time;

use super::accelflow::AccelFlow;
use super::{Completion, Decision, Links, Orchestrator};
use crate::config::{Config, Policy};

/// AccelFlow whose input dispatchers serve deadlines. The paper has no names for them.
pub(super) struct Deadlines {
    id: &'static str,
    paper_name: &'static str,
    policy: Policy,
}

/// Section IV.C: a dispatcher exchanges an entry that would be late for one that has slack.
pub(super) const EXCHANGE: Deadlines = Deadlines {
    id: "accelflow_deadline",
    paper_name: "AccelFlow+Deadlines",
    policy: Policy::Deadline,
};

/// Section VII.A.3: "a policy that prioritizes those requests that are closer to their deadline".
pub(super) const EDF: Deadlines = Deadlines {
    id: "accelflow_edf",
    paper_name: "AccelFlow+EDF",
    policy: Policy::Edf,
};

impl Orchestrator for Deadlines {
    fn id(&self) -> &'static str {
        self.id
    }

    fn paper_name(&self) -> &'static str {
        self.paper_name
    }

    fn parks(&self) -> bool {
        AccelFlow.parks()
    }

    fn policy(&self, _: &Config) -> Policy {
        self.policy
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
