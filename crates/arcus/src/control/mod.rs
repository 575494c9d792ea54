//! ARCUS's control plane (section 4.3): profiles, admission, planning of registers, and adjustment
//! while flows run.

mod manager;
mod profile;
mod registers;
mod room;
mod runtime;
mod verdict;

pub use manager::{
    AccEntry, AdmissionRequest, FlowStatus, Manager, RouteEntry, STORAGE, ServiceClass,
};
pub use profile::{Capacity, Context, Pattern, ProfileTable, Tag};
pub use registers::{Rate, registers_for};
pub use runtime::{Command, CommandOutcome, Decision, Runtime, Timetable};
pub use verdict::Verdict;
