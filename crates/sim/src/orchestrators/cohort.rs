use accelflow_units::Time;

use super::completion::{Arm, Completion, Next};
use super::costs::{interrupt_and_submit, software_transforms};
use super::decision::Decision;
use super::links::Links;
use super::orchestrator::Orchestrator;
use super::properties::{CoreRequests, Notification, Properties};
use crate::config::Config;

/// Links connect pairs of accelerators that frequently go together; cores orchestrate the others
/// (Cohort, ASPLOS 2023; AccelFlow, section VI).
///
/// A link carries a payload that fits a queue entry and needs no branch or transformation.
pub(super) struct Cohort {
    id: &'static str,
    paper_name: &'static str,
    /// Whether cores poll queues in shared memory. Otherwise they are interrupted.
    polls: bool,
}

/// "Links pairs of accelerators that frequently go together, but otherwise relies on the cores to
/// orchestrate the accelerators" (AccelFlow, section VI), to the letter: outside a pair a core is
/// interrupted by each completion and submits the next operation, as in CPU-Centric.
pub(super) const COHORT: Cohort = Cohort {
    id: "cohort",
    paper_name: "Cohort",
    polls: false,
};

/// "A CPU-based acceleration framework based on shared-memory software queues" (AccelFlow, section
/// VIII): outside a pair, operations pass through queues that cores poll.
pub(super) const COHORT_POLLING: Cohort = Cohort {
    id: "cohort_polling",
    paper_name: "Cohort (polling)",
    polls: true,
};

impl Cohort {
    /// Core time to pass an operation from one accelerator to another.
    fn hand_over(&self, completion: &Completion, config: &Config) -> Time {
        if !self.polls {
            return interrupt_and_submit(completion, config);
        }
        // The request's thread takes the operation from one queue and puts it into another. An arm
        // that waits at a join is put into the other queue later, together with the last arm.
        let taken = config.cohort.pop + config.core.context_switch;
        match completion.arm {
            Arm::Waits => taken,
            Arm::None | Arm::Last => taken + config.cohort.push,
        }
    }

    /// Core time to post a buffer for a message.
    fn post_buffer(&self, config: &Config) -> Time {
        if self.polls {
            config.cohort.pop + config.core.context_switch + config.cohort.push
        } else {
            config.core.interrupt + config.core.context_switch * 2
        }
    }
}

impl Orchestrator for Cohort {
    fn id(&self) -> &'static str {
        self.id
    }

    fn paper_name(&self) -> &'static str {
        self.paper_name
    }

    fn properties(&self, config: &Config) -> Properties {
        let common = Properties::new(config);
        if self.polls {
            return Properties {
                start: config.cohort.push,
                requests: CoreRequests::SoftwareQueue,
                notification: Notification::Found,
                notified: config.cohort.pop,
                ..common
            };
        }
        Properties {
            start: config.core.submit,
            notification: Notification::Interrupt,
            notified: config.core.interrupt,
            ..common
        }
    }

    fn decides_by_class(&self) -> bool {
        true
    }

    fn decide(&self, completion: &Completion, config: &Config, links: &Links) -> Decision {
        let fits = completion.size <= config.accelerator.inline;
        let simple = fits && completion.branches == 0 && completion.transforms == 0;
        match completion.next {
            // A link connects two accelerators, so the arms of a join meet at the core.
            Next::Forward(to)
                if simple && completion.arm == Arm::None && links.linked(completion.from, to) =>
            {
                Decision::default()
            }
            Next::Forward(_) => Decision {
                core: self.hand_over(completion, config) + software_transforms(completion, config),
                ..Decision::default()
            },
            Next::Park => Decision {
                background: self.post_buffer(config),
                ..Decision::default()
            },
            Next::End => Decision::default(),
        }
    }
}
