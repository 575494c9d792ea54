//! Results of a run.

use accelflow_kernel::Samples;
use accelflow_units::{Bytes, Time};

/// A completed message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The time of its completion.
    pub at: Time,
    /// The time from its arrival: at the port for a message from the network, in the flow's queue
    /// for all others. For an answer, the time since the client sent the message that it answers.
    pub latency: Time,
    /// Its size on arrival.
    pub size: Bytes,
}

/// The results of a flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowResult {
    /// Messages that arrived in the whole run.
    pub arrived: u64,
    /// The number of these messages that were dropped because the queue was full.
    pub dropped: u64,
    /// The number of these messages that were in flight at the end.
    pub under_way: u64,
    /// Messages that were completed in the measured time, in order.
    pub completions: Vec<Completion>,
    /// Messages that were completed before the measured time.
    pub before: u64,
    /// Their bytes.
    pub bytes_before: Bytes,
    /// The arrival times and sizes of messages in the queue; empty for a flow with a backlog.
    pub came: Vec<(Time, Bytes)>,
    /// The time when the flow was added; zero if it was there from the start.
    pub since: Time,
    /// The time when it was removed; `None` if it never was.
    pub until: Option<Time>,
}

impl FlowResult {
    /// Bytes of the measured messages.
    pub fn bytes(&self) -> u64 {
        self.completions
            .iter()
            .map(|completion| completion.size.get())
            .sum()
    }

    /// The nearest-rank percentile of the measured latencies, from 0 to 100; `None` without messages.
    pub fn latency(&self, percent: f64) -> Option<Time> {
        self.latencies().percentile(percent)
    }

    /// The measured latencies.
    pub fn latencies(&self) -> Samples {
        self.completions
            .iter()
            .map(|completion| completion.latency)
            .collect()
    }

    /// Messages per second over each `count` successive messages.
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

    /// The rate in gigabits per second and the latencies in each slice of `width`, from `from` on.
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

/// The results of all flows.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// By flow.
    pub flows: Vec<FlowResult>,
    /// The time before the measured time.
    pub warmup: Time,
    /// The measured time.
    pub measured: Time,
    /// Bytes that crossed the link from the device to the host in the whole run, including framing.
    pub up_bytes: Bytes,
    /// Bytes that crossed the link from the host to the device in the whole run, including framing.
    pub down_bytes: Bytes,
}

impl RunResult {
    /// A flow's throughput in gigabits per second, measured at its input.
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

    /// The length of that part.
    pub fn present(&self, flow: usize) -> Time {
        let (from, to) = self.presence(flow);
        to.saturating_sub(from)
    }

    /// A flow's throughput in gigabits per second during the part of the measured time in which it
    /// was present; `None` if it never was.
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

    /// A flow's messages a second.
    pub fn per_s(&self, flow: usize) -> f64 {
        self.flows[flow].completions.len() as f64 / self.measured.as_s_f64()
    }

    /// The throughput of all flows in gigabits per second.
    pub fn total_gbit_per_s(&self) -> f64 {
        (0..self.flows.len())
            .map(|flow| self.gbit_per_s(flow))
            .sum()
    }
}
