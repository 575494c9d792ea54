//! Recordings of the runtime: the file format (`docs/recording-format.md`).

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::services::ServiceError;

/// The value of the JSON member `format` in every recording, by which a reader recognizes the
/// format.
pub const FORMAT: &str = "accelflow-recording";

/// The version of the recording format that this crate writes.
pub const VERSION: u32 = 5;

/// The versions of the recording format that this crate reads. Version 2 added single requests,
/// version 3 calibrations, version 4 quantiles and times outside of accelerator calls, and version
/// 5 calls grouped by input size.
pub const READ_VERSIONS: [u32; 5] = [1, 2, 3, 4, 5];

/// A distribution of times as a table of quantiles: pairs of a probability, from 0 to 1, and the
/// time in ns that this share of the times does not exceed. Empty if the recording has no such
/// table.
pub type RecordedQuantiles = Vec<(f64, f64)>;

/// The largest number of groups of equal requests ([`RecordedRequest`]) that a recording may have
/// for each service.
pub const MAX_REQUESTS: usize = 4_096;

/// A recording: the costs, message sizes and payload values that the runtime measured on real
/// messages. `docs/recording-format.md` specifies its JSON file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// The name of the format, [`FORMAT`].
    pub format: String,
    /// The version of the format, one of [`READ_VERSIONS`].
    pub version: u32,
    /// A description of the machine on which the recording was made: processor, operating system,
    /// architecture.
    pub machine: String,
    /// The date of the recording, as `YYYY-MM-DD`.
    pub date: String,
    /// The services that were recorded.
    pub services: Vec<RecordedService>,
}

/// The measurements of one service. Its phases were measured on the most common path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedService {
    /// The name of the service, such as `CPost`.
    pub service: String,
    /// The calibration that measured the service's costs; `None` if the costs were measured on
    /// requests that a server answered, and in recordings before version 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// The measurements of each phase of the service's path, in order.
    pub phases: Vec<RecordedPhase>,
    /// The time of the service's requests outside of accelerator calls and application logic, if it
    /// was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<RecordedOutside>,
    /// The individual requests that were recorded, as groups of requests with equal payload values;
    /// may be empty. Their paths may differ from the most common one, but have as many phases, and
    /// as many chains in each phase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<RecordedRequest>,
}

/// The result of a calibration, which measures a service's costs several times (in rounds), to show
/// how much they vary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// The sum of the costs of the service's accelerator calls in each round, in ns.
    pub round_costs_ns: Vec<f64>,
    /// The share of the measuring time in which the measuring thread did not run because other
    /// threads used its core, from 0 to 1; `None` if the system does not report it.
    pub waited_ratio: Option<f64>,
}

/// The measured time of requests that is neither in accelerator calls nor in application logic,
/// such as time in the kernel, in sockets and in scheduling.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedOutside {
    /// The distribution of the server's processor time for a request outside of accelerator calls
    /// and application logic, in ns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub core_quantiles_ns: RecordedQuantiles,
    /// The distribution of the part of the response time that only the client measures: the
    /// client's response time minus the server's, in ns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub client_quantiles_ns: RecordedQuantiles,
    /// The number of requests that were measured.
    pub samples: u64,
}

/// A group of recorded requests with the same payload values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedRequest {
    /// The number of requests in the group.
    pub count: u64,
    /// The payload values that branches test in these requests. The first index is the phase of the
    /// service's path, the second the chain in the phase; then follow the name of the trace and the
    /// name of the field. Phases of application logic have no chains.
    pub facts: Vec<Vec<BTreeMap<String, BTreeMap<String, i64>>>>,
}

/// The measurements of one phase of a service: of its application logic, or of its chains of
/// traces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RecordedPhase {
    /// Application logic, without accelerators.
    Cpu {
        /// The median core time of the application logic, in ns; `None` if it was not measured.
        app_ns: Option<f64>,
        /// The distribution of the core time of the application logic, in ns.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        app_quantiles_ns: RecordedQuantiles,
        /// The number of invocations that were measured.
        samples: u64,
    },
    /// Chains of traces that run in parallel.
    Chains(Vec<RecordedChain>),
}

/// The measurements of one chain of traces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedChain {
    /// The accelerator calls of the chain, in order. The arms of a fork follow one another, each as
    /// a whole, in the order in which they began.
    pub steps: Vec<RecordedStep>,
}

