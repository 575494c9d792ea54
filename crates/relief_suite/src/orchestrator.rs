//! The systems that are compared.

/// The system that decides which task runs next, and moves its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orchestrator {
    /// A manager that launches tasks in the order in which they became ready.
    Fcfs,
    /// A manager that launches the task of least laxity, and promotes tasks whose input is still in
    /// a scratchpad if no deadline suffers (RELIEF, HPCA 2024).
    Relief,
    /// No manager: queues and dispatchers at each accelerator, and entries that wait for all of
    /// their sources.
    AccelFlow,
}

impl Orchestrator {
    /// FCFS, RELIEF and AccelFlow: the compared systems.
    pub const ALL: [Orchestrator; 3] = [
        Orchestrator::Fcfs,
        Orchestrator::Relief,
        Orchestrator::AccelFlow,
    ];

    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Orchestrator::Fcfs => "fcfs",
            Orchestrator::Relief => "relief",
            Orchestrator::AccelFlow => "accelflow",
        }
    }
}
