//! The bytes that a flow should get in an interval by its promised rate, given the messages that it
//! sent.

use accelflow_units::{Bytes, Time};

use super::thresholds::TOLERANCE;
use crate::FlowResult;

/// The messages of a flow, and the progress that a server of the promised rate would have made on
/// them.
pub(super) struct Owed<'a> {
    flow: &'a FlowResult,
    bytes_per_ns: f64,
    /// The latency of a message on an idle platform.
    way: Time,
    /// Bytes that had arrived before each message, and in the end.
    came: Vec<f64>,
    /// Bytes that were done before each completion, and in the end.
    done: Vec<f64>,
}

impl<'a> Owed<'a> {
    pub(super) fn new(flow: &'a FlowResult, gbit_per_s: f64) -> Owed<'a> {
        Owed {
            flow,
            bytes_per_ns: gbit_per_s / 8.0,
            way: flow.shortest.unwrap_or(Time::ZERO),
            came: totals(0.0, flow.came.iter().map(|came| came.1)),
            done: totals(
                flow.bytes_before.get() as f64,
                flow.completions.iter().map(|completion| completion.size),
            ),
        }
    }

    /// The bytes due from `from` to `to`. A server of the promised rate would complete so many
    /// bytes of the messages that wait at `from` or arrive later, less the latency of a message. A
    /// flow that always has something to send is due the full rate.
    pub(super) fn bytes(&self, from: Time, to: Time) -> f64 {
        let by = |time: Time| time.as_ns_f64() * self.bytes_per_ns;
        let came = &self.flow.came;
        if self.flow.backlogged {
            return by(to - from);
        }
        let end = to.saturating_sub(self.way).max(from);
        let done = self
            .flow
            .completions
            .partition_point(|completion| completion.at < from);
        let done = self.done[done];
        let [first, last] = [from, end].map(|time| came.partition_point(|came| came.0 <= time));
        // Either the server is never idle, or it is last idle when a message arrives or at the end.
        let idle = (first..last).map(|number| self.came[number] - done + by(end - came[number].0));
        let idle = idle.fold(self.came[last] - done, f64::min);
        idle.min(by(end - from))
    }

    /// The number of whole periods of length `period`, from `from` to `end`, in which the flow got
    /// less than was due although it had more to send. A server of the promised rate, whose
    /// messages take as long as on an idle platform, says what is due, less 1 %. Shortfalls add up
    /// until the flow makes up for them, and `message` bytes of them are allowed, since so much may
    /// be under way. A flow that was ahead of the server does not fall short before it is behind.
    pub(super) fn missed(&self, from: Time, end: Time, period: Time, message: f64) -> u64 {
        let completions = &self.flow.completions;
        let mut done = completions.partition_point(|done| done.at < from);
        let mut server = Server::new(self, from, self.done[done]);
        let (mut missed, mut short, mut behind) = (0, 0.0_f64, 0.0_f64);
        let mut to = from + period;
        while to <= end {
            let served = server.serve(to.saturating_sub(self.way));
            let due = (1.0 - TOLERANCE) * served;
            let before = self.done[done];
            done += completions[done..].partition_point(|done| done.at < to);
            let got = self.done[done] - before;
            short = (short + due - got).max(0.0);
            behind += served - got;
            if self.flow.backlogged {
                // A surplus over the SLO does not excuse a later shortfall.
                behind = behind.max(0.0);
            }
            if got < due && short.min(behind) > message {
                missed += 1;
                short = message;
            }
            to += period;
        }
        missed
    }
}

/// A server of the promised rate that serves a flow's messages.
struct Server<'a> {
    owed: &'a Owed<'a>,
    now: Time,
    /// The bytes that wait at `now`, and the index of the message that arrives next.
    waiting: f64,
    next: usize,
}

impl<'a> Server<'a> {
    /// The server at a time at which `done` bytes of the flow were done.
    fn new(owed: &'a Owed<'a>, now: Time, done: f64) -> Server<'a> {
        let next = owed.flow.came.partition_point(|came| came.0 <= now);
        let waiting = owed.came[next] - done;
        Server {
            owed,
            now,
            waiting,
            next,
        }
    }

    /// The bytes that are served until `to`.
    fn serve(&mut self, to: Time) -> f64 {
        let mut served = 0.0;
        while self.now < to {
            let came = self.owed.flow.came.get(self.next).copied();
            let until = came.map_or(to, |came| came.0.min(to));
            let most = (until - self.now).as_ns_f64() * self.owed.bytes_per_ns;
            served += match self.owed.flow.backlogged {
                true => most,
                false => most.min(self.waiting),
            };
            self.waiting = (self.waiting - most).max(0.0);
            self.now = until;
            if let Some(came) = came.filter(|came| came.0 <= until) {
                self.waiting += came.1.get() as f64;
                self.next += 1;
            }
        }
        served
    }
}

fn totals(first: f64, sizes: impl Iterator<Item = Bytes>) -> Vec<f64> {
    let mut total = first;
    let mut all = vec![total];
    for size in sizes {
        total += size.get() as f64;
        all.push(total);
    }
    all
}
