//! Conversion of profile tables to JSON and back.

use accelflow_arcus::control::{Capacity, Context, Pattern, ProfileTable, RouteEntry};
use accelflow_arcus::{Path, Platform, PlatformError};
use accelflow_units::Bytes;
use serde::{Deserialize, Serialize};

/// A context and its capacity.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    flows: Vec<EntryFlow>,
    gbit_per_s: f64,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct EntryFlow {
    path: String,
    /// Numbers of accelerators.
    accelerators: Vec<usize>,
    engine: usize,
    message_bytes: u64,
    permille: u32,
}

/// The table of these entries for a platform. Entries that do not fit the platform are refused.
pub(super) fn table(platform: &Platform, entries: &[Entry]) -> Result<ProfileTable, PlatformError> {
    let mut table = ProfileTable::new(platform.clone());
    for entry in entries {
        let pattern = |flow: &EntryFlow| Pattern {
            route: RouteEntry {
                accelerators: flow.accelerators.clone(),
                engine: flow.engine,
                path: path(&flow.path),
            },
            size: Bytes(flow.message_bytes),
            permille: flow.permille,
        };
        let context = Context::of(entry.flows.iter().map(pattern).collect());
        let gbit_per_s = entry.gbit_per_s;
        table.insert(context, Capacity { gbit_per_s });
    }
    Ok(table)
}

fn path(name: &str) -> Path {
    let found = Path::ALL.into_iter().find(|path| path.name() == name);
    found.unwrap_or(Path::FunctionCall)
}

pub(super) fn entries(table: &ProfileTable) -> Vec<Entry> {
    let flow = |pattern: &Pattern| EntryFlow {
        path: pattern.route.path.name().to_owned(),
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
