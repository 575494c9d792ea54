//! Writing of the whole workload, and of its coverage: which of the observed requests the workload
//! represents.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use accelflow_parameters::Refusal;
use serde_json::{Map, Value, json};

use super::chains::{chain, ends, pause_ns, written};
use super::distributions::{sizes, us};
use super::names::{service_names, unique};
use super::own_traces::{Own, text};
use super::reached::{Chosen, Kept, MOST_AT_ONCE, counted, reached};
use crate::analyse::{Analysis, ItemStats, Operation, Shape, Totals};
use crate::error::ImportError;
use crate::names::Names;
use crate::options::Options;
use crate::report::{Findings, Sure};
use crate::span::Method;
use crate::topics;

/// The file that a workload was made from.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) kind: String,
    pub(crate) files: Vec<(String, String)>,
}

/// A workload, with its coverage.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) workload: Value,
    /// One row for each operation.
    pub(crate) coverage: Vec<Value>,
    /// One row for each trace that begins chains.
    pub(crate) traces: Vec<Value>,
    /// One row for each service: the durations of its requests.
    pub(crate) times: Vec<Value>,
}

/// The most services of a workload.
const MOST_SERVICES: usize = 1_000;
/// The most steps of a path.
const MOST_STEPS: usize = 400;
/// The lowest rate that a file may have, in requests per second.
const LOWEST_RATE: f64 = 0.001;

/// The workload of `analysis`.
///
/// # Errors
/// [`ImportError::Strict`] for a guess or a loss if the options refuse them.
pub(crate) fn document(
    analysis: Analysis,
    names: &Names,
    findings: &mut Findings,
    options: &Options,
    sampling: f64,
) -> Result<Made, ImportError> {
    let window = analysis.window();
    if let Some(place) = window.as_ref().and_then(|window| window.far.as_ref()) {
        findings.count(&topics::FAR, || place.clone())?;
    }
    let mut operations: Vec<(Method, Operation)> = analysis.operations.into_iter().collect();
    operations.sort_by(|(a, first), (b, second)| {
        let texts = |method: &Method| (names.text(method.0), names.text(method.1));
        // Services that users call come before those that only services call.
        let inner = |operation: &Operation| operation.totals.outside == 0;
        let order = inner(first).cmp(&inner(second));
        let more = second.totals.requests.cmp(&first.totals.requests);
        order.then(more).then_with(|| texts(a).cmp(&texts(b)))
    });
    let methods: Vec<Method> = operations.iter().map(|(method, _)| *method).collect();
    let operations = whole(operations, names, findings)?;
    let present = operations
        .iter()
        .filter(|(_, operation)| !operation.shapes.is_empty());
    let emitted: HashSet<Method> = present
        .map(|(method, _)| *method)
        .take(MOST_SERVICES)
        .collect();
    let services = service_names(&methods, names);
    let rates = Rates {
        per_request: window.map(|window| window.per_request_rps / sampling),
        each: !options.simulate_calls,
    };
    let mut writer = Writer {
        names,
        findings,
        options,
        rates,
        room: MOST_SERVICES - emitted.len(),
        taken: services.values().cloned().collect(),
        services,
        emitted,
        own: BTreeSet::new(),
        entries: BTreeSet::new(),
        edges: HashMap::new(),
        uses: BTreeMap::new(),
        written: Vec::new(),
        coverage: Vec::new(),
        times: Vec::new(),
    };
    let mut chosen = Vec::with_capacity(operations.len());
    for (method, operation) in operations {
        chosen.extend(writer.choose(method, operation)?);
    }
    let order = reached(&mut chosen, options);
    for one in &mut chosen {
        writer.operation(one)?;
    }
    writer.services(chosen, &order)?;
    writer.made()
}

/// An operation, and those of its shapes that a path can have, the most common first.
struct Whole {
    totals: Totals,
    shapes: Vec<Shape>,
    /// The number of shapes in the files, if it is known.
    found: Option<usize>,
}

/// `operations` without the shapes that are too long for a path.
fn whole(
    operations: Vec<(Method, Operation)>,
    names: &Names,
    findings: &mut Findings,
) -> Result<Vec<(Method, Whole)>, ImportError> {
    let mut found = Vec::with_capacity(operations.len());
    for (method, operation) in operations {
        let forgets = operation.forgets();
        let (totals, mut shapes) = operation.into_parts();
        let whole = (!forgets).then_some(shapes.len());
        let long = |shape: &Shape| shape.steps.len() > MOST_STEPS;
        let count = shapes.iter().filter(|s| long(s)).map(|s| s.requests).sum();
        findings.count_many(&topics::LONG, count, || spelt(method, names))?;
        shapes.retain(|shape| !long(shape));
        found.push((
            method,
            Whole {
                totals,
                shapes,
                found: whole,
            },
        ));
    }
    Ok(found)
}

