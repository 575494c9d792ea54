//! The trace memory of a workload: the paper's traces and those of the workload file.

use std::collections::{BTreeMap, BTreeSet};

use accelflow_parameters::{Refusal, quoted};
use accelflow_trace::{
    Accel, Fault, Image, Node, Nodes, Part, TEMPLATES, is_name, is_part_name, link, tails,
    templates, text,
};

use super::tree::{Chain, Phase, Traces, Workload};
use super::values::Wait;
use crate::services::{ChainWalk, MAX_WAYS, PhaseWalk, Place, ServiceError};

impl Workload {
    /// Returns the trace memory of the workload, which holds the compiled traces: those of the
    /// AccelFlow paper, then those of the workload file.
    ///
    /// # Errors
    /// [`Refusal`] for traces in files that [`super::Document::inlined`] has not inserted yet, and
    /// for traces that cannot be parsed, have the name of a trace of the paper, or are invalid.
    pub fn memory(&self) -> Result<Image, Refusal> {
        let whole = |error: &dyn std::fmt::Display| {
            Refusal::new(
                "traces",
                "as stated",
                format!("must form a valid trace memory: {error}"),
            )
        };
        let mut library = templates().map_err(|error| whole(&error))?;
        let mut parts = Vec::new();
        for (index, name, nodes) in self.sources()? {
            let place = format!("traces[{index}]");
            if is_part(&name, &nodes) {
                // As an equal trace, an equal part may be there again.
                let part = Part { name, nodes };
                if !parts.contains(&part) {
                    parts.push(part);
                }
                continue;
            }
            let registered = library.register_for_stated_facts(&name, nodes);
            registered.map_err(|error| {
                let allowed = format!("must be a valid trace: {error}");
                Refusal::new(place, quoted(&name), allowed)
            })?;
        }
        if parts.is_empty() {
            return library.link().map_err(|error| whole(&error));
        }
        let own = library
            .traces()
            .iter()
            .flat_map(|trace| trace.parts.iter().cloned());
        let all = own.chain(parts).collect();
        link(all).map_err(|error| whole(&error))
    }

    /// The traces of the file: for each, the index of its entry in `traces`, its name and its
    /// source.
    fn sources(&self) -> Result<Vec<(usize, String, Nodes)>, Refusal> {
        let mut found = Vec::new();
        for (index, traces) in self.traces.iter().enumerate() {
            let source = match traces {
                Traces::Source(source) => source,
                Traces::File(file) | Traces::Module(file) => {
                    let place = format!("traces[{index}]");
                    let allowed =
                        "must be replaced by the file's contents first, by Document::inlined";
                    return Err(Refusal::new(place, quoted(file), allowed));
                }
            };
            let place = format!("traces[{index}].source");
            let parsed = text::parse(source).map_err(|error| {
                let allowed = format!("must be the text of traces: {}", error.cause);
                Refusal::new(&place, format!("line {}", error.line), allowed)
            })?;
            for (name, nodes) in parsed {
                if !is_name(&name) && !is_part_name(&name) {
                    let allowed = "must be the text of traces, whose names are letters, digits, _, \
                                   + and -, starting with a letter";
                    return Err(Refusal::new(place, quoted(&name), allowed));
                }
                if TEMPLATES.iter().any(|template| template.name == name) {
                    let allowed = "must be another name: a trace of the paper has this name";
                    return Err(Refusal::new(place, quoted(&name), allowed));
                }
                found.push((index, name, nodes));
            }
        }
        Ok(found)
    }

