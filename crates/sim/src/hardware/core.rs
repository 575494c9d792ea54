use std::collections::VecDeque;

use accelflow_kernel::BusyTime;
use accelflow_units::Time;

/// When a core serves an interrupt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InterruptPolicy {
    /// After all tasks that it has been given before.
    Queued,
    /// After the task that runs.
    First,
    /// At once; the task that runs goes on afterwards.
    #[default]
    Preempt,
}

impl InterruptPolicy {
    /// By their numbers in `core.interrupt_policy`.
    pub const ALL: [InterruptPolicy; 3] = [
        InterruptPolicy::Queued,
        InterruptPolicy::First,
        InterruptPolicy::Preempt,
    ];
}

/// When a core looks at the flags of traces that have ended (AccelFlow, section IV.A). What it
/// has been given before comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Looks {
    /// "The CPU core can be performing other work and periodically check the notification flag."
    #[default]
    Periodically,
    /// "By continuously polling the flag": whenever it has nothing else to do.
    Always,
    /// "By executing an MWAIT-like instruction and automatically waking up".
    WhenWoken,
}

impl Looks {
    /// By their numbers in `core.notification`.
    pub const ALL: [Looks; 3] = [Looks::Periodically, Looks::Always, Looks::WhenWoken];
}

/// A core with its own run queue. Only an interrupt takes it from the task that runs.
#[derive(Clone, Debug)]
pub(crate) struct Core<T> {
    running: Option<Running<T>>,
    interrupts: VecDeque<(T, Time)>,
    queue: VecDeque<(T, Time)>,
    /// Number of the last start: what ends an earlier one comes too late.
    starts: u64,
    idle_since: Time,
    /// Requests that LdB has chosen it for and that have not ended.
    owned: usize,
    pub(crate) busy: BusyTime,
}

#[derive(Clone, Copy, Debug)]
struct Running<T> {
    task: T,
    ends: Time,
    interrupts: bool,
}

/// A task has been started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TaskStart {
    pub ends: Time,
    /// What [`Core::finish`] is to be told.
    pub number: u64,
}

impl<T: Copy> Core<T> {
    pub(crate) fn new() -> Core<T> {
        Core {
            running: None,
            interrupts: VecDeque::new(),
            queue: VecDeque::new(),
            starts: 0,
            idle_since: Time::ZERO,
            owned: 0,
            busy: BusyTime::new(Time::ZERO),
        }
    }

    /// Tasks that wait or run: what load balancing looks at.
    pub(crate) fn load(&self) -> usize {
        self.queue.len() + self.interrupts.len() + usize::from(self.running.is_some())
    }

    /// LdB has chosen it for a request.
    pub(crate) fn own(&mut self) {
        self.owned += 1;
    }

    /// One of its requests has ended.
    pub(crate) fn disown(&mut self) {
        self.owned -= 1;
    }

    /// What load balancing looks at: requests in flight, and among equals the tasks.
    pub(crate) fn committed(&self) -> (usize, usize) {
        (self.owned, self.load())
    }

    /// Since when it has had nothing to do, if it has nothing.
    pub(crate) fn idle_since(&self) -> Option<Time> {
        (self.load() == 0).then_some(self.idle_since)
    }

    /// Adds a task behind the others, and starts it if it can.
    pub(crate) fn push(&mut self, task: T, duration: Time, now: Time) -> Option<TaskStart> {
        self.queue.push_back((task, duration));
        self.start(now)
    }

    /// Adds a task before the others: the thread that ran goes on running.
    pub(crate) fn resume(&mut self, task: T, duration: Time, now: Time) -> Option<TaskStart> {
        self.queue.push_front((task, duration));
        self.start(now)
    }

    /// Adds what an interrupt asks for. Interrupts do not interrupt one another: they are served
    /// in the order in which they come.
    pub(crate) fn interrupt(
        &mut self,
        policy: InterruptPolicy,
        task: T,
        duration: Time,
        now: Time,
    ) -> Option<TaskStart> {
        if policy == InterruptPolicy::Queued {
            return self.push(task, duration, now);
        }
        self.interrupts.push_back((task, duration));
        match self.running {
            Some(running) if policy == InterruptPolicy::Preempt && !running.interrupts => {
                self.queue.push_front((running.task, running.ends - now));
                self.running = None;
                self.busy.end(now);
            }
            _ => {}
        }
        self.start(now)
    }

