//! Recordings of the runtime: the file format (`docs/recording-format.md`).

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::services::ServiceError;

/// The value of a recording's member `format`.
pub const FORMAT: &str = "accelflow-recording";

/// The version of the format that this crate writes.
pub const VERSION: u32 = 4;

/// The versions of the format that this crate reads. Version 1 has no requests, before version 3
/// there is no calibration, and before version 4 there are neither quantiles nor times outside of
/// steps.
pub const READ_VERSIONS: [u32; 4] = [1, 2, 3, 4];

/// A table of quantiles: pairs of a probability and the quantile in nanoseconds. Empty if the
/// recording has no table.
pub type RecordedQuantiles = Vec<(f64, f64)>;

/// The largest number of different requests per service of a recording.
pub const MAX_REQUESTS: usize = 4_096;

/// A recording of the runtime's measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// [`FORMAT`].
    pub format: String,
    /// One of [`READ_VERSIONS`].
    pub version: u32,
    /// The machine: processor, clock, system.
    pub machine: String,
    /// The date, as `YYYY-MM-DD`.
    pub date: String,
    /// The recorded services.
    pub services: Vec<RecordedService>,
}

/// One service, on its most common path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedService {
    /// The service's short name.
    pub service: String,
    /// The calibration that measured its costs; none if they come from served requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// Its phases, as in the service's path.
    pub phases: Vec<RecordedPhase>,
    /// The time of its requests outside of steps and application logic, if it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<RecordedOutside>,
    /// Requests that were recorded one by one, on any path, if any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<RecordedRequest>,
}

/// The calibration of a service's costs, and their variation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// The sum of its steps' costs in each round, in nanoseconds.
    pub round_costs_ns: Vec<f64>,
    /// The share of the time in which the measuring thread did not run, as others had its core;
    /// `None` if the system does not report it.
    pub waited_ratio: Option<f64>,
}

/// The time of requests outside of steps and application logic: kernel, sockets, scheduling.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedOutside {
    /// Processor time at the server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub core_quantiles_ns: RecordedQuantiles,
    /// Response time at the client in excess of the server's time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub client_quantiles_ns: RecordedQuantiles,
    /// The number of requests measured.
    pub samples: u64,
}

/// Requests with the same facts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedRequest {
    /// The number of such requests.
    pub count: u64,
    /// The facts of the requests: by phase and chain of the service's path, then by trace and
    /// field. Phases of application logic have no chains.
    pub facts: Vec<Vec<BTreeMap<String, BTreeMap<String, i64>>>>,
}

/// A phase of a service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RecordedPhase {
    /// Application logic.
    Cpu {
        /// The median core time in nanoseconds; `None` if it was not measured.
        app_ns: Option<f64>,
        /// The distribution of the core time.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        app_quantiles_ns: RecordedQuantiles,
        /// The number of invocations measured.
        samples: u64,
    },
    /// Parallel chains.
    Chains(Vec<RecordedChain>),
}

/// A chain of traces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedChain {
    /// The accelerator calls. The arms of a fork follow one another in the order in which they
    /// began, whole arm after whole arm, as in a walk of the chain.
    pub steps: Vec<RecordedStep>,
}

/// The direction of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Into the service.
    Receive,
    /// Out of the service.
    Send,
}

/// One accelerator call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedStep {
    /// The trace that makes the call.
    pub trace: String,
    /// The accelerator, by the paper's name.
    pub accelerator: String,
    /// The direction of the message. It is compared with the trace only for TCP.
    pub direction: Direction,
    /// The median size of the accelerator's input.
    pub input_bytes: u64,
    /// The median size of the accelerator's output.
    pub output_bytes: u64,
    /// The facts of the output that branches can test.
    #[serde(default)]
    pub facts: BTreeMap<String, i64>,
    /// The median core time in nanoseconds.
    pub cost_ns: f64,
    /// The distribution of the core time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cost_quantiles_ns: RecordedQuantiles,
    /// The number of calls measured.
    pub samples: u64,
}

/// The place of an error in a recording. All but the service are counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The name of the service.
    pub service: String,
    /// The index of the phase in the service's path, counted from 0.
    pub phase: usize,
    /// The chain, in a phase of chains.
    pub chain: Option<usize>,
    /// The step, in a chain.
    pub step: Option<usize>,
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "service {}, phase {}", self.service, self.phase)?;
        if let Some(chain) = self.chain {
            write!(f, ", chain {chain}")?;
        }
        match self.step {
            Some(step) => write!(f, ", step {step}"),
            None => Ok(()),
        }
    }
}

