//! Algorithm 1: adjusts registers and routes while flows run, come and go.

use accelflow_units::Time;

use super::kept::Kept;
use super::manager::Manager;
use super::moves::Stay;
use super::oversubscribed::at_least_a_trickle;
use super::request::{AdmissionRequest, ServiceClass};
use super::status::FlowStatus;
use super::thresholds::{CATCH_UP, MARGIN_WORTH, SMOOTHING, TOLERANCE, WORTH};
use crate::{Action, Arrivals, Controller, Counters, PlatformError};

/// A command to the [`Runtime`]: adds or removes a flow during a simulation.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Asks to admit a flow. The values are the flow's request and the arrival process of its
    /// messages.
    Register(Box<AdmissionRequest>, Arrivals),
    /// Removes the flow with this name and frees its share of the capacity. Messages that the flow
    /// has already sent are still served.
    Release(String),
}

/// The outcome of a [`Command`] to the [`Runtime`].
#[derive(Clone, Debug, PartialEq)]
pub enum CommandOutcome {
    /// The flow was admitted. The value is the flow's row in the table of flows at that time. On
    /// the platform the flow has the next free index.
    Admitted(Box<FlowStatus>),
    /// The flow was removed. The value is the flow's index on the platform.
    Released(usize),
    /// The command was refused, for example because the capacity does not suffice, or no flow has
    /// the name.
    Refused(PlatformError),
}

/// A [`Command`] that the [`Runtime`] carried out or refused, with the time and the outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The simulated time at which the command was carried out or refused.
    pub at: Time,
    /// The name of the flow that the command adds or removes.
    pub name: String,
    /// The outcome of the command: flow admitted, flow removed, or command refused.
    pub outcome: CommandOutcome,
}

/// The runtime's state of a flow.
#[derive(Clone, Debug)]
struct RuntimeState {
    /// The flow's index on the platform.
    flow: usize,
    /// Whether the flow's first period has not ended yet, in which its messages are still in
    /// transit.
    new: bool,
    /// The start of the flow's current window of bursts, and the burst time used in this window.
    burst: (Time, Time),
    violations: u64,
    predicted: u64,
    /// The smoothed change of the flow's measured rate per period, in gigabits per second.
    slope: f64,
    /// The flow's rate in the last period, in gigabits per second.
    now: f64,
    /// Whether messages waited at the beginning of the last period.
    waited: bool,
    /// The progress in the periods of the promise, if the rate is promised in a percentage of
    /// periods.
    kept: Kept,
    /// With over-subscription, how long the flow stays on its route.
    stay: Stay,
}

/// The control loop of ARCUS on one server (Algorithm 1). Once per control period, it measures the
/// rates of flows and adjusts the registers of their shapers. It moves flows whose SLO is violated
/// to other routes.
#[derive(Clone, Debug)]
pub struct Runtime {
    manager: Manager,
    /// The states of the flows, in the order of the manager's flows.
    states: Vec<RuntimeState>,
    commands: Vec<(Time, Command)>,
    decisions: Vec<Decision>,
    changes: Vec<(Time, Action)>,
    violations: u64,
    /// The number of control periods that violations are predicted ahead; 0 turns prediction off.
    ahead: u32,
    predicted: u64,
    moves: u64,
    /// The last demands of all flows with over-subscription, in gigabits per second; `allocated`
    /// has the rates that they get.
    demands: Vec<f64>,
    allocated: Vec<f64>,
}

impl Runtime {
    /// Creates the runtime of a control plane. The flows registered in `manager` run from the
    /// start.
    pub fn new(manager: Manager) -> Runtime {
        let states = (0..manager.flows().len()).map(RuntimeState::new).collect();
        Runtime {
            manager,
            states,
            commands: Vec::new(),
            decisions: Vec::new(),
            changes: Vec::new(),
            violations: 0,
            ahead: 0,
            predicted: 0,
            moves: 0,
            demands: Vec::new(),
            allocated: Vec::new(),
        }
    }

    /// Adds a command, which is executed at the first end of a control period at or after `time`.
    /// If none comes before the simulation's end, the command is not executed. Commands for the end
    /// of the same control period are executed in the order of their times; commands with equal
    /// times, in the order of addition.
    #[must_use]
    pub fn at(mut self, time: Time, command: Command) -> Runtime {
        let place = self.commands.partition_point(|command| command.0 <= time);
        self.commands.insert(place, (time, command));
        self
    }

