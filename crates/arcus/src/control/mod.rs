//! ARCUS's control plane (section 4.3): it profiles the platform, admits flows, plans the registers
//! of their traffic shapers and adjusts the registers while flows run.

mod acc_table;
mod combination;
mod context;
mod kept;
mod manager;
mod measure;
mod moves;
mod oversubscribed;
mod periods;
mod profile;
mod registers;
mod request;
mod rest;
mod room;
mod route;
mod runtime;
mod shaping;
mod status;
pub(crate) mod thresholds;
mod verdict;

pub use crate::hardware::STORAGE;
pub use acc_table::AccEntry;
pub use combination::{Candidate, Combination, combinations};
pub(crate) use context::GRID_POINTS;
pub use context::{Capacity, Context, Pattern};
pub use manager::{Alternative, Manager};
pub use profile::{ProfileTable, Sweep, Tag};
pub use registers::{Rate, registers_for, registers_for_bursts};
pub use request::{AdmissionRequest, Availability, LatencySlo, ServiceClass};
pub use route::{RouteEntry, Traffic};
pub use runtime::{Command, CommandOutcome, Decision, Runtime, Timetable};
pub use status::FlowStatus;
pub use verdict::{Periods, Verdict};
