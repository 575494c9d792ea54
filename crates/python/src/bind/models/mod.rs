//! Python bindings of the closed-form models, and of the models of the companion papers.

pub(crate) mod accelerometer;
pub(crate) mod bodies;
pub(crate) mod cerebros;
pub(crate) mod checksum;
pub(crate) mod chip;
pub(crate) mod relief_suite;
