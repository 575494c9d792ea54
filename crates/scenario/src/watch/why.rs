//! Explanations of slow requests, by comparison with requests around the median.

use accelflow_parameters::Refusal;
use accelflow_sim::compare::observe;
use accelflow_trace::{Accel, Image};
use accelflow_units::Time;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use super::bands::{Band, BandTime};
use super::neighbours::{Blame, Burst, Neighbours};
use super::resource::ResourceNames;
use crate::checked::Checked;
use crate::error::{ScenarioError, engine};
use crate::options::RunOptions;

/// The choice of slow requests to explain: a service and a percentile of its response times.
#[derive(Clone, Debug, PartialEq)]
pub struct WhyOptions {
    /// The name of the service.
    pub service: String,
    /// The percentile of response times to explain, above 55 and below 100.
    pub percentile: f64,
}

/// The explanation of why requests to a service are slow: a comparison of slow requests with
/// requests around the median.
#[derive(Clone, Debug, PartialEq)]
pub struct Why {
    /// The identifier of the simulated system.
    pub system: String,
    /// The name of the service.
    pub service: String,
    /// The percentile of response times that was explained. The slow requests are those around it.
    pub percentile: f64,
    /// The two groups of compared requests: around the median, and around `percentile` (the slow
    /// requests).
    pub bands: [Band; 2],
    /// The mean times of requests around the median and of slow requests at the resources: a row
    /// for each category of a resource's work, and of the waits for it. The largest increase comes
    /// first.
    pub times: Vec<BandTime>,
    /// For each resource for which the compared requests waited, the services that occupied the
    /// resource during these waits.
    pub blames: Vec<Blame>,
    /// The length of a window of time: the mean response time of the slow requests. Arrivals are
    /// counted in the window that ends when a compared request (slow or median) arrives.
    pub window: Time,
    /// The arrival rate of each service in the windows of time of length `window` before the
    /// compared requests.
    pub bursts: Vec<Burst>,
    services: Vec<String>,
    /// The trace memory, which has the names of custom accelerators.
    image: Image,
}

/// The band of the median.
const MEDIAN: (f64, f64) = (45.0, 55.0);
/// The fewest requests of a band.
const FEWEST: u64 = 10;

impl Checked {
    /// Simulates the scenario under its only system and compares slow requests to a service with
    /// requests around the median.
    ///
    /// Slow requests are those on both sides of the percentile, within half of the percentile's
    /// distance to 100: for percentile 99, those from 98.5 to 99.5. Only the time on a request's
    /// critical path, for which the response waited, is compared. So the mean times of a group of
    /// requests add up to the group's mean response time. `progress` is called as in
    /// [`Checked::run_beside`], but separately for each of two simulations; if `progress` returns
    /// `false`, the result is `None`.
    ///
    /// # Errors
    /// [`ScenarioError`] for several systems or chips, an unknown service, a percentile that is out
    /// of range or has too few requests around it, more than [`MAX_SAMPLES`](crate::MAX_SAMPLES)
    /// requests to all services together after the warm-up, or a scenario that the simulator cannot
    /// run.
    pub fn why(
        &self,
        options: &WhyOptions,
        progress: &(dyn Fn(u64, u64) -> bool + Sync),
    ) -> Result<Option<Why>, ScenarioError> {
        let percentile = options.percentile;
        if !(percentile > MEDIAN.1 && percentile < 100.0) {
            let allowed = "must be more than 55 and less than 100";
            return Err(Refusal::number("percentile", percentile, allowed).into());
        }
        let index = self.service_index(&options.service)?;
        let setup = self.only_setup()?;
        let Some(samples) = self.samples_of(&setup, index, progress)? else {
            return Ok(None);
        };
        let half = (100.0 - percentile) / 2.0;
        let slow = (percentile - half, percentile + half);
        let bands = [MEDIAN, slow].map(|percentiles| Band::of(&samples, percentiles));
        if bands[1].requests < FEWEST {
            let needed = (FEWEST as f64 / (half * 2.0) * 100.0).ceil();
            let allowed = format!(
                "must have at least {FEWEST} requests around it, and has {}: simulate {needed} requests \
                 of the service after the warm-up, or choose a lower percentile",
                bands[1].requests
            );
            return Err(Refusal::number("percentile", percentile, allowed).into());
        }
        let mut chosen = FxHashMap::default();
        for (number, band) in bands.iter().enumerate() {
            chosen.extend(
                band.followed
                    .iter()
                    .map(|request| ((index, *request), number)),
            );
        }
        let window = bands[1].response;
        let mut neighbours = Neighbours::new(&chosen, window);
        let comparison = setup.comparison(self, &RunOptions::default());
        let ended = observe(&comparison, 0, &mut neighbours, progress).map_err(engine)?;
        Ok(ended.map(|()| Why {
            system: self
                .systems
                .first()
                .map_or("", |system| system.id())
                .to_owned(),
            service: options.service.clone(),
            percentile,
            times: neighbours.times.rows(neighbours.followed),
            blames: neighbours.blames(),
            window,
            bursts: neighbours.bursts(),
            bands,
            services: self.service_names(),
            image: setup.plan.image.clone(),
        }))
    }
}

impl Why {
    /// Returns the explanation as JSON of the schema `accelflow.why/1`, with times in us and rates
    /// in requests per second.
    pub fn to_json(&self) -> Value {
        let names = ResourceNames {
            image: &self.image,
            services: &self.services,
            // Rows are of all instances of an accelerator.
            instances: [1; Accel::MOST],
        };
        let band = |band: &Band| {
            json!({
                "percentiles": [band.percentiles.0, band.percentiles.1],
                "requests": band.requests,
                "followed": band.followed.len(),
                "response_us": band.response.as_us_f64(),
            })
        };
        let time = |row: &BandTime| {
            json!({
                "at": row.at.class_name(names),
                "part": row.part.name(),
                "waits": row.waits,
                "median_us": row.median.as_us_f64(),
                "slow_us": row.slow.as_us_f64(),
            })
        };
        let name = |service: usize| &self.services[service];
        let blame = |blame: &Blame| {
            json!({
                "at": blame.at.class_name(names),
                "service": blame.service.map(name),
                "median_share": blame.shares[0],
                "slow_share": blame.shares[1],
                "overall_share": blame.overall,
            })
        };
        let burst = |burst: &Burst| {
            json!({
                "service": name(burst.service),
                "median_rps": burst.rates_rps[0],
                "slow_rps": burst.rates_rps[1],
                "mean_rps": burst.mean_rps,
                "median_arrivals": burst.arrivals[0],
                "slow_arrivals": burst.arrivals[1],
            })
        };
        json!({
            "schema": "accelflow.why/1",
            "system": self.system,
            "service": self.service,
            "percentile": self.percentile,
            "bands": {"median": band(&self.bands[0]), "slow": band(&self.bands[1])},
            "times": self.times.iter().map(time).collect::<Vec<_>>(),
            "occupied_by": self.blames.iter().map(blame).collect::<Vec<_>>(),
            "window_us": self.window.as_us_f64(),
            "arrivals": self.bursts.iter().map(burst).collect::<Vec<_>>(),
        })
    }
}