/// The direction of a message, from the point of view of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The service receives the message.
    Receive,
    /// The service sends the message.
    Send,
}

/// The measurements of one accelerator call in a chain of traces (a step), over all measured
/// invocations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedStep {
    /// The name of the trace that makes the call.
    pub trace: String,
    /// The name of the accelerator: the paper's, such as `Decr`, or that of a custom accelerator.
    pub accelerator: String,
    /// The direction of the message that the call processes. Only for calls of TCP must the
    /// direction be that in the trace; for other accelerators, the direction is not checked.
    pub direction: Direction,
    /// The median size of the accelerator's input, in bytes.
    pub input_bytes: u64,
    /// The median size of the accelerator's output, in bytes.
    pub output_bytes: u64,
    /// The values of the output's payload fields that branches can test. The key is the name of the
    /// field.
    #[serde(default)]
    pub facts: BTreeMap<String, i64>,
    /// The median core time of the operation, in ns.
    pub cost_ns: f64,
    /// The distribution of the core time of the operation, in ns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cost_quantiles_ns: RecordedQuantiles,
    /// The calls grouped by input size, in ascending order of size; empty if the sizes of the calls
    /// were not recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_size: Vec<RecordedSize>,
    /// The number of calls that were measured.
    pub samples: u64,
}

/// A group of measured calls of one step (one accelerator call in a chain) whose inputs have about
/// the same size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedSize {
    /// The mean size of the inputs, in whole bytes.
    pub input_bytes: u64,
    /// The number of calls in this group.
    pub calls: u64,
    /// The median core time of the calls in this group, in ns.
    pub cost_ns: f64,
}

/// The place of an error in a recording: service, phase, chain and step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The name of the service.
    pub service: String,
    /// The index of the phase in the service's path, counted from 0.
    pub phase: usize,
    /// The index of the chain in the phase, counted from 0; `None` if the error is not in a chain.
    pub chain: Option<usize>,
    /// The index of the accelerator call in the chain, counted from 0; `None` if the error is not
    /// in a call.
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

