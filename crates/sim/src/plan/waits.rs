//! Methods of [`Plan`] for the times that traces wait for messages.

use accelflow_trace::AtmAddress;
use accelflow_units::Time;
use accelflow_workload::profile::WaitDistribution;

use super::{ChainPlan, Plan, WAIT};

impl Plan {
    /// Returns the median time that the trace at the address `trace` in `chain` waits for its
    /// message; zero if neither the chain nor the plan has a distribution for that trace.
    pub fn typical_wait(&self, chain: &ChainPlan, trace: AtmAddress) -> Time {
        let distribution = self.waits_of(chain, trace);
        distribution.map_or(Time::ZERO, WaitDistribution::median)
    }

    /// Returns the mean time that the trace called `trace` in `chain` waits for its message; zero
    /// for an unknown trace, and if neither the chain nor the plan has a distribution for the
    /// trace.
    pub fn mean_wait_in(&self, chain: &ChainPlan, trace: &str) -> Time {
        let Some(at) = self.image.entry(trace) else {
            return Time::ZERO;
        };
        let distribution = self.waits_of(chain, at);
        distribution.map_or(Time::ZERO, WaitDistribution::mean)
    }

    /// Returns the time that the trace at the address `trace` in `chain` waits for its message;
    /// zero if neither the chain nor the plan has a distribution for that trace. `request` is the
    /// sequence number of the request, and `seed` the random seed. The time depends only on the
    /// arguments, so it is the same under every orchestrator.
    pub fn wait(&self, chain: &ChainPlan, trace: AtmAddress, seed: u64, request: u64) -> Time {
        let Some(distribution) = self.waits_of(chain, trace) else {
            return Time::ZERO;
        };
        let [phase, number] = [chain.place.0, chain.place.1].map(u64::from);
        let index = WAIT | phase << 32 | number << 16 | (trace.index() as u64) << 1;
        distribution.draw(seed, request, index)
    }

    /// The distribution of the chain, which precedes that of the plan for all chains.
    fn waits_of<'a>(
        &'a self,
        chain: &'a ChainPlan,
        trace: AtmAddress,
    ) -> Option<&'a WaitDistribution> {
        let own = chain.waits.iter().find(|(at, _)| *at == trace);
        let own = own.map(|(_, distribution)| distribution);
        own.or_else(|| self.waits.get(trace.index()))
    }
}
