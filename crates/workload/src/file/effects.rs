//! Warnings about values without effect in a workload file.

use std::collections::{BTreeMap, BTreeSet};

use accelflow_trace::Image;

use super::tree::{Chain, Phase, Service, Workload};
use super::values::Wait;

impl Workload {
    /// Returns a warning for each value without effect: facts, odds and waits of traces that no
    /// chain enters, application times that no phase has a part of, and a network time without a
    /// call between servers.
    pub(super) fn without_effect(&self, image: &Image) -> Vec<String> {
        let mut warnings = Vec::new();
        let mut of_all = BTreeSet::new();
        for (index, service) in self.services.iter().enumerate() {
            let place = format!("services[{index}]");
            let mut of_service = BTreeSet::new();
            for (place, chain) in service.placed_chains(&place) {
                let answers = answers(chain, image);
                warnings.extend(not_entered(chain, &place, image));
                warnings.extend(not_waited(&chain.waits, &answers, &place, "chain"));
                of_service.extend(answers);
            }
            warnings.extend(not_waited(&service.waits, &of_service, &place, "service"));
            warnings.extend(not_shared(service, &place));
            of_all.extend(of_service);
        }
        warnings.extend(not_waited(
            &self.defaults.waits,
            &of_all,
            "defaults",
            "workload",
        ));
        if self.defaults.network.is_some() {
            warnings.extend(self.no_network().map(str::to_owned));
        }
        warnings
    }

    /// The warning that the file's network time has no effect, if no call is between two servers.
    fn no_network(&self) -> Option<&'static str> {
        let calls = self.services.iter().flat_map(|caller| {
            let callees = caller
                .chains()
                .filter_map(|(_, _, chain)| chain.calls.as_deref());
            let callees = callees.filter_map(move |name| self.service(name));
            callees.map(move |callee| (caller, callee))
        });
        let mut calls = calls.peekable();
        if calls.peek().is_none() {
            return Some("defaults.network: has no effect, as no service calls another");
        }
        calls.all(|(caller, callee)| caller.server == callee.server).then_some(
            "defaults.network: has no effect unless the placement is isolated, as no call leads to \
             another `server`",
        )
    }
}

/// The names of the traces that `chain` may wait for: those that receive an answer.
fn answers<'i>(chain: &Chain, image: &'i Image) -> BTreeSet<&'i str> {
    let entry = image.entry(&chain.trace);
    let entered = entry.map(|entry| image.entered(entry)).unwrap_or_default();
    let answers = entered.into_iter().filter(|&trace| image.receives(trace));
    answers.map(|trace| image.name(trace)).collect()
}

/// The warnings for the facts and odds of traces that `chain` never enters.
fn not_entered(chain: &Chain, place: &str, image: &Image) -> Vec<String> {
    let Some(entry) = image.entry(&chain.trace) else {
        return Vec::new();
    };
    let entered = image.entered(entry);
    let enters = |name: &String| {
        *name == chain.trace || entered.iter().any(|&trace| image.name(trace) == name)
    };
    let facts = chain.facts.keys().map(|trace| ("facts", trace));
    let odds = chain.odds.keys().map(|trace| ("odds", trace));
    let unused = facts.chain(odds).filter(|(_, trace)| !enters(trace));
    unused
        .map(|(table, trace)| {
            format!("{place}.{table}.{trace}: has no effect, as the chain never enters this trace")
        })
        .collect()
}

/// The warning for an application time that no phase of `service` has a part of.
fn not_shared(service: &Service, place: &str) -> Option<String> {
    let shares = |phase: &Phase| matches!(phase, Phase::Cpu(phase) if phase.cpu.drawn().is_none());
    let unused = service.app_us.is_some() && !service.path.iter().any(shares);
    unused.then(|| {
        format!("{place}.app_us: has no effect, as no phase of the path is {{ cpu = true }}")
    })
}

/// The warnings for waits of traces that are not among `answers`, the traces for which the `owner`
/// of the table at `place` waits.
fn not_waited(
    waits: &BTreeMap<String, Wait>,
    answers: &BTreeSet<&str>,
    place: &str,
    owner: &str,
) -> Vec<String> {
    let used = |trace: &str| answers.contains(trace) || trace == "other" && !answers.is_empty();
    let unused = waits.keys().filter(|trace| !used(trace));
    unused
        .map(|trace| match trace.as_str() {
            "other" => {
                format!("{place}.waits.other: has no effect, as the {owner} waits for no answer")
            }
            _ => format!(
                "{place}.waits.{trace}: has no effect, as the {owner} never waits for an answer to \
                 this trace"
            ),
        })
        .collect()
}
