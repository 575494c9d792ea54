use super::completion::{Completion, Next};
use super::costs::{interrupt_and_submit, software_transforms};
use super::decision::Decision;
use super::links::Links;
use super::orchestrator::Orchestrator;
use super::properties::{Notification, Properties};
use crate::config::Config;

/// CPU-Centric: a core invokes one accelerator at a time and is interrupted by each completion
/// (AccelFlow, section III Q1, "CPU-Centric"). Branches and transformations are software.
pub(super) struct CpuCentric;

impl Orchestrator for CpuCentric {
    fn id(&self) -> &'static str {
        "cpu_centric"
    }

    fn paper_name(&self) -> &'static str {
        "CPU-Centric"
    }

    fn properties(&self, config: &Config) -> Properties {
        Properties {
            start: config.core.submit,
            notification: Notification::Interrupt,
            notified: config.core.interrupt,
            ..Properties::new(config)
        }
    }

    fn decides_by_class(&self) -> bool {
        true
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
}
