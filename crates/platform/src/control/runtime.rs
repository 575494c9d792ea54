//! Algorithm 1, while flows run.

use accelflow_units::Time;

use super::manager::{Manager, Policy, RouteEntry, TRICKLE};
use crate::{Action, Controller, Counters};

/// How far below its target a flow may be measured before it counts as violated: the paper's 1 %.
const TOLERANCE: f64 = 0.01;
/// The weight of the latest period in what a flow is measured at: periods hold few large messages.
const SMOOTHING: f64 = 0.25;
/// Changes of a rate that are worth a write.
const WORTH: f64 = 0.02;
/// The most that a rate is raised above the SLO to make up for what was missed.
const CATCH_UP: f64 = 1.05;

/// The runtime of one server: a control plane and what it remembers of its flows.
#[derive(Clone, Debug)]
pub struct Runtime {
    manager: Manager,
    /// By flow: when its window of bursts began, and how long it has burst in it.
    bursts: Vec<(Time, Time)>,
    violations: u64,
}

impl Runtime {
    /// The runtime of a control plane whose flows are registered.
    pub fn new(manager: Manager) -> Runtime {
        let bursts = vec![(Time::ZERO, Time::ZERO); manager.flows().len()];
        Runtime {
            manager,
            bursts,
            violations: 0,
        }
    }

    /// The control plane.
    pub fn manager(&self) -> &Manager {
        &self.manager
    }

    /// Periods in which a flow had something to send and got less than its SLO.
    pub fn violations(&self) -> u64 {
        self.violations
    }

    /// What the flow should be shaped to, in gigabits a second, if `spare` is what its route has left.
    fn target(&mut self, flow: usize, now: Time, period: Time, waiting: bool, spare: f64) -> f64 {
        let it = &self.manager.flows()[flow];
        let slo = it.slo_gbit_per_s();
        match it.request.policy {
            Policy::Reserved | Policy::OnDemand => slo,
            Policy::Opportunistic => spare.clamp(TRICKLE * slo, slo),
            Policy::ManagedBurst {
                factor,
                allowance,
                window,
            } => {
                let (began, spent) = &mut self.bursts[flow];
                if now.saturating_sub(*began) >= window {
                    (*began, *spent) = (now, Time::ZERO);
                }
                let allowed = waiting && *spent + period <= allowance;
                let rate = (slo + spare).clamp(slo, slo * factor);
                if !allowed || rate <= slo {
                    return slo;
                }
                *spent += period;
                rate
            }
        }
    }

    /// What the flows of a route leave of its capacity, given what they were measured at; `but` is not
    /// counted.
    fn spare(&mut self, route: RouteEntry, but: usize) -> f64 {
        let capacity = self.manager.capacity_of(route).unwrap_or(0.0) * Policy::RESERVED_SHARE;
        let others = self
            .manager
            .flows()
            .iter()
            .enumerate()
            .filter(|(number, it)| {
                *number != but && it.route == route && it.request.policy != Policy::Opportunistic
            });
        let used: f64 = others
            .map(|(_, it)| it.measured_gbit_per_s.unwrap_or(0.0))
            .sum();
        let own = &self.manager.flows()[but];
        let own = if own.request.policy == Policy::Opportunistic {
            0.0
        } else {
            own.slo_gbit_per_s()
        };
        (capacity - used - own).max(0.0)
    }

    /// Lines 4, 5 and 17 to 21 for one flow.
    fn adjust(&mut self, flow: usize, now: Time, period: Time, counters: Counters) -> Vec<Action> {
        let it = &self.manager.flows()[flow];
        let (slo, shaped, route) = (it.slo_gbit_per_s(), it.shaped_gbit_per_s, it.route);
        let measured = it.measured_gbit_per_s.unwrap_or(0.0);
        let promised = it.request.policy != Policy::Opportunistic;
        // A sender whose queue runs dry is not kept from its SLO by us.
        let waiting = counters.waiting > 1;
        let violated = promised && waiting && measured < slo * (1.0 - TOLERANCE);
        let mut actions = Vec::new();
        self.violations += u64::from(violated);
        if violated && let Ok(Some(new)) = self.manager.select_path(flow) {
            self.manager.flows_mut()[flow].route = new;
            let (accelerators, engine) = (vec![new.accelerator], new.engine);
            actions.push(Action::Route {
                flow,
                accelerators,
                engine,
            });
        }
        let spare = self.spare(route, flow);
        let mut target = self.target(flow, now, period, waiting, spare);
        if violated && actions.is_empty() && measured > 0.0 {
            target = target.max(slo * (slo / measured).min(CATCH_UP));
        }
        if (target / shaped - 1.0).abs() > WORTH
            && let Ok(registers) = self.manager.reshape(flow, target)
        {
            actions.push(Action::Write(flow, registers));
        }
        actions
    }
}

impl Controller for Runtime {
    fn tick(&mut self, now: Time, period: Time, counters: &[Counters]) -> Vec<Action> {
        for (it, counters) in self.manager.flows_mut().iter_mut().zip(counters) {
            let now = counters.bytes.get() as f64 * 8.0 / period.as_ns_f64();
            let before = it.measured_gbit_per_s.unwrap_or(now);
            it.measured_gbit_per_s = Some(before + SMOOTHING * (now - before));
        }
        let flows = self.manager.flows().len().min(counters.len());
        (0..flows)
            .flat_map(|flow| self.adjust(flow, now, period, counters[flow]))
            .collect()
    }
}
