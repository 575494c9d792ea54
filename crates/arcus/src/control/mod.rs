//! ARCUS's control plane (section 4.3): profiles, admission, planning of registers, and adjustment
//! while flows run.

mod manager;
mod oversubscribed;
mod periods;
mod profile;
mod registers;
mod request;
mod rest;
mod room;
mod route;
mod runtime;
mod status;
pub(crate) mod thresholds;
mod verdict;

pub use manager::{AccEntry, Manager, STORAGE};
pub use profile::{Capacity, Combination, Context, Pattern, ProfileTable, Tag};
pub use registers::{Rate, registers_for, registers_for_bursts};
pub use request::{AdmissionRequest, Availability, LatencySlo, ServiceClass};
pub use route::{RouteEntry, Traffic};
pub use runtime::{Command, CommandOutcome, Decision, Runtime, Timetable};
pub use status::FlowStatus;
pub use verdict::{Periods, Verdict};
