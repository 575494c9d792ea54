//! Spans of distributed traces as workloads.
//!
//! [`import_spans`] reads files of Jaeger or OTLP. It returns the content of a workload file
//! (`accelflow.workload/1`), and a report of what the files state, what the import guessed and what
//! it dropped.
//!
//! A span that serves a call is a request. Its child spans are calls, which become chains of the
//! paper's traces; the time between them is application time. Requests of one operation that
//! make the same calls in the same order have the same *shape*. The most common shapes of an
//! operation, up to [`Options::shapes`], become the paths of services of the workload.
//!
//! [`SpanWriter`] is the reverse: it writes the requests of a simulation as OTLP.
//! [`write_timeline`] draws spans unchanged into a timeline.
//!
//! Files are read as streams, span by span (`read`). `collect` keeps the spans of a trace together
//! until it is finished, `analyse` makes requests of them and counts their shapes, and `write`
//! makes the workload. All of their state is bounded, so memory does not grow with the size of a
//! file.

mod analyse;
mod attributes;
mod collect;
mod error;
mod export;
mod import;
mod names;
mod options;
mod read;
mod report;
mod span;
mod timeline;
mod topics;
mod words;
mod write;

pub use error::ImportError;
pub use export::{SpanWriter, Wait};
pub use import::{Imported, Kind, import_spans, import_streams};
pub use options::{Options, Waits};
pub use timeline::{MAX_SPANS, SpansOptions, TimelineCounts, write_timeline};
