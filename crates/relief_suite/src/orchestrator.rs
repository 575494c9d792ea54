//! The systems that are compared.

/// An orchestrator: the system that decides which task runs next, and moves its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orchestrator {
    /// A manager that launches tasks in the order in which they became ready.
    Fcfs,
    /// A manager that launches the task with the least laxity (time to spare before its deadline).
    /// It launches tasks whose input is still in a scratchpad earlier, if no deadline suffers
    /// (RELIEF, HPCA 2024).
    Relief,
    /// No manager: each accelerator has queues and dispatchers, and a queue entry waits for all
    /// inputs of its task.
    AccelFlow,
}

impl Orchestrator {
    /// FCFS, RELIEF and AccelFlow: the compared systems.
    pub const ALL: [Orchestrator; 3] = [
        Orchestrator::Fcfs,
        Orchestrator::Relief,
        Orchestrator::AccelFlow,
    ];

    /// The orchestrator's name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Orchestrator::Fcfs => "fcfs",
            Orchestrator::Relief => "relief",
            Orchestrator::AccelFlow => "accelflow",
        }
    }
}
