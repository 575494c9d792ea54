//! Costs of handling the completion of an operation, which several orchestrators calculate in the
//! same way.

use accelflow_units::Time;

use super::completion::{Arm, Completion, Next};
use crate::config::Config;

/// Instructions of an output dispatcher for a completion (AccelFlow, section VII.B.2): a base, and
/// more for each branch, trace memory access, transformation and end.
pub(super) fn instructions(completion: &Completion, config: &Config) -> u64 {
    let costs = &config.dispatcher;
    let blocks = completion.size.get().div_ceil(2048).max(1);
    let end = if completion.next == Next::End {
        costs.end
    } else {
        0
    };
    costs.plain
        + costs.branch * u64::from(completion.branches)
        + costs.load_atm * u64::from(completion.loads)
        + costs.transform * u64::from(completion.transforms) * blocks
        + end
}

/// Core time to transform the payload in software.
pub(super) fn software_transforms(completion: &Completion, config: &Config) -> Time {
    let kib = completion.size.get() as f64 / 1024.0;
    config
        .core
        .transform_per_kib
        .scale(kib * f64::from(completion.transforms))
}

/// Core time of a completion that interrupts: the interrupt, two context switches (to the thread
/// that handles it and back), and the submission of the next operation. An arm that waits for
/// others at a join submits nothing; the last arm submits the operation.
pub(super) fn interrupt_and_submit(completion: &Completion, config: &Config) -> Time {
    let submit = match completion.arm {
        Arm::Waits => Time::ZERO,
        Arm::None | Arm::Last => config.core.submit,
    };
    config.core.interrupt + config.core.context_switch * 2 + submit
}
