use accelflow_units::Time;

use super::{
    Arm, Completion, Decision, Links, Next, Notification, Orchestrator, interrupt_and_submit,
    software_transforms,
};
use crate::config::Config;

/// Pairs of accelerators that frequently go together are linked; cores orchestrate the others
/// (Cohort, ASPLOS 2023; AccelFlow, section VI).
///
/// A link carries a payload that fits a queue entry and is not branched on or transformed.
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
    /// Core time to pass an operation on from one accelerator to another.
    fn hand_over(&self, completion: &Completion, config: &Config) -> Time {
        if !self.polls {
            return interrupt_and_submit(completion, config);
        }
        // The request's thread takes it from one queue and puts it into another, unless that waits
        // for other arms of a join: the last of them is put there with the others.
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

    fn start(&self, config: &Config) -> Time {
        if self.polls {
            config.cohort.push
        } else {
            config.core.submit
        }
    }

    fn decide(&self, completion: &Completion, config: &Config, links: &Links) -> Decision {
        let fits = completion.size <= config.accelerator.inline;
        let simple = fits && completion.branches == 0 && completion.transforms == 0;
        match completion.next {
            // A link is between two: what comes from several meets at the core.
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

    fn interrupts(&self) -> bool {
        !self.polls
    }

    fn software_queues(&self) -> bool {
        self.polls
    }

    fn notification(&self) -> Notification {
        if self.polls {
            Notification::Found
        } else {
            Notification::Interrupt
        }
    }

    fn notified(&self, config: &Config) -> Time {
        if self.polls {
            config.cohort.pop
        } else {
            config.core.interrupt
        }
    }
}