/// The service and the operation of `method`, as a place.
fn spelt(method: Method, names: &Names) -> String {
    format!("{} {}", names.text(method.0), names.text(method.1))
}

struct Rates {
    /// The rate that one request adds, in requests per second; `None` if it is not known.
    per_request: Option<f64>,
    /// Whether requests that are made by calls have rates, too.
    each: bool,
}

/// The usage of a trace.
#[derive(Default)]
struct Use {
    calls: u64,
    wait_ns: f64,
    own: bool,
}

struct Writer<'w> {
    names: &'w Names,
    findings: &'w mut Findings,
    options: &'w Options,
    rates: Rates,
    services: HashMap<Method, String>,
    /// The names of services so far, and of those to come.
    taken: HashSet<String>,
    /// The operations that are services.
    emitted: HashSet<Method>,
    /// How many more services there may be.
    room: usize,
    own: BTreeSet<Own>,
    /// The traces that begin chains.
    entries: BTreeSet<String>,
    /// The operations of which each service calls the most common shape. Services are operations
    /// with the numbers of their shapes.
    edges: HashMap<(Method, usize), HashSet<Method>>,
    uses: BTreeMap<String, Use>,
    written: Vec<Value>,
    coverage: Vec<Value>,
    times: Vec<Value>,
}