/// The error of an invalid recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file cannot be read.
    #[error("{path}: {error}")]
    Read {
        /// The file.
        path: String,
        /// The reason.
        error: std::io::Error,
    },
    /// The text is not JSON of this form; the message has line and column.
    #[error("recording: must be the JSON of a recording: {0}")]
    Json(#[from] serde_json::Error),
    /// JSON of another format.
    #[error("format = '{0}': must be 'accelflow-recording'")]
    Format(String),
    /// A file of an unknown version.
    #[error("recording format: version = {0}: must be 1, 2, 3 or 4")]
    Version(u32),
    /// A member in a file of a version that does not have it.
    #[error(
        "service {service}: '{member}' is of version {since}, the recording of version {version}"
    )]
    Early {
        /// The name of the service.
        service: String,
        /// The member.
        member: &'static str,
        /// The first version that has it.
        since: u32,
        /// The version of the recording.
        version: u32,
    },
    /// A calibration with a value out of range.
    #[error("service {service}, calibration: {member} = {value}: must be from {least} to {most}")]
    Calibration {
        /// The name of the service.
        service: String,
        /// The member.
        member: &'static str,
        /// The value.
        value: f64,
        /// The smallest allowed value.
        least: f64,
        /// The largest allowed value.
        most: f64,
    },
    /// Requests are needed, and the recording has none.
    #[error("service {0}: requests = left out: must be in the recording, as the source of facts")]
    NoRequests(String),
    /// Too many requests.
    #[error("service {service}: different requests = {count}: must be at most 4096")]
    TooManyRequests {
        /// The name of the service.
        service: String,
        /// The number of requests.
        count: usize,
    },
    /// A request with a count out of range.
    #[error("service {service}, request {request}: count = {count}: must be from 1 to 1e12")]
    RequestCount {
        /// The name of the service.
        service: String,
        /// The request, counted from 0.
        request: usize,
        /// The value.
        count: u64,
    },
    /// A request with another path.
    #[error("service {service}, request {request}: the path has {expected}, the request {found}")]
    RequestPath {
        /// The name of the service.
        service: String,
        /// The request, counted from 0.
        request: usize,
        /// The service's path.
        expected: String,
        /// The request's path.
        found: String,
    },
    /// A request that the traces cannot serve.
    #[error("request {request}: {error}")]
    Request {
        /// The request, counted from 0.
        request: usize,
        /// The error and its place.
        error: ServiceError,
    },
    /// A service that the recording lacks.
    #[error("service = '{service}': must be in the recording, which has {found}")]
    MissingService {
        /// Its name.
        service: String,
        /// The services that the recording has.
        found: String,
    },
    /// A service that is in the recording twice.
    #[error("service = '{0}': must be in the recording only once")]
    DuplicateService(String),
    /// An unknown accelerator.
    #[error(
        "{spot}: accelerator = '{name}': must be TCP, Encr, Decr, RPC, Ser, Dser, Cmp, Dcmp or LdB"
    )]
    UnknownAccelerator {
        /// The place.
        spot: Spot,
        /// Its name.
        name: String,
    },
    /// A cost out of range.
    #[error("{spot}: {member} = {value}: must be from 0.001 to 1e12")]
    Cost {
        /// The place.
        spot: Spot,
        /// `cost_ns` or `app_ns`.
        member: &'static str,
        /// The value.
        value: f64,
    },
    /// A table of quantiles that is not a distribution of times.
    #[error(
        "{place}: {member}[{point}] = [{probability}, {value}]: must be of 2 to {most} points whose \
         probabilities go from 0 to 1, with times from {least} to 1e12, neither decreasing"
    )]
    Quantiles {
        /// The place.
        place: String,
        /// The member.
        member: &'static str,
        /// The point, counted from 0.
        point: usize,
        /// Its probability.
        probability: f64,
        /// Its time.
        value: f64,
        /// The shortest allowed time.
        least: f64,
        /// The most points.
        most: usize,
    },
    /// Times outside of steps without any table.
    #[error(
        "service {0}, outside: must have core_quantiles_ns, client_quantiles_ns or both, and samples \
         of at least 1"
    )]
    EmptyOutside(String),
    /// A measurement without samples.
    #[error("{0}: samples = 0: must be at least 1")]
    NoSamples(Spot),
    /// The recording took another path than the service's.
    #[error("{spot}: the service's path has {expected} here, the recording has {found}")]
    Path {
        /// The place.
        spot: Spot,
        /// The service's path.
        expected: String,
        /// The recording's path.
        found: String,
    },
    /// The service itself is wrong.
    #[error(transparent)]
    Service(#[from] ServiceError),
}

