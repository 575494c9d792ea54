//! The compared orchestrators: FCFS, RELIEF and AccelFlow.

/// The system that decides which task runs next, and that moves the task's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orchestrator {
    /// A manager that launches tasks in the order in which they became ready.
    Fcfs,
    /// RELIEF (HPCA 2024): a manager that launches the task with the least laxity (time to spare
    /// before its deadline). A task whose input is still in a scratchpad is launched earlier, if no
    /// other task then misses its deadline.
    Relief,
    /// AccelFlow: no manager. Each accelerator has queues and dispatchers, and a queue entry waits
    /// for all inputs of its task.
    AccelFlow,
}

impl Orchestrator {
    /// The compared systems: FCFS, RELIEF and AccelFlow.
    pub const ALL: [Orchestrator; 3] = [
        Orchestrator::Fcfs,
        Orchestrator::Relief,
        Orchestrator::AccelFlow,
    ];

    /// The orchestrator's name in results, such as `relief`.
    pub const fn name(self) -> &'static str {
        match self {
            Orchestrator::Fcfs => "fcfs",
            Orchestrator::Relief => "relief",
            Orchestrator::AccelFlow => "accelflow",
        }
    }
}
