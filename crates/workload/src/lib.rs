//! accelflow-workload

pub mod arrivals;
