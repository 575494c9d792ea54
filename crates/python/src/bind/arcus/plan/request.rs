//! Requests of plans.

use accelflow_arcus::control::{Manager, ServiceClass};
use accelflow_arcus::{Law, Path, Platform, PlatformError, Settings, parameters};
use accelflow_units::Time;
use serde::Deserialize;
use serde_json::{Value, json};

use super::flow::{FlowRequest, POLICIES};
use super::platform::PlatformRequest;

/// The names that a plan may use.
pub(super) fn names() -> Value {
    let accelerators = parameters::catalogue()
        .into_iter()
        .map(|accelerator| accelerator.name);
    json!({
        "accelerators": Value::from_iter(accelerators),
        "laws": Law::ALL.map(Law::name),
        "paths": Path::ALL.map(Path::name),
        "policies": POLICIES.map(ServiceClass::name),
    })
}

/// Flows on a platform. Python has checked names and types.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlanRequest {
    pub(super) platform: PlatformRequest,
    pub(super) flows: Vec<FlowRequest>,
    duration_us: u64,
    seed: u64,
    oversubscription: f64,
    pub(super) predict_us: u64,
    /// The entries of a table of profiles.
    pub(super) profiles: Vec<super::profiles::Entry>,
}

impl PlanRequest {
    /// Times of the file are those of the measured time, which begins when the first flows run evenly.
    pub(super) fn settings(&self) -> Settings {
        Settings::lasting(Time::from_us(self.duration_us)).seeded(self.seed)
    }

    /// A control plane without flows, with the given profiles.
    pub(super) fn manager(&self, platform: &Platform) -> Result<Manager, PlatformError> {
        let profiles = super::profiles::table(platform, &self.profiles)?;
        Manager::new(platform.clone())
            .with_profiles(profiles)
            .oversubscribed(self.oversubscription)
    }
}
