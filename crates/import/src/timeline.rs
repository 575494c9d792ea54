//! Timelines of spans: a group of rows for each service, and arrows from calling spans to called
//! spans.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Write;

use accelflow_parameters::Refusal;
use accelflow_timeline::{Argument, Lanes, Slice, Timeline, Track};

use crate::collect::{Collector, Finished};
use crate::error::ImportError;
use crate::import::{Kind, read};
use crate::names::Names;
use crate::options::Options;
use crate::report::Findings;
use crate::span::{Kind as SpanKind, Span, SpanId};

/// The largest total number of spans in the files that are read for one timeline.
pub const MAX_SPANS: usize = 1_000_000;

/// The choice of requests that a timeline of spans shows. Times count from the start of the
/// earliest request in the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpansOptions {
    /// The start of the time window, in ns. Only requests that begin in this window are shown.
    pub from_ns: u64,
    /// The length of the time window, in ns; `None` means up to the last request.
    pub for_ns: Option<u64>,
    /// The names of the services whose requests are shown; all services if empty. A request belongs
    /// to the service of its first span.
    pub services: Vec<String>,
    /// The largest number of requests to show for each service: those whose first span lasts
    /// longest. `None` means all requests.
    pub slowest: Option<usize>,
}

/// The number of requests and spans in a written timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineCounts {
    /// The number of requests in the timeline. A request is one trace ID in the spans.
    pub requests: u64,
    /// The number of spans of these requests.
    pub spans: u64,
}

/// Writes a timeline of the spans in the files at `paths` to `out`, in Perfetto's format. The first
/// shown request begins at time 0.
///
/// # Errors
/// [`ImportError`] if `paths` is empty, for files that cannot be read, are not of `kind`, are
/// malformed, end too early, have more than [`MAX_SPANS`] spans or no request to show, for an
/// unknown service, and for a failed write.
pub fn write_timeline(
    kind: Kind,
    paths: &[String],
    options: &SpansOptions,
    out: impl Write,
) -> Result<TimelineCounts, ImportError> {
    let (mut requests, names) = collected(kind, paths)?;
    let first_ns = requests.iter().map(Request::start_ns).min().unwrap_or(0);
    requests.retain(|request| options.has(request.start_ns() - first_ns));
    check_services(&requests, &names, options)?;
    requests.retain(|request| {
        let service = names.text(request.root().service);
        options.services.is_empty() || options.services.iter().any(|name| name == service)
    });
    if let Some(slowest) = options.slowest {
        keep_slowest(&mut requests, slowest);
    }
    requests.sort_by_key(Request::start_ns);
    let Some(first) = requests.first() else {
        let allowed = "must have at least one request to the chosen services in the time window";
        return Err(Refusal::new("timeline", "0 requests", allowed).into());
    };
    let name = format!("measured {}", paths.join(" "));
    let mut drawing = Drawing {
        names: &names,
        zero_ns: first.start_ns(),
        timeline: Timeline::new(&name, out),
        services: HashMap::new(),
    };
    let drawn = TimelineCounts {
        requests: requests.len() as u64,
        spans: requests.iter().map(|request| request.0.len() as u64).sum(),
    };
    drawing.draw(&requests).map_err(not_written)?;
    drawing.timeline.finish().map_err(not_written)?;
    Ok(drawn)
}

/// The spans of a distributed trace, the earliest first; there is one at least.
struct Request(Vec<Span>);

#[derive(Default)]
struct Requests {
    found: Vec<Request>,
    spans: usize,
}

impl SpansOptions {
    fn has(&self, at_ns: u64) -> bool {
        let until = self
            .for_ns
            .map(|length| self.from_ns.saturating_add(length));
        at_ns >= self.from_ns && until.is_none_or(|until| at_ns < until)
    }
}

impl Request {
    /// The span that begins first, and of these the one that ends last.
    fn root(&self) -> &Span {
        &self.0[0]
    }

    fn start_ns(&self) -> u64 {
        self.root().start_ns
    }
}

impl Finished for Requests {
    fn trace(
        &mut self,
        mut spans: Vec<Span>,
        _: &str,
        _: &Names,
        _: &mut Findings,
    ) -> Result<(), ImportError> {
        self.spans += spans.len();
        if self.spans > MAX_SPANS {
            let allowed = format!(
                "must be at most {MAX_SPANS}: give fewer files, or files with fewer sampled \
                 requests"
            );
            return Err(Refusal::new("spans", format!("more than {MAX_SPANS}"), allowed).into());
        }
        spans.sort_by_key(|span| (span.start_ns, std::cmp::Reverse(span.end_ns)));
        if !spans.is_empty() {
            self.found.push(Request(spans));
        }
        Ok(())
    }
}

