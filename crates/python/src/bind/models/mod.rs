//! Python bindings of the models of Accelerometer and Cerebros, of RELIEF's suite, of a chip's
//! area, power and energy, and of micro-benchmarks of accelerators in software.

pub(crate) mod accelerometer;
pub(crate) mod bodies;
pub(crate) mod cerebros;
pub(crate) mod checksum;
pub(crate) mod chip;
pub(crate) mod relief_suite;
