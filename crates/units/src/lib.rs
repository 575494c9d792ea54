//! Physical quantities that cross crate boundaries: [`Time`], [`Cycles`], [`Frequency`],
//! [`Bytes`], [`Bandwidth`] and [`Pace`].
//!
//! Every quantity is an unsigned integer in a fixed base unit, so arithmetic is exact and two runs
//! of a simulation cannot differ by rounding. Conversions that divide, or multiply by a float,
//! document how they round.

mod data;
mod time;

pub use data::{Bandwidth, Bytes, Pace};
pub use time::{Cycles, Frequency, Time};
