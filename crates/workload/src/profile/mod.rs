//! Cost profiles: times of operations and application logic on a core, and waits for remote sides.
//!
//! A [`Profile`] comes from the paper's shares of time ([`Profile::paper`]), a recording of the
//! runtime ([`Profile::from_recording`]) or costs in a workload file ([`Profile::stated`]). All
//! costs are times on one core of the server; the simulator derives the times on accelerators.
//! [`Profile::parameters`] lists every number that a profile uses, with its origin.

mod checks;
mod cost;
mod measured;
mod number;
mod operations;
mod paper;
mod quantiles;
mod recording;
mod requests;
mod services;
mod size_shares;
mod sizes;
mod timeouts;
mod waits;

pub use cost::{ASSUMED_SIZE_SHARES, Cost, Payload};
pub use measured::{RecordedTimes, RecordingOptions};
pub use number::ProfileParameter;
pub use operations::{StatedCost, StatedCosts, StatedCostsError};
pub use paper::{Averaging, PAPER_SHARES, PaperOptions, PaperProfileError, ShareKind, shares};
pub use quantiles::{MAX_QUANTILES, quantiles};
pub use recording::{
    Calibration, Direction, FORMAT, MAX_REQUESTS, READ_VERSIONS, RecordedChain, RecordedOutside,
    RecordedPhase, RecordedQuantiles, RecordedRequest, RecordedService, RecordedSize, RecordedStep,
    Recording, RecordingError, Spot, VERSION,
};
pub use services::{OperationProfile, OutsideTimes, PhaseProfile, Profile, ServiceProfile};
pub use sizes::{MAX_SIZES, by_size};
pub use timeouts::timeouts_per_request;
pub use waits::{RemoteWaits, WaitDistribution};
