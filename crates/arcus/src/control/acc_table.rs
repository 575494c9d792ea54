//! The AccTable: the platform's accelerators by name, and the routes that lead through them.

use super::request::AdmissionRequest;
use super::route::RouteEntry;
use crate::hardware::STORAGE;
use crate::{Platform, PlatformError};

/// A row of ARCUS's AccTable: an accelerator's name, and the indices of all accelerators with this
/// name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccEntry {
    /// The name by which admission requests ask for the accelerator.
    pub name: String,
    /// The platform's accelerators of this name, as indices of [`Platform::accelerators`]; empty in
    /// the row for the storage.
    pub instances: Vec<usize>,
}

/// The AccTable of a platform: one entry for each accelerator name, whose instances are all
/// accelerators of this name, and [`STORAGE`] if the platform has storage.
pub(super) fn entries(platform: &Platform) -> Vec<AccEntry> {
    let mut found: Vec<AccEntry> = Vec::new();
    for (number, part) in platform.accelerators.iter().enumerate() {
        match found.iter_mut().find(|entry| entry.name == part.name) {
            Some(entry) => entry.instances.push(number),
            None => found.push(AccEntry {
                name: part.name.clone(),
                instances: vec![number],
            }),
        }
    }
    if platform.storage.is_some() {
        found.push(AccEntry {
            name: STORAGE.to_owned(),
            instances: Vec::new(),
        });
    }
    found
}

/// All routes that a request allows, for each of its paths, accelerators, their instances and the
/// DMA engines.
pub(super) fn routes(
    table: &[AccEntry],
    engines: usize,
    request: &AdmissionRequest,
) -> Result<Vec<RouteEntry>, PlatformError> {
    let mut places: Vec<Vec<usize>> = Vec::new();
    for name in std::iter::once(&request.accelerator).chain(&request.instead) {
        places.extend(instances(table, request, name)?);
    }
    for name in &request.then {
        let next = instances(table, request, name)?;
        let longer = places
            .iter()
            .flat_map(|place| next.iter().map(|more| [&place[..], &more[..]].concat()));
        places = longer.collect();
    }
    let mut routes = Vec::new();
    for &path in std::iter::once(&request.path).chain(&request.other_paths) {
        if places.iter().any(Vec::is_empty) && !path.uses_storage() {
            let (name, path) = (request.name.clone(), path.name());
            return Err(PlatformError::NeedsAccelerator { name, path });
        }
        for place in &places {
            for engine in 0..engines {
                routes.push(RouteEntry {
                    accelerators: place.clone(),
                    engine,
                    path,
                });
            }
        }
    }
    Ok(routes)
}

/// The instances of the accelerator `name`, each as the beginning of a route.
fn instances(
    table: &[AccEntry],
    request: &AdmissionRequest,
    name: &str,
) -> Result<Vec<Vec<usize>>, PlatformError> {
    let found = table.iter().find(|entry| entry.name == name);
    let entry = found.ok_or_else(|| unknown(table, request, name))?;
    Ok(match entry.instances.is_empty() {
        true => vec![Vec::new()],
        false => entry
            .instances
            .iter()
            .map(|instance| vec![*instance])
            .collect(),
    })
}

fn unknown(table: &[AccEntry], request: &AdmissionRequest, accelerator: &str) -> PlatformError {
    let known = table.iter().map(|entry| entry.name.as_str());
    PlatformError::UnknownAccelerator {
        name: request.name.clone(),
        accelerator: accelerator.to_owned(),
        known: known.collect::<Vec<&str>>().join(", "),
    }
}
