//! The numbers of the model, as `model.json` states them.

use std::fmt;

use serde::Deserialize;

/// Servers at each station.
pub(crate) const SERVERS: usize = 8;
/// The number of templates, which a job chooses from with equal probability.
pub(crate) const TEMPLATES: usize = 8;

/// The parameters of model M2.
#[derive(Clone, Debug, Deserialize)]
pub struct Spec {
    /// Service time of each station in picoseconds.
    pub service_ps: Vec<u64>,
    /// The paths that jobs take.
    pub templates: Vec<Template>,
    /// Mean time between arrivals in picoseconds.
    pub iat_ps: f64,
    /// Mean number of stations that a job visits.
    pub visits_per_job: f64,
    /// What a right result looks like.
    pub reference: Reference,
}

/// A path: `before`, then `likely` with probability `p` and `otherwise` else.
#[derive(Clone, Debug, Deserialize)]
pub struct Template {
    /// Stations visited by every job of the template.
    #[serde(rename = "pre")]
    pub before: Vec<u8>,
    /// Probability of the first arm.
    pub p: f64,
    /// The first arm.
    #[serde(rename = "A")]
    pub first: Vec<u8>,
    /// The second arm.
    #[serde(rename = "B")]
    pub second: Vec<u8>,
}

/// Intervals of the statistics of a million jobs' times from arrival to departure, in
/// microseconds.
#[derive(Clone, Debug, Deserialize)]
pub struct Reference {
    /// The mean.
    pub mean_us: [f64; 2],
    /// The median.
    pub p50_us: [f64; 2],
    /// The 99th percentile.
    pub p99_us: [f64; 2],
    /// For how many jobs the intervals are meant.
    pub jobs: u64,
}

/// `model.json` is not a model.
#[derive(Debug)]
pub enum SpecError {
    /// It is not the expected JSON.
    Syntax(serde_json::Error),
    /// There are not eight templates.
    Templates(usize),
    /// A template, by number, visits no station or a station without a service time.
    Station(usize),
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpecError::Syntax(error) => write!(f, "model.json: {error}"),
            SpecError::Templates(n) => write!(f, "model.json: {n} templates; there must be 8"),
            SpecError::Station(n) => {
                write!(
                    f,
                    "model.json: templates[{n}] visits no station or an unknown one"
                )
            }
        }
    }
}

impl std::error::Error for SpecError {}

impl Spec {
    /// The model that is part of this package.
    ///
    /// # Errors
    /// If its numbers do not make a model.
    pub fn bundled() -> Result<Spec, SpecError> {
        let spec: Spec =
            serde_json::from_str(include_str!("../model.json")).map_err(SpecError::Syntax)?;
        if spec.templates.len() != TEMPLATES {
            return Err(SpecError::Templates(spec.templates.len()));
        }
        for (number, template) in spec.templates.iter().enumerate() {
            let known = |path: Vec<u8>| {
                !path.is_empty()
                    && path
                        .iter()
                        .all(|&at| usize::from(at) < spec.service_ps.len())
            };
            if !template.paths().map(known).iter().all(|&known| known) {
                return Err(SpecError::Station(number));
            }
        }
        Ok(spec)
    }
}

impl Template {
    /// The whole path with the first arm and with the second.
    pub fn paths(&self) -> [Vec<u8>; 2] {
        [&self.first, &self.second].map(|arm| [self.before.as_slice(), arm].concat())
    }
}