    /// Lets the runtime act on predicted violations (section 4.3, scenario 3). The prediction
    /// extrapolates a flow's smoothed rate by `periods` control periods along its trend. If the
    /// predicted rate is below the SLO by more than 1 %, and more than one message waited both when
    /// the present period began and when it ended, the runtime treats the SLO as violated. 0 turns
    /// predictions off.
    #[must_use]
    pub fn predicting(self, periods: u32) -> Runtime {
        Runtime {
            ahead: periods,
            ..self
        }
    }

    /// The control plane, with the registered flows.
    pub fn manager(&self) -> &Manager {
        &self.manager
    }

    /// The number of periods in which a flow violated its SLO, summed over all flows, also those
    /// that were removed since. The rule depends on the flow's promise.
    ///
    /// If a mean rate is promised, the periods are control periods. A control period counts if more
    /// than one message waited in the flow's queue both when the period began and when it ended,
    /// and if the flow's rate in the period and the flow's smoothed rate were both below the SLO by
    /// more than 1 %.
    ///
    /// If a rate is promised in a percentage of periods, the periods are those of this promise,
    /// rounded up to whole control periods. Such a period counts if a message waited at the end of
    /// some control period within it, and if the flow fell short of its SLO by more than 1 % plus
    /// its largest message.
    pub fn violations(&self) -> u64 {
        self.violations
    }

    /// The number of control periods in which a flow kept its SLO, but was predicted to miss it
    /// later, summed over all flows, also those that were removed since.
    pub fn predicted_violations(&self) -> u64 {
        self.predicted
    }

    /// The number of times that the runtime moved a flow to another route.
    pub fn moves(&self) -> u64 {
        self.moves
    }

    /// The number of contexts (mixes of flows) whose capacity the control plane has simulated so
    /// far.
    pub fn simulated_contexts(&mut self) -> u64 {
        self.manager.profiles().simulated()
    }

    /// The number of periods in which the flow `name` violated its SLO, counted like
    /// [`Runtime::violations`]; `None` if no flow of this name is registered.
    pub fn violations_of(&self, name: &str) -> Option<u64> {
        Some(self.state(name)?.violations)
    }

    /// The number of control periods in which the flow `name` kept its SLO, but was predicted to
    /// miss it later; `None` if no flow of this name is registered.
    pub fn predicted_violations_of(&self, name: &str) -> Option<u64> {
        Some(self.state(name)?.predicted)
    }

    fn state(&self, name: &str) -> Option<&RuntimeState> {
        let mut flows = self.manager.flows().iter();
        let place = flows.position(|status| status.request.name == name)?;
        self.states.get(place)
    }

    /// The commands carried out or refused so far, with their outcomes, in order of execution.
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    /// Returns a controller that adds and removes the same flows at the same times as this runtime
    /// has done so far, but never adjusts them: for a comparison without Algorithm 1.
    pub fn timetable(&self) -> Timetable {
        Timetable {
            changes: self.changes.clone(),
        }
    }

    /// Carries out the commands that are due. `flows` is the number of flows that the platform has
    /// had so far.
    fn obey(&mut self, now: Time, mut flows: usize) -> Vec<Action> {
        let due = self.commands.partition_point(|command| command.0 <= now);
        let commands: Vec<(Time, Command)> = self.commands.drain(..due).collect();
        let mut actions = Vec::new();
        for (_, command) in commands {
            let (name, done) = match command {
                Command::Register(request, arrivals) => (
                    request.name.clone(),
                    self.register(*request, arrivals, flows),
                ),
                Command::Release(name) => {
                    let done = self.release(&name);
                    (name, done)
                }
            };
            let outcome = match done {
                Ok((outcome, changes)) => {
                    flows += usize::from(matches!(outcome, CommandOutcome::Admitted(_)));
                    actions.extend(changes);
                    outcome
                }
                Err(error) => CommandOutcome::Refused(error),
            };
            let at = now;
            self.decisions.push(Decision { at, name, outcome });
        }
        let comings = actions
            .iter()
            .filter(|action| matches!(action, Action::Add(..) | Action::Remove(_)));
        let comings: Vec<Action> = comings.cloned().collect();
        self.changes
            .extend(comings.into_iter().map(|action| (now, action)));
        actions
    }

