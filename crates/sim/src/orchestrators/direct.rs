use super::completion::{Completion, Next};
use super::costs::{instructions, interrupt_and_submit, software_transforms};
use super::decision::{Decision, ManagerVisit};
use super::links::Links;
use super::orchestrator::Orchestrator;
use super::properties::Properties;
use crate::config::{Config, FallbackTo};

/// Accelerators execute traces and forward directly. A manager or a core does the steps that output
/// dispatchers cannot do, and the trace then continues (AccelFlow, section VII.A.2, Fig. 13).
pub(super) struct Direct {
    id: &'static str,
    paper_name: &'static str,
    /// Whether dispatchers resolve branches.
    branches: bool,
    /// Whether a hardware manager handles the steps that a dispatcher cannot do: it asks a core or,
    /// with `relief.fallback`, does them itself.
    manager: bool,
}

/// The second step of the ladder: "uses traces and supports direct data transfer"; branches,
/// transformations and large payloads are "hardware manager fallbacks".
pub(super) const DIRECT: Direct = Direct {
    id: "direct",
    paper_name: "Direct",
    branches: false,
    manager: true,
};

/// The third step: "additionally upgrades output dispatchers to resolve branches in the trace".
pub(super) const CNTR_FLOW: Direct = Direct {
    id: "cntr_flow",
    paper_name: "CntrFlow",
    branches: true,
    manager: true,
};

/// Section III, Q1 (Fig. 3): a core passes a list to the first accelerator, and "after each
/// accelerator in the sequence executes, it directly calls the next". There is no manager: a core
/// is interrupted where the list ends because of a branch, a transformation or a large payload.
pub(super) const DIRECT_LIST: Direct = Direct {
    id: "direct_list",
    paper_name: "Direct (Fig. 3)",
    branches: false,
    manager: false,
};

impl Direct {
    /// Whether the dispatcher can continue by itself. The size of the payload matters only if
    /// another accelerator comes next.
    fn manages(&self, completion: &Completion, config: &Config) -> bool {
        let hands_on = matches!(completion.next, Next::Forward(_));
        (self.branches || completion.branches == 0)
            && completion.transforms == 0
            && !(hands_on && completion.is_large(config))
    }
}

impl Orchestrator for Direct {
    fn id(&self) -> &'static str {
        self.id
    }

    fn paper_name(&self) -> &'static str {
        self.paper_name
    }

    fn properties(&self, config: &Config) -> Properties {
        Properties {
            parks: true,
            start: config.core.enqueue,
            notified: config.core.notice,
            ..Properties::new(config)
        }
    }

    fn decides_by_class(&self) -> bool {
        true
    }

    fn decide(&self, completion: &Completion, config: &Config, _: &Links) -> Decision {
        // The dispatcher executes its instructions even when it then finds that it cannot continue.
        let done = Completion {
            branches: if self.branches {
                completion.branches
            } else {
                0
            },
            transforms: 0,
            ..*completion
        };
        let instructions = instructions(&done, config);
        let decision = Decision {
            dispatcher: config.dispatch(instructions),
            instructions,
            ..Decision::default()
        };
        if self.manages(completion, config) {
            return decision;
        }
        if self.manager && config.relief.fallback == FallbackTo::Manager {
            return Decision {
                manager: Some(ManagerVisit::resolving(completion, config)),
                ..decision
            };
        }
        Decision {
            manager: self.manager.then(|| ManagerVisit::of(config)),
            core: interrupt_and_submit(completion, config)
                + software_transforms(completion, config),
            ..decision
        }
    }
}
