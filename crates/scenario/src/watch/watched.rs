//! The observation of one request: its waterfall.

use accelflow_parameters::Refusal;
use accelflow_sim::compare::{Comparison, compare, observe};
use accelflow_sim::stats::Sample;
use accelflow_sim::{Activity, Observer, Seen};
use rustc_hash::FxHashSet;
use serde_json::{Value, json};

use super::assembler::{Assembler, RequestKey};
use super::resource::ResourceNames;
use super::waterfall::Waterfall;
use crate::checked::Checked;
use crate::error::{ScenarioError, engine};
use crate::limits::MAX_SAMPLES;
use crate::options::RunOptions;
use crate::setup::Setup;

/// The choice of one request to a service, by index or by response time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Which {
    /// The request with this index, counted from 0 among the clients' requests in the order of
    /// arrival, including the warm-up.
    Number(u64),
    /// The request whose response time is this percentile of the service's requests after the
    /// warm-up, above 0 and at most 100: 50 is the median and 100 the slowest request.
    Percentile(f64),
}

/// A request that was followed through the server, and the division of its response time.
#[derive(Clone, Debug, PartialEq)]
pub struct Watched {
    /// The identifier of the simulated system.
    pub system: String,
    /// The name of the request's service.
    pub service: String,
    /// The request's response time, divided into pieces of work and waits.
    pub waterfall: Waterfall,
    /// The waterfall as [`Waterfall::to_json`] returns it, with the fields `schema` and `system`.
    pub json: Value,
}

impl Checked {
    /// Simulates the scenario under its only system and follows one request to the service called
    /// `service`. `progress` is called as in [`Checked::run_beside`], but separately for each of up
    /// to two simulations; if `progress` returns `false`, the result is `None`.
    ///
    /// # Errors
    /// [`ScenarioError`] for several systems or chips, an unknown service or request, a percentile
    /// out of range, or a scenario that the simulator cannot run. A percentile is also refused if
    /// no client's request to the service has an answer after the warm-up, and if all services
    /// together have more than [`MAX_SAMPLES`](crate::MAX_SAMPLES) requests after the warm-up,
    /// since the first simulation stores the response time of each request.
    pub fn watch(
        &self,
        service: &str,
        which: Which,
        progress: &(dyn Fn(u64, u64) -> bool + Sync),
    ) -> Result<Option<Watched>, ScenarioError> {
        let index = self.service_index(service)?;
        let setup = self.only_setup()?;
        let number = match which {
            Which::Number(number) => number,
            Which::Percentile(percentile) => {
                if !(percentile > 0.0 && percentile <= 100.0) {
                    let allowed = "must be more than 0 and at most 100";
                    return Err(Refusal::number("percentile", percentile, allowed).into());
                }
                let Some(samples) = self.samples_of(&setup, index, progress)? else {
                    return Ok(None);
                };
                nearest(&samples, percentile).request
            }
        };
        let comparison = setup.comparison(self, &RunOptions::default());
        let chosen = FxHashSet::from_iter([(index, number)]);
        let Some(mut found) = waterfalls(&comparison, &chosen, progress)? else {
            return Ok(None);
        };
        let Some(waterfall) = found.pop() else {
            let allowed =
                "must be the number of a simulated request of the service, counted from 0";
            return Err(Refusal::new("request", number, allowed).into());
        };
        let mut json = waterfall.to_json(ResourceNames::new(&setup, &self.service_names()));
        let system = self.systems.first().map_or("", |system| system.id());
        json["schema"] = json!("accelflow.waterfall/1");
        json["system"] = json!(system);
        Ok(Some(Watched {
            system: system.to_owned(),
            service: service.to_owned(),
            waterfall,
            json,
        }))
    }

    /// The simulation, if the scenario has one system on one chip.
    pub(crate) fn only_setup(&self) -> Result<Setup<'_>, ScenarioError> {
        if self.systems.len() != 1 {
            let names: Vec<&str> = self.systems.iter().map(|system| system.id()).collect();
            let allowed = "must be a single system: requests can be followed only in one";
            return Err(Refusal::new("orchestrators", names.join(", "), allowed).into());
        }
        match &self.servers[..] {
            [server] => Setup::new(self, server),
            servers => {
                let allowed = "must be a single chip: requests can be followed only on one";
                Err(Refusal::new("chips", servers.len(), allowed).into())
            }
        }
    }

    /// The counted requests of a service, the fastest first; `None` if `progress` stops the run.
    pub(crate) fn samples_of(
        &self,
        setup: &Setup<'_>,
        service: usize,
        progress: &(dyn Fn(u64, u64) -> bool + Sync),
    ) -> Result<Option<Vec<Sample>>, ScenarioError> {
        let kept = self.kept(setup, u64::MAX);
        if kept > MAX_SAMPLES {
            let allowed = format!(
                "must leave at most {MAX_SAMPLES} requests after the warm-up, of all services, to find \
                 percentiles of response times; they leave {kept}"
            );
            return Err(Refusal::new("requests", self.resolved.requests, allowed).into());
        }
        let comparison = Comparison {
            samples: u64::MAX,
            ..setup.comparison(self, &RunOptions::default())
        };
        let Some(systems) = compare(&comparison, progress).map_err(engine)? else {
            return Ok(None);
        };
        let results = systems.into_iter().flat_map(|system| system.services);
        let name = self.services[service].name();
        let found = results
            .filter(|result| result.service == name)
            .flat_map(|r| r.samples);
        let mut samples: Vec<Sample> = found.collect();
        if samples.is_empty() {
            let allowed = match setup.rate_shares()[service] > 0.0 {
                true => {
                    "must have at least one answered request after the warm-up: simulate more \
                     requests"
                }
                false => "must be a service that clients call: only other services call it",
            };
            return Err(Refusal::new("service", name, allowed).into());
        }
        samples.sort_by_key(|sample| (sample.response, sample.request));
        Ok(Some(samples))
    }
}

/// The sample whose response time is a percentile of all: the nearest rank.
fn nearest(sorted: &[Sample], percentile: f64) -> &Sample {
    let rank = (percentile / 100.0 * sorted.len() as f64).ceil() as usize;
    &sorted[rank.clamp(1, sorted.len()) - 1]
}

/// The waterfalls of the requests `chosen`; `None` if `progress` stops the simulation.
fn waterfalls(
    comparison: &Comparison<'_>,
    chosen: &FxHashSet<RequestKey>,
    progress: &(dyn Fn(u64, u64) -> bool + Sync),
) -> Result<Option<Vec<Waterfall>>, ScenarioError> {
    let mut watching = Watching {
        assembler: Assembler::default(),
        chosen,
        found: Vec::new(),
    };
    let ended = observe(comparison, 0, &mut watching, progress).map_err(engine)?;
    Ok(ended.map(|()| watching.found))
}

/// Collects the waterfalls of chosen requests.
struct Watching<'c> {
    assembler: Assembler,
    chosen: &'c FxHashSet<RequestKey>,
    found: Vec<Waterfall>,
}

impl Observer for Watching<'_> {
    fn see(&mut self, seen: &Seen) {
        let found = self.assembler.see(seen, |key| self.chosen.contains(&key));
        self.found.extend(found);
    }

    fn follows_hardware(&self) -> bool {
        true
    }

    fn act(&mut self, activity: &Activity) {
        self.assembler.act(activity);
    }
}
