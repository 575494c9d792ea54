//! accelflow-runtime
