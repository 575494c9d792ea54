use super::accelflow::AccelFlow;
use super::completion::Completion;
use super::decision::Decision;
use super::links::Links;
use super::orchestrator::Orchestrator;
use super::properties::Properties;
use crate::config::{Config, DispatchPolicy};

/// AccelFlow with input dispatchers that serve deadlines. The paper has no names for these systems.
pub(super) struct Deadlines {
    id: &'static str,
    paper_name: &'static str,
    policy: DispatchPolicy,
}

/// Section IV.C: a dispatcher exchanges an entry that would be late for one that has slack.
pub(super) const EXCHANGE: Deadlines = Deadlines {
    id: "accelflow_deadline",
    paper_name: "AccelFlow+Deadlines",
    policy: DispatchPolicy::Deadline,
};

/// Section VII.A.3: "a policy that prioritizes those requests that are closer to their deadline".
pub(super) const EDF: Deadlines = Deadlines {
    id: "accelflow_edf",
    paper_name: "AccelFlow+EDF",
    policy: DispatchPolicy::Edf,
};

impl Orchestrator for Deadlines {
    fn id(&self) -> &'static str {
        self.id
    }

    fn paper_name(&self) -> &'static str {
        self.paper_name
    }

    fn properties(&self, config: &Config) -> Properties {
        Properties {
            policy: self.policy,
            ..AccelFlow.properties(config)
        }
    }

    fn decides_by_class(&self) -> bool {
        true
    }

    fn decide(&self, completion: &Completion, config: &Config, links: &Links) -> Decision {
        AccelFlow.decide(completion, config, links)
    }
}
