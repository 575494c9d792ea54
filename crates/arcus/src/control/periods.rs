//! The bytes that a flow should get in an interval by its promised rate, given the messages that it
//! sent.

use accelflow_units::{Bytes, Time};

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
