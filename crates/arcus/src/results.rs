//! The results of a simulation run: of each flow, and of the PCIe link.

use accelflow_kernel::Samples;
use accelflow_units::{Bytes, Time};

use crate::Usage;

/// A message that was completed in the measured time of a run, which follows the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The simulated time at which the message was completed.
    pub at: Time,
    /// The time from the message's arrival to its completion. A message from the network arrives
    /// when it has passed its port; others arrive in their flow's queue. For a message that the
    /// host answers, and for the answer, the time counts from when the client sent the message.
    pub latency: Time,
    /// The message's size on arrival.
    pub size: Bytes,
}

/// The measurements of one flow in a simulation run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowResult {
    /// The number of the flow's messages that arrived in the whole run, including the warm-up.
    pub arrived: u64,
    /// The number of the flow's messages that were dropped in the whole run because a queue or
    /// buffer was full.
    pub dropped: u64,
    /// The number of the flow's messages that had arrived but were not completed when the run
    /// ended.
    pub under_way: u64,
    /// The flow's messages that were completed in the measured time, in order of completion.
    pub completions: Vec<Completion>,
    /// The shortest latency of the flow's messages that were completed in the whole run, including
    /// the warm-up; `None` if no messages were completed. The first messages find an idle platform,
    /// so it is short also for a flow whose queue only grows.
    pub shortest: Option<Time>,
    /// The number of the flow's messages that were completed during the warm-up.
    pub before: u64,
    /// The bytes of the flow's messages that were completed during the warm-up.
    pub bytes_before: Bytes,
    /// The time and size of each message that arrived in the flow's queue, including the warm-up;
    /// empty for a flow with [`Arrivals::Backlogged`](crate::Arrivals::Backlogged).
    pub came: Vec<(Time, Bytes)>,
    /// Whether the flow always had a message to send
    /// ([`Arrivals::Backlogged`](crate::Arrivals::Backlogged)).
    pub backlogged: bool,
    /// The simulated time when the flow was added; 0 if it was present from the start.
    pub since: Time,
    /// The simulated time when the flow was removed; `None` if it was never removed.
    pub until: Option<Time>,
}

impl FlowResult {
    /// The total bytes of the flow's messages that were completed in the measured time, after the
    /// warm-up.
    pub fn bytes(&self) -> u64 {
        self.completions
            .iter()
            .map(|completion| completion.size.get())
            .sum()
    }

    /// Returns a percentile of the latencies of the messages completed in the measured time, after
    /// the warm-up, by the nearest-rank method. `percent` is from 0 to 100. `None` if no messages
    /// were completed.
    pub fn latency(&self, percent: f64) -> Option<Time> {
        self.latencies().percentile(percent)
    }

    /// Returns the latencies of the messages completed in the measured time.
    pub fn latencies(&self) -> Samples {
        self.completions
            .iter()
            .map(|completion| completion.latency)
            .collect()
    }

    /// Divides the completed messages in order into groups of `count`, and returns each group's
    /// rate in messages per second. The rate is `count` divided by the time from the group's first
    /// completion to the first completion of the next group. A last group without a next group is
    /// left out.
    pub fn rates_of(&self, count: usize) -> Vec<f64> {
        let ends = self
            .completions
            .iter()
            .step_by(count.max(1))
            .map(|completion| completion.at);
        let ends: Vec<Time> = ends.collect();
        let rate =
            |ends: &[Time]| count as f64 / ends[1].saturating_sub(ends[0]).as_s_f64().max(1e-12);
        ends.windows(2).map(rate).collect()
    }

    /// Returns the flow's throughput in gigabits per second, and the latencies of its messages, in
    /// each of `count` time slices. The slices have length `width`; the first begins at the
    /// simulated time `from`. A message counts in the slice of its completion. It does not count if
    /// it completes in the warm-up, before the first slice or after the last.
    pub fn slices(&self, from: Time, width: Time, count: usize) -> Vec<(f64, Samples)> {
        let mut slices = vec![(0.0, Samples::new()); count];
        for completion in &self.completions {
            if completion.at < from {
                continue;
            }
            let number = (completion.at - from).as_ps() / width.as_ps().max(1);
            if let Some(slice) = slices.get_mut(number as usize) {
                slice.0 += completion.size.get() as f64 * 8.0 / width.as_ns_f64();
                slice.1.record(completion.latency);
            }
        }
        slices
    }
}

/// The measurements of all flows and of the PCIe link in a simulation run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// The results of each flow, by flow index.
    pub flows: Vec<FlowResult>,
    /// The length of the warm-up, which is not measured.
    pub warmup: Time,
    /// The length of the measured time, which follows the warm-up.
    pub measured: Time,
    /// The bytes that crossed the PCIe link from the device to the host in the whole run, including
    /// framing.
    pub up_bytes: Bytes,
    /// The bytes that crossed the PCIe link from the host to the device in the whole run, including
    /// framing.
    pub down_bytes: Bytes,
    /// The shares of the measured time in which links, accelerators, ports and SSDs were in use.
    pub usage: Usage,
}

impl RunResult {
    /// The throughput of the flow with index `flow` over the measured time, in gigabits per second.
    /// A message counts with its size on arrival.
    pub fn gbit_per_s(&self, flow: usize) -> f64 {
        self.flows[flow].bytes() as f64 * 8.0 / self.measured.as_ns_f64()
    }

    /// The beginning and end of the part of the measured time in which a flow was present.
    pub(crate) fn presence(&self, flow: usize) -> (Time, Time) {
        let result = &self.flows[flow];
        let until = result.until.unwrap_or(Time::MAX);
        let end = self.warmup + self.measured;
        (result.since.max(self.warmup), until.min(end))
    }

    /// The time for which the flow with index `flow` was present within the measured time.
    pub fn present(&self, flow: usize) -> Time {
        let (from, to) = self.presence(flow);
        to.saturating_sub(from)
    }

    /// The throughput of the flow with index `flow` in gigabits per second, over the part of the
    /// measured time in which the flow was present; `None` if the flow was not present in the
    /// measured time.
    pub fn gbit_per_s_present(&self, flow: usize) -> Option<f64> {
        let result = &self.flows[flow];
        let (from, to) = self.presence(flow);
        let there = self.present(flow);
        let done = result.completions.iter();
        let bytes: u64 = done
            .filter(|done| (from..=to).contains(&done.at))
            .map(|done| done.size.get())
            .sum();
        (there > Time::ZERO).then(|| bytes as f64 * 8.0 / there.as_ns_f64())
    }

    /// The throughput of the flow with index `flow` over the measured time, in messages per second.
    pub fn per_s(&self, flow: usize) -> f64 {
        self.flows[flow].completions.len() as f64 / self.measured.as_s_f64()
    }

    /// The throughput of all flows together over the measured time, in gigabits per second.
    pub fn total_gbit_per_s(&self) -> f64 {
        (0..self.flows.len())
            .map(|flow| self.gbit_per_s(flow))
            .sum()
    }
}
