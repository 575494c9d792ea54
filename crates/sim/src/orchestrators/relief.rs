use super::completion::{Completion, Next};
use super::costs::{interrupt_and_submit, software_transforms};
use super::decision::{Decision, ManagerVisit};
use super::links::Links;
use super::orchestrator::Orchestrator;
use super::properties::{Notification, Properties, Queueing};
use crate::config::{Config, FallbackTo};

/// A central hardware manager learns of each completion and starts the next operation of the chain
/// (RELIEF, HPCA 2024; AccelFlow, section VI).
///
/// A chain is linear and its data fits a queue entry. At a branch, a transformation or a payload
/// beyond the entry (the "hardware manager fallbacks" of AccelFlow, section VII.A.2), the manager
/// interrupts the core, which resolves it in software and submits the rest as a new chain; or the
/// manager does it itself (`relief.fallback`).
pub(super) struct Relief {
    id: &'static str,
    paper_name: &'static str,
    queueing: Queueing,
}

/// "All 8 PEs of all 9 accelerator types share a single centralized queue" (AccelFlow, section
/// VII.A.2, the first bar of Fig. 13).
pub(super) const RELIEF: Relief = Relief {
    id: "relief",
    paper_name: "RELIEF",
    queueing: Queueing::Central,
};

/// "We distribute the queue so that there is a queue for each accelerator type" (the same place).
pub(super) const PER_ACC_TYPE_Q: Relief = Relief {
    id: "per_acc_type_q",
    paper_name: "PerAccTypeQ",
    queueing: Queueing::PerAccelerator,
};

impl Orchestrator for Relief {
    fn id(&self) -> &'static str {
        self.id
    }

    fn paper_name(&self) -> &'static str {
        self.paper_name
    }

    fn properties(&self, config: &Config) -> Properties {
        Properties {
            queueing: self.queueing,
            start: config.core.submit,
            submission: Some(ManagerVisit::of(config)),
            notification: Notification::Interrupt,
            notified: config.core.interrupt,
            ..Properties::new(config)
        }
    }

    fn decides_by_class(&self) -> bool {
        true
    }

    fn decide(&self, completion: &Completion, config: &Config, _: &Links) -> Decision {
        let decision = Decision {
            manager: Some(ManagerVisit::of(config)),
            ..Decision::default()
        };
        let simple =
            completion.branches == 0 && completion.transforms == 0 && !completion.is_large(config);
        match completion.next {
            Next::Forward(_) if simple => decision,
            Next::Forward(_) if config.relief.fallback == FallbackTo::Manager => Decision {
                manager: Some(ManagerVisit::resolving(completion, config)),
                ..decision
            },
            Next::Forward(_) => Decision {
                core: interrupt_and_submit(completion, config)
                    + software_transforms(completion, config),
                ..decision
            },
            Next::Park => Decision {
                background: config.core.interrupt + config.core.context_switch * 2,
                ..decision
            },
            Next::End => decision,
        }
    }
}
