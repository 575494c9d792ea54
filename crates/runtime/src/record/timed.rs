//! Software accelerators that measure the cost of each call.

use std::hint::black_box;
use std::io;
use std::time::{Duration, Instant};

use accelflow_accel::{AccelError, Direction, Ensemble, Job};
use accelflow_trace::{Accel, Kind, Transform};

use super::median::median;
use super::socket::SocketPair;
use crate::bodies::Bodies;

/// The shortest cost that is reported: the resolution of the clock.
const LEAST_NS: f64 = 1.0;

/// Software bodies that measure the cost of each successful call.
#[derive(Debug)]
pub(super) struct TimedBodies {
    ensemble: Ensemble,
    sockets: SocketPair,
    clock_ns: f64,
    costs_ns: Vec<f64>,
    socket_error: Option<io::Error>,
}

impl TimedBodies {
    pub(super) fn new(ensemble: Ensemble) -> io::Result<TimedBodies> {
        Ok(TimedBodies {
            ensemble,
            sockets: SocketPair::connect()?,
            clock_ns: clock_cost_ns(),
            costs_ns: Vec::new(),
            socket_error: None,
        })
    }

    /// Takes the costs of the calls since the last `take`, in order and in nanoseconds, or the
    /// sockets' error.
    pub(super) fn take(&mut self) -> io::Result<Vec<f64>> {
        let costs = std::mem::take(&mut self.costs_ns);
        match self.socket_error.take() {
            Some(error) => Err(error),
            None => Ok(costs),
        }
    }

    fn socket(&mut self, direction: Direction, bytes: usize) -> f64 {
        let spent = match direction {
            Direction::Send => self.sockets.send(bytes),
            Direction::Receive => self.sockets.receive(bytes),
        };
        match spent {
            Ok(spent) => self.without_clock(spent),
            Err(error) => {
                self.socket_error = Some(error);
                0.0
            }
        }
    }

    fn without_clock(&self, spent: Duration) -> f64 {
        nanoseconds(spent) - self.clock_ns
    }
}

impl Bodies for TimedBodies {
    fn run(&mut self, accel: Accel, job: &mut Job) -> Result<(), AccelError> {
        let before = job.bytes.len();
        let start = Instant::now();
        let done = self.ensemble.run(accel, black_box(job));
        let spent = start.elapsed();
        done?;
        let mut cost = self.without_clock(spent);
        if accel == Accel::Tcp {
            let message = match job.direction {
                Direction::Send => before,
                Direction::Receive => job.bytes.len(),
            };
            cost += self.socket(job.direction, message);
        }
        self.costs_ns.push(cost.max(LEAST_NS));
        Ok(())
    }

    fn run_own(&mut self, kind: &Kind, job: &mut Job) -> Result<(), AccelError> {
        let start = Instant::now();
        let done = self.ensemble.run_own(kind, black_box(job));
        let spent = start.elapsed();
        done?;
        let cost = self.without_clock(spent);
        self.costs_ns.push(cost.max(LEAST_NS));
        Ok(())
    }

    fn transform(&mut self, step: Transform, job: &mut Job) -> Result<(), AccelError> {
        self.ensemble.transform(step, job)
    }
}

/// A duration in nanoseconds. Exact: no interval here comes near 2^53 ns (104 days).
fn nanoseconds(spent: Duration) -> f64 {
    spent.as_nanos() as f64
}

/// Measures the clock's own cost: the median of many empty intervals.
fn clock_cost_ns() -> f64 {
    let empty = || {
        let start = Instant::now();
        black_box(());
        nanoseconds(start.elapsed())
    };
    let mut samples: Vec<f64> = (0..1_001).map(|_| empty()).collect();
    median(&mut samples)
}
