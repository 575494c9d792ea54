use accelflow_units::Time;

use super::{Completion, Decision, Links, Notification, Orchestrator};
use crate::config::Config;

/// Accelerators hand on directly, and deciding costs nothing (AccelFlow, section VII.A.3,
/// "Ideal"). Moving the data takes the time it takes.
pub(super) struct Ideal;

impl Orchestrator for Ideal {
    fn id(&self) -> &'static str {
        "ideal"
    }

    fn paper_name(&self) -> &'static str {
        "Ideal"
    }

    fn parks(&self) -> bool {
        true
    }

    fn start(&self, _: &Config) -> Time {
        Time::ZERO
    }

    fn decide(&self, _: &Completion, _: &Config, _: &Links) -> Decision {
        Decision::default()
    }

    fn notification(&self) -> Notification {
        Notification::Found
    }

    fn notified(&self, _: &Config) -> Time {
        Time::ZERO
    }
}
