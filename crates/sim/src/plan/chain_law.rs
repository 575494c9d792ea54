//! A method of [`ChainPlan`] for the core time of an operation as a function of the message's size.

use accelflow_trace::{Accel, AtmAddress};

use super::ChainPlan;
use super::law::Law;

impl ChainPlan {
    /// Returns the law of an operation's cost, or `None` if the cost is drawn, the payload was
    /// recorded, or the operation has no cost.
    pub(crate) fn law(&self, trace: AtmAddress, accel: Accel, receives: bool) -> Option<Law> {
        let slot = self.slot(trace, accel, receives);
        let plan = self.operations.get(slot).copied().flatten()?;
        let alike = plan.payload.is_none() && !self.spreads.varies(slot);
        alike.then(|| Law::new(plan.cost))
    }
}
