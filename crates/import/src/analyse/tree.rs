//! Trees of the spans of a distributed trace. Defects of the spans are found and repaired.

use std::collections::HashMap;

use crate::error::ImportError;
use crate::names::Names;
use crate::report::{Findings, Topic};
use crate::span::{Kind, Span, SpanId};
use crate::topics;
use crate::words::{kind_of_name, store_of_word};

/// A tree of spans, or several.
pub(super) struct Tree {
    pub(super) spans: Vec<Span>,
    pub(super) parents: Vec<Option<usize>>,
    /// The children of each span, in the order of their begin.
    pub(super) children: Vec<Vec<usize>>,
    /// Whether a span names a parent that the trace does not have.
    pub(super) orphan: Vec<bool>,
}

/// Counts the findings in one trace.
struct Notes<'n> {
    place: &'n str,
    findings: &'n mut Findings,
}

impl Notes<'_> {
    fn count(&mut self, topic: &'static Topic) -> Result<(), ImportError> {
        self.findings.count(topic, || self.place.to_owned())
    }
}

impl Tree {
    /// The tree of `spans`, in which every span reaches a root and has a kind.
    ///
    /// # Errors
    /// [`ImportError::Strict`] for a guess or a loss if the options refuse them.
    pub(super) fn grown(
        spans: Vec<Span>,
        place: &str,
        names: &Names,
        findings: &mut Findings,
    ) -> Result<Tree, ImportError> {
        let mut notes = Notes { place, findings };
        let mut owners = Owners::default();
        let mut kept: Vec<Span> = Vec::with_capacity(spans.len());
        for span in spans {
            match owners.admit(span, kept.len(), &kept) {
                None => kept.push(span),
                Some(topic) => notes.count(topic)?,
            }
        }
        if owners.shared > 0 {
            let count = owners.shared;
            notes
                .findings
                .count_many(&topics::SHARED_ID, count, || place.to_owned())?;
        }
        let parents = kept.iter().enumerate();
        let parents: Vec<_> = parents
            .map(|(i, span)| owners.parent(i, span, &kept))
            .collect();
        let tree = without_cycles(kept, &parents, &mut notes)?;
        tree.with_kinds(names, &mut notes)
    }

    fn with_kinds(mut self, names: &Names, notes: &mut Notes<'_>) -> Result<Tree, ImportError> {
        for i in 0..self.spans.len() {
            if self.spans[i].kind == Kind::Unknown {
                let kind = self.kind(i, names);
                if kind != Kind::Internal {
                    notes.count(&topics::KIND)?;
                }
                self.spans[i].kind = kind;
            }
            if self.orphan[i] {
                notes.count(match self.spans[i].kind {
                    Kind::Server => &topics::MISSING,
                    _ => &topics::ORPHANS,
                })?;
            }
        }
        Ok(self)
    }

    /// The kind of a span whose file does not state it.
    fn kind(&self, i: usize, names: &Names) -> Kind {
        let span = &self.spans[i];
        let name = names.text(span.operation);
        match self.parents[i] {
            None => return Kind::Server,
            Some(parent) if self.spans[parent].service != span.service => return Kind::Server,
            Some(_) => {}
        }
        let mut children = self.children[i].iter();
        let calls = children.any(|&child| self.spans[child].service != span.service);
        let leaf = self.children[i].is_empty();
        let store = span.facts.store.is_some() || store_of_word(name).is_some();
        if calls || (leaf && (store || kind_of_name(name) == Some(Kind::Client))) {
            Kind::Client
        } else {
            Kind::Internal
        }
    }
}

/// The spans by id.
#[derive(Default)]
struct Owners {
    /// The first span with the id, and the server span that shares the id with it.
    of: HashMap<SpanId, (usize, Option<usize>)>,
    shared: u64,
}

impl Owners {
    /// Admits `span`, which becomes number `next`. The error is the reason for leaving it out.
    fn admit(&mut self, span: Span, next: usize, kept: &[Span]) -> Option<&'static Topic> {
        let Some((first, second)) = self.of.get_mut(&span.id) else {
            self.of.insert(span.id, (next, None));
            return None;
        };
        let other = &kept[*first];
        let times = |span: &Span| (span.start_ns, span.end_ns, span.parent);
        if other.operation == span.operation
            && other.service == span.service
            && times(other) == times(&span)
        {
            return Some(&topics::TWICE);
        }
        let kinds = (other.kind, span.kind);
        match (kinds, &second) {
            ((Kind::Client, Kind::Server), None) => *second = Some(next),
            ((Kind::Server, Kind::Client), None) => (*first, *second) = (next, Some(*first)),
            _ => return Some(&topics::DUPLICATE),
        }
        self.shared += 1;
        None
    }

    /// The parent of span number `i`; an error for one that is not there.
    fn parent(&self, i: usize, span: &Span, kept: &[Span]) -> Result<Option<usize>, ()> {
        if let Some(&(client, Some(server))) = self.of.get(&span.id)
            && server == i
        {
            return Ok(Some(client));
        }
        if span.parent == 0 {
            return Ok(None);
        }
        match self.of.get(&span.parent) {
            None => Err(()),
            Some(&(first, None)) => Ok(Some(first)),
            Some(&(client, Some(server))) => {
                let own = kept[client].service == span.service && client != i;
                let own = own && kept[server].service != span.service;
                Ok(Some(if own { client } else { server }))
            }
        }
    }
}

fn without_cycles(
    spans: Vec<Span>,
    parents: &[Result<Option<usize>, ()>],
    notes: &mut Notes<'_>,
) -> Result<Tree, ImportError> {
    let mut children = vec![Vec::new(); spans.len()];
    let mut reached: Vec<usize> = Vec::new();
    for (i, parent) in parents.iter().enumerate() {
        match parent {
            Ok(Some(parent)) => children[*parent].push(i),
            _ => reached.push(i),
        }
    }
    // Spans that no root reaches are on a cycle or below one.
    let mut number = vec![None; spans.len()];
    let mut next = 0;
    while let Some(&i) = reached.get(next) {
        number[i] = Some(next);
        reached.extend(&children[i]);
        next += 1;
    }
    for _ in reached.len()..spans.len() {
        notes.count(&topics::CYCLE)?;
    }
    let mut tree = Tree {
        spans: reached.iter().map(|&i| spans[i]).collect(),
        parents: Vec::new(),
        children: vec![Vec::new(); reached.len()],
        orphan: reached.iter().map(|&i| parents[i].is_err()).collect(),
    };
    for (new, &i) in reached.iter().enumerate() {
        let parent = parents[i].ok().flatten().and_then(|parent| number[parent]);
        tree.parents.push(parent);
        if let Some(parent) = parent {
            tree.children[parent].push(new);
        }
    }
    let Tree {
        spans, children, ..
    } = &mut tree;
    for children in children {
        children.sort_by_key(|&child| (spans[child].start_ns, spans[child].end_ns));
    }
    Ok(tree)
}
