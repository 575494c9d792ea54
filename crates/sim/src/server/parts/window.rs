//! The measured window, and the readings at its ends.

use accelflow_trace::Accel;
use accelflow_units::Time;

use super::saturation::Queues;
use crate::hardware::Carried;

/// The measured window: from the end of the warm-up to the last arrival.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub from: Time,
    /// Busy times at its beginning.
    pub before: Busy,
    /// Set when the arrivals have ended.
    pub end: Option<WindowEnd>,
}

/// Busy times since the start of the run.
#[derive(Clone, Debug)]
pub(crate) struct Busy {
    pub cores: Time,
    pub manager: Time,
    pub dma: Time,
    pub links: Carried,
    /// By [`Accel::index`]: of all elements together, and of any of them.
    pub accelerators: [(Time, Time); Accel::MOST],
    /// By [`Accel::index`].
    pub dispatchers: [Time; Accel::MOST],
    /// The backlogs of all resources.
    pub queues: Queues,
}

/// The readings when the last request has arrived.
#[derive(Clone, Debug)]
pub(crate) struct WindowEnd {
    pub at: Time,
    pub busy: Busy,
    /// Number of requests in flight.
    pub in_flight: usize,
}
