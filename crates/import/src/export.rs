//! Export of simulated requests as spans: OTLP in lines of JSON, one for each request.
//!
//! A request is a server span of its service. Each wait for an answer is a client span from the
//! sending of the message to the answer, or to the time-out, which is an error. The refill of a
//! cache after a miss, for which no request waits, is a producer span. If a simulated service
//! answers, the client span is the parent of that service's server span, and its attribute
//! `peer.service` is the service's name. From the attributes of the client span, an import can tell
//! which accelerator trace receives the answer.
//! The attribute `accelflow.detached = true` means that the request does not wait for the answer.
//! Each phase of application logic is an internal span with `accelflow.application = true`, by
//! which an import distinguishes it from the datacenter tax around it.

use std::collections::HashMap;
use std::io::{self, Write};

use accelflow_workload::services::Service;
use serde_json::{Value, json};

/// A writer of simulated requests as OpenTelemetry spans: one line of OTLP JSON per request. The
/// methods record what happens to requests; a request is written once it is complete.
#[derive(Debug)]
pub struct SpanWriter<W> {
    out: W,
    services: Vec<Shown>,
    open: HashMap<(usize, u64), Request>,
    /// The places of requests that services have sent to each other and that have not arrived.
    called: HashMap<(usize, u64), Place>,
    written: u64,
}

/// The place of a request in a trace of spans.
#[derive(Clone, Copy, Debug)]
struct Place {
    trace: u128,
    /// The ID of the request's server span.
    id: u64,
    /// The ID of the client span that has sent the request; 0 for a request of a client.
    parent: u64,
}

impl Place {
    /// The ID of the span of the part of the request with this index.
    fn part(&self, index: usize) -> u64 {
        self.id.wrapping_add(index as u64 + 1)
    }
}

/// A request's wait for the answer to a message that it has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait<'t> {
    /// The index, counted from 0, of the phase of the service's path in which the request waits.
    pub phase: usize,
    /// The index, counted from 0, of the waiting chain within the phase `phase`.
    pub chain: usize,
    /// The name of the accelerator trace that receives the answer.
    pub trace: &'t str,
    /// Whether the answer is compressed.
    pub compressed: bool,
    /// Whether the chain is detached: the request's response does not wait for the answer.
    pub detached: bool,
}

/// What spans show of a service.
#[derive(Debug)]
struct Shown {
    name: String,
    request_compressed: bool,
    response_compressed: bool,
    /// The traces that begin the chains of each phase.
    entries: Vec<Vec<String>>,
    /// The number of a request's detached chains.
    detached: usize,
}

/// A request without a response yet, or with missing answers of detached chains.
#[derive(Debug)]
struct Request {
    place: Place,
    arrived_ns: u64,
    /// The time of the response, in ns, and whether the response is an error; `None` before the
    /// response.
    ended: Option<(u64, bool)>,
    spans: Vec<Part>,
}

/// A part of a request.
#[derive(Debug)]
struct Part {
    /// The phase, the chain and the trace of a wait; none for application logic.
    wait: Option<(usize, usize, String)>,
    /// The index of the simulated service that answers.
    callee: Option<usize>,
    from_ns: u64,
    /// The end of the part; `None` while the answer is awaited.
    to_ns: Option<u64>,
    compressed: bool,
    error: bool,
    detached: bool,
}

/// The start of the simulation in the times of spans: 2023-11-14 22:13:20 UTC, an arbitrary date.
const EPOCH_NS: u64 = 1_700_000_000_000_000_000;

impl<W: Write> SpanWriter<W> {
    /// Creates a writer that writes to `out` the requests that `services` receive. Other methods
    /// refer to a service by its index in `services`.
    pub fn new(services: &[Service], out: W) -> SpanWriter<W> {
        SpanWriter {
            out,
            services: services.iter().map(Shown::of).collect(),
            open: HashMap::new(),
            called: HashMap::new(),
            written: 0,
        }
    }

    /// States that each request that the service with index `service` receives has `chains`
    /// detached chains. The response does not wait for detached chains. But a request is written
    /// only after the answers that its detached chains await, or their time-outs; a failed request
    /// is written at once.
    #[must_use]
    pub fn with_detached(mut self, service: usize, chains: usize) -> SpanWriter<W> {
        if let Some(shown) = self.services.get_mut(service) {
            shown.detached = chains;
        }
        self
    }

