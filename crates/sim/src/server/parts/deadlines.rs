//! The deadlines of the operations of traces, derived from the SLOs of requests.

use accelflow_units::Time;

use super::chain_walk::walk;
use super::timing::Timing;
use crate::config::Config;
use crate::hardware::Uncore;
use crate::plan::{ChainPlan, PhasePlan, Plan};
use crate::server::state::{Deadline, Request};

/// The unloaded times of services, from which software sets deadlines.
pub(crate) struct Deadlines {
    /// The time from each phase of each service to its end, on an idle server; empty if no
    /// deadlines are set.
    unloaded: Vec<Vec<Time>>,
}

impl Deadlines {
    /// Deadlines for services with these unloaded times, or none for an empty list.
    pub(crate) fn new(unloaded: Vec<Vec<Time>>) -> Deadlines {
        Deadlines { unloaded }
    }

    /// The deadline of a chain of `request` that starts `now`.
    ///
    /// "It assigns a deadline to each of the acceleration steps" (AccelFlow, section IV.C): the
    /// remaining part of the SLO is divided over the remaining steps of the service in proportion
    /// to their unloaded times. The job carries the factor, and each step adds its share to the
    /// deadline of the one before, so slack is passed on.
    pub(crate) fn of_chain(&self, request: &Request, now: Time) -> Deadline {
        if self.unloaded.is_empty() || request.due == Time::MAX {
            return Deadline::NONE;
        }
        let left = self.unloaded_left(request);
        let budget = request.due.saturating_sub(now);
        let stretch = if left > Time::ZERO {
            budget.as_ps() as f64 / left.as_ps() as f64
        } else {
            0.0
        };
        Deadline { due: now, stretch }
    }

    fn unloaded_left(&self, request: &Request) -> Time {
        let phases = self.unloaded.get(usize::from(request.service));
        let left = phases.and_then(|phases| phases.get(usize::from(request.phase)));
        left.copied().unwrap_or(Time::ZERO)
    }
}

/// From each phase of each service to its end, the time on an idle server: operations on
/// accelerators, application logic, waits for messages, and the same of services that it calls.
pub(crate) fn unloaded_phases(
    plan: &Plan,
    config: &Config,
    timing: &Timing<'_>,
    uncore: &Uncore,
) -> Vec<Vec<Time>> {
    let chain_time = |chain: &ChainPlan, called: Time| {
        walk(plan, chain, called, &mut |visit| {
            let operation = visit.typical(chain);
            operation.map_or(Time::ZERO, |operation| {
                timing.operation(uncore, visit.accel, operation)
            })
        })
    };
    let mut unloaded = vec![Vec::new(); plan.services.len()];
    for index in plan.callees_first() {
        let service = &plan.services[index];
        let chain_time = |chain: &ChainPlan| {
            let called = chain.calls.map(|to| {
                let there = unloaded[to].first().copied().unwrap_or(Time::ZERO);
                there + round_trip(plan, service.server, chain)
            });
            chain_time(chain, called.unwrap_or(Time::ZERO))
        };
        let phase_time = |phase: &PhasePlan| match phase {
            PhasePlan::Cpu(time) => config.application_time(*time) + config.core.context_switch,
            PhasePlan::Chains(chains) => {
                let waited = chains.iter().filter(|chain| !chain.detached);
                waited.map(chain_time).max().unwrap_or(Time::ZERO)
            }
        };
        let mut left: Vec<Time> = service.phases.iter().rev().map(phase_time).collect();
        for index in 1..left.len() {
            left[index] = left[index] + left[index - 1];
        }
        left.reverse();
        unloaded[index] = left;
    }
    unloaded
}

/// The mean time that the request and the response of a call of `chain`, on the server number
/// `server`, are on the network.
pub(crate) fn round_trip(plan: &Plan, server: usize, chain: &ChainPlan) -> Time {
    let callee = chain.calls.and_then(|to| plan.services.get(to));
    match callee.is_some_and(|callee| callee.server != server) {
        true => plan.one_way(chain).mean() * 2,
        false => Time::ZERO,
    }
}
