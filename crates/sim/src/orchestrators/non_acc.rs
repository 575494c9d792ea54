use accelflow_units::Time;

use super::{Completion, Decision, Links, Orchestrator};
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

    fn accelerated(&self) -> bool {
        false
    }

    fn start(&self, _: &Config) -> Time {
        Time::ZERO
    }

    fn decide(&self, _: &Completion, _: &Config, _: &Links) -> Decision {
        Decision::default()
    }

    fn notified(&self, _: &Config) -> Time {
        Time::ZERO
    }
}
