//! A simulation run: its state and its main loop.

use accelflow_kernel::{Calendar, Priority, Stream};
use accelflow_shaping::{FlowConfig, Shaper};
use accelflow_units::{Bytes, Time};

use super::controller::Controller;
use super::second_shaper::SecondShaper;
use super::settings::Settings;
use super::slab::Slab;
use super::state::{Event, FlowState, Head, InFlight, Job, Room, Station, Turn};
use crate::hardware::{Direction, SoftwareShaper, Storage};
use crate::usage::Busy;
use crate::{
    Arrivals, Completion, Flow, FlowResult, Mechanism, Platform, PlatformError, RunResult,
};

/// A simulation run on `platform`: its queues, its messages in flight, and its measurements.
pub(super) struct Run<'a> {
    pub(super) platform: &'a Platform,
    pub(super) mechanism: &'a Mechanism,
    pub(super) settings: &'a Settings,
    pub(super) calendar: Calendar<Event>,
    pub(super) flows: Vec<FlowState>,
    pub(super) messages: Slab<InFlight>,
    pub(super) jobs: Slab<Job>,
    pub(super) up: Direction,
    pub(super) down: Direction,
    pub(super) units: Vec<Station>,
    /// The random stream of compute times.
    pub(super) compute: Stream,
    /// The bytes requested from the host that no accelerator has taken, by DMA engine.
    pub(super) reading: Vec<Bytes>,
    /// The bytes of results that have not left the device, by DMA engine.
    pub(super) leaving: Vec<Bytes>,
    pub(super) port_in: Vec<Time>,
    pub(super) port_out: Vec<Time>,
    pub(super) storage: Option<Storage>,
    pub(super) commands: u32,
    pub(super) shaper: Option<Shaper>,
    pub(super) grant_at: Time,
    /// The second shaper, which limits results that are written to the storage.
    pub(super) injection: Option<SecondShaper>,
    pub(super) software: Option<SoftwareShaper>,
    /// The turn after the last dispatch.
    pub(super) turn: Turn,
    /// The turn at each resource.
    pub(super) turns: Vec<(Room, Turn)>,
    pub(super) sequence: u64,
    /// Whether a message has become ready, room was freed, or a flow was changed since the arbiter
    /// last found no message to pass.
    pub(super) may_pass: bool,
    /// The arbiter's working memory.
    pub(super) heads: Vec<Head>,
    pub(super) busy: Busy,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        platform: &'a Platform,
        flows: &[Flow],
        mechanism: &'a Mechanism,
        settings: &'a Settings,
    ) -> Result<Run<'a>, PlatformError> {
        platform.check(flows)?;
        mechanism.check(flows)?;
        let engines = platform.dma.engines;
        let stream = |number| Stream::new(settings.seed, number);
        let mut injection = SecondShaper::of(mechanism);
        if let Some(injection) = &mut injection {
            for flow in flows {
                injection.add(Time::ZERO, flow.results)?;
            }
        }
        let lanes = match mechanism {
            Mechanism::Panic { .. } => flows.len().max(1),
            _ => 1,
        };
        Ok(Run {
            platform,
            mechanism,
            settings,
            calendar: Calendar::new(),
            flows: states_of(flows, settings.seed),
            messages: Slab::default(),
            jobs: Slab::default(),
            up: Direction::new(&platform.pcie, 2 * engines),
            down: Direction::new(&platform.pcie, engines),
            units: vec![Station::new(flows.len(), lanes); platform.accelerators.len()],
            compute: stream(3),
            reading: vec![Bytes(0); engines],
            leaving: vec![Bytes(0); engines],
            port_in: vec![Time::ZERO; platform.ports.len()],
            port_out: vec![Time::ZERO; platform.ports.len()],
            storage: platform
                .storage
                .map(|config| Storage::new(config, stream(1))),
            commands: 0,
            shaper: shaper_of(mechanism)?,
            grant_at: Time::MAX,
            injection,
            software: match mechanism {
                Mechanism::Software { config, rates } => {
                    Some(SoftwareShaper::new(*config, rates.clone(), stream(2)))
                }
                _ => None,
            },
            turn: Turn::default(),
            turns: Vec::new(),
            sequence: 0,
            may_pass: true,
            heads: Vec::new(),
            busy: Busy::new(platform, settings.measured()),
        })
    }

    /// Simulates to the end of the run.
    pub(super) fn finish(
        mut self,
        mut controller: Option<&mut dyn Controller>,
    ) -> Result<RunResult, PlatformError> {
        let end = self.settings.warmup + self.settings.duration;
        self.begin(controller.is_some())?;
        while self.calendar.peek_time().is_some_and(|time| time < end) {
            let Some((now, event)) = self.calendar.pop() else {
                break;
            };
            match event {
                Event::Control => {
                    if let Some(controller) = &mut controller {
                        self.control(now, &mut **controller)?;
                    }
                }
                event => self.handle(now, event)?,
            }
        }
        Ok(self.result())
    }

    fn result(self) -> RunResult {
        let flows = self.flows.into_iter().map(|flow| {
            let result = flow.result;
            let done = result.before + result.completions.len() as u64;
            FlowResult {
                under_way: result.arrived - result.dropped - done,
                ..result
            }
        });
        let flows: Vec<FlowResult> = flows.collect();
        debug_assert_eq!(
            flows.iter().map(|flow| flow.under_way).sum::<u64>(),
            self.messages.live() as u64,
            "messages are neither lost nor made"
        );
        RunResult {
            flows,
            warmup: self.settings.warmup,
            measured: self.settings.duration,
            up_bytes: self.up.wire_bytes(),
            down_bytes: self.down.wire_bytes(),
            usage: self.busy.shares(self.platform),
        }
    }

    pub(super) fn at(&mut self, time: Time, event: Event) {
        self.calendar.schedule(time, Priority::NORMAL, event);
    }

    fn begin(&mut self, controlled: bool) -> Result<(), PlatformError> {
        if self.software.is_some() {
            self.at(Time::ZERO, Event::Round);
        }
        if controlled {
            self.at(self.settings.control_period, Event::Control);
        }
        for flow in 0..self.flows.len() {
            self.begin_flow(Time::ZERO, flow)?;
        }
        self.dispatch(Time::ZERO)
    }

    fn handle(&mut self, now: Time, event: Event) -> Result<(), PlatformError> {
        match event {
            Event::Arrive(flow) => self.arrive(now, flow)?,
            Event::Send(flow) if !self.flows[flow].present => {}
            Event::Send(flow) => self.send(now, flow)?,
            Event::Answer(flow, size, sent) => self.answer(now, flow, size, sent)?,
            Event::Ported(flow, message) => self.ported(now, flow, message)?,
            Event::Round => self.round(now),
            Event::Known(flow, message) => self.known(now, flow, message),
            Event::Grant => self.grant(now)?,
            Event::Released(segment) => self.released(now, segment),
            Event::Inject => self.injections(now)?,
            Event::Injected(job) => self.injected(now, job),
            Event::WireFree(up) => self.wire_free(now, up),
            Event::AtHost(job, packet, size, last) => self.at_host(now, job, packet, size, last),
            Event::AtDevice(job, size, last) => self.at_device(now, job, size, last)?,
            Event::Credits(packet, size) => {
                self.up.return_credits(packet, size);
                self.pump_wire(now, true);
            }
            Event::Answered(job, size) => self.answered(now, job, size),
            Event::Free(unit) => {
                self.units[unit].busy = false;
                self.start_unit(now, unit);
            }
            Event::Computed(job) => self.computed(now, job)?,
            Event::Done(job) => self.done(now, job),
            Event::UnitFree(device, operation) => self.unit_free(now, device, operation),
            Event::DataReady(job) => self.data_ready(now, job),
            Event::Control => {}
        }
        self.dispatch(now)
    }

    /// Completes a message.
    pub(super) fn complete(&mut self, now: Time, flow: usize, message: u32) {
        let InFlight { arrived, size, .. } = self.messages.remove(message);
        let state = &mut self.flows[flow];
        state.counters.messages += 1;
        state.counters.bytes += size;
        let latency = now - arrived;
        let shortest = state.result.shortest.unwrap_or(latency);
        state.result.shortest = Some(shortest.min(latency));
        if now < self.settings.warmup {
            state.result.before += 1;
            state.result.bytes_before += size;
        } else {
            state.result.completions.push(Completion {
                at: now,
                latency,
                size,
            });
        }
        if let Some(answers) = &state.spec.answers {
            let answer = Event::Answer(answers.by, answers.size(size), arrived);
            let at = now + answers.service;
            self.at(at, answer);
            return;
        }
        // A client waits for the answer, if there are answers.
        let client = state.asker.unwrap_or(flow);
        if let Arrivals::Closed { think, .. } = self.flows[client].spec.arrivals {
            self.at(now + think, Event::Send(client));
        }
    }
}

/// The flows before the run, each with the flow that waits for its answers.
fn states_of(flows: &[Flow], seed: u64) -> Vec<FlowState> {
    let states = flows.iter().zip(0..);
    let states = states.map(|(flow, number)| FlowState::new(flow, number, seed));
    let mut states: Vec<FlowState> = states.collect();
    for (number, flow) in flows.iter().enumerate() {
        if let Some(answers) = &flow.answers {
            states[answers.by].asker = Some(number);
        }
    }
    states
}

fn shaper_of(mechanism: &Mechanism) -> Result<Option<Shaper>, PlatformError> {
    let Mechanism::Arcus { timing, flows } = mechanism else {
        return Ok(None);
    };
    let mut shaper = Shaper::new(*timing);
    for flow in flows {
        shaper.add_flow(Time::ZERO, unlimited(*flow))?;
    }
    Ok(Some(shaper))
}

/// Returns `config` without a queue limit in the shaper, since the flow's own limit holds.
pub(super) fn unlimited(config: FlowConfig) -> FlowConfig {
    FlowConfig {
        queue_limit: usize::MAX,
        ..config
    }
}
