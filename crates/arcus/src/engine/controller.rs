//! The interface between a simulated platform and the control plane that is called while it runs.

use accelflow_shaping::{FlowConfig, Registers, Unit};
use accelflow_units::{Bytes, Time};

use crate::{Flow, Path};

/// What the hardware counted for one flow since the previous call of [`Controller::tick`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// The number of messages completed since then.
    pub messages: u64,
    /// The bytes of these messages.
    pub bytes: Bytes,
    /// The number of messages that wait in the flow's queue now.
    pub waiting: u64,
}

/// A change that a [`Controller`] makes while the platform runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Writes new registers for the rate limit of the flow with this number and in this unit, bytes
    /// or messages. They take effect after the shaper's reconfiguration time.
    Write(usize, Unit, Registers),
    /// Writes new registers for the second shaper of the flow with this number, which passes
    /// results to the storage ([`Flow::results`]). A flow without a second shaper gets one.
    WriteResults(usize, Registers),
    /// Adds a flow with the settings of its shaper, which only ARCUS needs. The flow gets the next
    /// number.
    Add(Box<Flow>, Option<FlowConfig>),
    /// Ends the arrivals of the flow with this number. Messages that have arrived are still served.
    Remove(usize),
    /// Sends a flow's messages over another route from now on. A flow whose new path leads to the
    /// network uses port 0.
    Route {
        /// The number of the flow.
        flow: usize,
        /// The numbers of the accelerators on the new route, in the order in which messages pass
        /// them.
        accelerators: Vec<usize>,
        /// The number of the DMA engine that moves the flow's data.
        engine: usize,
        /// The new path.
        path: Path,
    },
}

/// A control plane that a simulated platform calls once per control period.
pub trait Controller {
    /// Returns the changes to make at `now`, the end of a period of length `period`. `counters` has
    /// what each flow did in this period, by flow number.
    fn tick(&mut self, now: Time, period: Time, counters: &[Counters]) -> Vec<Action>;
}
