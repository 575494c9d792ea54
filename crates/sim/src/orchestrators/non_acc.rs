use super::completion::Completion;
use super::decision::Decision;
use super::links::Links;
use super::orchestrator::Orchestrator;
use super::properties::Properties;
use crate::config::Config;

/// No accelerators: a core executes every operation (AccelFlow, section VI, "Non-acc").
pub(super) struct NonAcc;

impl Orchestrator for NonAcc {
    fn id(&self) -> &'static str {
        "non_acc"
    }

    fn paper_name(&self) -> &'static str {
        "Non-acc"
    }

    fn properties(&self, config: &Config) -> Properties {
        Properties {
            accelerated: false,
            ..Properties::new(config)
        }
    }

    fn decides_by_class(&self) -> bool {
        true
    }

    fn decide(&self, _: &Completion, _: &Config, _: &Links) -> Decision {
        Decision::default()
    }
}
