//! Waterfalls: the response time of one request, divided into pieces in the order of time.

use accelflow_sim::stats::Part;
use accelflow_trace::AtmAddress;
use accelflow_units::Time;
use serde_json::{Value, json};

use super::resource::{Resource, ResourceNames};

/// A waterfall: the response time of one request, divided into pieces of work and waits.
#[derive(Clone, Debug, PartialEq)]
pub struct Waterfall {
    /// The index of the request's service, counted from 0 in the order in which results list
    /// services.
    pub service: usize,
    /// The index of the request, counted from 0 among the clients' requests to its service in the
    /// order of arrival.
    pub request: u64,
    /// The index of the server that served the request, counted from 0.
    pub server: usize,
    /// The time of the request's arrival, from the start of the simulation.
    pub arrived: Time,
    /// The time at which the response was sent or, without a response, at which the request ended,
    /// from the start of the simulation.
    pub ended: Time,
    /// Whether the response is an error.
    pub error: bool,
    /// Whether the request ended without a response, because an awaited message did not arrive in
    /// time or was refused for lack of memory.
    pub timed_out: bool,
    /// The pieces of the request's time up to its end, in the order of their starts. Pieces of
    /// parallel traces overlap in time. A wait that would last beyond the end of the request is cut
    /// off there.
    pub segments: Vec<Segment>,
}

/// A piece of a request's time: work or a wait at one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The time at which the piece begins, from the start of the simulation.
    pub from: Time,
    /// The time at which the piece ends, from the start of the simulation.
    pub until: Time,
    /// The category of work or waits to which the piece belongs, such as queueing.
    pub part: Part,
    /// Whether the request waits for the resource `at` during the piece; otherwise the resource
    /// works on the request.
    pub waits: bool,
    /// The resource that works on the request, or for which the request waits.
    pub at: Resource,
    /// An identifier that distinguishes traces of the request that run at the same time; `None` for
    /// a core's task of application logic, for the wait before this task, and for time at the
    /// client.
    pub job: Option<u32>,
    /// The address of the trace that the piece belongs to; `None` where `job` is `None`.
    pub trace: Option<AtmAddress>,
    /// Whether the end of the request, with or without a response, waited for this piece, so that
    /// it is on the critical path. Critical pieces follow each other without gaps from the arrival
    /// to the end.
    pub critical: bool,
}

impl Segment {
    /// Returns the duration of the piece.
    pub fn length(&self) -> Time {
        self.until - self.from
    }
}

impl Waterfall {
    /// Returns the response time: from the arrival of the request to the response. `None` if the
    /// request ended without a response.
    pub fn response_time(&self) -> Option<Time> {
        (!self.timed_out).then(|| self.length())
    }

    /// Returns the time from the arrival of the request to its end, with or without a response.
    pub fn length(&self) -> Time {
        self.ended - self.arrived
    }

    /// Returns the pieces on the critical path, for which the end of the request waited, in order
    /// from the arrival to the end.
    pub fn critical(&self) -> impl Iterator<Item = &Segment> {
        self.segments.iter().filter(|segment| segment.critical)
    }

    /// Brings the pieces into order, with those of `open`, which outlast the request.
    pub(crate) fn finish(&mut self, open: impl Iterator<Item = Segment>) {
        self.segments.extend(open);
        self.segments.retain(|segment| segment.until > segment.from);
        self.segments.sort_by_key(|segment| segment.from);
    }

    /// Returns the waterfall as JSON. Pieces have times in ns from the request's arrival.
    /// `arrived_us` is the arrival, in us from the start of the simulation; `response_us` is the
    /// response time in us, null without a response; `ended_us` is the time from the arrival to
    /// the end, with or without a response.
    pub fn to_json(&self, names: ResourceNames<'_>) -> Value {
        let since = |at: Time| (at - self.arrived).as_ns_f64();
        let segment = |segment: &Segment| {
            json!({
                "from_ns": since(segment.from),
                "until_ns": since(segment.until),
                "part": segment.part.name(),
                "waits": segment.waits,
                "at": segment.at.name(names),
                "job": segment.job,
                "trace": segment.trace.map(|trace| names.image.name(trace)),
                "critical": segment.critical,
            })
        };
        json!({
            "service": names.services.get(self.service),
            "request": self.request,
            "server": self.server,
            "arrived_us": self.arrived.as_us_f64(),
            "response_us": self.response_time().map(Time::as_us_f64),
            "ended_us": self.length().as_us_f64(),
            "error": self.error,
            "timed_out": self.timed_out,
            "segments": self.segments.iter().map(segment).collect::<Vec<_>>(),
        })
    }
}