    fn register(
        &mut self,
        request: AdmissionRequest,
        arrivals: Arrivals,
        flow: usize,
    ) -> Result<(CommandOutcome, Vec<Action>), PlatformError> {
        let status = Box::new(self.manager.register(request)?.clone());
        let (spec, shaping) = status.deployed(arrivals);
        self.states.push(RuntimeState {
            new: true,
            ..RuntimeState::new(flow)
        });
        self.demands.clear();
        let mut actions = vec![Action::Add(Box::new(spec), Some(shaping))];
        actions.extend(self.replanned(Some(flow)));
        Ok((CommandOutcome::Admitted(status), actions))
    }

    fn release(&mut self, name: &str) -> Result<(CommandOutcome, Vec<Action>), PlatformError> {
        let flows = self.manager.flows();
        let place = flows.iter().position(|status| status.request.name == name);
        self.manager.release(name)?;
        let flow = self.states.remove(place.unwrap_or_default()).flow;
        self.demands.clear();
        let mut actions = vec![Action::Remove(flow)];
        actions.extend(self.replanned(None));
        Ok((CommandOutcome::Released(flow), actions))
    }

    /// New registers of the flows whose rates depend on the other flows: of opportunistic flows,
    /// which share the remaining capacity, and with over-subscription of all flows.
    fn replanned(&self, but: Option<usize>) -> Vec<Action> {
        let over = self.manager.oversubscription() > 1.0;
        let all = self.manager.flows().iter().zip(&self.states);
        let rest = all.filter(|(status, state)| {
            (over || status.request.class == ServiceClass::Opportunistic) && Some(state.flow) != but
        });
        rest.flat_map(|(status, state)| written(state.flow, status))
            .collect()
    }

    /// The rate to shape the flow to, in gigabits per second. The unused share of the flow's route
    /// is computed only where it matters.
    fn target(
        &mut self,
        flow: usize,
        now: Time,
        period: Time,
        waiting: bool,
    ) -> Result<f64, PlatformError> {
        let promise = self.manager.flows()[flow].counted_gbit_per_s();
        let slo = self.allocated.get(flow).copied().unwrap_or(promise);
        match self.manager.flows()[flow].request.class {
            ServiceClass::Reserved | ServiceClass::OnDemand => Ok(slo),
            ServiceClass::Opportunistic => {
                let free = self.unused(flow)?;
                self.manager.part_of_rest(flow, free)
            }
            ServiceClass::ManagedBurst {
                factor,
                allowance,
                window,
            } => {
                let (began, spent) = &mut self.states[flow].burst;
                if now.saturating_sub(*began) >= window {
                    (*began, *spent) = (now, Time::ZERO);
                }
                if !waiting || *spent + period > allowance {
                    return Ok(slo);
                }
                let spare = self.spare(flow)?;
                let rate = (slo + spare).clamp(slo, promise.max(slo) * factor);
                if rate > slo {
                    self.states[flow].burst.1 += period;
                }
                Ok(rate)
            }
        }
    }

    /// The share of a flow's route that the promised flows leave at their measured rates; the
    /// flow's own promise counts in full. With over-subscription, a flow that has something to send
    /// uses at least its allocation: what it does not get is not unused.
    fn unused(&mut self, flow: usize) -> Result<f64, PlatformError> {
        let route = self.manager.flows()[flow].route.clone();
        let (allocated, states) = (&self.allocated, &self.states);
        self.manager.unused(&route, |number, status| {
            let promised = status.counted_gbit_per_s();
            let measured = status.measured_gbit_per_s.unwrap_or(promised);
            match allocated.get(number) {
                _ if number == flow => promised,
                Some(least) if states[number].waited => measured.max(*least),
                _ => measured,
            }
        })
    }

    /// The flow's rate on the unused share of its route, in gigabits per second.
    fn spare(&mut self, flow: usize) -> Result<f64, PlatformError> {
        let spare = self.unused(flow)? * self.manager.alone_of(flow)?;
        // Flows on other accelerators also limit it, through the resources that all flows share.
        let flows = self.manager.flows();
        let (route, promise) = (&flows[flow].route, flows[flow].counted_gbit_per_s());
        if flows.iter().all(|other| other.route.meets(route)) {
            return Ok(spare);
        }
        let room = self.manager.room_of(flow)?;
        Ok(spare.min((room - promise).max(0.0)))
    }

