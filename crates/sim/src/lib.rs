//! accelflow-sim
