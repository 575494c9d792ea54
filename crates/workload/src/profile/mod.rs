//! Costs of operations and application logic on a core, and waits for remote sides.
//!
//! A [`Profile`] comes from the paper's shares ([`Profile::paper`]) or from a recording of the
//! runtime ([`Profile::from_recording`]). All costs are times on one core of the server; what an
//! accelerator makes of them is the simulator's business. Every number that a profile rests on is
//! listed with its origin in [`Profile::parameters`].

mod cost;
mod measured;
mod paper;
mod recording;
mod requests;
mod services;
mod timeouts;
mod waits;

pub use cost::{ASSUMED_SIZE_SHARES, Cost, Payload};
pub use measured::RecordingOptions;
pub use paper::{Averaging, PAPER_SHARES, PaperOptions, PaperProfileError, ShareKind, shares};
pub use recording::{
    Calibration, Direction, FORMAT, MAX_REQUESTS, READ_VERSIONS, RecordedChain, RecordedPhase,
    RecordedRequest, RecordedService, RecordedStep, Recording, RecordingError, Spot, VERSION,
};
pub use services::{OperationProfile, PhaseProfile, Profile, ServiceProfile};
pub use timeouts::timeouts_per_request;
pub use waits::{RemoteWaits, WaitDistribution};

/// Where a number comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Provenance {
    /// Printed in a paper.
    Paper,
    /// Calculated from other numbers.
    Derived,
    /// Measured.
    Measured,
    /// Chosen, for a stated reason.
    Assumed,
}

/// A number that a profile rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// What it is, such as `tcp_cost_ns`.
    pub name: String,
    /// Its value, in the unit that the name ends with; a share if it ends with none.
    pub value: f64,
    /// Where it comes from.
    pub provenance: Provenance,
    /// The place, the arithmetic or the reason.
    pub note: String,
}
