//! Costs of custom accelerators.

use accelflow_parameters::{Refusal, quoted};
use accelflow_trace::{Accel, Image};

use super::tree::Workload;
use super::values::KindCost;
use crate::profile::{Cost, PaperProfileError, StatedCost, StatedCosts};
use crate::services;
use crate::sizes::{MessagePlace, PayloadSizes};

/// The cost of each custom accelerator for the messages of the service `path`.
pub(super) fn typical(
    kinds: &[Option<StatedCost>],
    path: &services::Service,
    sizes: &PayloadSizes,
) -> Vec<Option<Cost>> {
    let first = MessagePlace {
        phase: 0,
        chain: 0,
        trace: 0,
    };
    let mean = sizes.distribution(path.name(), first).mean();
    let costs = kinds.iter().map(|cost| cost.map(|cost| cost.at_mean(mean)));
    costs.collect()
}

/// The costs of the custom accelerators alone, by [`Accel::index`]. `kinds` has them by number.
pub(super) fn of_kinds(kinds: &[Option<StatedCost>]) -> StatedCosts {
    let mut costs = [None; Accel::MOST];
    for accel in Accel::EVERY {
        let number = accel.custom_number();
        let cost = number.and_then(|number| kinds.get(number));
        costs[accel.index()] = cost.copied().flatten();
    }
    costs
}

/// The refusal of a custom accelerator whose cost is not stated.
pub(super) fn unpriced(error: &PaperProfileError) -> Option<Refusal> {
    let PaperProfileError::Kind { name } = error else {
        return None;
    };
    let allowed =
        "must be stated: a service uses this accelerator, and the paper has no cost for it";
    Some(Refusal::left_out(format!("kinds.{name}"), allowed))
}

impl Workload {
    /// The cost on a core of each custom accelerator, by its index in [`Image::kinds`].
    pub(super) fn kind_costs(&self, image: &Image) -> Result<Vec<Option<StatedCost>>, Refusal> {
        self.check_kinds(image)?;
        let stated = image.kinds().iter().map(|kind| {
            self.kinds.get(kind.name()).map(|cost| StatedCost {
                ns: cost.ns,
                ns_per_byte: cost.ns_per_byte,
                relative_error: cost.relative_error,
            })
        });
        Ok(stated.collect())
    }

    /// Returns the speedup over a core of each custom accelerator that the traces of `image` call,
    /// in the order of [`Image::kinds`]; `None` for an accelerator whose speedup the workload file
    /// does not state.
    ///
    /// # Errors
    /// [`Refusal`] if the workload file states the cost of an accelerator that no trace of `image`
    /// calls, or a cost of 0.
    pub fn kind_speedups(&self, image: &Image) -> Result<Vec<Option<f64>>, Refusal> {
        self.check_kinds(image)?;
        let stated = image.kinds().iter();
        Ok(stated
            .map(|kind| self.kinds.get(kind.name())?.speedup)
            .collect())
    }

    /// Refuses costs of accelerators that no trace of `image` calls, and costs of 0.
    fn check_kinds(&self, image: &Image) -> Result<(), Refusal> {
        let known = || image.kinds().iter().map(|kind| kind.name());
        let unknown = self.kinds.keys().find(|name| known().all(|k| k != *name));
        let Some(name) = unknown else {
            return self.check_costs();
        };
        if image.kinds().is_empty() {
            let allowed =
                "must be an accelerator that a trace of the file declares by 'kind NAME' and calls";
            return Err(Refusal::new("kinds", quoted(name), allowed));
        }
        Err(Refusal::unknown(format!("kinds.{name}"), name, known()))
    }

    fn check_costs(&self) -> Result<(), Refusal> {
        let is_free = |cost: &KindCost| cost.ns == 0.0 && cost.ns_per_byte == 0.0;
        match self.kinds.iter().find(|(_, cost)| is_free(cost)) {
            None => Ok(()),
            Some((name, _)) => {
                let allowed = "must be above 0 on a core: set ns, ns_per_byte or both";
                Err(Refusal::new(format!("kinds.{name}"), "0 ns", allowed))
            }
        }
    }
}
