//! Files with tables of profiles: the capacities of a platform for mixes of flows.

use accelflow_parameters::Refusal;
use accelflow_units::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::check::CheckedPlan;
use super::error::PlanError;
use super::file::{AcceleratorTable, PlatformTable, StorageTable};
use crate::control::{
    Capacity, Combination, Context, Pattern, ProfileTable, RouteEntry, Tag, Traffic,
};
use crate::{Path, Platform};

/// The name and version of the file format of a table of profiles.
pub const PROFILES_SCHEMA: &str = "accelflow.arcus.profiles/3";

/// A file with a table of profiles: the capacities of a platform for mixes of flows, as `accelflow
/// arcus profile` writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileFile {
    /// The name and version of the file format, which must be [`PROFILES_SCHEMA`].
    pub schema: String,
    /// The version of accelflow that wrote the file.
    pub version: String,
    /// The profiled platform, as its plan describes it.
    pub platform: ProfiledPlatform,
    /// The sizes of messages and segments that the profiles distinguish, in bytes. A size between
    /// two of these is treated like the one of the two at which the platform's rate is lower.
    pub sizes: Vec<u64>,
    /// The contexts (mixes of flows), each with the platform's capacity.
    pub entries: Vec<Entry>,
    /// The combinations of the plan's flows with SLOs, each with a tag that says whether its flows
    /// may be admitted together.
    pub combinations: Vec<TaggedCombination>,
    /// The number of contexts that were simulated to create this table.
    pub simulated: u64,
}

/// The parts of a plan that describe its platform: accelerators, link, ports and storage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfiledPlatform {
    accelerators: Vec<String>,
    accelerator: Vec<AcceleratorTable>,
    platform: PlatformTable,
    storage_devices: u32,
    storage: StorageTable,
}

impl ProfiledPlatform {
    pub(super) fn of(plan: &CheckedPlan) -> ProfiledPlatform {
        let file = &plan.file;
        let names = plan.platform.accelerators.iter();
        ProfiledPlatform {
            accelerators: names.map(|accelerator| accelerator.name.clone()).collect(),
            accelerator: file.accelerator.clone(),
            platform: file.platform.clone(),
            storage_devices: file.storage_devices,
            storage: file.storage.clone(),
        }
    }
}

/// A context (a mix of flows) with the platform's capacity for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    flows: Vec<EntryFlow>,
    gbit_per_s: f64,
}

/// A flow of a context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryFlow {
    path: Path,
    /// The indices of the accelerators on the flow's route.
    accelerators: Vec<usize>,
    engine: usize,
    message_bytes: u64,
    permille: u32,
}

/// One or more flows of a plan, each on one of its routes, with a tag that says whether all of them
/// may be admitted together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaggedCombination {
    /// The flows in this combination, with their routes.
    pub flows: Vec<RoutedFlow>,
    /// The traffic of the flows at their SLOs.
    traffic: Vec<TaggedTraffic>,
    /// The sum of the flows' SLOs, in gigabits per second.
    pub asked_gbit_per_s: f64,
    /// The largest total rate that the platform can deliver if the flows of this combination send
    /// in the proportions of their SLOs, in gigabits per second.
    pub gbit_per_s: f64,
    /// The limit on the load of all SLOs: the plan's `oversubscription`, or 15/16 of it for a
    /// combination with a `reserved` or `opportunistic` flow. The tag counts only for flows that
    /// are admitted up to an equal load.
    pub most_load: f64,
    /// The tag: `SLO-Friendly` if the load of all SLOs is at most `most_load`, and otherwise
    /// `SLO-Violating`.
    pub tag: String,
}

/// A flow of a plan on one of its possible routes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoutedFlow {
    /// The name of the flow in the plan file.
    pub flow: String,
    /// The path that the flow takes on this route.
    pub path: Path,
    /// The accelerators on this route in order, each as its name, `#` and its index on the
    /// platform, such as `ipsec#0`.
    pub accelerators: Vec<String>,
    /// The index of the DMA engine that moves the flow's data.
    pub engine: usize,
    /// The sizes of the pieces in which the flow's messages are sent on this route, in bytes: of
    /// whole messages or of segments.
    pub piece_bytes: Vec<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaggedTraffic {
    path: Path,
    accelerators: Vec<usize>,
    engine: usize,
    message_bytes: u64,
    gbit_per_s: f64,
}

impl TaggedCombination {
    pub(super) fn of(found: &Combination, flows: Vec<RoutedFlow>) -> TaggedCombination {
        let traffic = found.traffic.iter().map(|traffic| TaggedTraffic {
            path: traffic.route.path,
            accelerators: traffic.route.accelerators.clone(),
            engine: traffic.route.engine,
            message_bytes: traffic.size.get(),
            gbit_per_s: traffic.gbit_per_s,
        });
        TaggedCombination {
            flows,
            traffic: traffic.collect(),
            asked_gbit_per_s: found.asked_gbit_per_s,
            gbit_per_s: found.gbit_per_s,
            most_load: found.most,
            tag: found.tag.name().to_owned(),
        }
    }
}

/// The contexts of a table, each with its capacity.
pub(super) fn entries(table: &ProfileTable) -> Vec<Entry> {
    let flow = |pattern: &Pattern| EntryFlow {
        path: pattern.route.path,
        accelerators: pattern.route.accelerators.clone(),
        engine: pattern.route.engine,
        message_bytes: pattern.size.get(),
        permille: pattern.permille,
    };
    let each = table.entries().map(|(context, capacity)| Entry {
        flows: context.patterns().iter().map(flow).collect(),
        gbit_per_s: capacity.gbit_per_s,
    });
    each.collect()
}

