//! accelflow-accel
