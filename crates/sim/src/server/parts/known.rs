//! A cache of an orchestrator's decisions. If the decisions depend only on the position in a chain
//! and on whether the payload fits a queue entry, a run asks the orchestrator once for each
//! combination of the two.

use accelflow_units::Bytes;

use super::script::Leg;
use crate::orchestrators::{Arm, Completion, Decision, Orchestrator};
use crate::server::run::Run;
use crate::server::state::LegId;

/// The decisions about completions before the compiled legs of chains, by leg: of a payload that
/// fits a queue entry, and of a larger one.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Without repetitions; and whether the dispatcher alone handles each.
    decisions: Vec<(Decision, bool)>,
    /// Indices of decisions, [`ASK`] if the orchestrator must be asked.
    by_leg: Vec<[u32; 2]>,
    /// Whether all accelerators share a queue, whose manager learns of each completion.
    central: bool,
}

const ASK: u32 = u32::MAX;

impl Known {
    /// The decisions of the orchestrator of `run`, if it decides by the class of a payload.
    pub(super) fn new(run: &Run<'_>, central: bool, legs: &[Leg]) -> Known {
        let mut known = Known {
            central,
            ..Known::default()
        };
        if run.orchestrator.decides_by_class() {
            for leg in legs {
                let decided = known.decide(run, leg);
                known.by_leg.push(decided);
            }
        }
        known
    }

    /// The decision about a payload before `leg`, which is `large` or not, if it is known.
    #[inline]
    pub(super) fn get(&self, leg: LegId, large: bool) -> Option<&(Decision, bool)> {
        let decided = self.by_leg.get(leg.index())?[usize::from(large)];
        self.decisions.get(decided as usize)
    }

    fn decide(&mut self, run: &Run<'_>, leg: &Leg) -> [u32; 2] {
        let Some(from) = leg.from.filter(|_| leg.reading.transforms == 0) else {
            return [ASK; 2];
        };
        let inline = run.config.accelerator.inline;
        [inline, inline + Bytes(1)].map(|size| {
            let completion = Completion {
                from,
                next: leg.next,
                branches: leg.reading.branches,
                loads: leg.reading.loads,
                transforms: 0,
                size,
                arm: Arm::None,
            };
            let orchestrator: &dyn Orchestrator = run.orchestrator;
            let decision = orchestrator.decide(&completion, run.config, &run.plan.links);
            let known = self.decisions.iter();
            let known = known
                .map(|known| known.0)
                .position(|known| known == decision);
            known.unwrap_or_else(|| {
                let alone = decision.is_alone() && !self.central;
                self.decisions.push((decision, alone));
                self.decisions.len() - 1
            }) as u32
        })
    }
}
