//! The current attempts of chains that may fail and be retried.

use std::collections::BTreeMap;

use crate::server::state::{Path, RequestId};

/// The chains in flight that may be repeated.
pub(crate) struct Retries {
    /// Whether the plan has such chains.
    any: bool,
    /// By request and by the index of the chain within its phase.
    chains: BTreeMap<(RequestId, u16), Attempt>,
}

/// An attempt of a chain, or the pause before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    /// Index of the attempt, from 0.
    pub number: u16,
    /// The request's time up to the attempt, broken down by kind of work or wait. For a repeated
    /// attempt, the pause before it is left out.
    pub path: Path,
    /// The number of executions that have not ended.
    executions: u16,
}

impl Retries {
    /// No attempts. `any` says whether chains of the plan may be repeated.
    pub(crate) fn new(any: bool) -> Retries {
        Retries {
            any,
            chains: BTreeMap::new(),
        }
    }

    /// Whether chains may be repeated.
    pub(crate) fn any(&self) -> bool {
        self.any
    }

    /// Begins the attempt number `number` of a chain of `request`, which has come along `path`.
    pub(crate) fn begin(&mut self, request: RequestId, chain: u16, number: u16, path: Path) {
        let attempt = Attempt {
            number,
            path,
            executions: 1,
        };
        self.chains.insert((request, chain), attempt);
    }

    /// The attempt of a chain, if it may be repeated.
    pub(crate) fn attempt(&self, request: RequestId, chain: u16) -> Option<&Attempt> {
        self.chains.get(&(request, chain))
    }

    /// Counts a further execution of a chain.
    pub(crate) fn fork(&mut self, request: RequestId, chain: u16) {
        if let Some(attempt) = self.chains.get_mut(&(request, chain)) {
            attempt.executions += 1;
        }
    }

    /// Counts an execution of a chain that has ended. Returns the number of the attempt, if it was
    /// the last execution of a chain that may be repeated.
    pub(crate) fn end(&mut self, request: RequestId, chain: u16) -> Option<u16> {
        let attempt = self.chains.get_mut(&(request, chain))?;
        attempt.executions -= 1;
        if attempt.executions > 0 {
            return None;
        }
        let number = attempt.number;
        self.chains.remove(&(request, chain));
        Some(number)
    }
}
