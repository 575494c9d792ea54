//! Results of a run.

use accelflow_kernel::Samples;
use accelflow_units::{Bytes, Time};

/// A message whose processing was completed in the measured time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The simulated time at which the message was completed.
    pub at: Time,
    /// The time from the message's arrival: at the port for a message from the network, in the
    /// flow's queue for all others. For an answer, the time since the client sent the message that
    /// it answers.
    pub latency: Time,
    /// The message's size on arrival.
    pub size: Bytes,
}

/// What a simulation measured of one flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowResult {
    /// The number of messages that arrived in the whole run, warm-up included.
    pub arrived: u64,
    /// The number of these messages that were dropped because the flow's queue was full.
    pub dropped: u64,
    /// The number of these messages that were not completed when the run ended.
    pub under_way: u64,
    /// The messages completed in the measured time, in order of completion.
    pub completions: Vec<Completion>,
    /// The number of messages completed during the warm-up.
    pub before: u64,
    /// The bytes of the messages completed during the warm-up.
    pub bytes_before: Bytes,
    /// The time and size of each message that arrived in the flow's queue; empty for a flow with a
    /// backlog.
    pub came: Vec<(Time, Bytes)>,
    /// The simulated time when the flow was added; zero if it was present from the start.
    pub since: Time,
    /// The simulated time when the flow was removed; `None` if it never was.
    pub until: Option<Time>,
}

impl FlowResult {
    /// The total bytes of the messages completed in the measured time.
    pub fn bytes(&self) -> u64 {
        self.completions
            .iter()
            .map(|completion| completion.size.get())
            .sum()
    }

    /// Returns the latency at the nearest-rank percentile `percent`, from 0 to 100, of the messages
    /// completed in the measured time; `None` without messages.
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

    /// Returns the rates, in messages per second, of successive groups of `count` messages
    /// completed one after another.
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

    /// Returns, for each of `count` time slices of length `width` from `from` on, the rate in
    /// gigabits per second and the latencies of the messages completed in it.
    pub fn slices(&self, from: Time, width: Time, count: usize) -> Vec<(f64, Samples)> {
        let mut slices = vec![(0.0, Samples::new()); count];
        for completion in &self.completions {
            let number = completion.at.saturating_sub(from).as_ps() / width.as_ps().max(1);
            if let Some(slice) = slices.get_mut(number as usize) {
                slice.0 += completion.size.get() as f64 * 8.0 / width.as_ns_f64();
                slice.1.record(completion.latency);
            }
        }
        slices
    }
}

/// What a simulation measured of all flows and of the PCIe link.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// The results of each flow, by flow number.
    pub flows: Vec<FlowResult>,
    /// The length of the warm-up, which is not measured.
    pub warmup: Time,
    /// The length of the measured time.
    pub measured: Time,
    /// Bytes that crossed the link from the device to the host in the whole run, including framing.
    pub up_bytes: Bytes,
    /// Bytes that crossed the link from the host to the device in the whole run, including framing.
    pub down_bytes: Bytes,
}

impl RunResult {
    /// The throughput of flow number `flow` over the measured time, in gigabits per second of
    /// message bytes on arrival.
    pub fn gbit_per_s(&self, flow: usize) -> f64 {
        self.flows[flow].bytes() as f64 * 8.0 / self.measured.as_ns_f64()
    }

    /// The part of the measured time in which a flow was there.
    pub(crate) fn presence(&self, flow: usize) -> (Time, Time) {
        let result = &self.flows[flow];
        let until = result.until.unwrap_or(Time::MAX);
        let end = self.warmup + self.measured;
        (result.since.max(self.warmup), until.min(end))
    }

    /// The length of the part of the measured time in which flow number `flow` was present.
    pub fn present(&self, flow: usize) -> Time {
        let (from, to) = self.presence(flow);
        to.saturating_sub(from)
    }

    /// The throughput of flow number `flow` in gigabits per second, over the part of the measured
    /// time in which it was present; `None` if it never was.
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

    /// The throughput of flow number `flow` over the measured time, in messages per second.
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
