//! ARCUS's control plane (section 4.3): profiles, admission, planning of registers, and adjustment
//! while flows run.

mod manager;
mod profile;
mod registers;
mod room;
mod runtime;
mod verdict;

pub use manager::{AccEntry, FlowStatus, Manager, Policy, Request, RouteEntry, STORAGE};
pub use profile::{Capacity, Context, Pattern, ProfileTable, Tag};
pub use registers::{Rate, registers_for};
pub use runtime::{Command, Decision, Outcome, Runtime, Timetable};
pub use verdict::Verdict;
