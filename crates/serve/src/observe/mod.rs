//! Observability for operators: metrics, spans, recordings and error reports.

pub(crate) mod admin;
pub(crate) mod ledger;
pub(crate) mod measured;
pub(crate) mod metrics;
pub(crate) mod observers;
pub(crate) mod pools;
pub(crate) mod recorder;
pub(crate) mod reports;
pub(crate) mod run;
pub(crate) mod telemetry;
pub(crate) mod times;
