use accelflow_units::Time;

use super::{Completion, Decision, Links, Next, Orchestrator};
use crate::config::Config;

/// Output dispatchers resolve branches, transform formats, read the trace memory and forward;
/// cores see only the end of a trace, as a flag (AccelFlow, sections IV and V).
pub(crate) struct AccelFlow;

impl Orchestrator for AccelFlow {
    fn id(&self) -> &'static str {
        "accelflow"
    }

    fn paper_name(&self) -> &'static str {
        "AccelFlow"
    }

    fn parks(&self) -> bool {
        true
    }

    fn start(&self, config: &Config) -> Time {
        config.core.enqueue
    }

    fn decide(&self, completion: &Completion, config: &Config, _: &Links) -> Decision {
        let instructions = instructions(completion, config);
        let once = config.transformation(completion.size);
        let transformed = once * u64::from(completion.transforms);
        Decision {
            dispatcher: config.dispatch(instructions) + transformed,
            instructions,
            ..Decision::default()
        }
    }

    fn notified(&self, config: &Config) -> Time {
        config.core.notice
    }
}

/// Section VII.B.2: a base, and more for each branch, trace memory access, transformation and end.
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
