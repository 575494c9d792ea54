//! What a promised rate owes a flow in a time, given what the flow sent.

use accelflow_units::{Bytes, Time};

use crate::FlowResult;

/// The messages of a flow, and what a server of a promised rate would have done of them.
pub(super) struct Owed<'a> {
    flow: &'a FlowResult,
    bytes_per_ns: f64,
    /// The way of a message on an idle platform.
    way: Time,
    /// Bytes that had come before each message, and in the end.
    came: Vec<f64>,
    /// The same of those that were done.
    done: Vec<f64>,
}

impl<'a> Owed<'a> {
    pub(super) fn new(flow: &'a FlowResult, gbit_per_s: f64) -> Owed<'a> {
        let way = flow.completions.iter().map(|it| it.latency).min();
        Owed {
            flow,
            bytes_per_ns: gbit_per_s / 8.0,
            way: way.unwrap_or(Time::ZERO),
            came: totals(0.0, flow.came.iter().map(|came| came.1)),
            done: totals(
                flow.bytes_before.get() as f64,
                flow.completions.iter().map(|it| it.size),
            ),
        }
    }

    /// The bytes owed from `from` to `to`: what such a server would do of the messages that wait at
    /// `from` and of those that come, the way of a message taken off. A flow that always has something
    /// to send is owed the rate.
    pub(super) fn bytes(&self, from: Time, to: Time) -> f64 {
        let by = |time: Time| time.as_ns_f64() * self.bytes_per_ns;
        let came = &self.flow.came;
        if came.is_empty() {
            return by(to - from);
        }
        let end = to.saturating_sub(self.way).max(from);
        let done = self.flow.completions.partition_point(|it| it.at < from);
        let done = self.done[done];
        let [first, last] = [from, end].map(|time| came.partition_point(|came| came.0 <= time));
        // Either it is never idle, or it is last idle when a message comes or at the end.
        let idle = (first..last).map(|number| self.came[number] - done + by(end - came[number].0));
        let idle = idle.fold(self.came[last] - done, f64::min);
        idle.min(by(end - from))
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
