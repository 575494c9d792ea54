//! Properties that hold for any input of a parser, a server, a port or a client.
//!
//! A violated property is a panic, which libFuzzer and the test runner report.
//!
//! The fuzz targets of `fuzz/` search for inputs that violate a property. The tests of this crate
//! check the properties on the targets' corpora and on inputs near those.

mod parties;
mod spans;
pub mod targets;

pub use targets::{TARGETS, Target};
