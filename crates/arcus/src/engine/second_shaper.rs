//! The state of the second shaper of the inline mode with storage (section 4.1, "Inline mode
//! (P2P)").

use accelflow_shaping::{FlowConfig, FlowId, Registers, Shaper, Timing, Unit};
use accelflow_units::Time;

use crate::{Mechanism, PlatformError};

/// The state of the second shaper.
#[derive(Clone, Debug)]
pub(super) struct SecondShaper {
    pub(super) shaper: Shaper,
    /// The flow's identifier in the second shaper, by flow index of the run.
    pub(super) flows: Vec<Option<FlowId>>,
    /// The time of the next scheduled poll.
    pub(super) poll_at: Time,
}

impl SecondShaper {
    /// The second shaper under `mechanism`, without flows; `None` without ARCUS.
    pub(super) fn of(mechanism: &Mechanism) -> Option<SecondShaper> {
        let Mechanism::Arcus { timing, .. } = mechanism else {
            return None;
        };
        Some(SecondShaper::new(*timing))
    }

    fn new(timing: Timing) -> SecondShaper {
        SecondShaper {
            shaper: Shaper::new(timing),
            flows: Vec::new(),
            poll_at: Time::MAX,
        }
    }

    /// Adds the next flow of the run.
    pub(super) fn add(
        &mut self,
        now: Time,
        results: Option<Registers>,
    ) -> Result<(), PlatformError> {
        let config = |registers| FlowConfig::new(Unit::Bytes, registers);
        let number = results.map(|registers| self.shaper.add_flow(now, config(registers)));
        self.flows.push(number.transpose()?);
        Ok(())
    }

    pub(super) fn write(
        &mut self,
        now: Time,
        flow: usize,
        registers: Registers,
    ) -> Result<(), PlatformError> {
        match self.flows.get_mut(flow) {
            Some(Some(number)) => {
                self.shaper.write(now, *number, registers)?;
            }
            // The flow has moved to a route that ends at the storage.
            Some(none) => {
                let config = FlowConfig::new(Unit::Bytes, registers);
                *none = Some(self.shaper.add_flow(now, config)?);
            }
            None => {}
        }
        Ok(())
    }
}
