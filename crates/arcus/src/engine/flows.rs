//! Changes by a control plane while the platform runs: registers, flows and routes.

use accelflow_shaping::{FlowConfig, FlowId};
use accelflow_units::Time;

use super::controller::{Action, Controller, Counters};
use super::run::{Run, unlimited};
use super::state::{Event, FlowState, Route};
use crate::{Flow, Mechanism, Path, PlatformError};

impl Run<'_> {
    pub(super) fn control(
        &mut self,
        now: Time,
        controller: &mut dyn Controller,
    ) -> Result<(), PlatformError> {
        let period = self.settings.control_period;
        let counters = self.flows.iter_mut().map(|flow| {
            let waiting = flow.queued as u64;
            let Counters {
                messages, bytes, ..
            } = std::mem::take(&mut flow.counters);
            Counters {
                messages,
                bytes,
                waiting,
            }
        });
        let counters: Vec<Counters> = counters.collect();
        self.may_pass = true;
        for action in controller.tick(now, period, &counters) {
            self.act(now, action)?;
        }
        self.at(now + period, Event::Control);
        // On an idle platform, no other event lets the first messages of added flows pass.
        self.dispatch(now)
    }

    fn act(&mut self, now: Time, action: Action) -> Result<(), PlatformError> {
        match action {
            Action::Write(flow, unit, registers) => {
                if let Some(shaper) = &mut self.shaper {
                    shaper.write_limit(now, FlowId(flow), unit, registers)?;
                    self.schedule_grant();
                }
            }
            Action::WriteResults(flow, registers) => {
                self.write_results(now, flow, registers)?;
            }
            Action::Add(flow, shaping) => self.add(now, &flow, shaping)?,
            Action::Remove(flow) => {
                let state = self.known_flow(flow)?;
                if state.present {
                    state.present = false;
                    state.result.until = Some(now);
                }
            }
            Action::Route {
                flow,
                accelerators,
                engine,
                path,
            } => {
                let state = self.known_flow(flow)?;
                let sends = (path == Path::InlineTx).then_some(0);
                let port = state.spec.port.or(sends);
                let spec = Flow {
                    accelerators: accelerators.clone(),
                    engine,
                    path,
                    port,
                    ..state.spec.clone()
                };
                let mut specs = self.specs();
                specs[flow] = spec.clone();
                self.platform.check(&specs)?;
                let state = &mut self.flows[flow];
                state.spec = spec;
                state.routes.push(Route {
                    accelerators,
                    engine,
                    path,
                    port,
                });
            }
        }
        Ok(())
    }

    fn known_flow(&mut self, flow: usize) -> Result<&mut FlowState, PlatformError> {
        let count = self.flows.len();
        self.flows.get_mut(flow).ok_or(PlatformError::UnknownPart {
            flow,
            part: "flow",
            number: flow,
            count,
        })
    }

    /// The settings of all flows, by flow index.
    fn specs(&self) -> Vec<Flow> {
        self.flows.iter().map(|state| state.spec.clone()).collect()
    }

    /// Adds a flow while others run.
    fn add(
        &mut self,
        now: Time,
        flow: &Flow,
        shaping: Option<FlowConfig>,
    ) -> Result<(), PlatformError> {
        let mut specs = self.specs();
        specs.push(flow.clone());
        self.platform.check(&specs)?;
        let number = self.flows.len();
        match (&mut self.shaper, shaping) {
            (Some(shaper), Some(config)) => {
                shaper.add_flow(now, unlimited(config))?;
            }
            (None, _) if self.software.is_none() => {}
            _ => {
                return Err(PlatformError::FlowCount {
                    mechanism: self.mechanism.name(),
                    given: number,
                    flows: number + 1,
                });
            }
        }
        if let Some(injection) = &mut self.injection {
            injection.add(now, flow.results)?;
        }
        let mut state = FlowState::new(flow, number as u64, self.settings.seed);
        state.due = now;
        state.result.since = now;
        self.flows.push(state);
        let lane_each = matches!(self.mechanism, Mechanism::Panic { .. });
        for unit in &mut self.units {
            unit.finish.push(unit.virtual_time);
            if lane_each {
                unit.queue.widen(self.flows.len());
            }
        }
        self.begin_flow(now, number)
    }
}
