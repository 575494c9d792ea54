//! The interface between a running platform and its control plane.

use accelflow_shaping::{FlowConfig, Registers, Unit};
use accelflow_units::{Bytes, Time};

use crate::{Flow, Path};

/// The hardware's counters of a flow since the last call of the controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Completed messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: Bytes,
    /// Messages that wait to pass.
    pub waiting: u64,
}

/// A change that a controller makes while the platform runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Writes new registers for the flow's limit with this unit. They take effect after the
    /// reconfiguration time.
    Write(usize, Unit, Registers),
    /// Writes new registers for the flow's second shaper, of results for the storage
    /// ([`Flow::results`]). A flow without one gets one.
    WriteResults(usize, Registers),
    /// Adds a flow with its shaping under ARCUS. The flow gets the next number.
    Add(Box<Flow>, Option<FlowConfig>),
    /// Ends the arrivals of a flow. Messages that have arrived are still served.
    Remove(usize),
    /// Sets a new route for a flow's messages: its accelerators, its DMA engine and its path. A
    /// flow whose new path sends to the network uses port 0.
    Route {
        /// The flow.
        flow: usize,
        /// The accelerators, in order.
        accelerators: Vec<usize>,
        /// The DMA engine.
        engine: usize,
        /// The path.
        path: Path,
    },
}

/// A control plane that is called periodically.
pub trait Controller {
    /// Returns changes, given the counters of each flow in the period that ends `now`.
    fn tick(&mut self, now: Time, period: Time, counters: &[Counters]) -> Vec<Action>;
}