    /// Records that request `request` of a client to the service with index `service` arrives
    /// `at_ns` ns after the start of the simulation.
    pub fn arrived(&mut self, service: usize, request: u64, at_ns: u64) {
        let place = Place {
            trace: (service as u128 + 1) << 64 | (u128::from(request) + 1),
            id: 1,
            parent: 0,
        };
        self.begins(service, request, at_ns, place);
    }

    /// Records that the last message of a request calls a simulated service: the message is request
    /// `callee.1` to the service with index `callee.0`. Must follow directly after
    /// [`SpanWriter::sent`] for this message.
    pub fn called(&mut self, service: usize, request: u64, callee: (usize, u64)) {
        let Some(open) = self.open.get_mut(&(service, request)) else {
            return;
        };
        let Some(last) = open.spans.len().checked_sub(1) else {
            return;
        };
        open.spans[last].callee = Some(callee.0);
        let place = Place {
            trace: open.place.trace,
            id: callee.1,
            parent: open.place.part(last),
        };
        self.called.insert(callee, place);
    }

    /// Records that request `request`, which another service has sent ([`SpanWriter::called`]),
    /// arrives at the service with index `service`, `at_ns` ns after the start of the simulation.
    pub fn invoked(&mut self, service: usize, request: u64, at_ns: u64) {
        if let Some(place) = self.called.remove(&(service, request)) {
            self.begins(service, request, at_ns, place);
        }
    }

    fn begins(&mut self, service: usize, request: u64, at_ns: u64, place: Place) {
        let new = Request {
            place,
            arrived_ns: at_ns,
            ended: None,
            spans: Vec::new(),
        };
        self.open.insert((service, request), new);
    }

    /// Records that a phase of application logic of a request ends `at_ns` ns after the start of
    /// the simulation. The phase took `time_ns` ns.
    pub fn application(&mut self, service: usize, request: u64, at_ns: u64, time_ns: u64) {
        if let Some(open) = self.open.get_mut(&(service, request)) {
            open.spans.push(Part {
                wait: None,
                callee: None,
                from_ns: at_ns.saturating_sub(time_ns),
                to_ns: Some(at_ns),
                compressed: false,
                error: false,
                detached: false,
            });
        }
    }

    /// Records that a request sends a message `at_ns` ns after the start of the simulation, and
    /// begins the wait `wait` for the answer.
    pub fn sent(&mut self, service: usize, request: u64, at_ns: u64, wait: Wait<'_>) {
        if let Some(open) = self.open.get_mut(&(service, request)) {
            open.spans.push(Part {
                wait: Some((wait.phase, wait.chain, wait.trace.to_owned())),
                callee: None,
                from_ns: at_ns,
                to_ns: None,
                compressed: wait.compressed,
                error: false,
                detached: wait.detached,
            });
        }
    }

    /// Records that a request receives the answer to a message `at_ns` ns after the start of the
    /// simulation. This ends the wait `wait`.
    ///
    /// # Errors
    /// The error of writing to the output.
    pub fn answered(
        &mut self,
        service: usize,
        request: u64,
        at_ns: u64,
        wait: Wait<'_>,
    ) -> io::Result<()> {
        self.ends(service, request, at_ns, (wait, false))
    }

    /// Records that a request's wait for an answer times out `at_ns` ns after the start of the
    /// simulation. This ends the wait `wait`, whose span is marked as an error.
    ///
    /// # Errors
    /// The error of writing to the output.
    pub fn timed_out(
        &mut self,
        service: usize,
        request: u64,
        at_ns: u64,
        wait: Wait<'_>,
    ) -> io::Result<()> {
        self.ends(service, request, at_ns, (wait, true))
    }

