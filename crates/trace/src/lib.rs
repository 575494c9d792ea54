//! The trace language.
mod accelerator;
mod format;
pub use accelerator::{Accel, UnknownAccelerator};
pub use format::{Format, Transform, UnknownFormat};
