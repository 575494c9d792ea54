//! The parts of a request's time, in order.

use accelflow_sim::stats::Part;
use accelflow_trace::{AtmAddress, Image};
use accelflow_units::Time;
use serde_json::{Value, json};

use super::resource::Resource;

/// Where the time of one request went, as pieces of work and waits.
#[derive(Clone, Debug, PartialEq)]
pub struct Waterfall {
    /// The index of the request's service.
    pub service: usize,
    /// The request's number, counted from 0 within its service.
    pub request: u64,
    /// The index of the server that served the request.
    pub server: usize,
    /// The time of the request's arrival, from the start of the simulation.
    pub arrived: Time,
    /// The time of the response, from the start of the simulation.
    pub responded: Time,
    /// Whether the request failed: its response is an error, or it ended without a response.
    pub error: bool,
    /// The pieces of the request's time until the response, in the order of their starts. Pieces of
    /// parallel traces overlap.
    pub segments: Vec<Segment>,
}

/// A piece of a request's time: work or a wait at one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The time at which the piece begins, from the start of the simulation.
    pub from: Time,
    /// The time at which the piece ends, from the start of the simulation.
    pub until: Time,
    /// The part of the response time that the piece counts as.
    pub part: Part,
    /// Whether the request waits for the resource `at` in this time; otherwise the resource works
    /// on it.
    pub waits: bool,
    /// The resource that works on the request, or that it waits for.
    pub at: Resource,
    /// A number that distinguishes traces of the request that run at the same time; `None` for
    /// application logic.
    pub job: Option<u32>,
    /// The address of the trace that the piece belongs to; `None` for application logic.
    pub trace: Option<AtmAddress>,
    /// Whether the response waited for this piece (the critical path). Critical pieces follow each
    /// other without gaps from the arrival to the response.
    pub critical: bool,
}

impl Segment {
    /// Returns the duration of the piece.
    pub fn length(&self) -> Time {
        self.until - self.from
    }
}

impl Waterfall {
    /// Returns the time from the arrival to the response.
    pub fn response_time(&self) -> Time {
        self.responded - self.arrived
    }

    /// Returns the pieces of the critical path, from the arrival to the response.
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

    /// Returns the waterfall as JSON. Times are in ns from the request's arrival, except
    /// `arrived_us`, which is in us from the start of the simulation.
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