/// The error of a recording that is invalid or does not fit the services that use it.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file of a recording cannot be read.
    #[error("{path}: {error}")]
    Read {
        /// The path of the file.
        path: String,
        /// The reason why the file cannot be read.
        error: std::io::Error,
    },
    /// The text is not the JSON of a recording. Holds the parser's error, with line and column.
    #[error("recording: must be the JSON of a recording: {0}")]
    Json(#[from] serde_json::Error),
    /// The value of `format` is not [`FORMAT`]. Holds this value.
    #[error("format = '{0}': must be 'accelflow-recording'")]
    Format(String),
    /// The value of `version` is not in [`READ_VERSIONS`]. Holds this value.
    #[error("recording format: version = {0}: must be from 1 to 5")]
    Version(u32),
    /// The recording has a member that exists only in later versions of the format.
    #[error(
        "service {service}: '{member}': must be left out of a recording of version {version}; versions from {since} on have it"
    )]
    Early {
        /// The name of the service.
        service: String,
        /// The name of the member.
        member: &'static str,
        /// The first version of the format that has the member.
        since: u32,
        /// The version of the recording.
        version: u32,
    },
    /// A value of a calibration is out of range.
    #[error("service {service}, calibration: {member} = {value}: must be from {least} to {most}")]
    Calibration {
        /// The name of the service.
        service: String,
        /// The name of the member that has the value.
        member: &'static str,
        /// The value as recorded.
        value: f64,
        /// The smallest allowed value.
        least: f64,
        /// The largest allowed value.
        most: f64,
    },
    /// The recording has no individual requests to a service, but their payload values are needed.
    /// Holds the service's name.
    #[error(
        "service {0}: requests is left out: must be in the recording, as they hold the values that branches test"
    )]
    NoRequests(String),
    /// The recording has more than [`MAX_REQUESTS`] groups of requests for a service.
    #[error(
        "service {service}: requests in the recording = {count}: must be at most 4096 groups of equal requests"
    )]
    TooManyRequests {
        /// The name of the service.
        service: String,
        /// The number of groups of requests.
        count: usize,
    },
    /// The `count` of a group of equal requests ([`RecordedRequest`]) is not from 1 to 1e12.
    #[error("service {service}, request {request}: count = {count}: must be from 1 to 1e12")]
    RequestCount {
        /// The name of the service.
        service: String,
        /// The index of the group of requests, counted from 0.
        request: usize,
        /// The number of requests as recorded.
        count: u64,
    },
    /// A recorded request does not have the phases or chains of the service's path.
    #[error(
        "service {service}, request {request}: the service's path has {expected}, the recorded request has {found}"
    )]
    RequestPath {
        /// The name of the service.
        service: String,
        /// The index of the group of requests, counted from 0.
        request: usize,
        /// The number of phases or chains of the service's path, in words.
        expected: String,
        /// The number of phases or chains of the request, in words.
        found: String,
    },
    /// The traces cannot serve a recorded request, for example because a payload value is missing.
    #[error("recorded request {request}: {error}")]
    Request {
        /// The index of the group of requests, counted from 0.
        request: usize,
        /// The reason why the traces cannot serve the request, with the place in the service.
        error: ServiceError,
    },
    /// The recording lacks a service whose costs are needed.
    #[error("service = '{service}': must be in the recording, which has these services: {found}")]
    MissingService {
        /// The name of the service.
        service: String,
        /// The names of the services that the recording has, separated by commas; `none` if it has
        /// no services.
        found: String,
    },
    /// The recording has a service twice. Holds the service's name.
    #[error("service = '{0}': must be in the recording only once")]
    DuplicateService(String),
    /// An accelerator call names an accelerator that is neither one of the paper's nine nor a
    /// custom accelerator of the traces.
    #[error(
        "{spot}: accelerator = '{name}': must be TCP, Encr, Decr, RPC, Ser, Dser, Cmp, Dcmp, LdB \
         or a custom accelerator of the traces"
    )]
    UnknownAccelerator {
        /// The place of the call.
        spot: Spot,
        /// The unknown name of the accelerator, as recorded.
        name: String,
    },
    /// A core time is not from 0.001 to 1e12 ns.
    #[error("{spot}: {member} = {value}: must be from 0.001 to 1e12")]
    Cost {
        /// The place of the core time in the recording.
        spot: Spot,
        /// The name of the member: `cost_ns` or `app_ns`.
        member: &'static str,
        /// The time as recorded, in ns.
        value: f64,
    },
    /// A table of quantiles is not a valid distribution of times.
    #[error(
        "{place}: {member}[{point}] = [{probability}, {value}]: the table must have 2 to {most} \
         pairs [probability, time in ns], with probabilities from 0 (the first) to 1 (the last) and \
         times from {least} to 1e12; neither may decrease"
    )]
    Quantiles {
        /// The place of the table in the recording, in words.
        place: String,
        /// The name of the member that has the table.
        member: &'static str,
        /// The index of the invalid point, counted from 0.
        point: usize,
        /// The probability of the point.
        probability: f64,
        /// The time of the point, in ns.
        value: f64,
        /// The shortest allowed time, in ns.
        least: f64,
        /// The largest allowed number of points.
        most: usize,
    },
    /// An accelerator call has more than [`MAX_SIZES`](super::MAX_SIZES) size groups: groups of
    /// calls whose inputs have about the same size.
    #[error("{spot}: by_size: groups = {count}: must be at most 64")]
    TooManySizes {
        /// The place of the call.
        spot: Spot,
        /// The number of groups.
        count: usize,
    },
    /// A size group of an accelerator call has a value out of range.
    #[error(
        "{spot}: by_size[{index}] = {{input_bytes = {}, calls = {}, cost_ns = {}}}: must have \
         input_bytes larger than the group before, up to 1e12, calls of at least 1, and cost_ns \
         from 0.001 to 1e12",
        group.input_bytes, group.calls, group.cost_ns
    )]
    Size {
        /// The place of the call.
        spot: Spot,
        /// The index of the group, counted from 0.
        index: usize,
        /// The group as recorded.
        group: RecordedSize,
    },
    /// The sum of `calls` over the size groups of an accelerator call is not the number of measured
    /// calls, `samples`.
    #[error("{spot}: by_size: sum of calls = {calls}: must be {samples}, the number of samples")]
    SizeCalls {
        /// The place of the call.
        spot: Spot,
        /// The number of calls of all groups.
        calls: u128,
        /// The number of calls that were measured.
        samples: u64,
    },
    /// The recorded times outside of accelerator calls and application logic have no table of
    /// quantiles or no samples. Holds the service's name.
    #[error(
        "service {0}, outside: must have core_quantiles_ns, client_quantiles_ns or both, and samples \
         of at least 1"
    )]
    EmptyOutside(String),
    /// A measurement has no samples. Holds the place of the measurement.
    #[error("{0}: samples = 0: must be at least 1")]
    NoSamples(Spot),
    /// The recording does not have the phases, chains or calls of the service's path.
    #[error("{spot}: the service's path has {expected} here, the recording has {found}")]
    Path {
        /// The place of the first difference.
        spot: Spot,
        /// What the service's path has at this place.
        expected: String,
        /// What the recording has at this place.
        found: String,
    },
    /// The service is invalid, or does not fit the trace memory.
    #[error(transparent)]
    Service(#[from] ServiceError),
}