    /// Ends a wait, by the answer or with an error.
    fn ends(
        &mut self,
        service: usize,
        request: u64,
        at_ns: u64,
        (wait, error): (Wait<'_>, bool),
    ) -> io::Result<()> {
        let Some(open) = self.open.get_mut(&(service, request)) else {
            return Ok(());
        };
        let same = |part: &&mut Part| {
            let of = part.wait.as_ref();
            part.to_ns.is_none()
                && of.is_some_and(|(phase, chain, trace)| {
                    (*phase, *chain, trace.as_str()) == (wait.phase, wait.chain, wait.trace)
                })
        };
        if let Some(part) = open.spans.iter_mut().find(same) {
            (part.to_ns, part.error) = (Some(at_ns), error);
        }
        self.write_if_over(service, request)
    }

    /// Records the response to a request, or its end without one, `at_ns` ns after the start of the
    /// simulation. `error` is `None` for an ordinary response. It is `Some(Some(index))` if the
    /// chain with this index in its phase failed, and `Some(None)` if it is unknown which chain
    /// failed. In case of an error, the span of the failed chain's latest wait is marked as an
    /// error, unless one of this chain's waits has timed out. If the chain is unknown, the waits of
    /// all chains count.
    ///
    /// # Errors
    /// The error of writing to the output.
    pub fn responded(
        &mut self,
        service: usize,
        request: u64,
        at_ns: u64,
        error: Option<Option<usize>>,
    ) -> io::Result<()> {
        let Some(open) = self.open.get_mut(&(service, request)) else {
            return Ok(());
        };
        open.ended = Some((at_ns, error.is_some()));
        if let Some(chain) = error {
            let of = |part: &Part| {
                let own = part.wait.as_ref().map(|(_, own, _)| *own);
                own.is_some() && (chain.is_none() || own == chain)
            };
            let timed_out = open.spans.iter().any(|part| part.error && of(part));
            let waited = |part: &&mut Part| part.to_ns.is_some() && !part.detached && of(part);
            if let Some(part) = open
                .spans
                .iter_mut()
                .rev()
                .find(waited)
                .filter(|_| !timed_out)
            {
                part.error = true;
            }
        }
        self.write_if_over(service, request)
    }

    /// Writes a request once it has its response and the answers of its detached chains.
    fn write_if_over(&mut self, service: usize, request: u64) -> io::Result<()> {
        let key = (service, request);
        let (Some(open), Some(shown)) = (self.open.get(&key), self.services.get(service)) else {
            return Ok(());
        };
        let free = open.spans.iter().filter(|part| part.detached);
        let answered = free.filter(|part| part.to_ns.is_some()).count();
        let Some((_, error)) = open.ended else {
            return Ok(());
        };
        // An error may end a request before it sends the messages of detached chains.
        match error || answered >= shown.detached {
            true => self.write(key),
            false => Ok(()),
        }
    }

    fn write(&mut self, (service, request): (usize, u64)) -> io::Result<()> {
        let Some(open) = self.open.remove(&(service, request)) else {
            return Ok(());
        };
        let Some((ended_ns, error)) = open.ended else {
            return Ok(());
        };
        let names = |index: usize| self.services.get(index).map(|shown| shown.name.as_str());
        let line = self.services[service].line(&open, ended_ns, error, &names);
        serde_json::to_writer(&mut self.out, &line)?;
        self.written += 1;
        self.out.write_all(b"\n")
    }

    /// Writes the remaining requests that have ended. Returns the output and the total number
    /// of requests written to it.
    ///
    /// # Errors
    /// The error of writing to the output.
    pub fn finish(mut self) -> io::Result<(W, u64)> {
        // Requests whose detached answers have not arrived.
        let mut left: Vec<(usize, u64)> = self.open.keys().copied().collect();
        left.sort_unstable();
        left.into_iter().try_for_each(|key| self.write(key))?;
        self.out.flush()?;
        Ok((self.out, self.written))
    }
}

impl Shown {
    fn of(service: &Service) -> Shown {
        let phases = service.path().iter();
        let entries = phases.map(|phase| {
            let chains = phase.chains().iter();
            chains.map(|chain| chain.entry().to_owned()).collect()
        });
        let entries: Vec<Vec<String>> = entries.collect();
        let first = service.path().first().map(|phase| phase.chains());
        let first = first.and_then(|chains| chains.first());
        let last = entries.last().and_then(|chains| chains.first());
        let is_compressed = |entry: &String| entry == "T3" || entry.ends_with("+Cmp");
        Shown {
            name: service.name().to_owned(),
            request_compressed: first.and_then(|chain| chain.fact(chain.entry(), "compressed"))
                == Some(1),
            response_compressed: last.is_some_and(is_compressed),
            entries,
            detached: 0,
        }
    }

