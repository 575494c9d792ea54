use std::collections::VecDeque;

use accelflow_kernel::BusyTime;
use accelflow_units::Time;

use crate::config::InterruptPolicy;

/// The time slices of tasks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slices {
    /// Longest time that a task may run while other tasks wait; zero for no limit.
    pub length: Time,
    /// Time of the context switch with which a task continues after the end of its time slice.
    pub switch: Time,
}

/// A core with its run queue. Only an interrupt or the end of a time slice preempts a task.
#[derive(Clone, Debug)]
pub(crate) struct Core<T> {
    running: Option<Running<T>>,
    interrupts: VecDeque<(T, Time)>,
    queue: VecDeque<Waiting<T>>,
    slices: Slices,
    /// The rest of the slice of the task that ended last.
    left: Time,
    /// Number of the last start, which may wrap. The end of an earlier one is outdated.
    starts: u32,
    idle_since: Time,
    /// Number of requests in flight that LdB has assigned to the core.
    owned: usize,
    pub(crate) busy: BusyTime,
}

#[derive(Clone, Copy, Debug)]
struct Waiting<T> {
    task: T,
    duration: Time,
    /// The task's time slice: the rest of one for a thread that continues, otherwise a whole one.
    slice: Time,
}

#[derive(Clone, Copy, Debug)]
struct Running<T> {
    task: T,
    ends: Time,
    /// When the task's time slice ends; [`Time::MAX`] without slices, and for interrupts.
    slice_ends: Time,
    is_interrupt: bool,
}

/// The effect of the end of a time slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SliceEnd<T> {
    /// No effect: the task has ended too, or another one has been started since.
    None,
    /// No other task waits: the task continues with a new slice.
    GoesOn(TaskStart),
    /// The task is behind the others, and needs a context switch to continue.
    Behind(T),
}

/// The start of a task on a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TaskStart {
    /// When the task or its time slice ends, whichever is earlier.
    pub ends: Time,
    /// Sequence number of this start of a task. [`Core::slice_ends`] and [`Core::finish`] identify
    /// the start by this number.
    pub number: u32,
}

impl<T: Copy> Core<T> {
    pub(crate) fn new(slices: Slices) -> Core<T> {
        Core {
            running: None,
            interrupts: VecDeque::new(),
            queue: VecDeque::new(),
            slices,
            left: slices.length,
            starts: 0,
            idle_since: Time::ZERO,
            owned: 0,
            busy: BusyTime::new(Time::ZERO),
        }
    }

    /// Number of tasks that wait or run.
    pub(crate) fn load(&self) -> usize {
        self.queue.len() + self.interrupts.len() + usize::from(self.running.is_some())
    }

    /// The number of the start of the task that runs, and the task.
    pub(crate) fn running(&self) -> Option<(u32, T)> {
        self.running.map(|running| (self.starts, running.task))
    }

    /// Counts a request that LdB has assigned to the core.
    pub(crate) fn own(&mut self) {
        self.owned += 1;
    }

    /// Removes a request of the core that has ended.
    pub(crate) fn disown(&mut self) {
        self.owned -= 1;
    }

    /// The load by which requests are balanced: requests in flight, then tasks.
    pub(crate) fn committed(&self) -> (usize, usize) {
        (self.owned, self.load())
    }

    /// The time since which the core has been idle; `None` if it has a task.
    pub(crate) fn idle_since(&self) -> Option<Time> {
        (self.load() == 0).then_some(self.idle_since)
    }

    /// Adds a task behind the others, and starts it if it can.
    pub(crate) fn push(&mut self, task: T, duration: Time, now: Time) -> Option<TaskStart> {
        self.queue.push_back(Waiting {
            task,
            duration,
            slice: self.slices.length,
        });
        self.start(now)
    }

    /// Adds a task before the others: the thread that ran continues, with the rest of its slice.
    pub(crate) fn resume(&mut self, task: T, duration: Time, now: Time) -> Option<TaskStart> {
        self.put_first(task, duration, self.left, now)
    }

    /// Adds a task of another thread before the others.
    pub(crate) fn push_first(&mut self, task: T, duration: Time, now: Time) -> Option<TaskStart> {
        self.put_first(task, duration, self.slices.length, now)
    }

    fn put_first(&mut self, task: T, duration: Time, slice: Time, now: Time) -> Option<TaskStart> {
        self.queue.push_front(Waiting {
            task,
            duration,
            slice,
        });
        self.start(now)
    }