    /// Checks that the traces of `image` can run all chains of the workload. If payload fields of a
    /// chain are random, checks the combinations of their values 0 and 1, but at most 65,536 of
    /// them. Returns warnings about likely mistakes: traces of the file that no service uses, paths
    /// that send no response, and values without effect, such as the waits of traces that a chain
    /// never enters. A chain with more combinations also causes a warning.
    ///
    /// # Errors
    /// [`Refusal`] for the first value that does not fit `image`: a chain that cannot run, the wait
    /// of an unknown trace, a fact that is neither 0 nor 1 although it has odds, or although
    /// branches test it only by itself or for equality with 0 or 1, a fact that bytes of a payload
    /// cannot be, or a call of a service by a chain that waits for no answer.
    pub fn check_traces(&self, image: &Image) -> Result<Vec<String>, Refusal> {
        self.check_waits(image)?;
        self.check_facts(image)?;
        let mut warnings = Vec::new();
        let paths = self.paths().map_err(|error| self.refusal(error, image))?;
        for (index, (path, service)) in paths.iter().zip(&self.services).enumerate() {
            let walk = path.walk(image);
            let walk = walk.map_err(|error| self.refusal(error, image))?;
            warnings.extend(silent(walk.last(), index, service.path.len()));
            for ((place, chain), (_, _, stated)) in path.chains().zip(service.chains()) {
                if stated.odds.is_empty() {
                    continue;
                }
                let all =
                    chain.check_odds(&place, image, &|trace, field| stated.is_open(trace, field));
                if !all.map_err(|error| self.refusal(error, image))? {
                    let path = self.path_of(&place).0;
                    warnings.push(format!(
                        "{path}.odds: at most {MAX_WAYS} combinations of the random values were \
                         checked, not all"
                    ));
                }
            }
        }
        self.check_calls(image)?;
        warnings.extend(self.without_effect(image));
        let sources = self.sources()?;
        let reached = reached(self, &sources);
        let unused = sources
            .iter()
            .filter(|(_, name, _)| !reached.contains(base(name)));
        let warning = |(index, name, _): &(usize, String, Nodes)| {
            format!("traces[{index}]: no service uses the trace '{name}'")
        };
        warnings.extend(unused.filter(|(_, name, _)| is_name(name)).map(warning));
        Ok(warnings)
    }

    /// Refuses waits of traces that `image` does not have.
    fn check_waits(&self, image: &Image) -> Result<(), Refusal> {
        let check = |waits: &BTreeMap<String, Wait>, place: &str| {
            let unknown = |trace: &&String| *trace != "other" && image.entry(trace).is_none();
            let Some(trace) = waits.keys().find(unknown) else {
                return Ok(());
            };
            let entries = image.names().iter().filter(|name| is_name(name));
            let known = entries.map(String::as_str).chain(["other"]);
            Err(Refusal::unknown(
                format!("{place}.waits.{trace}"),
                trace,
                known,
            ))
        };
        check(&self.defaults.waits, "defaults")?;
        for (index, service) in self.services.iter().enumerate() {
            check(&service.waits, &format!("services[{index}]"))?;
            for (place, chain) in service.placed_chains(&format!("services[{index}]")) {
                check(&chain.waits, &place)?;
            }
        }
        Ok(())
    }

    /// Refuses calls by chains that wait for no answer.
    fn check_calls(&self, image: &Image) -> Result<(), Refusal> {
        for (index, service) in self.services.iter().enumerate() {
            for (place, chain) in service.placed_chains(&format!("services[{index}]")) {
                let waits = || {
                    image
                        .entry(&chain.trace)
                        .is_none_or(|entry| image.can_wait(entry))
                };
                if let Some(called) = &chain.calls
                    && !waits()
                {
                    let allowed = "must be left out, as no trace of the chain waits \
                                   for an answer (T9 and T11 do)";
                    return Err(Refusal::new(
                        format!("{place}.calls"),
                        quoted(called),
                        allowed,
                    ));
                }
            }
        }
        Ok(())
    }

