use accelflow_units::Time;

use super::{
    Completion, Decision, Links, Next, Notification, Orchestrator, interrupt_and_submit,
    software_transforms,
};
use crate::config::Config;

/// A core invokes one accelerator at a time and is interrupted by each completion (AccelFlow,
/// section III Q1, "CPU-Centric"). Branches and transformations are software.
pub(super) struct CpuCentric;

impl Orchestrator for CpuCentric {
    fn id(&self) -> &'static str {
        "cpu_centric"
    }

    fn paper_name(&self) -> &'static str {
        "CPU-Centric"
    }

    fn start(&self, config: &Config) -> Time {
        config.core.submit
    }

    fn decide(&self, completion: &Completion, config: &Config, _: &Links) -> Decision {
        match completion.next {
            Next::Forward(_) => Decision {
                core: interrupt_and_submit(completion, config)
                    + software_transforms(completion, config),
                ..Decision::default()
            },
            Next::Park => Decision {
                background: config.core.interrupt + config.core.context_switch * 2,
                ..Decision::default()
            },
            Next::End => Decision::default(),
        }
    }

    fn notification(&self) -> Notification {
        Notification::Interrupt
    }

    fn notified(&self, config: &Config) -> Time {
        config.core.interrupt
    }
}
