//! The queues of one instance of an accelerator: input queue, overflow area, output queue.
//!
//! The protocol of these queues keeps the ensemble free of deadlocks. It is independent of traces,
//! bodies and clocks, so a model checker can run it unchanged (`docs/ensemble.md`).
//! [`Station::push`] never waits. [`Station::next`] waits only for input. [`Station::finish`] waits
//! only while the output queue is full and another worker empties it; that worker does not wait.

use std::collections::VecDeque;

use accelflow_shaping::dispatch::{DispatchPolicy, Elements, Entry, InputQueue, Placed};
use accelflow_units::Time;

use super::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The sizes of a station.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) workers: usize,
    pub(super) input: usize,
    pub(super) overflow: usize,
    pub(super) output: usize,
    pub(super) policy: DispatchPolicy,
}

/// Where [`Station::push`] has put an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pushed {
    Queued(Placed),
    Overflowed,
}

/// An input queue, overflow area and output queue, and the workers that wait for them.
pub(super) struct Station<T> {
    sizes: Sizes,
    input: Mutex<Input<T>>,
    /// Signals an entry in the input queue.
    filled: Condvar,
    output: Mutex<Output<T>>,
    /// Signals room in the output queue.
    drained: Condvar,
}

struct Input<T> {
    queue: InputQueue<T>,
    overflow: InputQueue<T>,
    /// For each worker, the expected end of its operation.
    running: Vec<Option<Time>>,
    closed: bool,
}

struct Output<T> {
    finished: VecDeque<T>,
    /// Whether a worker is the output dispatcher now.
    dispatching: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> Input<T> {
    /// Takes the next entry of the input queue, and moves an entry of the overflow area into its
    /// place.
    fn pop(&mut self, elements: Elements, now: Time) -> Option<Entry<T>> {
        let entry = self.queue.pop()?;
        if let Some(next) = self.overflow.pop() {
            self.queue.push(next, elements, now);
        }
        Some(entry)
    }

    fn elements(&self, now: Time) -> Elements {
        let left = |end: &Option<Time>| end.map(|end| end.saturating_sub(now));
        Elements {
            count: self.running.len() as u64,
            idle: self.queue.is_empty() && self.running.contains(&None),
            remaining: self.running.iter().filter_map(left).sum(),
        }
    }
}

impl<T> Station<T> {
    pub(super) fn new(sizes: Sizes) -> Station<T> {
        // The order by deadline applies to the input queue only, not to the overflow area.
        let overflow = match sizes.policy {
            DispatchPolicy::Deadline => DispatchPolicy::Fifo,
            policy => policy,
        };
        Station {
            sizes,
            input: Mutex::new(Input {
                queue: InputQueue::new(sizes.policy, 0),
                overflow: InputQueue::new(overflow, 0),
                running: vec![None; sizes.workers],
                closed: false,
            }),
            filled: Condvar::new(),
            output: Mutex::new(Output {
                finished: VecDeque::new(),
                dispatching: false,
            }),
            drained: Condvar::new(),
        }
    }

    /// Whether the input queue has room.
    pub(super) fn has_room(&self) -> bool {
        lock(&self.input).queue.len() < self.sizes.input
    }

    /// The number of entries in the input queue and the overflow area.
    pub(super) fn waiting(&self) -> usize {
        let input = lock(&self.input);
        input.queue.len() + input.overflow.len()
    }

    /// Puts an entry into the input queue, or into the overflow area if the queue is full. Returns
    /// the entry if both are full.
    pub(super) fn push(&self, entry: Entry<T>, now: Time) -> Result<Pushed, Entry<T>> {
        let mut input = lock(&self.input);
        let elements = input.elements(now);
        let pushed = if input.queue.len() < self.sizes.input {
            Pushed::Queued(input.queue.push(entry, elements, now))
        } else if input.overflow.len() < self.sizes.overflow {
            input.overflow.push(entry, elements, now);
            Pushed::Overflowed
        } else {
            return Err(entry);
        };
        drop(input);
        self.filled.notify_one();
        Ok(pushed)
    }

    /// Waits for an entry for the worker `element`. Returns `None` once the station is closed and
    /// empty.
    pub(super) fn next(&self, element: usize, now: impl Fn() -> Time) -> Option<Entry<T>> {
        let mut input = lock(&self.input);
        input.running[element] = None;
        loop {
            let time = now();
            let elements = input.elements(time);
            if let Some(entry) = input.pop(elements, time) {
                input.running[element] = Some(time + entry.work);
                return Some(entry);
            }
            if input.closed {
                return None;
            }
            let waited = self.filled.wait(input);
            input = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Puts a finished entry into the output queue. The worker then acts as output dispatcher until
    /// the queue is empty, unless another worker already does.
    pub(super) fn finish(&self, entry: T, mut dispatch: impl FnMut(T)) {
        let mut output = lock(&self.output);
        while output.dispatching && output.finished.len() >= self.sizes.output {
            let waited = self.drained.wait(output);
            output = waited.unwrap_or_else(PoisonError::into_inner);
        }
        output.finished.push_back(entry);
        if output.dispatching {
            return;
        }
        output.dispatching = true;
        while let Some(entry) = output.finished.pop_front() {
            drop(output);
            self.drained.notify_one();
            dispatch(entry);
            output = lock(&self.output);
        }
        output.dispatching = false;
    }

    /// Closes the station. Workers end once it is empty.
    pub(super) fn close(&self) {
        lock(&self.input).closed = true;
        self.filled.notify_all();
    }
}
