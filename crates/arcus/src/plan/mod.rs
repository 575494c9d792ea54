//! Plan files: descriptions of a platform, and of flows that ask for promises there.
//!
//! [`CheckedPlan::from_json`] reads and checks a plan. [`plan`] admits its flows and simulates
//! them. [`profile`] profiles the platform in advance, for later plans. [`plan_schema`] is the JSON
//! Schema of plan files, which defines the names, ranges and defaults of their fields.
//!
//! ```
//! use accelflow_arcus::control::ProfileTable;
//! use accelflow_arcus::plan::{CheckedPlan, plan};
//! use serde_json::json;
//!
//! let flow = json!({
//!     "name": "gateway", "accelerator": "ipsec", "path": "inline_rx",
//!     "message_bytes": 1500, "slo_gbit_per_s": 10,
//! });
//! let checked = CheckedPlan::from_json(&json!({"flow": [flow]}))?;
//! let result = plan(&checked, ProfileTable::new(checked.platform.clone()))?;
//! assert_eq!(result.admitted[0].verdict.arcus, "kept");
//!
//! let wrong = json!({"flow": [{"name": "a", "accelerator": "ipsec", "path": "inline_xr"}]});
//! let error = CheckedPlan::from_json(&wrong).unwrap_err().to_string();
//! assert!(error.starts_with("flow 'a': path = 'inline_xr': must be function_call, "));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod by_run;
mod check;
mod error;
mod file;
mod platform;
mod profiles;
mod result;
mod run;
mod schema;
mod sweep;
mod utilisation;

pub use by_run::ByRun;
pub use check::{CheckedPlan, PlannedFlow};
pub use error::{Key, PlanError};
pub use file::{
    AcceleratorTable, ArrivalKind, FlowTable, Pair, PlanFile, PlatformTable, PromiseClass,
    StorageTable,
};
pub use profiles::{
    Entry, PROFILES_SCHEMA, ProfileFile, ProfiledPlatform, RoutedFlow, TaggedCombination,
};
pub use result::{
    AdmittedFlow, LatencyResult, PeriodsResult, PlanResult, Promises, Rejected, UnitRegisters,
};
pub use run::plan;
pub use schema::plan_schema;
pub use sweep::{SweepOptions, profile};
pub use utilisation::ResourceUse;