fn collected(kind: Kind, paths: &[String]) -> Result<(Vec<Request>, Names), ImportError> {
    if paths.is_empty() {
        return Err(Refusal::new("files", "none", "must name at least one file").into());
    }
    let mut requests = Requests::default();
    // All spans of a timeline are in memory, so that none has to be left out for want of a window.
    let options = Options {
        window_spans: MAX_SPANS,
        ..Options::default()
    };
    let mut collector = Collector::new(&options, &mut requests);
    for path in paths {
        let file = File::open(path).map_err(|error| ImportError::Read {
            file: path.clone(),
            error,
        })?;
        read(kind, path, file, &mut collector)?;
    }
    let (names, ..) = collector.finish()?;
    Ok((requests.found, names))
}

fn check_services(
    requests: &[Request],
    names: &Names,
    options: &SpansOptions,
) -> Result<(), ImportError> {
    let mut known: Vec<&str> = requests
        .iter()
        .map(|request| names.text(request.root().service))
        .collect();
    known.sort_unstable();
    known.dedup();
    match options
        .services
        .iter()
        .find(|name| !known.contains(&name.as_str()))
    {
        Some(unknown) => Err(Refusal::unknown("service", unknown, known).into()),
        None => Ok(()),
    }
}

/// Keeps the slowest requests of each service.
fn keep_slowest(requests: &mut Vec<Request>, slowest: usize) {
    requests.sort_by_key(|request| std::cmp::Reverse(request.root().duration_ns()));
    let mut kept: HashMap<_, usize> = HashMap::new();
    requests.retain(|request| {
        let count = kept.entry(request.root().service).or_default();
        *count += 1;
        *count <= slowest
    });
}

fn not_written(error: std::io::Error) -> ImportError {
    ImportError::Write(error)
}

/// Draws requests.
struct Drawing<'d, W> {
    names: &'d Names,
    zero_ns: u64,
    timeline: Timeline<W>,
    services: HashMap<String, Service>,
}

/// The rows of a service: groups of rows, of which a request has one at a time.
struct Service {
    process: Track,
    lanes: Lanes,
    groups: Vec<(Track, Vec<Track>)>,
}

/// The spans of one service in a request that belong together, in rows in which they nest.
struct Piece<'s> {
    spans: Vec<&'s Span>,
    rows: Vec<Vec<&'s Span>>,
}

