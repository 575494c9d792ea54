use super::completion::Completion;
use super::costs::instructions;
use super::decision::Decision;
use super::links::Links;
use super::orchestrator::Orchestrator;
use super::properties::Properties;
use crate::config::Config;

/// AccelFlow: output dispatchers resolve branches, transform formats, read the trace memory and
/// forward; cores see only the end of a trace, as a flag (AccelFlow, sections IV and V).
pub(crate) struct AccelFlow;

impl Orchestrator for AccelFlow {
    fn id(&self) -> &'static str {
        "accelflow"
    }

    fn paper_name(&self) -> &'static str {
        "AccelFlow"
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
        let instructions = instructions(completion, config);
        let once = config.transformation(completion.size);
        let transformed = once * u64::from(completion.transforms);
        Decision {
            dispatcher: config.dispatch(instructions) + transformed,
            instructions,
            ..Decision::default()
        }
    }
}
