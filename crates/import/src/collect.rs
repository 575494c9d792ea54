//! Collects spans into distributed traces: the spans of a trace are kept in memory until the trace
//! is finished.
//!
//! The number of spans of unfinished traces is bounded. If there are too many, the trace that has
//! not had a new span for longest is taken as finished. Spans of this trace that come later are
//! dropped and counted.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::rc::Rc;

use crate::attributes::Sampled;
use crate::error::ImportError;
use crate::names::Names;
use crate::options::Options;
use crate::report::{Findings, Topic};
use crate::span::{Draft, Span, TraceId, mixed};
use crate::topics;

/// A receiver of the spans of finished traces.
pub(crate) trait Finished {
    /// Takes the spans of a finished trace; `place` names it.
    ///
    /// # Errors
    /// [`ImportError::Strict`] for a guess or a loss if the options refuse them, and other errors
    /// of the receiver.
    fn trace(
        &mut self,
        spans: Vec<Span>,
        place: &str,
        names: &Names,
        findings: &mut Findings,
    ) -> Result<(), ImportError>;
}

/// A receiver of spans from the readers.
pub(crate) struct Collector<'c> {
    pub(crate) names: Names,
    pub(crate) findings: Findings,
    finished: &'c mut dyn Finished,
    window: usize,
    open: HashMap<TraceId, Open>,
    /// Open traces by the time of their last span.
    order: BTreeMap<u64, TraceId>,
    spans: usize,
    clock: u64,
    closed: Closed,
    file: Rc<str>,
    sampling: Sampling,
}

struct Open {
    spans: Vec<Span>,
    touched: u64,
    file: Rc<str>,
}

/// The traces that were finished last.
#[derive(Default)]
struct Closed {
    known: HashSet<u64>,
    order: VecDeque<u64>,
}

/// The sampling that the spans report.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sampling {
    /// The lowest and the highest share.
    pub(crate) range: Option<(f64, f64)>,
    /// Whether a sampler kept no certain share.
    pub(crate) limited: bool,
}

/// Midnight of 2000-01-01 in UTC. Recent times in a unit that is too coarse are dates before it.
const YEAR_2000_NS: u64 = 946_684_800_000_000_000;
/// The most finished traces that are remembered.
const REMEMBERED: usize = 1 << 20;

impl Closed {
    fn key(trace: TraceId) -> u64 {
        mixed(&trace.0.to_le_bytes())
    }

    fn add(&mut self, trace: TraceId) {
        let key = Closed::key(trace);
        if self.known.insert(key) {
            self.order.push_back(key);
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    fn has(&self, trace: TraceId) -> bool {
        self.known.contains(&Closed::key(trace))
    }
}

impl<'c> Collector<'c> {
    pub(crate) fn new(options: &Options, finished: &'c mut dyn Finished) -> Collector<'c> {
        Collector {
            names: Names::new(),
            findings: Findings::new(options.strict),
            finished,
            window: options.window_spans,
            open: HashMap::new(),
            order: BTreeMap::new(),
            spans: 0,
            clock: 0,
            closed: Closed::default(),
            file: Rc::from(""),
            sampling: Sampling::default(),
        }
    }

    /// Begins a file, which the next spans come from.
    pub(crate) fn begin_file(&mut self, file: &str) {
        self.file = Rc::from(file);
    }

    /// The largest number of spans that may be kept.
    pub(crate) fn window_spans(&self) -> usize {
        self.window
    }

    /// Records how many of the requests a span reports as kept.
    pub(crate) fn sampled(&mut self, kept: Option<Sampled>) {
        match kept {
            Some(Sampled::Share(share)) => {
                let (least, most) = self.sampling.range.unwrap_or((share, share));
                self.sampling.range = Some((least.min(share), most.max(share)));
            }
            Some(Sampled::Limited) => self.sampling.limited = true,
            None => {}
        }
    }

    /// Takes a span.
    ///
    /// # Errors
    /// [`ImportError::Strict`] if the span has a defect and the options refuse guesses.
    pub(crate) fn add(&mut self, draft: Draft) -> Result<(), ImportError> {
        let trace = draft.trace;
        self.count_trace(trace, &topics::SPANS, 1)?;
        if !draft.complete || draft.span.id == 0 {
            return self.count_trace(trace, &topics::INCOMPLETE, 1);
        }
        if self.closed.has(trace) && !self.open.contains_key(&trace) {
            return self.count_trace(trace, &topics::LATE, 1);
        }
        let mut span = draft.span;
        if draft.duration_ns < 0 {
            self.count_trace(trace, &topics::NEGATIVE, 1)?;
        }
        let duration = draft.duration_ns.max(0) as u64;
        match span.start_ns.checked_add(duration) {
            Some(end) if end <= i64::MAX as u64 => span.end_ns = end,
            _ => return self.count_trace(trace, &topics::TIME_RANGE, 1),
        }
        if span.start_ns < YEAR_2000_NS {
            self.count_trace(trace, &topics::OLD, 1)?;
        }
        self.keep(trace, span)?;
        while self.spans > self.window
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.finish_trace(oldest)?;
        }
        Ok(())
    }

    fn keep(&mut self, trace: TraceId, span: Span) -> Result<(), ImportError> {
        self.clock += 1;
        let file = &self.file;
        let open = self.open.entry(trace).or_insert_with(|| Open {
            spans: Vec::new(),
            touched: 0,
            file: Rc::clone(file),
        });
        if open.spans.len() >= self.window {
            return self.count_trace(trace, &topics::HUGE, 1);
        }
        self.order.remove(&open.touched);
        open.touched = self.clock;
        open.spans.push(span);
        self.order.insert(self.clock, trace);
        self.spans += 1;
        Ok(())
    }

    /// Counts `count` of `topic` at `trace`.
    ///
    /// # Errors
    /// The errors of [`Collector::add`].
    pub(crate) fn count_trace(
        &mut self,
        trace: TraceId,
        topic: &'static Topic,
        count: u64,
    ) -> Result<(), ImportError> {
        let file = &self.file;
        let place = || format!("{file}, trace {trace}");
        self.findings.count_many(topic, count, place)
    }

    fn finish_trace(&mut self, trace: TraceId) -> Result<(), ImportError> {
        let Some(open) = self.open.remove(&trace) else {
            return Ok(());
        };
        self.spans -= open.spans.len();
        self.closed.add(trace);
        let place = format!("{}, trace {trace}", open.file);
        self.finished
            .trace(open.spans, &place, &self.names, &mut self.findings)
    }

    /// Ends the collection after all files have been read.
    ///
    /// # Errors
    /// The errors of [`Collector::add`].
    pub(crate) fn finish(mut self) -> Result<(Names, Findings, Sampling), ImportError> {
        while let Some((_, trace)) = self.order.pop_first() {
            self.finish_trace(trace)?;
        }
        Ok((self.names, self.findings, self.sampling))
    }
}