impl Recording {
    /// Creates a recording without services, in the format's version [`VERSION`]. `machine`
    /// describes the machine on which the recording is made, and `date` is its date as
    /// `YYYY-MM-DD`.
    pub fn new(machine: &str, date: &str) -> Recording {
        Recording {
            format: FORMAT.to_owned(),
            version: VERSION,
            machine: machine.to_owned(),
            date: date.to_owned(),
            services: Vec::new(),
        }
    }

    /// Reads the recording in the file at `path`.
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

    /// Reads a recording from JSON text. Its values are not checked yet: [`Recording::check`]
    /// checks them, and [`Profile::from_recording`](super::Profile::from_recording) checks whether
    /// they fit services.
    ///
    /// # Errors
    /// [`RecordingError::Json`] for text that is not the JSON of a recording,
    /// [`RecordingError::Format`] for another format, [`RecordingError::Version`] for an unknown
    /// version, and [`RecordingError::Early`] for a member that exists only in versions later than
    /// that of the recording.
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

    /// Returns sentences on the data that this recording lacks but
    /// [`super::RecordedTimes::Distribution`] needs. There are four kinds of such data, namely
    /// the distributions of these times: the cost of an accelerator call, the time of application
    /// logic, the processor time of a request outside of both, and the part of the response time
    /// that only the client measures. Each kind that at least one service lacks gives one sentence
    /// with the names of these services; the list is empty if nothing is lacking. A service without
    /// accelerator calls or application logic does not lack their distributions. Recordings before
    /// version 4 lack all other kinds.
    pub fn lacks(&self) -> Vec<String> {
        type Has = fn(&RecordedService) -> bool;
        let parts: [(&str, Has); 4] = [
            (
                "distributions of the costs of accelerator calls; their medians are used instead",
                |service| service.has_quantiles().1 != Some(false),
            ),
            (
                "distributions of application logic; its medians are used instead",
                |service| service.has_quantiles().0 != Some(false),
            ),
            (
                "the processor time of requests outside of accelerator calls; it is taken as zero",
                |service| {
                    let outside = service.outside.as_ref();
                    outside.is_some_and(|outside| !outside.core_quantiles_ns.is_empty())
                },
            ),
            (
                "the time that requests take at the client; it is taken as zero",
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

    /// Returns the recording as indented JSON.
    ///
    /// # Errors
    /// [`RecordingError::Json`]; does not occur in practice.
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
            ("app_quantiles_ns", 4, self.has_quantiles().0 == Some(true)),
            ("cost_quantiles_ns", 4, self.has_quantiles().1 == Some(true)),
            (
                "by_size",
                5,
                self.steps().any(|step| !step.by_size.is_empty()),
            ),
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

    /// The accelerator calls of all phases.
    pub(super) fn steps(&self) -> impl Iterator<Item = &RecordedStep> {
        let chains = self.phases.iter().flat_map(|phase| match phase {
            RecordedPhase::Cpu { .. } => &[],
            RecordedPhase::Chains(chains) => chains.as_slice(),
        });
        chains.flat_map(|chain| &chain.steps)
    }

    /// Whether a phase of application logic, and whether a step has a distribution; `None` without
    /// any such phase or step.
    fn has_quantiles(&self) -> (Option<bool>, Option<bool>) {
        let phases = self.phases.iter().filter_map(|phase| match phase {
            RecordedPhase::Cpu {
                app_quantiles_ns, ..
            } => Some(!app_quantiles_ns.is_empty()),
            RecordedPhase::Chains(_) => None,
        });
        let steps = self.steps().map(|step| !step.cost_quantiles_ns.is_empty());
        let any = |one, other| one || other;
        (phases.reduce(any), steps.reduce(any))
    }
}
