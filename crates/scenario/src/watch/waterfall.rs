//! The parts of a request's time, in order.

use accelflow_sim::stats::Part;
use accelflow_trace::{AtmAddress, Image};
use accelflow_units::Time;
use serde_json::{Value, json};

use super::resource::Resource;

/// The parts of a request's time, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Waterfall {
    /// Index of the service.
    pub service: usize,
    /// Number of the request within its service.
    pub request: u64,
    /// The number of its server.
    pub server: usize,
    /// The time of its arrival.
    pub arrived: Time,
    /// The time of its response.
    pub responded: Time,
    /// Whether the request failed: its response is an error, or it ended without a response.
    pub error: bool,
    /// The pieces until the response, in the order of their beginnings.
    pub segments: Vec<Segment>,
}

/// A piece of a request's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The time at which the piece begins.
    pub from: Time,
    /// The time at which the piece ends.
    pub until: Time,
    /// Its category in results.
    pub part: Part,
    /// Whether the request only waits for `at` in this time.
    pub waits: bool,
    /// The resource that works on the request, or that it waits for.
    pub at: Resource,
    /// Distinguishes traces that run at the same time; `None` for application logic.
    pub job: Option<u32>,
    /// The trace; `None` for application logic.
    pub trace: Option<AtmAddress>,
    /// Whether the response waited for this piece. Critical pieces follow each other without gaps
    /// from the arrival to the response.
    pub critical: bool,
}

impl Segment {
    /// The duration of the piece.
    pub fn length(&self) -> Time {
        self.until - self.from
    }
}

impl Waterfall {
    /// The time from the arrival to the response.
    pub fn response_time(&self) -> Time {
        self.responded - self.arrived
    }

    /// The critical pieces, from the arrival to the response.
    pub fn critical(&self) -> impl Iterator<Item = &Segment> {
        self.segments.iter().filter(|segment| segment.critical)
    }

    /// The pieces in order, and which of them the response waited for.
    pub(crate) fn finish(&mut self) {
        self.segments.retain(|segment| segment.until > segment.from);
        self.segments.sort_by_key(|segment| segment.from);
        let (mut at, mut job) = (self.responded, None);
        while at > self.arrived {
            // Another trace may have ended at the same time: the response came of the same one.
            let ends = |index: &usize| self.segments[*index].until == at;
            let same = |index: &usize| Some(self.segments[*index].job) == job;
            let all = || (0..self.segments.len()).rev().filter(ends);
            let Some(index) = all().find(same).or_else(|| all().next()) else {
                return;
            };
            let segment = &mut self.segments[index];
            segment.critical = true;
            (at, job) = (segment.from, Some(segment.job));
        }
    }

    /// Returns the waterfall as JSON. Times are in ns from the arrival; `arrived_us` is from the
    /// start of the simulation.
    pub fn to_json(&self, service: &str, image: &Image) -> Value {
        let since = |at: Time| (at - self.arrived).as_ns_f64();
        let segment = |segment: &Segment| {
            json!({
                "from_ns": since(segment.from),
                "until_ns": since(segment.until),
                "part": segment.part.name(),
                "waits": segment.waits,
                "at": segment.at.name(),
                "job": segment.job,
                "trace": segment.trace.map(|trace| image.name(trace)),
                "critical": segment.critical,
            })
        };
        json!({
            "service": service,
            "request": self.request,
            "server": self.server,
            "arrived_us": self.arrived.as_us_f64(),
            "response_us": self.response_time().as_us_f64(),
            "error": self.error,
            "segments": self.segments.iter().map(segment).collect::<Vec<_>>(),
        })
    }
}
