//! Scenarios: descriptions of a comparison of orchestrators, their check and their simulation.
//!
//! A [`Scenario`] is plain data with the schema name [`SCHEMA`]. It is read from JSON
//! ([`Scenario::from_json`]), written as JSON, and described by a JSON Schema ([`json_schema`]).
//! [`Scenario::check`] refuses values that are not allowed. It returns a [`Checked`] scenario with
//! every default filled in, which has a stable hash and can be simulated. The default workload,
//! SocialNetwork, has measured costs, so a simulation needs a recording or the profile `paper`.
//!
//! ```text
//! JSON -- Scenario::from_json --> Scenario -- check --> Checked -- run --> ScenarioResult
//! ```
//!
//! The number of threads is not part of a scenario, since results do not depend on it.

mod check;
mod checked;
mod chip;
mod chip_schema;
mod choice;
mod connected;
mod demands;
mod error;
mod hash;
mod idle;
mod limits;
mod names;
mod options;
mod own;
mod own_loads;
mod paths;
mod resolved;
mod results;
mod rules;
mod run;
mod scenario;
mod schema;
mod settings;
mod setup;
mod shares;
mod shown;
mod source;
mod spans;
mod toml_place;
mod walks;
mod watch;

pub use checked::Checked;
pub use chip::{CHIP_SCHEMA, ChipError, ChipFile};
pub use chip_schema::chip_schema;
pub use choice::{Choice, OrOwn};
pub use demands::{ChainDemand, Demands, OperationDemand, ServiceDemand};
pub use error::ScenarioError;
pub use idle::{OperationPayload, SimulatedOperation, simulated_operations};
pub use limits::{
    ASSUMED_TCP_COST_NS, EXACT_REQUESTS, MAX_REQUESTS, MAX_SAMPLES, MIN_REQUESTS, PAPER_SLO_FACTOR,
};
pub use names::{Arrivals, CostSource, Costs, FactSource, Remote, Times};
pub use options::{MAX_USE_INTERVALS, RunOptions};
pub use resolved::{Resolved, ResolvedChip};
pub use rules::{allowed, choices};
pub use run::ScenarioResult;
pub use scenario::{Limit, Limiter, NamedChip, SCHEMA, Scenario, SchemaName, Setting, TimeLimiter};
pub use schema::json_schema;
pub use source::Source;
pub use toml_place::{TomlKey, toml_place};
pub use walks::{
    TimesByCategory, WalkedService, WorkloadRow, app_and_tax_times, dwell, find_service,
    paper_parameters, paper_profile, service_names, timeouts_by_service, walk_service,
    workload_paths, workloads,
};
pub use watch::{
    Band, BandTime, Blame, Burst, MAX_TIMELINE_REQUESTS, Resource, ResourceNames, Segment,
    TimelineOptions, Watched, Waterfall, Which, Why, WhyOptions, Written,
};
