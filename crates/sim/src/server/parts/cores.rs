//! The cores, their run queues, and the queues in memory through which accelerators send them
//! messages.

use std::collections::VecDeque;

use accelflow_units::Time;

use crate::config::{Balancing, Config, InterruptPolicy};
use crate::hardware::{Core, SliceEnd, Slices, SoftQueue, TaskStart};
use crate::server::state::{CoreId, CoreMessage, Task};

/// For each core the services of the requests that LdB has assigned to it last, the latest first
/// (Cerebros, section 4.3).
struct FunctionMap {
    recent: Vec<VecDeque<u16>>,
    depth: usize,
}

impl FunctionMap {
    fn new(cores: usize, depth: usize) -> FunctionMap {
        FunctionMap {
            recent: vec![VecDeque::with_capacity(depth + 1); cores],
            depth,
        }
    }

    /// Whether the map has `service` for `core`.
    fn has(&self, core: usize, service: u16) -> bool {
        self.recent[core].contains(&service)
    }

    /// Adds `service` to the list of `core`. Returns the one before it.
    fn note(&mut self, core: usize, service: u16) -> Option<u16> {
        let recent = &mut self.recent[core];
        let before = recent.front().copied();
        recent.push_front(service);
        recent.truncate(self.depth);
        before
    }
}

/// The cores of the server.
pub(crate) struct Cores {
    cores: Vec<Core<Task>>,
    /// By core, the queue in memory that accelerators write to; empty if the orchestrator has none.
    software_queues: Vec<SoftQueue<CoreMessage>>,
    recent: FunctionMap,
    /// Number of requests that LdB has assigned to cores.
    balanced: u64,
    balancing: Balancing,
    interrupt_policy: InterruptPolicy,
}

impl Cores {
    /// The cores of a server with `config`, with software queues if `polled`.
    pub(crate) fn new(config: &Config, polled: bool) -> Cores {
        let slices = Slices {
            length: config.core.time_slice,
            switch: config.core.context_switch,
        };
        let queues = if polled { config.core.count } else { 0 };
        let queue = |_| SoftQueue::new(config.cohort.queue_entries);
        Cores {
            cores: vec![Core::new(slices); config.core.count],
            software_queues: (0..queues).map(queue).collect(),
            recent: FunctionMap::new(config.core.count, config.core.function_map_depth),
            balanced: 0,
            balancing: config.core.balancing,
            interrupt_policy: config.core.interrupt_policy,
        }
    }

    /// Number of cores.
    pub(crate) fn count(&self) -> usize {
        self.cores.len()
    }

    /// Assigns a request of `service` with the random numbers `draws` to a core; also returns
    /// whether the core has had one of this service last. Of equal cores the first is taken,
    /// counting from `first`.
    pub(crate) fn assign(
        &mut self,
        service: u16,
        draws: [u64; 2],
        first: CoreId,
    ) -> (CoreId, bool) {
        let first = usize::from(first);
        let core = match self.balancing {
            Balancing::Affinity => affine(&self.cores, &self.recent, service, self.balanced),
            policy => policy.choose(&self.cores, draws, self.balanced, first),
        };
        self.balanced += 1;
        self.cores[core].own();
        let before = self.recent.note(core, service);
        (core as CoreId, before == Some(service))
    }

    /// Notes that a request assigned to `core` has ended.
    pub(crate) fn unassign(&mut self, core: CoreId) {
        self.core_mut(core).disown();
    }

    /// Adds a task behind the others.
    pub(crate) fn push(
        &mut self,
        core: CoreId,
        task: Task,
        duration: Time,
        now: Time,
    ) -> Option<TaskStart> {
        self.core_mut(core).push(task, duration, now)
    }

    /// Adds a task of the thread that has the core before the others.
    pub(crate) fn resume(
        &mut self,
        core: CoreId,
        task: Task,
        duration: Time,
        now: Time,
    ) -> Option<TaskStart> {
        self.core_mut(core).resume(task, duration, now)
    }

