use accelflow_units::Time;

use super::{Completion, Decision, Links, Next, Notification, Orchestrator, software_transforms};
use crate::config::Config;

/// Pairs of accelerators that frequently go together are linked; all other hand-overs go through
/// software queues in shared memory that cores poll (Cohort, ASPLOS 2023; AccelFlow, section VI).
///
/// A link carries a payload that fits a queue entry and is not branched on or transformed.
pub(super) struct Cohort;

impl Orchestrator for Cohort {
    fn id(&self) -> &'static str {
        "cohort"
    }

    fn paper_name(&self) -> &'static str {
        "Cohort"
    }

    fn start(&self, config: &Config) -> Time {
        config.cohort.push
    }

    fn decide(&self, completion: &Completion, config: &Config, links: &Links) -> Decision {
        let fits = completion.size <= config.accelerator.inline;
        let simple = fits && completion.branches == 0 && completion.transforms == 0;
        // The request's thread takes it from one queue and puts it into another.
        let passed_on = config.cohort.pop + config.core.context_switch + config.cohort.push;
        match completion.next {
            Next::Forward(to) if simple && links.linked(completion.from, to) => Decision::default(),
            Next::Forward(_) => Decision {
                core: passed_on + software_transforms(completion, config),
                ..Decision::default()
            },
            // It posts a buffer for the message.
            Next::Park => Decision {
                background: passed_on,
                ..Decision::default()
            },
            Next::End => Decision::default(),
        }
    }

    fn interrupts(&self) -> bool {
        false
    }

    fn software_queues(&self) -> bool {
        true
    }

    fn notification(&self) -> Notification {
        Notification::Found
    }

    fn notified(&self, config: &Config) -> Time {
        config.cohort.pop
    }
}
