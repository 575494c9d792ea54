//! The list of systems.

use super::accelflow::AccelFlow;
use super::cpu_centric::CpuCentric;
use super::ideal::Ideal;
use super::non_acc::NonAcc;
use super::orchestrator::Orchestrator;
use super::{cohort, deadlines, direct, relief};

/// The systems that the paper's figures compare, in the paper's order. They are the default of a
/// comparison.
pub const ORCHESTRATORS: [&dyn Orchestrator; 6] = [
    &NonAcc,
    &CpuCentric,
    &relief::RELIEF,
    &cohort::COHORT,
    &AccelFlow,
    &Ideal,
];

/// The steps from RELIEF to AccelFlow (AccelFlow, section VII.A.2, Fig. 13): each step adds one
/// technique.
pub const LADDER: [&dyn Orchestrator; 5] = [
    &relief::RELIEF,
    &relief::PER_ACC_TYPE_Q,
    &direct::DIRECT,
    &direct::CNTR_FLOW,
    &AccelFlow,
];

/// All orchestrators that can be simulated, from the one without accelerators to the ideal one.
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

/// The error of an identifier that no orchestrator has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("orchestrator = '{id}': must be one of {}", SYSTEMS.map(|o| o.id()).join(", "))]
pub struct UnknownOrchestrator {
    /// The identifier as it was given.
    pub id: String,
}

/// Returns the orchestrator of [`SYSTEMS`] with this identifier. The paper's spelling is also
/// accepted, in any case.
///
/// # Errors
/// [`UnknownOrchestrator`] for a name that is neither.
pub fn orchestrator(id: &str) -> Result<&'static dyn Orchestrator, UnknownOrchestrator> {
    let same = |o: &&&dyn Orchestrator| o.id() == id || o.paper_name().eq_ignore_ascii_case(id);
    let found = SYSTEMS.iter().find(same).copied();
    found.ok_or_else(|| UnknownOrchestrator { id: id.to_owned() })
}