    /// The refusal of `error` at its place in the file.
    fn refusal(&self, error: ServiceError, image: &Image) -> Refusal {
        let entries = || {
            image
                .names()
                .iter()
                .filter(|name| is_name(name))
                .map(String::as_str)
        };
        match error {
            ServiceError::UnknownTrace { place, trace } => {
                let place = self.fact_of(&place, &trace, None);
                Refusal::unknown(place, &trace, entries())
            }
            ServiceError::UnknownField {
                place,
                trace,
                field,
            } => {
                let fields = image.predicates().fields();
                let known = fields.iter().map(String::as_str);
                Refusal::unknown(self.fact_of(&place, &trace, Some(&field)), &field, known)
            }
            ServiceError::Fault {
                place,
                trace,
                fault,
            } => {
                let path = self.path_of(&place).0;
                let missing = matches!(fault, Fault::MissingField(_));
                let missing = missing.then(|| self.missing_facts(&place.service, image));
                missing.flatten().unwrap_or_else(|| {
                    let allowed =
                        format!("must be a trace that can run to its end, but it stops: {fault}");
                    Refusal::new(path, quoted(&trace), allowed)
                })
            }
            ServiceError::Trigger {
                place,
                trace,
                first,
            } => {
                let path = self.path_of(&place).0;
                let allowed = match first {
                    true => {
                        "must be a trace that begins with TCP, since the client's request starts it"
                    }
                    false => "must be a trace that does not begin with TCP, since a core starts it",
                };
                Refusal::new(format!("{path}.trace"), quoted(&trace), allowed)
            }
            other => Refusal::new(
                "services",
                "as stated",
                format!("must have valid paths: {other}"),
            ),
        }
    }

    /// The path in the file of a fact of `trace`, or of all of them, or of the trace itself if it
    /// is the first of the chain at `place` and no field is given.
    fn fact_of(&self, place: &Place, trace: &str, field: Option<&str>) -> String {
        let (path, chain) = self.path_of(place);
        if field.is_none() && chain.is_some_and(|chain| chain.trace == trace) {
            return format!("{path}.trace");
        }
        let odds = chain.and_then(|chain| chain.odds.get(trace));
        let has = |odds: &BTreeMap<String, _>| field.is_none_or(|field| odds.contains_key(field));
        let table = if odds.is_some_and(has) {
            "odds"
        } else {
            "facts"
        };
        let field = field.map(|field| format!(".{field}")).unwrap_or_default();
        format!("{path}.{table}.{trace}{field}")
    }

    /// The path in the file of the chain at `place`, and the chain.
    fn path_of(&self, place: &Place) -> (String, Option<&Chain>) {
        let mut services = self.services.iter().enumerate();
        let Some((index, service)) = services.find(|(_, one)| one.name == place.service) else {
            return ("services".to_owned(), None);
        };
        let path = format!("services[{index}].path[{}]", place.phase);
        let Some(phase) = service.path.get(place.phase) else {
            return (path, None);
        };
        let mut left = place.chain;
        for (number, chain) in phase.chains().iter().enumerate() {
            if left < chain.count() {
                return (phase.place_of(&path, number), Some(chain));
            }
            left -= chain.count();
        }
        (path, None)
    }
}

/// The warning for a service whose last phase, which has this walk, sends no message.
fn silent(walk: Option<&PhaseWalk>, index: usize, phases: usize) -> Option<String> {
    let sends = |chain: &ChainWalk| {
        let mut operations = chain.operations.iter();
        operations.any(|operation| operation.accel == Accel::Tcp && !operation.receives)
    };
    let chains = walk.map(PhaseWalk::chains).unwrap_or_default();
    (!chains.iter().any(sends)).then(|| {
        let place = format!("services[{index}].path[{}]", phases.saturating_sub(1));
        format!(
            "{place}: sends no answer, as none of its traces sends a message by TCP: add a \
             trace that does, such as T2"
        )
    })
}

/// Whether a trace is a part that the compiler has split off, or continues in another part.
fn is_part(name: &str, nodes: &[Node]) -> bool {
    !is_name(name) || text::has_parts(nodes)
}

/// The name of the trace that a part belongs to.
fn base(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// The names of the traces that services begin with or that their tails lead to.
fn reached<'w>(workload: &'w Workload, sources: &'w [(usize, String, Nodes)]) -> BTreeSet<&'w str> {
    let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (_, name, nodes) in sources {
        next.entry(base(name))
            .or_default()
            .extend(tails(nodes).into_iter().map(base));
    }
    let chains = workload.services.iter().flat_map(|service| &service.path);
    let entries = chains
        .flat_map(Phase::chains)
        .map(|chain| chain.trace.as_str());
    let mut open: Vec<&str> = entries.collect();
    let mut found = BTreeSet::new();
    while let Some(name) = open.pop() {
        if found.insert(name) {
            open.extend(next.get(name).into_iter().flatten());
        }
    }
    found
}
