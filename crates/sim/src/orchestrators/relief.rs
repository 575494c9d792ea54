use accelflow_units::Time;

use super::{
    Completion, Decision, Links, Manager, Next, Orchestrator, interrupt_and_submit,
    software_transforms,
};
use crate::config::Config;

/// A central hardware manager is told of each completion and starts the next operation of the
/// chain (RELIEF, HPCA 2024; AccelFlow, section VI).
///
/// A chain is linear and its data fits a queue entry: at a branch, a transformation or a payload
/// beyond the entry, the manager interrupts the core, which resolves it in software and submits
/// the rest as a new chain (AccelFlow, section VII.A.2 calls these the manager's fallbacks).
/// Queues are per accelerator type, as in the paper's PerAccTypeQ.
pub(super) struct Relief;

impl Orchestrator for Relief {
    fn id(&self) -> &'static str {
        "relief"
    }

    fn paper_name(&self) -> &'static str {
        "RELIEF"
    }

    fn start(&self, config: &Config) -> Time {
        config.core.submit
    }

    fn decide(&self, completion: &Completion, config: &Config, _: &Links) -> Decision {
        let manager = Manager {
            occupancy: config.relief.occupancy,
            latency: config.relief.latency,
        };
        let decision = Decision {
            manager: Some(manager),
            ..Decision::default()
        };
        let large = completion.size > config.accelerator.inline;
        let simple = completion.branches == 0 && completion.transforms == 0 && !large;
        match completion.next {
            Next::Forward(_) if simple => decision,
            Next::Forward(_) => Decision {
                core: interrupt_and_submit(config) + software_transforms(completion, config),
                ..decision
            },
            Next::Park => Decision {
                background: config.core.interrupt + config.core.context_switch * 2,
                ..decision
            },
            Next::End => decision,
        }
    }

    fn notified(&self, config: &Config) -> Time {
        config.core.interrupt
    }
}
