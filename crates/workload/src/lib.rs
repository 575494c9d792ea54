//! accelflow-workload
