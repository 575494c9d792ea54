//! The queue of ready tasks that the manager keeps for one kind of accelerator.

use std::collections::VecDeque;

use crate::task_ref::TaskRef;

/// The order in which ready tasks are launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaunchOrder {
    /// The order in which they became ready.
    Fcfs,
    /// The least laxity first, with promotion of tasks whose input is in a scratchpad.
    Relief,
}

/// A ready task. Times are in picoseconds, and signed: a start may be overdue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ready {
    pub(crate) task: TaskRef,
    /// The manager's estimate of its duration.
    pub(crate) runtime: i64,
    /// The latest start at which its graph still meets the deadline. Minus the current time this is
    /// its laxity, so this order is that of laxity at any time.
    pub(crate) must_start: i64,
    pub(crate) promoted: bool,
}

/// Ready tasks in the order of their launch, promoted ones first.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadyQueue(VecDeque<Ready>);

impl ReadyQueue {
    pub(crate) fn head(&self) -> Option<TaskRef> {
        self.0.front().map(|ready| ready.task)
    }

    pub(crate) fn pop(&mut self) {
        self.0.pop_front();
    }

    /// Whether `task` is among the first `count`.
    pub(crate) fn is_within(&self, task: TaskRef, count: usize) -> bool {
        self.0.iter().take(count).any(|ready| ready.task == task)
    }

    pub(crate) fn push(&mut self, policy: LaunchOrder, entry: Ready) {
        let place = match policy {
            LaunchOrder::Fcfs => self.0.len(),
            LaunchOrder::Relief => self
                .0
                .partition_point(|other| other.promoted || other.must_start <= entry.must_start),
        };
        self.0.insert(place, entry);
    }

    /// Whether `entry` may go first at `now`: a unit is left for it, and each task that it would
    /// overtake has at least as much laxity as `entry` takes. Tasks that are already late do not
    /// prevent it.
    pub(crate) fn may_promote(&self, entry: &Ready, available: usize, now: i64) -> bool {
        let promoted = self.0.iter().filter(|other| other.promoted).count();
        promoted < available
            && self
                .0
                .iter()
                .filter(|other| !other.promoted && other.must_start <= entry.must_start)
                .all(|other| {
                    let laxity = other.must_start - now;
                    laxity < 0 || laxity >= entry.runtime
                })
    }

    /// Inserts `entry` behind the promoted ones and before all others.
    pub(crate) fn promote(&mut self, entry: Ready) {
        let place = self.0.partition_point(|other| other.promoted);
        let promoted = true;
        self.0.insert(place, Ready { promoted, ..entry });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(task: usize, runtime: i64, must_start: i64) -> Ready {
        let task = TaskRef { graph: 0, task };
        Ready {
            task,
            runtime,
            must_start,
            promoted: false,
        }
    }

    fn order(queue: &ReadyQueue) -> Vec<usize> {
        queue.0.iter().map(|ready| ready.task.task).collect()
    }

    #[test]
    fn fcfs_keeps_the_order_and_relief_sorts_by_laxity() {
        for (policy, expected) in [
            (LaunchOrder::Fcfs, [0, 1, 2]),
            (LaunchOrder::Relief, [1, 2, 0]),
        ] {
            let mut queue = ReadyQueue::default();
            for (task, must_start) in [(0, 30), (1, 10), (2, 20)] {
                queue.push(policy, entry(task, 1, must_start));
            }
            assert_eq!(order(&queue), expected);
        }
    }

    #[test]
    fn a_task_passes_others_only_as_far_as_their_laxity_goes() {
        let mut queue = ReadyQueue::default();
        queue.push(LaunchOrder::Relief, entry(0, 1, 100));
        // At 60 the waiting task has a laxity of 40.
        assert!(queue.may_promote(&entry(1, 40, 200), 1, 60));
        assert!(!queue.may_promote(&entry(1, 41, 200), 1, 60));
        // Less urgent tasks are not overtaken, and overdue ones are already late.
        assert!(queue.may_promote(&entry(1, 41, 99), 1, 60));
        assert!(queue.may_promote(&entry(1, 41, 200), 1, 101));
    }

    #[test]
    fn no_more_are_promoted_than_there_are_units() {
        let mut queue = ReadyQueue::default();
        queue.push(LaunchOrder::Relief, entry(0, 1, 1_000));
        queue.promote(entry(1, 1, 2_000));
        queue.push(LaunchOrder::Relief, entry(2, 1, 0));
        assert_eq!(order(&queue), [1, 2, 0]);
        assert!(!queue.may_promote(&entry(3, 1, 2_000), 1, -9_000));
        assert!(queue.may_promote(&entry(3, 1, 2_000), 2, -9_000));
    }
}