impl Recording {
    /// A recording without services.
    pub fn new(machine: &str, date: &str) -> Recording {
        Recording {
            format: FORMAT.to_owned(),
            version: VERSION,
            machine: machine.to_owned(),
            date: date.to_owned(),
            services: Vec::new(),
        }
    }

    /// Reads the file at `path`.
    ///
    /// # Errors
    /// [`RecordingError::Read`] if the file cannot be read, and the errors of
    /// [`Recording::from_json`].
    pub fn load(path: &Path) -> Result<Recording, RecordingError> {
        let text = std::fs::read_to_string(path).map_err(|error| RecordingError::Read {
            path: path.display().to_string(),
            error,
        })?;
        Recording::from_json(&text)
    }

    /// Reads the text of a recording. Its contents are checked against services when it becomes a
    /// profile.
    ///
    /// # Errors
    /// [`RecordingError::Json`] for text that is not the JSON of a recording,
    /// [`RecordingError::Format`] for another format, [`RecordingError::Version`] for an unknown
    /// version, and [`RecordingError::Early`] for a member that the version does not have.
    pub fn from_json(text: &str) -> Result<Recording, RecordingError> {
        // The version is checked first: another version may have other members.
        #[derive(Deserialize)]
        struct Header {
            format: String,
            version: u32,
        }
        let header: Header = serde_json::from_str(text)?;
        if header.format != FORMAT {
            return Err(RecordingError::Format(header.format));
        }
        if !READ_VERSIONS.contains(&header.version) {
            return Err(RecordingError::Version(header.version));
        }
        let recording: Recording = serde_json::from_str(text)?;
        let version = recording.version;
        match recording
            .services
            .iter()
            .find_map(|service| service.early(version))
        {
            Some(error) => Err(error),
            None => Ok(recording),
        }
    }

    /// The data for [`super::RecordedTimes::Distribution`] that this recording lacks, one sentence
    /// each. Recordings before version 4 lack all of it.
    pub fn lacks(&self) -> Vec<String> {
        type Has = fn(&RecordedService) -> bool;
        let parts: [(&str, Has); 4] = [
            (
                "distributions of the costs of steps; their medians stand for them",
                |service| service.has_quantiles().1,
            ),
            (
                "distributions of application logic; its medians stand for them",
                |service| service.has_quantiles().0,
            ),
            (
                "the processor time of requests outside of their steps; it counts as none",
                |service| {
                    let outside = service.outside.as_ref();
                    outside.is_some_and(|outside| !outside.core_quantiles_ns.is_empty())
                },
            ),
            (
                "the time of requests at the client; it counts as none",
                |service| {
                    let outside = service.outside.as_ref();
                    outside.is_some_and(|outside| !outside.client_quantiles_ns.is_empty())
                },
            ),
        ];
        let sentence = |(part, has): &(&str, Has)| {
            let lacking = self.services.iter().filter(|service| !has(service));
            let names: Vec<&str> = lacking.map(|service| &*service.service).collect();
            (!names.is_empty()).then(|| format!("{}: the recording lacks {part}", names.join(", ")))
        };
        parts.iter().filter_map(sentence).collect()
    }

    /// The text of this recording, with indentation.
    ///
    /// # Errors
    /// [`RecordingError::Json`]; none in practice.
    pub fn to_json(&self) -> Result<String, RecordingError> {
        Ok(serde_json::to_string_pretty(self)?)
    }
}

impl RecordedService {
    /// A member that a recording of `version` does not have.
    fn early(&self, version: u32) -> Option<RecordingError> {
        let found = [
            ("requests", 2, !self.requests.is_empty()),
            ("calibration", 3, self.calibration.is_some()),
            ("outside", 4, self.outside.is_some()),
            ("app_quantiles_ns", 4, self.has_quantiles().0),
            ("cost_quantiles_ns", 4, self.has_quantiles().1),
        ];
        let (member, since, _) = found
            .into_iter()
            .find(|&(_, since, there)| there && version < since)?;
        let service = self.service.clone();
        Some(RecordingError::Early {
            service,
            member,
            since,
            version,
        })
    }

    /// Whether phases of application logic, and whether steps have distributions.
    fn has_quantiles(&self) -> (bool, bool) {
        let (mut app, mut steps) = (false, false);
        for phase in &self.phases {
            match phase {
                RecordedPhase::Cpu {
                    app_quantiles_ns, ..
                } => app |= !app_quantiles_ns.is_empty(),
                RecordedPhase::Chains(chains) => {
                    let mut all = chains.iter().flat_map(|chain| &chain.steps);
                    steps |= all.any(|step| !step.cost_quantiles_ns.is_empty());
                }
            }
        }
        (app, steps)
    }
}