    /// Ends the task that was started as number `number`, unless it has been preempted. The next
    /// one starts with the next call of [`Core::start`].
    pub(crate) fn finish(&mut self, number: u64, now: Time) -> Option<T> {
        if number != self.starts {
            return None;
        }
        let running = self.running.take()?;
        self.busy.end(now);
        self.idle_since = now;
        Some(running.task)
    }

    /// Starts what comes next if the core is free.
    pub(crate) fn start(&mut self, now: Time) -> Option<TaskStart> {
        if self.running.is_some() {
            return None;
        }
        let interrupt = self.interrupts.pop_front();
        let (task, duration) = interrupt.or_else(|| self.queue.pop_front())?;
        let ends = now + duration;
        self.running = Some(Running {
            task,
            ends,
            interrupts: interrupt.is_some(),
        });
        self.busy.begin(now);
        self.starts += 1;
        Some(TaskStart {
            ends,
            number: self.starts,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn at(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    fn started(ends: u64, number: u64) -> Option<TaskStart> {
        let ends = at(ends);
        Some(TaskStart { ends, number })
    }

    #[test]
    fn tasks_run_one_at_a_time_in_order() {
        let mut core = Core::new();
        assert_eq!(core.idle_since(), Some(at(0)));
        assert_eq!(core.push('a', at(5), at(0)), started(5, 1));
        assert_eq!(core.push('b', at(7), at(1)), None);
        assert_eq!((core.load(), core.idle_since()), (2, None));
        assert_eq!(core.start(at(2)), None, "a is not preempted");
        assert_eq!(core.finish(1, at(5)), Some('a'));
        assert_eq!(core.start(at(5)), started(12, 2));
        assert_eq!(core.finish(2, at(12)), Some('b'));
        assert_eq!(core.start(at(12)), None);
        assert_eq!(core.busy.total_at(at(20)), at(12));
        assert_eq!((core.load(), core.idle_since()), (0, Some(at(12))));
    }

    #[test]
    fn the_thread_that_runs_goes_on_before_those_that_wait() {
        let mut core = Core::new();
        core.push('a', at(5), at(0));
        core.push('b', at(7), at(0));
        assert_eq!(core.finish(1, at(5)), Some('a'));
        assert_eq!(core.resume('c', at(3), at(5)), started(8, 2));
        assert_eq!(core.finish(2, at(8)), Some('c'));
        assert_eq!(core.start(at(8)), started(15, 3));
    }

    /// The tasks of a core in the order of their ends: a and b of 10 ns from 0, and interrupts i
    /// and j of 3 ns at 4 and 5 ns.
    fn ends(policy: InterruptPolicy) -> Vec<(char, Time)> {
        let mut core = Core::new();
        let mut runs = vec![core.push('a', at(10), at(0)).unwrap()];
        runs.extend(core.push('b', at(10), at(0)));
        runs.extend(core.interrupt(policy, 'i', at(3), at(4)));
        runs.extend(core.interrupt(policy, 'j', at(3), at(5)));
        assert_eq!(core.load(), 4);
        let mut ended = Vec::new();
        while !runs.is_empty() {
            runs.sort_by_key(|run| run.ends);
            let run = runs.remove(0);
            if let Some(task) = core.finish(run.number, run.ends) {
                ended.push((task, run.ends));
                runs.extend(core.start(run.ends));
            }
        }
        assert_eq!(core.busy.total_at(at(50)), at(26), "work is conserved");
        ended
    }

    #[test]
    fn interrupts_wait_go_first_or_preempt() {
        let in_order = |tasks: [(char, u64); 4]| tasks.map(|(task, end)| (task, at(end)));
        let queued = in_order([('a', 10), ('b', 20), ('i', 23), ('j', 26)]);
        assert_eq!(ends(InterruptPolicy::Queued), queued);
        let first = in_order([('a', 10), ('i', 13), ('j', 16), ('b', 26)]);
        assert_eq!(ends(InterruptPolicy::First), first);
        let preempted = in_order([('i', 7), ('j', 10), ('a', 16), ('b', 26)]);
        assert_eq!(ends(InterruptPolicy::Preempt), preempted);
    }
}