    /// A line of a request: an `ExportTraceServiceRequest`. `names` has the names of services.
    fn line<'n>(
        &self,
        request: &Request,
        ended_ns: u64,
        error: bool,
        names: &dyn Fn(usize) -> Option<&'n str>,
    ) -> Value {
        let place = request.place;
        let attributes = vec![
            ("rpc.system", json!("accelflow")),
            (
                "accelflow.request.compressed",
                json!(self.request_compressed),
            ),
            (
                "accelflow.response.compressed",
                json!(self.response_compressed),
            ),
        ];
        let kind = 2;
        let times = (request.arrived_ns, ended_ns);
        let mut spans = vec![span(
            (place.trace, place.id, place.parent),
            &self.name,
            kind,
            times,
            attributes,
            error,
        )];
        for (index, part) in request.spans.iter().enumerate() {
            let ids = (place.trace, place.part(index), place.id);
            let peer = part.callee.and_then(names);
            spans.push(self.part(ids, part, ended_ns, peer));
        }
        let resource = attributes_of(vec![("service.name", json!(self.name))]);
        let spans = json!({"resource": {"attributes": resource}, "scopeSpans": [{"spans": spans}]});
        json!({"resourceSpans": [spans]})
    }

    /// The span of `part`, which the service called `peer` answers, if given.
    fn part(&self, ids: (u128, u64, u64), part: &Part, ended_ns: u64, peer: Option<&str>) -> Value {
        let Some((phase, chain, trace)) = &part.wait else {
            let attributes = vec![("accelflow.application", json!(true))];
            let times = (part.from_ns, part.to_ns.unwrap_or(ended_ns));
            return span(ids, "application", 1, times, attributes, false);
        };
        let entry = self
            .entries
            .get(*phase)
            .and_then(|chains| chains.get(*chain));
        let entry = entry.map_or("", String::as_str);
        // Nobody waits for the refill of a cache after a miss: it is a message, and not a call.
        let refill = trace == "T7" && entry.starts_with("T4");
        let (kind, to_ns) = match refill {
            true => (4, part.from_ns),
            // The answer to a message that is sent after the response may never come.
            false => (3, part.to_ns.unwrap_or(ended_ns.max(part.from_ns))),
        };
        let mut attributes = protocol(trace, refill);
        // An import must not take other calls by the same trace for calls of this service.
        attributes.extend(peer.map(|peer| ("peer.service", json!(peer))));
        let first = !matches!(trace.as_str(), "T6") && !refill;
        if first && entry.ends_with("+Cmp") {
            attributes.push(("accelflow.request.compressed", json!(true)));
        }
        attributes.push(("accelflow.response.compressed", json!(part.compressed)));
        if part.detached {
            attributes.push(("accelflow.detached", json!(true)));
        }
        span(
            ids,
            entry,
            kind,
            (part.from_ns, to_ns),
            attributes,
            part.error,
        )
    }
}

/// The attributes by which an import knows which trace receives the answer.
fn protocol(trace: &str, refill: bool) -> Vec<(&'static str, Value)> {
    let store = |system: &str, operation: &str| {
        vec![
            ("db.system", json!(system)),
            ("db.operation", json!(operation)),
        ]
    };
    match trace {
        "T5" => store("redis", "GET"),
        "T6" => store("mongodb", "find"),
        "T7" if refill => store("redis", "SET"),
        "T7" => store("mongodb", "insert"),
        "T12" => vec![("http.request.method", json!("GET"))],
        _ => vec![("rpc.system", json!("accelflow"))],
    }
}

fn attributes_of(attributes: Vec<(&str, Value)>) -> Value {
    let one = |(key, value): (&str, Value)| {
        let value = match value {
            Value::Bool(_) => json!({"boolValue": value}),
            _ => json!({"stringValue": value}),
        };
        json!({"key": key, "value": value})
    };
    attributes.into_iter().map(one).collect()
}

/// A span: the IDs of its trace, of the span and of its parent (0 for none); its name, kind and
/// times; its attributes; and whether it is an error.
fn span(
    (trace, id, parent): (u128, u64, u64),
    name: &str,
    kind: u8,
    (from_ns, to_ns): (u64, u64),
    attributes: Vec<(&str, Value)>,
    error: bool,
) -> Value {
    let parent = match parent {
        0 => String::new(),
        parent => format!("{parent:016x}"),
    };
    json!({
        "traceId": format!("{trace:032x}"),
        "spanId": format!("{id:016x}"),
        "parentSpanId": parent,
        "name": name,
        "kind": kind,
        "startTimeUnixNano": (EPOCH_NS + from_ns).to_string(),
        "endTimeUnixNano": (EPOCH_NS + to_ns).to_string(),
        "attributes": attributes_of(attributes),
        "status": {"code": if error { 2 } else { 0 }},
    })
}
