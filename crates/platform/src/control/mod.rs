//! ARCUS's control plane (section 4.3).

mod registers;

pub use registers::{Rate, registers_for};
