//! The simulated server with and without Cerebros, for `accelflow.cerebros`.

use std::collections::BTreeMap;

use accelflow_cerebros::catalogue::describe;
use accelflow_cerebros::interface::Files;
use accelflow_cerebros::services::Service;
use accelflow_cerebros::{Arrivals, Design, Load, Platform, Steering, Summary, simulate};
use accelflow_parameters::Refusal;
use pyo3::prelude::*;
use serde::Deserialize;

use crate::errors::failure;
use crate::interrupt::interruptible;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    service: String,
    own: Option<Files>,
    design: String,
    affinity: bool,
    functions: Option<Vec<String>>,
    arrivals: ArrivalsArguments,
    requests: usize,
    warmup: usize,
    seed: u64,
    unknown_ratio: f64,
    malformed_ratio: f64,
    parameters: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ArrivalsArguments {
    Senders(usize),
    RateRps(f64),
    LoadRatio(f64),
}

impl Arguments {
    fn load(&self) -> Load {
        Load {
            arrivals: match self.arrivals {
                ArrivalsArguments::Senders(senders) => Arrivals::Closed(senders),
                ArrivalsArguments::RateRps(rate) => Arrivals::Rate(rate),
                ArrivalsArguments::LoadRatio(share) => Arrivals::Share(share),
            },
            requests: self.requests,
            warmup: self.warmup,
            seed: self.seed,
            unknown: self.unknown_ratio,
            malformed: self.malformed_ratio,
        }
    }

    fn steering(&self) -> Steering {
        match self.affinity {
            true => Steering::Affinity,
            false => Steering::LeastLoaded,
        }
    }
}

/// Simulates requests to a service of the Cerebros paper under one design, and returns JSON.
///
/// `request` (JSON) names the service and the design, and sets the load and the parameters. Raises
/// AccelflowError for an unknown name and if the simulation fails.
#[pyfunction]
pub(crate) fn cerebros_simulate(py: Python<'_>, request: &str) -> PyResult<String> {
    let request: Arguments = serde_json::from_str(request).map_err(failure)?;
    let found = interruptible(py, move || summary(&request))??;
    serde_json::to_string(&found).map_err(failure)
}

/// Returns the names of the services and of the designs of Cerebros, in the paper's order.
#[pyfunction]
pub(crate) fn cerebros_names() -> (Vec<String>, Vec<&'static str>) {
    let services = Service::all().map(|service| service.name.into_owned());
    (services.into(), Design::ALL.map(Design::name).into())
}

/// Returns the Cerebros paper's services as JSON: functions, messages, schemas, working sets.
#[pyfunction]
pub(crate) fn cerebros_services() -> PyResult<String> {
    serde_json::to_string(&describe(&Platform::default())).map_err(failure)
}

fn summary(request: &Arguments) -> PyResult<Summary> {
    let mut platform = Platform::default();
    for (name, value) in &request.parameters {
        platform.set(name, *value).map_err(failure)?;
    }
    let (service, platform) = match &request.own {
        Some(files) => {
            let header = request.parameters.contains_key("software_header_cycles");
            let served = files.served(&request.service, platform, header);
            served.map_err(failure)?
        }
        None => {
            let service = Service::named(&request.service).map_err(failure)?;
            (service.in_blocks_of(platform.l1i_block_bytes), platform)
        }
    };
    simulated(request, service, &platform).map_err(failure)
}

fn simulated(
    request: &Arguments,
    mut service: Service,
    platform: &Platform,
) -> Result<Summary, Refusal> {
    if let Some(names) = &request.functions {
        service.keep(names)?;
    }
    let design = Design::named(&request.design)?;
    let load = request.load();
    let outcome = simulate(&service, platform, design, request.steering(), &load)?;
    Summary::of(&service, platform, design, outcome)
}