    /// With over-subscription, updates the allocation for the flows' present demands. A flow
    /// demands its promise while it has something to send, otherwise the rate that it uses, in
    /// quarters of its promise. The update comes before any flow gets less than the profiles
    /// predict.
    fn allocate(&mut self, counters: &[Counters], now: Time, period: Time) {
        if self.manager.oversubscription() <= 1.0 {
            return;
        }
        let demand = |(status, state): (&FlowStatus, &RuntimeState)| {
            let promise = status.counted_gbit_per_s();
            let waits = counters
                .get(state.flow)
                .is_none_or(|counter| counter.waiting > 1);
            match status.measured_gbit_per_s {
                Some(measured) if !waits && promise > 0.0 => {
                    promise * ((4.0 * measured / promise).ceil() / 4.0).clamp(0.25, 1.0)
                }
                _ => promise,
            }
        };
        let each = self.manager.flows().iter().zip(&self.states);
        let demands: Vec<f64> = each.map(demand).collect();
        if demands != self.demands {
            self.divide(demands, now, period);
        }
    }

    /// Divides the capacity for these demands, in gigabits per second by flow index.
    fn divide(&mut self, demands: Vec<f64>, now: Time, period: Time) {
        // Flows that cannot be profiled were refused at registration.
        let Ok(rates) = self.manager.allocation(&demands) else {
            return;
        };
        // The old part of the rest is no worse than none.
        let _ = self.manager.leave_rest(&rates);
        let rates = rates.into_iter().zip(self.manager.flows());
        let rates = rates.map(|(rate, status)| at_least_a_trickle(status, rate));
        let before = std::mem::replace(&mut self.allocated, rates.collect());
        for (number, state) in self.states.iter_mut().enumerate() {
            if Some(&self.allocated[number]) != before.get(number) {
                state.stay.settle(now, period);
            }
        }
        self.demands = demands;
    }

    /// Checks a flow's SLO (line 4 of Algorithm 1): whether it is violated, or predicted to be, and
    /// the rate that it is expected to have without a change, in gigabits per second.
    fn check(&mut self, flow: usize, period: Time, counters: Counters) -> Checked {
        let status = &self.manager.flows()[flow];
        let (slo, availability) = (status.counted_gbit_per_s(), status.request.availability);
        let measured = status.measured_gbit_per_s.unwrap_or(0.0);
        let largest = status.request.sizes.largest();
        let state = &mut self.states[flow];
        let waiting = counters.waiting > 1;
        // A sender whose queue runs dry limits itself.
        let waited = std::mem::replace(&mut state.waited, waiting);
        let owed = waited && waiting;
        // An opportunistic flow has no promise to miss.
        let least = slo * (1.0 - TOLERANCE);
        let violated = match availability {
            Some(promised) => {
                let passed = (period, counters.bytes.get());
                let waits = counters.waiting > 0;
                let missed = state.kept.count(promised, (slo, largest), passed, waits);
                missed.unwrap_or(false)
            }
            None => owed && measured < least && state.now < least,
        };
        let trend = measured + f64::from(self.ahead) * state.slope;
        let foreseen = owed && !violated && self.ahead > 0 && trend < least;
        state.violations += u64::from(violated);
        state.predicted += u64::from(foreseen);
        // The margin makes up for single missed periods, as far as it goes.
        let late = match availability {
            Some(_) => foreseen || state.kept.exhausted(),
            None => violated || foreseen,
        };
        self.violations += u64::from(violated);
        self.predicted += u64::from(foreseen);
        Checked {
            waiting,
            late,
            expected: if foreseen { trend } else { measured },
        }
    }

    /// Lines 5 and 17 to 21 of Algorithm 1 for one flow: another route, or other registers.
    fn adjust(&mut self, flow: usize, now: Time, period: Time, checked: &Checked) -> Vec<Action> {
        let status = &self.manager.flows()[flow];
        let (slo, shaped) = (status.counted_gbit_per_s(), status.shaped_gbit_per_s);
        let in_periods = status.request.availability.is_some();
        let mut actions = match checked.late {
            true => self.move_flow(flow, now, period),
            false => Vec::new(),
        };
        // Flows that cannot be profiled were refused at registration.
        let target = self.target(flow, now, period, checked.waiting);
        let mut target = target.unwrap_or(shaped);
        let mut worth = WORTH;
        if in_periods && target >= slo {
            target = target.max(slo * self.states[flow].kept.factor());
            worth = MARGIN_WORTH;
        } else if checked.late && actions.is_empty() && checked.expected != 0.0 && target >= slo {
            let factor = match checked.expected > 0.0 {
                true => slo / checked.expected,
                false => CATCH_UP,
            };
            target = target.max(slo * factor.min(CATCH_UP));
        }
        if (target / shaped - 1.0).abs() > worth && self.manager.reshape(flow, target).is_ok() {
            let number = self.states[flow].flow;
            actions.extend(written(number, &self.manager.flows()[flow]));
        }
        actions
    }