impl ProfileFile {
    /// Reads a table of profiles from the JSON object `value`, which must have been written by
    /// accelflow of this `version`.
    ///
    /// # Errors
    /// [`PlanError`] for a value that is not a table of profiles, and for another format or
    /// accelflow version.
    pub fn from_json(value: &Value, version: &str) -> Result<ProfileFile, PlanError> {
        let text = |field: &str| match value.get(field) {
            Some(Value::String(text)) => accelflow_parameters::quoted(text),
            Some(other) => other.to_string(),
            None => "left out".to_owned(),
        };
        let refuse = |field: &str, allowed: String| {
            let refusal = Refusal::new(format!("profiles: {field}"), text(field), allowed);
            PlanError::of(Vec::new(), refusal)
        };
        for (field, required) in [("schema", PROFILES_SCHEMA), ("version", version)] {
            if value.get(field).and_then(Value::as_str) != Some(required) {
                let again = "run `accelflow arcus profile` again";
                return Err(refuse(field, format!("must be {required}: {again}")));
            }
        }
        serde_json::from_value(value.clone())
            .map_err(|error| PlanError::of(Vec::new(), format!("profiles: {error}")))
    }

    /// Returns the file's capacities and tags as a table for the platform of `plan`. A tag counts
    /// only for the limit on the load for which it was found ([`TaggedCombination::most_load`]). If
    /// `plan` has another `oversubscription` or other policies, the capacities decide.
    ///
    /// # Errors
    /// [`PlanError`] for profiles of another platform, for a context that does not fit the
    /// platform, and for an unknown tag.
    pub fn table(&self, plan: &CheckedPlan) -> Result<ProfileTable, PlanError> {
        if self.platform != ProfiledPlatform::of(plan) {
            let message = "profiles: must be of the same platform (accelerators, link, storage) as \
                           the plan: run `accelflow arcus profile` with this plan";
            return Err(PlanError::of(Vec::new(), message));
        }
        let sizes = self.sizes.iter().copied().map(Bytes).collect();
        let mut table = ProfileTable::new(plan.platform.clone()).of_sizes(sizes);
        for (number, entry) in self.entries.iter().enumerate() {
            let place = format!("profiles: entries[{number}]");
            let context = context(&plan.platform, entry, &place)?;
            let gbit_per_s = entry.gbit_per_s;
            table.insert(context, Capacity { gbit_per_s });
        }
        for (number, combination) in self.combinations.iter().enumerate() {
            let place = format!("profiles: combinations[{number}]: tag");
            let tag = Tag::ALL
                .into_iter()
                .find(|tag| tag.name() == combination.tag);
            let tag = tag.ok_or_else(|| {
                let known = Tag::ALL.map(Tag::name);
                PlanError::of(Vec::new(), Refusal::unknown(place, &combination.tag, known))
            })?;
            let traffic = combination.traffic.iter().map(|traffic| Traffic {
                route: route(traffic.path, &traffic.accelerators, traffic.engine),
                size: Bytes(traffic.message_bytes),
                gbit_per_s: traffic.gbit_per_s,
            });
            let traffic = traffic.collect::<Vec<Traffic>>();
            table.insert_tag(&traffic, combination.most_load, tag);
        }
        Ok(table)
    }
}

fn route(path: Path, accelerators: &[usize], engine: usize) -> RouteEntry {
    RouteEntry {
        accelerators: accelerators.to_vec(),
        engine,
        path,
    }
}

/// The context of an entry of the file, if its flows can run on the platform.
fn context(platform: &Platform, entry: &Entry, place: &str) -> Result<Context, PlanError> {
    let refuse = |field: &str, value: String, allowed: &str| {
        let refusal = Refusal::new(format!("{place}: {field}"), value, allowed);
        Err(PlanError::of(Vec::new(), refusal))
    };
    if entry.flows.is_empty() {
        return refuse("flows", "[]".to_owned(), "must have at least one flow");
    }
    if !(entry.gbit_per_s.is_finite() && entry.gbit_per_s >= 0.0) {
        let value = accelflow_parameters::number_text(entry.gbit_per_s);
        return refuse("gbit_per_s", value, "must be at least 0");
    }
    let count = platform.accelerators.len();
    for flow in &entry.flows {
        let unknown = flow.accelerators.iter().find(|number| **number >= count);
        if let Some(number) = unknown {
            let allowed = format!("must be below {count}, the platform's number of accelerators");
            return refuse("accelerators", number.to_string(), &allowed);
        }
        if flow.engine >= platform.dma.engines || flow.message_bytes == 0 || flow.permille == 0 {
            let allowed = format!(
                "must have an engine below {}, the platform's number of DMA engines, and \
                 message_bytes and permille (share of the traffic) above 0",
                platform.dma.engines
            );
            let value = serde_json::to_string(flow).unwrap_or_default();
            return refuse("flows", value, &allowed);
        }
    }
    let patterns = entry.flows.iter().map(|flow| Pattern {
        route: route(flow.path, &flow.accelerators, flow.engine),
        size: Bytes(flow.message_bytes),
        permille: flow.permille,
    });
    Ok(Context::of(patterns.collect()))
}
