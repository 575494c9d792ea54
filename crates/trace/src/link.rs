//! The linker, which places the compiled parts of traces in a trace memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::assemble::{Symbols, assemble};
use crate::check::is_name;
use crate::compile::Part;
use crate::executions::summaries;
use crate::image::Image;
use crate::kind::Kind;
use crate::kinds::{self, KindsError};
use crate::limits::MAX_EXECUTIONS;
use crate::link_error::LinkError;
use crate::word::{AtmAddress, MAX_WORDS};
use crate::{Accel, Condition, PredicateError, PredicateTable};

/// Creates a trace memory from compiled parts of traces. The parts get the addresses 0, 1, 2 and so
/// on, one word each. They must obey the rules of the trace language, which this function does not
/// check.
///
/// # Errors
/// [`LinkError::SameName`] for two parts of one name, [`LinkError::PartTooLong`] for a part that
/// does not fit a word; otherwise as for [`Library::link`](crate::Library::link).
pub fn link(parts: Vec<Part>) -> Result<Image, LinkError> {
    if parts.len() > MAX_WORDS {
        return Err(LinkError::MemoryFull(parts.len()));
    }
    let addresses: BTreeMap<&str, AtmAddress> = parts
        .iter()
        .enumerate()
        .filter_map(|(i, part)| Some((part.name.as_str(), AtmAddress::new(i)?)))
        .collect();
    if addresses.len() < parts.len() {
        let mut seen = BTreeSet::new();
        let twice = parts.iter().find(|part| !seen.insert(&part.name));
        return Err(LinkError::SameName(
            twice.map_or(String::new(), |part| part.name.clone()),
        ));
    }
    let mut kinds = Vec::new();
    for part in &parts {
        kinds::collect(&part.nodes, &mut kinds)?;
    }
    let mut linker = Linker {
        addresses,
        kinds,
        predicates: PredicateTable::default(),
        part: "",
    };
    let mut words = Vec::with_capacity(parts.len());
    for part in &parts {
        linker.part = &part.name;
        let word = assemble(part, &mut linker).map_err(|error| match error {
            LinkError::Predicate { error, .. } => LinkError::Predicate {
                trace: trace_of(&part.name).to_owned(),
                error,
            },
            other => other,
        })?;
        words.push(word);
    }
    let (predicates, kinds) = (linker.predicates, linker.kinds);
    let names = parts.iter().map(|part| part.name.clone()).collect();
    let image = Image::new(words, predicates, names, kinds);
    image.check_cycles()?;
    for (trace, summary) in summaries(&parts)? {
        let executions = summary.executions;
        if executions > MAX_EXECUTIONS {
            let trace = trace.to_owned();
            return Err(LinkError::TooManyExecutions { trace, executions });
        }
    }
    Ok(image)
}

/// The name of the trace that has the part called `part`, such as `T1` for `T1.2`.
pub(crate) fn trace_of(part: &str) -> &str {
    part.split_once('.').map_or(part, |(trace, _)| trace)
}

struct Linker<'p> {
    addresses: BTreeMap<&'p str, AtmAddress>,
    predicates: PredicateTable,
    kinds: Vec<Arc<Kind>>,
    part: &'p str,
}

impl Symbols for Linker<'_> {
    fn address(&self, name: &str) -> Result<AtmAddress, LinkError> {
        self.addresses.get(name).copied().ok_or_else(|| {
            let known: Vec<&str> = self
                .addresses
                .keys()
                .copied()
                .filter(|n| is_name(n))
                .collect();
            LinkError::UnknownTail {
                trace: trace_of(self.part).to_owned(),
                tail: name.to_owned(),
                known: known.join(", "),
            }
        })
    }

    fn kind(&self, kind: &Kind) -> Result<Accel, LinkError> {
        let number = self.kinds.iter().position(|known| **known == *kind);
        // All were collected before the first part was assembled, and there are at most 16.
        let unknown = || KindsError::TooMany(kind.name().to_owned());
        Ok(number.and_then(Accel::custom).ok_or_else(unknown)?)
    }

    fn predicate(&mut self, condition: &Condition) -> Result<u8, PredicateError> {
        self.predicates.intern(condition)
    }
}
