use super::completion::Completion;
use super::decision::Decision;
use super::links::Links;
use super::orchestrator::Orchestrator;
use super::properties::{Notification, Properties};
use crate::config::Config;

/// Ideal: accelerators forward directly, and decisions cost nothing (AccelFlow, section VII.A.3,
/// "Ideal"). Moving the data still takes time.
pub(super) struct Ideal;

impl Orchestrator for Ideal {
    fn id(&self) -> &'static str {
        "ideal"
    }

    fn paper_name(&self) -> &'static str {
        "Ideal"
    }

    fn properties(&self, config: &Config) -> Properties {
        Properties {
            parks: true,
            notification: Notification::Found,
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
