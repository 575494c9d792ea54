//! The analysis of all distributed traces of an import together.

use std::collections::HashMap;

use crate::collect::Finished;
use crate::error::ImportError;
use crate::names::Names;
use crate::report::Findings;
use crate::span::{Method, Span};
use crate::topics;

use super::arrivals::{Arrivals, Window};
use super::calls::{CalleesByName, Request, requests};
use super::groups::path;
use super::shapes::Operation;
use super::tree::Tree;

/// The analysis of all traces together.
#[derive(Debug, Default)]
pub(crate) struct Analysis {
    pub(crate) operations: HashMap<Method, Operation>,
    /// The starts of requests from outside.
    outside: Arrivals,
    callees: CalleesByName,
    /// The number of calls in all present shapes.
    items: usize,
}

/// The largest number of calls in all shapes together, which bounds memory.
const MOST_ITEMS: usize = 20_000;
/// A shape with this many requests is kept even if an operation loses its only shape for it.
const FAR_MORE: u64 = 1_000;
/// The largest number of calls of a request.
const MOST_CALLS: usize = 256;

impl Finished for Analysis {
    fn trace(
        &mut self,
        spans: Vec<Span>,
        place: &str,
        names: &Names,
        findings: &mut Findings,
    ) -> Result<(), ImportError> {
        let tree = Tree::grown(spans, place, names, findings)?;
        let found = requests(&tree, place, names, findings, &mut self.callees)?;
        for request in &found {
            self.request(request, place, findings)?;
        }
        Ok(())
    }
}

impl Analysis {
    fn request(
        &mut self,
        request: &Request,
        place: &str,
        findings: &mut Findings,
    ) -> Result<(), ImportError> {
        findings.count(&topics::REQUESTS, || place.to_owned())?;
        if request.outside {
            self.outside.add(request.start_ns, place);
        }
        let operation = self.operations.entry(request.method).or_default();
        operation.arrived(request);
        if request.calls.len() > MOST_CALLS {
            return findings.count(&topics::MANY_CALLS, || place.to_owned());
        }
        let path = path(request, place, findings)?;
        self.items += operation.add(request, &path, place);
        if self.items > MOST_ITEMS {
            self.forget_rare();
        }
        Ok(())
    }

    /// The analysis of the whole data set, which does not depend on the order of its traces unless
    /// shapes were forgotten or names ran out: names are numbered by their texts, and calls without
    /// a server span have the operation that answers other calls of the same name, if it is the
    /// only one. Returns the names, too.
    ///
    /// # Errors
    /// [`ImportError::Strict`] for a guess if the options refuse guesses.
    pub(crate) fn settled(
        mut self,
        names: &Names,
        findings: &mut Findings,
    ) -> Result<(Analysis, Names), ImportError> {
        let (names, new) = names.in_order();
        let renumbered = |method: Method| (new.of(method.0), new.of(method.1));
        let mut guessed = Vec::new();
        for (method, mut operation) in std::mem::take(&mut self.operations) {
            let answers = |asked| self.callees.of(method.0, asked);
            let counts = operation.settle(answers, renumbered);
            guessed.push((renumbered(method), counts));
            self.operations.insert(renumbered(method), operation);
        }
        guessed.sort();
        for (count, place) in guessed.into_iter().flat_map(|(_, counts)| counts) {
            findings.count_many(&topics::CALLEE, count, || place.clone())?;
        }
        Ok((self, names))
    }

    /// The time in which requests arrived from outside; `None` if they started at the same time.
    /// A called request starts when its caller asks, so it shows nothing about arrivals.
    pub(crate) fn window(&self) -> Option<Window> {
        self.outside.window()
    }

    /// Drops the least frequent shapes until half of the room is free. Each operation keeps its
    /// most frequent shape, unless shapes that are far more frequent would have to go for it.
    fn forget_rare(&mut self) {
        for (keep_one, until) in [(true, FAR_MORE), (false, u64::MAX / 2)] {
            let mut most = 1;
            while self.items > MOST_ITEMS / 2 && most < until {
                for operation in self.operations.values_mut() {
                    self.items -= operation.forget_up_to(most, keep_one);
                }
                most *= 2;
            }
        }
    }
}
