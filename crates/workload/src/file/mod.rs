//! Workloads as files: the format `accelflow.workload/1` (`docs/workloads.md`).
//!
//! [`read()`] parses a text in TOML or JSON to a [`Document`]: a [`Workload`], whose fields are
//! those of the file, and the positions of the values in the file. The names, types and ranges of
//! the fields are checked against the JSON Schema of the Rust types ([`json_schema`]), so that
//! types, editors and messages agree. [`Document::check`] checks the consistency of values.
//! [`write`](write()) writes canonical TOML.

mod check;
mod document;
mod effects;
mod engine;
mod error;
mod facts;
mod inline;
mod kinds;
mod memory;
mod paths;
mod places;
mod rates;
mod read;
mod schema;
mod shape;
mod tables;
mod times;
mod tree;
mod values;
mod write;

pub use check::{is_service_name, is_workload_name};
pub use document::Document;
pub use error::FileError;
pub use inline::MAX_FILE_BYTES;
pub use places::Position;
pub use rates::{EQUAL, OWN};
pub use read::{MAX_TEXT_BYTES, read};
pub use schema::{json_schema, schema_of, schema_text};
pub use tree::{
    Chain, Cpu, CpuTime, Defaults, MAX_PHASES, MAX_SERVICES, Origin, OriginFile, Parallel, Phase,
    Printed, Rate, SCHEMA, SchemaName, Service, Timed, Traces, Workload,
};
pub use values::{
    Arrivals, ArrivalsPreset, Costs, Duration, KindCost, LogNormalBytes, LogNormalTime,
    MessageSizes, OperationCost, Probability, Retry, Size, Sizes, SizesPreset, Wait,
};
pub use write::write;