impl<'s> Piece<'s> {
    /// Places `spans`, the earliest first, each in the first row in which no other span overlaps it
    /// partly.
    fn of(spans: Vec<&'s Span>) -> Piece<'s> {
        let mut rows: Vec<(Vec<&Span>, Vec<u64>)> = Vec::new();
        for &span in &spans {
            let fits = |(_, open): &mut (Vec<&Span>, Vec<u64>)| {
                open.retain(|end| *end > span.start_ns);
                open.last().is_none_or(|end| span.end_ns <= *end)
            };
            let row = rows.iter_mut().position(fits).unwrap_or(rows.len());
            if row == rows.len() {
                rows.push((Vec::new(), Vec::new()));
            }
            rows[row].0.push(span);
            rows[row].1.push(span.end_ns);
        }
        Piece {
            spans,
            rows: rows.into_iter().map(|(spans, _)| spans).collect(),
        }
    }

    fn times_ns(&self) -> (u64, u64) {
        let from = self.spans.iter().map(|span| span.start_ns).min();
        let until = self.spans.iter().map(|span| span.end_ns).max();
        (from.unwrap_or(0), until.unwrap_or(0))
    }
}

impl<W: Write> Drawing<'_, W> {
    fn draw(&mut self, requests: &[Request]) -> std::io::Result<()> {
        // Pieces of all requests in the order of time, as rows are used again.
        let mut pieces: Vec<(usize, Piece<'_>)> = Vec::new();
        for (number, request) in requests.iter().enumerate() {
            pieces.extend(pieces_of(request).into_iter().map(|piece| (number, piece)));
        }
        pieces.sort_by_key(|(_, piece)| piece.times_ns());
        for (number, piece) in pieces {
            self.draw_piece(number, &requests[number], &piece)?;
        }
        Ok(())
    }

    fn draw_piece(
        &mut self,
        number: usize,
        request: &Request,
        piece: &Piece<'_>,
    ) -> std::io::Result<()> {
        let Some(first) = piece.spans.first() else {
            return Ok(());
        };
        let service = self.names.text(first.service).to_owned();
        let rows = self.rows(&service, piece)?;
        let flows = Flows::of(request, number, &self.timeline);
        for (spans, row) in piece.rows.iter().zip(rows) {
            let mut open: Vec<u64> = Vec::new();
            for span in spans {
                while let Some(end) = open.pop_if(|end| *end <= span.start_ns) {
                    self.timeline.end(row, end - self.zero_ns)?;
                }
                self.begin(row, span, &flows)?;
                open.push(span.end_ns);
            }
            while let Some(end) = open.pop() {
                self.timeline.end(row, end - self.zero_ns)?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, row: Track, span: &Span, flows: &Flows) -> std::io::Result<()> {
        let arguments = [
            ("service", Argument::Text(self.names.text(span.service))),
            ("error", Argument::Truth(span.facts.error)),
        ];
        let none = Vec::new();
        let slice = Slice {
            name: self.names.text(span.operation),
            category: category(span.kind),
            flows: flows.leave.get(&span.id).unwrap_or(&none),
            ends: flows.end.get(&span.id).unwrap_or(&none),
            arguments: &arguments,
        };
        self.timeline
            .begin(row, span.start_ns - self.zero_ns, &slice)
    }

    /// The rows of a piece: a free group of its service, with as many rows as it needs.
    fn rows(&mut self, service: &str, piece: &Piece<'_>) -> std::io::Result<Vec<Track>> {
        if !self.services.contains_key(service) {
            let new = Service {
                process: self.timeline.process(&format!("measured {service}"))?,
                lanes: Lanes::default(),
                groups: Vec::new(),
            };
            self.services.insert(service.to_owned(), new);
        }
        let Some(found) = self.services.get_mut(service) else {
            return Ok(Vec::new());
        };
        let (from, until) = piece.times_ns();
        let index = found.lanes.place(from, until);
        if index == found.groups.len() {
            let name = format!("at once {}", index + 1);
            let group = self.timeline.track(found.process, &name)?;
            found.groups.push((group, vec![group]));
        }
        let (group, rows) = &mut found.groups[index];
        while rows.len() < piece.rows.len() {
            let name = format!("beside {}", rows.len());
            rows.push(self.timeline.track(*group, &name)?);
        }
        Ok(rows.clone())
    }
}

/// The flows of a request, by span: from a span to those that another service has below it.
#[derive(Default)]
struct Flows {
    leave: BTreeMap<SpanId, Vec<u64>>,
    end: BTreeMap<SpanId, Vec<u64>>,
}

impl Flows {
    fn of<W: Write>(request: &Request, number: usize, timeline: &Timeline<W>) -> Flows {
        let by_id: HashMap<SpanId, &Span> = request.0.iter().map(|span| (span.id, span)).collect();
        let mut flows = Flows::default();
        for span in &request.0 {
            let Some(parent) = by_id
                .get(&span.parent)
                .filter(|p| p.service != span.service)
            else {
                continue;
            };
            let flow = timeline.flow(&format!("{number} {}", span.id));
            flows.leave.entry(parent.id).or_default().push(flow);
            flows.end.entry(span.id).or_default().push(flow);
        }
        flows
    }
}

/// The spans of a request by piece: a span whose parent is none, or of another service, begins one.
fn pieces_of(request: &Request) -> Vec<Piece<'_>> {
    let by_id: HashMap<SpanId, &Span> = request.0.iter().map(|span| (span.id, span)).collect();
    let mut pieces: BTreeMap<usize, Vec<&Span>> = BTreeMap::new();
    let position: HashMap<SpanId, usize> = (0..).zip(&request.0).map(|(n, s)| (s.id, n)).collect();
    for span in &request.0 {
        let mut top = span;
        // Spans may name each other as parents.
        for _ in 0..request.0.len() {
            match by_id.get(&top.parent) {
                Some(parent) if parent.service == span.service => top = parent,
                _ => break,
            }
        }
        let piece = position.get(&top.id).copied().unwrap_or(0);
        pieces.entry(piece).or_default().push(span);
    }
    pieces.into_values().map(Piece::of).collect()
}

fn category(kind: SpanKind) -> &'static str {
    match kind {
        SpanKind::Unknown => "span",
        SpanKind::Internal => "internal",
        SpanKind::Server => "server",
        SpanKind::Client => "client",
        SpanKind::Producer => "producer",
    }
}