    /// Moves a flow to another route with capacity, if there is one.
    fn move_flow(&mut self, flow: usize, now: Time, period: Time) -> Vec<Action> {
        let new = match self.demands.is_empty() {
            true => self.manager.select_path(flow),
            false if self.states[flow].stay.over(now) => {
                self.manager.better_path(flow, &self.demands)
            }
            false => Ok(None),
        };
        let Ok(Some(new)) = new else {
            return Vec::new();
        };
        if self.manager.reroute(flow, new.clone()).is_err() {
            return Vec::new();
        }
        self.moves += 1;
        self.states[flow].stay.moved(now, period);
        if !self.demands.is_empty() {
            self.divide(self.demands.clone(), now, period);
        }
        let number = self.states[flow].flow;
        let mut actions = vec![Action::Route {
            flow: number,
            accelerators: new.accelerators,
            engine: new.engine,
            path: new.path,
        }];
        let results = self.manager.flows()[flow].results;
        actions.extend(results.map(|registers| Action::WriteResults(number, registers)));
        // The trend was the old route's.
        self.states[flow].slope = 0.0;
        actions
    }
}

/// The outcome of the check of a flow's SLO.
struct Checked {
    /// Whether messages wait to pass.
    waiting: bool,
    /// Whether the flow's registers or route must change.
    late: bool,
    /// The rate to expect without a change, in gigabits per second; 0 or below if the trend leads
    /// to no rate.
    expected: f64,
}

/// All registers of the run's flow `number`.
fn written(number: usize, status: &FlowStatus) -> impl Iterator<Item = Action> + '_ {
    let limits = status.limits();
    let limits = limits.map(move |(unit, registers)| Action::Write(number, unit, registers));
    let results = status.results;
    limits.chain(results.map(|registers| Action::WriteResults(number, registers)))
}

impl Controller for Runtime {
    fn tick(&mut self, now: Time, period: Time, counters: &[Counters]) -> Vec<Action> {
        let of = |state: &RuntimeState| counters.get(state.flow).copied().unwrap_or_default();
        let settled = self.manager.flows_mut().iter_mut().zip(&mut self.states);
        for (status, state) in settled.filter(|status| !status.1.new) {
            let now = of(state).bytes.get() as f64 * 8.0 / period.as_ns_f64();
            let before = status.measured_gbit_per_s.unwrap_or(now);
            let change = SMOOTHING * (now - before);
            status.measured_gbit_per_s = Some(before + change);
            state.slope += SMOOTHING * (change - state.slope);
            state.now = now;
        }
        self.allocate(counters, now, period);
        let mut actions = Vec::new();
        for flow in 0..self.states.len() {
            let counted = of(&self.states[flow]);
            if std::mem::take(&mut self.states[flow].new) {
                continue;
            }
            let checked = self.check(flow, period, counted);
            actions.extend(self.adjust(flow, now, period, &checked));
        }
        actions.extend(self.obey(now, counters.len()));
        actions
    }
}

impl RuntimeState {
    fn new(flow: usize) -> RuntimeState {
        RuntimeState {
            flow,
            new: false,
            burst: (Time::ZERO, Time::ZERO),
            violations: 0,
            predicted: 0,
            slope: 0.0,
            now: 0.0,
            waited: false,
            kept: Kept::default(),
            stay: Stay::default(),
        }
    }
}

/// A control plane that adds and removes flows at given times and adjusts nothing
/// ([`Runtime::timetable`]).
#[derive(Clone, Debug)]
pub struct Timetable {
    changes: Vec<(Time, Action)>,
}

impl Controller for Timetable {
    fn tick(&mut self, now: Time, _period: Time, _counters: &[Counters]) -> Vec<Action> {
        let due = self.changes.partition_point(|change| change.0 <= now);
        self.changes.drain(..due).map(|change| change.1).collect()
    }
}
