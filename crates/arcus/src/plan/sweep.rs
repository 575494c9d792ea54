//! The profiling of a platform in advance: for a plan's flows, and for message sizes and paths of
//! tenants that are not known yet.

use accelflow_units::Bytes;

use super::check::CheckedPlan;
use super::error::PlanError;
use super::profiles::{
    PROFILES_SCHEMA, ProfileFile, ProfiledPlatform, RoutedFlow, TaggedCombination, entries,
};
use crate::control::{
    AdmissionRequest, Candidate, Manager, ProfileTable, Rate, RouteEntry, STORAGE, Sweep,
    combinations,
};
use crate::{Path, Platform};

/// The options of [`profile`]: what to profile in addition to a plan's flows, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepOptions {
    /// The message sizes of tenants that are not known yet; empty to profile only the plan's flows.
    pub sizes: Vec<Bytes>,
    /// The paths of tenants that are not known yet; empty for all paths that the platform supports.
    pub paths: Vec<Path>,
    /// The largest number of flows in a combination. It is also the largest number of pairs of
    /// route and size in a context, but contexts never have more than 4 pairs.
    pub most: usize,
    /// The number of simulations that run at the same time.
    pub threads: usize,
}

/// Simulates the capacities of a plan's platform in advance, so that later admissions need no
/// simulation for contexts of at most [`SweepOptions::most`] pairs of route and size, and at most
/// 4. Covers the plan's flows, and unknown tenants with the sizes and paths in `options`. The
/// returned file also states for each combination of at most [`SweepOptions::most`] of the plan's
/// flows with SLOs whether they may be admitted together. `version` is the version of accelflow,
/// which is written to the file.
///
/// # Errors
/// [`PlanError`] for more mixes or combinations of flows than allowed, and for invalid flows.
pub fn profile(
    plan: &CheckedPlan,
    options: &SweepOptions,
    version: &str,
) -> Result<ProfileFile, PlanError> {
    let mut manager = plan.manager(ProfileTable::new(plan.platform.clone()))?;
    let mut patterns = unknown_tenants(&manager, &plan.platform, options)?;
    for flow in &plan.flows {
        patterns.extend(manager.patterns(&flow.request)?);
    }
    let most = options.most;
    let sizes: Vec<Bytes> = patterns.iter().map(|pattern| pattern.1).collect();
    manager
        .profiles()
        .sweep(&Sweep { patterns, most }, options.threads)?;
    let mut candidates = Vec::new();
    let mut routed = Vec::new();
    for (number, flow) in plan.flows.iter().enumerate() {
        for (route, traffic) in manager.candidates(&flow.request)? {
            let pieces = traffic.iter().map(|piece| piece.size.get());
            routed.push(RoutedFlow {
                flow: flow.request.name.clone(),
                path: route.path,
                accelerators: named(&plan.platform, &route),
                engine: route.engine,
                piece_bytes: pieces.collect(),
            });
            candidates.push(Candidate {
                flow: number,
                traffic,
                share: flow.request.class.admitted_share() * plan.file.oversubscription,
            });
        }
    }
    let found = combinations(manager.profiles(), &candidates, most)?;
    let tagged = found.iter().map(|combination| {
        let flows = combination.members.iter();
        let flows = flows.map(|member| routed[*member].clone()).collect();
        TaggedCombination::of(combination, flows)
    });
    let mut sizes: Vec<u64> = sizes.into_iter().map(Bytes::get).collect();
    sizes.sort_unstable();
    sizes.dedup();
    Ok(ProfileFile {
        schema: PROFILES_SCHEMA.to_owned(),
        version: version.to_owned(),
        platform: ProfiledPlatform::of(plan),
        sizes,
        combinations: tagged.collect(),
        simulated: manager.profiles().simulated(),
        entries: entries(manager.profiles()),
    })
}

/// The accelerators of a route, each as its name, `#` and its index.
fn named(platform: &Platform, route: &RouteEntry) -> Vec<String> {
    let places = route.accelerators.iter();
    let named = places.map(|place| format!("{}#{place}", platform.accelerators[*place].name));
    named.collect()
}

/// The pairs of a route and a message size of tenants that are not known yet. Routes lead through
/// one accelerator or to the storage, by each path of `options`; messages are cut or whole.
fn unknown_tenants(
    manager: &Manager,
    platform: &Platform,
    options: &SweepOptions,
) -> Result<Vec<(RouteEntry, Bytes)>, PlanError> {
    let paths: Vec<Path> = match options.paths.is_empty() {
        true => Path::ALL.to_vec(),
        false => options.paths.clone(),
    };
    let possible = |name: &str, path: Path| match path {
        Path::StorageRead | Path::StorageWrite => platform.storage.is_some(),
        Path::InlineTx => name != STORAGE && !platform.ports.is_empty(),
        Path::FunctionCall | Path::InlineRx => name != STORAGE,
    };
    let mut found = Vec::new();
    for path in paths {
        for entry in manager.accelerators() {
            for size in options.sizes.iter().filter(|_| possible(&entry.name, path)) {
                let any = Rate::GbitPerS(1.0);
                let request = AdmissionRequest::new("any", &entry.name, path, *size, any);
                found.extend(manager.patterns(&request)?);
            }
        }
    }
    Ok(found)
}
