//! The lists of orchestrators (systems) that can be simulated.

use super::accelflow::AccelFlow;
use super::cpu_centric::CpuCentric;
use super::ideal::Ideal;
use super::non_acc::NonAcc;
use super::orchestrator::Orchestrator;
use super::{cohort, deadlines, direct, relief};

/// The orchestrators (simulated systems) that the figures of the AccelFlow paper compare, in the
/// paper's order. A comparison simulates these by default.
pub const ORCHESTRATORS: [&dyn Orchestrator; 6] = [
    &NonAcc,
    &CpuCentric,
    &relief::RELIEF,
    &cohort::COHORT,
    &AccelFlow,
    &Ideal,
];

/// The orchestrators (simulated systems) on the way from RELIEF to AccelFlow. Each adds one
/// technique to the orchestrator before it (AccelFlow, section VII.A.2, Fig. 13).
pub const LADDER: [&dyn Orchestrator; 5] = [
    &relief::RELIEF,
    &relief::PER_ACC_TYPE_Q,
    &direct::DIRECT,
    &direct::CNTR_FLOW,
    &AccelFlow,
];

/// All built-in orchestrators, from Non-acc (no accelerators) to Ideal (orchestration without
/// cost).
pub const SYSTEMS: [&dyn Orchestrator; 13] = [
    &NonAcc,
    &CpuCentric,
    &relief::RELIEF,
    &cohort::COHORT,
    &cohort::COHORT_POLLING,
    &relief::PER_ACC_TYPE_Q,
    &direct::DIRECT_LIST,
    &direct::DIRECT,
    &direct::CNTR_FLOW,
    &AccelFlow,
    &deadlines::EXCHANGE,
    &deadlines::EDF,
    &Ideal,
];

/// The error for an identifier or name that no orchestrator of [`SYSTEMS`] has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("orchestrator = '{id}': must be one of {}", SYSTEMS.map(|o| o.id()).join(", "))]
pub struct UnknownOrchestrator {
    /// The unknown identifier or name, as the caller wrote it.
    pub id: String,
}

/// Returns the orchestrator of [`SYSTEMS`] whose identifier is `id`, such as `cpu_centric`. The
/// name in the paper, such as `CPU-Centric`, is also accepted, in upper or lower case.
///
/// # Errors
/// [`UnknownOrchestrator`] if `id` is neither an identifier nor a name in the paper.
pub fn orchestrator(id: &str) -> Result<&'static dyn Orchestrator, UnknownOrchestrator> {
    let same = |o: &&&dyn Orchestrator| o.id() == id || o.paper_name().eq_ignore_ascii_case(id);
    let found = SYSTEMS.iter().find(same).copied();
    found.ok_or_else(|| UnknownOrchestrator { id: id.to_owned() })
}
