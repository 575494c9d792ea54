//! The array of pipelines that transform messages (section 4.2). Each pipeline takes one task at a
//! time.

use accelflow_units::Time;

/// The hardware pipelines that serialize and deserialize messages. They serve tasks in the order in
/// which tasks are offered.
#[derive(Clone, Debug)]
pub struct Pipelines {
    free_at: Vec<Time>,
    busy: Time,
    tasks: u64,
}

/// The start and the end of one task on a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The simulated time at which the task starts.
    pub start: Time,
    /// The simulated time at which the task ends.
    pub end: Time,
}

impl Pipelines {
    /// Creates `count` idle pipelines. Zero counts as one.
    pub fn new(count: usize) -> Pipelines {
        Pipelines {
            free_at: vec![Time::ZERO; count.max(1)],
            busy: Time::ZERO,
            tasks: 0,
        }
    }

    /// Assigns a task of length `duration`, offered at the time `now`, to the pipeline that is free
    /// first. `now` must not decrease from call to call.
    pub fn offer(&mut self, now: Time, duration: Time) -> Slot {
        let mut first = 0;
        for (n, free) in self.free_at.iter().enumerate() {
            if *free < self.free_at[first] {
                first = n;
            }
        }
        let start = self.free_at[first].max(now);
        let end = start + duration;
        self.free_at[first] = end;
        self.busy += duration;
        self.tasks += 1;
        Slot { start, end }
    }

    /// The mean utilisation of the pipelines up to the time `now`, from 0 to 1: the share of time
    /// in which a pipeline works.
    pub fn utilisation(&self, now: Time) -> f64 {
        let all = now.as_s_f64() * self.free_at.len() as f64;
        if all > 0.0 {
            self.busy.as_s_f64() / all
        } else {
            0.0
        }
    }

    /// The number of tasks offered so far.
    pub fn tasks(&self) -> u64 {
        self.tasks
    }
}