    /// Adds a task of another thread before the others.
    pub(crate) fn push_first(
        &mut self,
        core: CoreId,
        task: Task,
        duration: Time,
        now: Time,
    ) -> Option<TaskStart> {
        self.core_mut(core).push_first(task, duration, now)
    }

    /// Adds a task by an interrupt.
    pub(crate) fn interrupt(
        &mut self,
        core: CoreId,
        task: Task,
        duration: Time,
        now: Time,
    ) -> Option<TaskStart> {
        let policy = self.interrupt_policy;
        self.core_mut(core).interrupt(policy, task, duration, now)
    }

    /// Ends the task that was started as number `number`, unless it has been preempted.
    pub(crate) fn finish(&mut self, core: CoreId, number: u32, now: Time) -> Option<Task> {
        self.core_mut(core).finish(number, now)
    }

    /// Ends the time slice of the task that was started as number `number`, if it is not done. A
    /// software queue that is due for polling counts as a waiting task.
    pub(crate) fn end_slice(&mut self, core: CoreId, number: u32, now: Time) -> SliceEnd<Task> {
        let queue = self.software_queues.get(usize::from(core));
        let polled = queue.is_some_and(|queue| !queue.is_empty() && queue.due(now));
        self.core_mut(core).slice_ends(number, polled, now)
    }

    /// Starts the next task if the core is free.
    pub(crate) fn start(&mut self, core: CoreId, now: Time) -> Option<TaskStart> {
        self.core_mut(core).start(now)
    }

    /// Whether a core has no task.
    pub(crate) fn is_idle(&self, core: CoreId) -> bool {
        self.cores[usize::from(core)].idle_since().is_some()
    }

    /// Whether tasks wait for or run on a core.
    pub(crate) fn is_loaded(&self, core: CoreId) -> bool {
        self.cores[usize::from(core)].load() > 0
    }

    /// The number of the start of the task that runs on a core, and the task.
    pub(crate) fn running(&self, core: usize) -> Option<(u32, Task)> {
        self.cores[core].running()
    }

    /// Number of tasks that wait for a core.
    pub(crate) fn waiting(&self, core: usize) -> usize {
        self.cores[core].load().saturating_sub(1)
    }

    /// The software queue of a core. Only with software queues.
    pub(crate) fn software_queue(&mut self, core: CoreId) -> &mut SoftQueue<CoreMessage> {
        &mut self.software_queues[usize::from(core)]
    }

    /// Busy time of all cores together.
    pub(crate) fn busy_at(&self, now: Time) -> Time {
        let cores = self.cores.iter();
        cores.map(|core| core.busy.total_at(now)).sum()
    }

    /// Number of tasks that wait for cores, and of entries in software queues.
    pub(crate) fn backlog(&self) -> usize {
        let waiting = |core: &Core<Task>| core.load().saturating_sub(1);
        let tasks: usize = self.cores.iter().map(waiting).sum();
        let entries: usize = self.software_queues.iter().map(SoftQueue::len).sum();
        tasks + entries
    }

    /// Whether no core has a task, a request or an entry in its software queue.
    pub(crate) fn are_idle(&self) -> bool {
        self.cores.iter().all(|core| core.committed() == (0, 0))
            && self.software_queues.iter().all(SoftQueue::is_empty)
    }

    fn core_mut(&mut self, core: CoreId) -> &mut Core<Task> {
        &mut self.cores[usize::from(core)]
    }
}

/// The core with the fewest requests in flight; among equals, one whose last request was of
/// `service`, then the one with the fewest tasks. Equals take turns, so that services spread over
/// idle cores.
///
/// Cerebros, section 4.3: of the cores that have just executed the function, that with the fewest
/// requests. There, the network card gives messages only to cores that are available.
fn affine<T: Copy>(cores: &[Core<T>], recent: &FunctionMap, service: u16, turn: u64) -> usize {
    let first = (turn % cores.len().max(1) as u64) as usize;
    let in_turn = (0..cores.len()).map(|place| (first + place) % cores.len());
    let key = |&core: &usize| {
        let (requests, tasks) = cores[core].committed();
        (requests, !recent.has(core, service), tasks)
    };
    in_turn.min_by_key(key).unwrap_or(0)
}
