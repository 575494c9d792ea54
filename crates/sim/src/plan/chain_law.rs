//! The laws of the operations of a chain.

use accelflow_trace::{Accel, AtmAddress};

use super::ChainPlan;
use super::law::Law;

impl ChainPlan {
    /// The law of an operation; `None` if there is none, since its cost is drawn, its payload was
    /// recorded, or it has no cost.
    pub(crate) fn law(&self, trace: AtmAddress, accel: Accel, receives: bool) -> Option<Law> {
        let slot = self.slot(trace, accel, receives);
        let plan = self.operations.get(slot).copied().flatten()?;
        let alike = plan.payload.is_none() && !self.spreads.varies(slot);
        alike.then(|| Law::new(plan.cost))
    }
}