impl Writer<'_> {
    /// The shapes that the workload may have of `operation`; `None` if there are too many services.
    fn choose(&mut self, method: Method, operation: Whole) -> Result<Option<Chosen>, ImportError> {
        let Whole {
            totals,
            shapes,
            found,
        } = operation;
        if !self.emitted.contains(&method) && !shapes.is_empty() {
            let count = totals.requests;
            let place = || spelt(method, self.names);
            self.findings.count_many(&topics::SERVICES, count, place)?;
            return Ok(None);
        }
        let (kept, shapes) = self.kept(shapes);
        Ok(Some(Chosen {
            method,
            totals,
            found,
            shapes,
            kept,
            stands_for: 1.0,
            unreached: false,
        }))
    }

    /// Reports which requests of an operation the workload has.
    fn operation(&mut self, one: &mut Chosen) -> Result<(), ImportError> {
        let place = spelt(one.method, self.names);
        let (totals, kept) = (&one.totals, &mut one.kept);
        let arrived = counted(totals.requests, totals.outside, self.options);
        let lost = arrived.saturating_sub(kept.arrived);
        let replaced = (totals.requests - kept.requests).saturating_sub(lost);
        let whole = self.options.whole_rates && kept.arrived > 0;
        let topic = if whole { &topics::RATED } else { &topics::RARE };
        self.findings.count_many(topic, lost, || place.clone())?;
        if whole {
            one.stands_for = arrived as f64 / kept.arrived as f64;
            kept.arrived = arrived;
        }
        let topic = match one.unreached {
            true => &topics::UNCALLED,
            false => &topics::STANDS,
        };
        self.findings
            .count_many(topic, replaced, || place.clone())?;
        self.cover(one);
        Ok(())
    }

    /// Writes the services, callers before those that only they call, so that of calls in a circle
    /// one that is reached is simulated. The file has them in the order of their operations.
    fn services(
        &mut self,
        mut chosen: Vec<Chosen>,
        order: &[(usize, usize)],
    ) -> Result<(), ImportError> {
        let mut names = Vec::with_capacity(chosen.len());
        for one in &chosen {
            let base = self.services.get(&one.method).cloned().unwrap_or_default();
            let name = |number| match number {
                0 => base.clone(),
                _ => unique(&format!("{base}.{}", number + 1), &mut self.taken),
            };
            names.push((0..one.shapes.len()).map(name).collect::<Vec<String>>());
        }
        let mut written = BTreeMap::new();
        for &(index, number) in order {
            let name = &names[index][number];
            let service = self.service(&mut chosen[index], number, name)?;
            let times = self.times(&chosen[index], number, name);
            written.insert((index, number), (service, times));
        }
        (self.written, self.times) = written.into_values().unzip();
        Ok(())
    }

    /// The shapes that the workload has: the most common one, and the next with requests from
    /// outside.
    fn kept(&mut self, shapes: Vec<Shape>) -> (Kept, Vec<Shape>) {
        let mut kept = Kept::default();
        let mut chosen = Vec::new();
        for (number, shape) in shapes.into_iter().enumerate() {
            let first = number == 0;
            let arrived = counted(shape.requests, shape.outside, self.options);
            if first || (kept.shapes < self.options.shapes && arrived > 0 && self.room > 0) {
                self.room -= usize::from(!first);
                kept.add(&shape, self.options);
                chosen.push(shape);
            }
        }
        (kept, chosen)
    }

    fn cover(&mut self, one: &Chosen) {
        let (method, operation, kept) = (one.method, &one.totals, &one.kept);
        let arrived = counted(operation.requests, operation.outside, self.options);
        let service = self.services.get(&method).filter(|_| kept.shapes > 0);
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 1.0 };
        self.coverage.push(json!({
            "service": service,
            "spans_of": self.names.text(method.0),
            "operation": self.names.text(method.1),
            "requests": operation.requests,
            "from_outside": operation.outside,
            "failed": operation.failed,
            "mean_us": us(operation.time.mean()),
            "p99_us": us(operation.time.p99()),
            "shapes": one.found,
            "shapes_kept": kept.shapes,
            "share_of_requests": share(kept.requests as f64, operation.requests as f64),
            "share_of_rate": share(kept.arrived as f64, arrived as f64),
            "share_of_time": share(kept.time_ns, operation.time.sum()),
            "time_inside_chains_us": us(share(kept.inner_ns, kept.requests as f64)),
        }));
    }

    /// The durations of the requests that the service called `name` stands for.
    fn times(&self, one: &Chosen, number: usize, name: &str) -> Value {
        let shape = &one.shapes[number];
        let us = |ns: f64| ns.round() / 1e3;
        json!({
            "service": name,
            "spans_of": self.names.text(one.method.0),
            "operation": self.names.text(one.method.1),
            "requests": shape.requests,
            "mean_us": us(shape.time.mean()),
            "p99_us": us(shape.time.p99()),
        })
    }

    /// The service called `name` of the shape of `one` with the index `number`.
    fn service(
        &mut self,
        one: &mut Chosen,
        number: usize,
        name: &str,
    ) -> Result<Value, ImportError> {
        let (method, shape) = (one.method, &mut one.shapes[number]);
        let mut service = Map::new();
        service.insert("name".to_owned(), json!(name));
        let operation_name = self.names.text(method.1);
        if operation_name != name && !operation_name.is_empty() {
            service.insert("method".to_owned(), json!(operation_name));
        }
        if self.options.server_each {
            service.insert("server".to_owned(), json!(self.names.text(method.0)));
        }
        let arrived = if self.rates.each {
            shape.requests
        } else {
            shape.outside
        };
        if let Some(rate) = self.rates.per_request.filter(|_| arrived > 0) {
            let rate = rate * arrived as f64 * one.stands_for;
            if rate < LOWEST_RATE {
                let place = shape.place.clone();
                self.findings.count(&topics::RATES, || place.clone())?;
            }
            let rate = rate.clamp(LOWEST_RATE, 1e9);
            service.insert("rate_rps".to_owned(), json!((rate * 1e6).round() / 1e6));
        }
        let path = self.path((method, number), &one.totals, shape)?;
        service.insert("path".to_owned(), Value::Array(path));
        Ok(Value::Object(service))
    }

    fn path(
        &mut self,
        caller: (Method, usize),
        operation: &Totals,
        shape: &mut Shape,
    ) -> Result<Vec<Value>, ImportError> {
        let compressed = (
            operation.request_compressed.among(operation.requests),
            operation.response_compressed.among(operation.requests),
        );
        let messages = (
            sizes(&operation.request_bytes),
            sizes(&operation.response_bytes),
        );
        let http = operation.http * 2 > operation.requests;
        let ends = ends(http, compressed, messages, &mut self.own);
        for end in [&ends.first, &ends.last] {
            let entry = end["trace"].as_str().unwrap_or_default();
            self.entries.insert(entry.to_owned());
        }
        // Marked application logic has no data-center tax in it.
        let share = match shape.marked == shape.requests {
            true => 1.0,
            false => self.options.app_share,
        };
        let mut gaps = shape.gaps_ns.iter().map(|gap| gap.value() * share);
        let mut cpu = || json!({"cpu_us": us(gaps.next().unwrap_or(0.0))});
        let mut path = vec![ends.first, cpu()];
        for step in std::mem::take(&mut shape.steps) {
            let chains = self.step(caller, step, &shape.place)?;
            match <[Value; 1]>::try_from(chains) {
                Ok([chain]) => path.push(chain),
                Err(chains) => path.push(json!({"parallel": chains})),
            }
            path.push(cpu());
        }
        path.push(ends.last);
        Ok(path)
    }

    /// The chains of a step: equal calls are one chain, several times.
    fn step(
        &mut self,
        caller: (Method, usize),
        step: Vec<ItemStats>,
        place: &str,
    ) -> Result<Vec<Value>, ImportError> {
        let requests = step.first().map_or(0, |item| item.count);
        let too_many = step.len().saturating_sub(MOST_AT_ONCE) as u64 * requests;
        self.findings
            .count_many(&topics::WIDE, too_many, || place.to_owned())?;
        let mut groups: Vec<(ItemStats, usize)> = Vec::new();
        for item in step.into_iter().take(MOST_AT_ONCE) {
            match groups.last_mut() {
                Some((last, times))
                    if (last.class, last.target, last.detached)
                        == (item.class, item.target, item.detached) =>
                {
                    last.merge(&item);
                    *times += 1;
                }
                _ => groups.push((item, 1)),
            }
        }
        let mut chains = Vec::with_capacity(groups.len());
        for (item, times) in groups {
            chains.push(self.chain(caller, &item, times, place)?);
        }
        Ok(chains)
    }

    fn chain(
        &mut self,
        caller: (Method, usize),
        item: &ItemStats,
        times: usize,
        place: &str,
    ) -> Result<Value, ImportError> {
        let calls = match item.answered && self.options.simulate_calls {
            true => self.callee(caller, item.target, place)?,
            false => None,
        };
        let short = if pause_ns(item) < 0.0 {
            item.failures
        } else {
            0
        };
        self.findings
            .count_many(&topics::SHORT_FAILURES, short, || place.to_owned())?;
        let sized = [&item.request_bytes, &item.response_bytes].map(|sample| sample.mean.count);
        let half_sized = if sized.contains(&0) {
            sized[0].max(sized[1])
        } else {
            0
        };
        self.findings
            .count_many(&topics::ONE_SIZE, half_sized, || place.to_owned())?;
        let chain = chain(item, self.options);
        self.entries.insert(chain.entry().to_owned());
        let used = self.uses.entry(chain.entry().to_owned()).or_default();
        used.calls += item.count;
        used.wait_ns += item.wait_ns.mean.sum() + item.miss_wait_ns.mean.sum();
        used.own = chain.own.is_some();
        let (value, own) = written(chain, item, times, calls.as_deref());
        self.own.extend(own);
        Ok(value)
    }

    /// The service that answers calls of `target`, unless it would then call itself.
    fn callee(
        &mut self,
        caller: (Method, usize),
        target: Method,
        place: &str,
    ) -> Result<Option<String>, ImportError> {
        if !self.emitted.contains(&target) {
            return Ok(None);
        }
        let mut open = vec![target];
        let mut seen = HashSet::new();
        while let Some(next) = open.pop() {
            if (next, 0) == caller {
                self.findings.count(&topics::CIRCLE, || place.to_owned())?;
                return Ok(None);
            }
            if seen.insert(next) {
                open.extend(self.edges.get(&(next, 0)).into_iter().flatten());
            }
        }
        self.edges.entry(caller).or_default().insert(target);
        Ok(self.services.get(&target).cloned())
    }

    fn made(self) -> Result<Made, ImportError> {
        let mut workload = json!({
            "schema": "accelflow.workload/1",
            "name": self.options.name,
            "services": self.written,
        });
        if !self.own.is_empty() {
            let text = text(&self.own, &self.entries).map_err(|error| {
                let allowed = format!("must be traces that can be written: {error}");
                Refusal::new("additional traces", self.own.len(), allowed)
            })?;
            workload["traces"] = json!([{"source": text}]);
        }
        if self.rates.per_request.is_none() {
            let done = "the workload has no rate: set rate_rps when it is simulated";
            let what = "request rates, which need two requests from outside at different times";
            self.findings.say(Sure::Dropped, what, 1, done);
        }
        let traces = self.uses.into_iter().map(|(trace, used)| {
            json!({"trace": trace, "calls": used.calls, "wait_us": used.wait_ns.round() / 1e3,
                   "own": used.own})
        });
        Ok(Made {
            workload,
            coverage: self.coverage,
            traces: traces.collect(),
            times: self.times,
        })
    }
}

impl Origin {
    /// The table `origin` of the workload.
    pub(crate) fn table(&self, findings: &Findings) -> Value {
        let counts = |sure: Sure| -> Value {
            let list = findings.list(sure);
            let rows = list.as_array().into_iter().flatten();
            let pairs = rows
                .filter_map(|row| Some((row["what"].as_str()?.to_owned(), row["count"].clone())));
            Value::Object(pairs.collect())
        };
        let files = self.files.iter();
        let files = files.map(|(name, sha256)| json!({"name": name, "sha256": sha256}));
        json!({
            "kind": self.kind,
            "files": files.collect::<Vec<_>>(),
            "understood": counts(Sure::Understood),
            "guessed": counts(Sure::Guessed),
            "dropped": counts(Sure::Dropped),
        })
    }
}