    /// Adds the task of an interrupt. Interrupts do not preempt each other: they are served in the
    /// order of arrival.
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
            Some(running) if policy == InterruptPolicy::Preempt && !running.is_interrupt => {
                self.queue.push_front(Waiting {
                    task: running.task,
                    duration: running.ends - now,
                    slice: self.left_at(&running, now),
                });
                self.running = None;
                self.busy.end(now);
            }
            _ => {}
        }
        self.start(now)
    }

    /// Ends the task that was started as number `number`, unless it has been preempted. The next
    /// call of [`Core::start`] starts another.
    pub(crate) fn finish(&mut self, number: u32, now: Time) -> Option<T> {
        if number != self.starts {
            return None;
        }
        let running = self.running.take()?;
        self.busy.end(now);
        self.idle_since = now;
        self.left = self.left_at(&running, now);
        Some(running.task)
    }

    /// The rest of the slice of a task that leaves the core; a whole one if it has used it up or
    /// had none.
    fn left_at(&self, running: &Running<T>, now: Time) -> Time {
        match running.slice_ends.saturating_sub(now) {
            _ if running.slice_ends == Time::MAX => self.slices.length,
            Time::ZERO => self.slices.length,
            left => left,
        }
    }

    /// Ends the slice of the task that was started as number `number`, if the task is not done. If
    /// other tasks wait, here or (`others`) elsewhere, it goes behind them, and the next call of
    /// [`Core::start`] starts another.
    pub(crate) fn slice_ends(&mut self, number: u32, others: bool, now: Time) -> SliceEnd<T> {
        let Some(running) = self
            .running
            .filter(|running| number == self.starts && running.ends > now)
        else {
            return SliceEnd::None;
        };
        let length = self.slices.length;
        if self.queue.is_empty() && self.interrupts.is_empty() && !others {
            let slice_ends = now + length;
            self.running = Some(Running {
                slice_ends,
                ..running
            });
            return SliceEnd::GoesOn(TaskStart {
                ends: running.ends.min(slice_ends),
                number,
            });
        }
        self.running = None;
        self.busy.end(now);
        // The switch is not part of the slice, or tasks with short slices would never end.
        let switch = self.slices.switch;
        self.queue.push_back(Waiting {
            task: running.task,
            duration: switch + (running.ends - now),
            slice: switch + length,
        });
        SliceEnd::Behind(running.task)
    }

    /// Starts the next task if the core is free.
    pub(crate) fn start(&mut self, now: Time) -> Option<TaskStart> {
        if self.running.is_some() {
            return None;
        }
        let interrupt = self.interrupts.pop_front();
        let is_interrupt = interrupt.is_some();
        let next = match interrupt {
            Some((task, duration)) => Waiting {
                task,
                duration,
                slice: Time::ZERO,
            },
            None => self.queue.pop_front()?,
        };
        let ends = now + next.duration;
        let slice_ends = match next.slice {
            Time::ZERO => Time::MAX,
            slice => now + slice,
        };
        self.running = Some(Running {
            task: next.task,
            ends,
            slice_ends,
            is_interrupt,
        });
        self.busy.begin(now);
        self.starts = self.starts.wrapping_add(1);
        Some(TaskStart {
            ends: ends.min(slice_ends),
            number: self.starts,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const NO_SLICES: Slices = Slices {
        length: Time::ZERO,
        switch: Time::ZERO,
    };

    fn at(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    fn started(ends: u64, number: u32) -> Option<TaskStart> {
        let ends = at(ends);
        Some(TaskStart { ends, number })
    }

    #[test]
    fn tasks_run_one_at_a_time_in_order() {
        let mut core = Core::new(NO_SLICES);
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
        let mut core = Core::new(NO_SLICES);
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
        let mut core = Core::new(NO_SLICES);
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

    /// Slices of 4 ns and switches of 1 ns.
    fn sliced() -> Core<char> {
        Core::new(Slices {
            length: at(4),
            switch: at(1),
        })
    }

    #[test]
    fn a_slice_ends_for_a_task_that_others_wait_behind() {
        let mut core = sliced();
        assert_eq!(core.push('a', at(10), at(0)), started(4, 1));
        let alone = SliceEnd::GoesOn(started(8, 1).unwrap());
        assert_eq!(
            core.slice_ends(1, false, at(4)),
            alone,
            "no other task waits"
        );
        let polled = core.clone().slice_ends(1, true, at(8));
        assert_eq!(polled, SliceEnd::Behind('a'));
        assert_eq!(core.push('b', at(3), at(5)), None);
        assert_eq!(core.slice_ends(1, false, at(8)), SliceEnd::Behind('a'));
        assert_eq!(core.load(), 2);
        assert_eq!(core.start(at(8)), started(11, 2));
        assert_eq!(
            core.slice_ends(1, false, at(9)),
            SliceEnd::None,
            "a has left"
        );
        assert_eq!(
            core.slice_ends(2, false, at(11)),
            SliceEnd::None,
            "b is done"
        );
        assert_eq!(core.finish(2, at(11)), Some('b'));
        // Two nanoseconds and the switch back.
        assert_eq!(core.start(at(11)), started(14, 3));
        assert_eq!(core.finish(3, at(14)), Some('a'));
        assert_eq!(core.busy.total_at(at(14)), at(10 + 3 + 1));
    }

    #[test]
    fn a_thread_that_goes_on_has_what_is_left_of_its_slice() {
        let mut core = sliced();
        core.push('a', at(3), at(0));
        core.push('b', at(2), at(0));
        assert_eq!(core.finish(1, at(3)), Some('a'));
        let mut other = core.clone();
        assert_eq!(other.push_first('c', at(9), at(3)), started(7, 2));
        assert_eq!(core.resume('A', at(9), at(3)), started(4, 2));
        assert_eq!(core.slice_ends(2, false, at(4)), SliceEnd::Behind('A'));
        assert_eq!(core.start(at(4)), started(6, 3));
        assert_eq!(core.finish(3, at(6)), Some('b'));
        assert_eq!(core.start(at(6)), started(11, 4), "it has a new one");
    }

    #[test]
    fn an_interrupt_has_no_slice_and_leaves_that_of_the_task_alone() {
        let mut core = sliced();
        core.push('a', at(6), at(0));
        core.push('b', at(2), at(0));
        let policy = InterruptPolicy::Preempt;
        assert_eq!(core.interrupt(policy, 'i', at(7), at(3)), started(10, 2));
        assert_eq!(core.slice_ends(1, false, at(4)), SliceEnd::None);
        assert_eq!(core.slice_ends(2, false, at(10)), SliceEnd::None);
        assert_eq!(core.finish(2, at(10)), Some('i'));
        assert_eq!(core.start(at(10)), started(11, 3), "one of four is left");
        assert_eq!(core.slice_ends(3, false, at(11)), SliceEnd::Behind('a'));
    }
}
