//! accelflow-kernel
