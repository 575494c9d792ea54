//! The state of a run, and its main loop.

use std::collections::VecDeque;

use accelflow_kernel::{Calendar, Priority, Stream};
use accelflow_shaping::{FlowConfig, FlowId, Segment, Shaper};
use accelflow_units::{Bytes, Time};

use super::{Action, Controller, Counters, Settings};
use crate::link::Direction;
use crate::pcie::Packet;
use crate::software::SoftwareShaper;
use crate::storage::{Operation, Storage};
use crate::{Completion, Flow, FlowResult, Mechanism, Platform, PlatformError, RunResult};

/// What happens. Numbers are of flows, jobs, messages, accelerators and devices.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// The next message, or burst, of a flow comes.
    Arrive(usize),
    /// A client of a flow sends its next message.
    Send(usize),
    /// A message is through its port.
    Ported(usize, u32),
    /// The software thread's next round.
    Round,
    /// A message that the thread let go is known to the device.
    Known(usize, u32),
    /// The shaper lets something pass.
    Grant,
    /// A segment is through the shaper.
    Released(Segment),
    /// The wire towards the host (true) or from it is free.
    WireFree(bool),
    /// A packet is at the host.
    AtHost(u32, Packet, Bytes, bool),
    /// A packet is at the device.
    AtDevice(u32, Bytes, bool),
    /// Credits are back.
    Credits(Packet, Bytes),
    /// The host's data for a request is ready to go down.
    Answered(u32, Bytes),
    /// An accelerator is free.
    Free(usize),
    /// A job is through an accelerator's pipeline.
    Computed(u32),
    /// A job has left by its port, or is visible to the host, or acknowledged by the storage.
    Done(u32),
    /// A unit of a storage device is free.
    UnitFree(usize, Operation),
    /// A read's data is through its device's link.
    DataReady(u32),
    /// The controller is due.
    Control,
}

/// A message on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlight {
    pub(super) arrived: Time,
    pub(super) size: Bytes,
    pub(super) sequence: u64,
    /// Jobs of it that are not done.
    pub(super) jobs: u32,
    /// Whether all of it has been dispatched.
    pub(super) whole: bool,
}

/// Something that may pass: a message, what is left of one, or a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ready {
    pub(super) message: u32,
    /// Bytes not yet dispatched.
    pub(super) left: Bytes,
    /// The size that the accelerator's rate depends on.
    pub(super) basis: Bytes,
    /// Whether its message ends with it.
    pub(super) last: bool,
    pub(super) sequence: u64,
}

/// A burst of a message that the interface has dispatched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) flow: usize,
    pub(super) message: u32,
    pub(super) route: u32,
    pub(super) stage: usize,
    /// Bytes as dispatched.
    pub(super) size: Bytes,
    /// Bytes after the accelerators so far.
    pub(super) data: Bytes,
    pub(super) basis: Bytes,
    pub(super) last: bool,
    /// Bytes still to come over the link.
    pub(super) coming: Bytes,
    /// Bytes reserved at the way out.
    pub(super) reserved: Bytes,
}

/// Where a flow's messages go.
#[derive(Clone, Debug)]
pub(super) struct Route {
    pub(super) accelerators: Vec<usize>,
    pub(super) engine: usize,
}

pub(super) struct FlowState {
    pub(super) spec: Flow,
    /// Whether it brings messages.
    pub(super) present: bool,
    pub(super) routes: Vec<Route>,
    pub(super) sizes: Stream,
    pub(super) times: Stream,
    /// When the next message comes, if its port is free.
    pub(super) due: Time,
    /// Messages that came and have not been dispatched whole.
    pub(super) queued: usize,
    /// A message of this flow is in the port.
    pub(super) in_port: bool,
    /// What the host's software holds.
    pub(super) held: VecDeque<u32>,
    pub(super) ready: VecDeque<Ready>,
    /// Virtual finish time of weighted fair order.
    pub(super) finish: f64,
    pub(super) counters: Counters,
    pub(super) result: FlowResult,
}

#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) queue: VecDeque<u32>,
    pub(super) busy: bool,
    /// Bytes dispatched to it directly that have not started.
    pub(super) reserved: Bytes,
    /// By flow, the virtual finish times of weighted fair order, and where that stands.
    pub(super) finish: Vec<f64>,
    pub(super) virtual_time: f64,
}

impl Unit {
    fn new(flows: usize) -> Unit {
        Unit {
            queue: VecDeque::new(),
            busy: false,
            reserved: Bytes(0),
            finish: vec![0.0; flows],
            virtual_time: 0.0,
        }
    }
}

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
    pub(super) units: Vec<Unit>,
    /// By engine: bytes asked of the host that no accelerator has taken.
    pub(super) reading: Vec<Bytes>,
    /// By engine: bytes of results that have not left.
    pub(super) leaving: Vec<Bytes>,
    pub(super) port_in: Vec<Time>,
    pub(super) port_out: Vec<Time>,
    pub(super) storage: Option<Storage>,
    pub(super) commands: u32,
    pub(super) shaper: Option<Shaper>,
    pub(super) grant_at: Time,
    pub(super) software: Option<SoftwareShaper>,
    pub(super) turn: usize,
    pub(super) virtual_time: f64,
    pub(super) sequence: u64,
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
        let storage = platform.storage.map(|it| Storage::new(it, stream(1)));
        let software = match mechanism {
            Mechanism::Software { config, rates } => {
                Some(SoftwareShaper::new(*config, rates.clone(), stream(2)))
            }
            _ => None,
        };
        Ok(Run {
            platform,
            mechanism,
            settings,
            calendar: Calendar::new(),
            flows: flows
                .iter()
                .zip(0..)
                .map(|(it, number)| state_of(it, number, settings))
                .collect(),
            messages: Slab::default(),
            jobs: Slab::default(),
            up: Direction::new(&platform.pcie, 2 * engines),
            down: Direction::new(&platform.pcie, engines),
            units: vec![Unit::new(flows.len()); platform.accelerators.len()],
            reading: vec![Bytes(0); engines],
            leaving: vec![Bytes(0); engines],
            port_in: vec![Time::ZERO; platform.ports.len()],
            port_out: vec![Time::ZERO; platform.ports.len()],
            storage,
            commands: 0,
            shaper: shaper_of(mechanism)?,
            grant_at: Time::MAX,
            software,
            turn: 0,
            virtual_time: 0.0,
            sequence: 0,
        })
    }

    /// Runs to the end.
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
        let flows = self.flows.into_iter().map(|flow| {
            let it = flow.result;
            let done = it.before + it.completions.len() as u64;
            let under_way = it.arrived - it.dropped - done;
            FlowResult { under_way, ..it }
        });
        let flows: Vec<FlowResult> = flows.collect();
        let under_way: u64 = flows.iter().map(|it| it.under_way).sum();
        debug_assert_eq!(
            under_way,
            self.messages.live() as u64,
            "messages are neither lost nor made"
        );
        Ok(RunResult {
            flows,
            warmup: self.settings.warmup,
            measured: self.settings.duration,
            up_bytes: self.up.wire_bytes(),
            down_bytes: self.down.wire_bytes(),
        })
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
            Event::Ported(flow, message) => self.ported(now, flow, message)?,
            Event::Round => self.round(now),
            Event::Known(flow, message) => self.known(now, flow, message),
            Event::Grant => self.grant(now)?,
            Event::Released(segment) => self.released(now, segment),
            Event::WireFree(up) => self.wire_free(now, up),
            Event::AtHost(job, packet, size, last) => self.at_host(now, job, packet, size, last),
            Event::AtDevice(job, size, last) => self.at_device(now, job, size, last),
            Event::Credits(packet, size) => {
                self.up.return_credits(packet, size);
                self.pump_wire(now, true);
            }
            Event::Answered(job, size) => self.answered(now, job, size),
            Event::Free(unit) => {
                self.units[unit].busy = false;
                self.start_unit(now, unit);
            }
            Event::Computed(job) => self.computed(now, job),
            Event::Done(job) => self.done(now, job),
            Event::UnitFree(device, operation) => self.unit_free(now, device, operation),
            Event::DataReady(job) => self.data_ready(now, job),
            Event::Control => {}
        }
        // Whatever happened may have made room for, or brought, something that may pass.
        self.dispatch(now)
    }

    fn control(&mut self, now: Time, controller: &mut dyn Controller) -> Result<(), PlatformError> {
        let period = self.settings.control_period;
        let counters = self.flows.iter_mut().map(|it| {
            let waiting = it.queued as u64;
            let Counters {
                messages, bytes, ..
            } = std::mem::take(&mut it.counters);
            Counters {
                messages,
                bytes,
                waiting,
            }
        });
        let counters: Vec<Counters> = counters.collect();
        for action in controller.tick(now, period, &counters) {
            self.act(now, action)?;
        }
        self.at(now + period, Event::Control);
        Ok(())
    }

    fn act(&mut self, now: Time, action: Action) -> Result<(), PlatformError> {
        match action {
            Action::Write(flow, unit, registers) => {
                if let Some(shaper) = &mut self.shaper {
                    shaper.write_limit(now, FlowId(flow), unit, registers)?;
                    self.schedule_grant();
                }
            }
            Action::Add(flow, shaping) => self.add(now, &flow, shaping)?,
            Action::Remove(flow) => {
                let it = self.known_flow(flow)?;
                if it.present {
                    it.present = false;
                    it.result.until = Some(now);
                }
            }
            Action::Route {
                flow,
                accelerators,
                engine,
            } => {
                let platform = self.platform;
                let it = self.known_flow(flow)?;
                let spec = Flow {
                    accelerators: accelerators.clone(),
                    engine,
                    ..it.spec.clone()
                };
                platform.check(std::slice::from_ref(&spec))?;
                it.spec = spec;
                it.routes.push(Route {
                    accelerators,
                    engine,
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

    /// A flow comes while others run.
    fn add(
        &mut self,
        now: Time,
        flow: &Flow,
        shaping: Option<FlowConfig>,
    ) -> Result<(), PlatformError> {
        self.platform.check(std::slice::from_ref(flow))?;
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
        let mut state = state_of(flow, number as u64, self.settings);
        // As much service as the others have had: else it would be owed all of theirs.
        state.finish = self.virtual_time;
        state.due = now;
        state.result.since = now;
        self.flows.push(state);
        for unit in &mut self.units {
            unit.finish.push(unit.virtual_time);
        }
        self.begin_flow(now, number)
    }

    /// A message is done.
    pub(super) fn complete(&mut self, now: Time, flow: usize, message: u32) {
        let InFlight { arrived, size, .. } = self.messages.remove(message);
        let it = &mut self.flows[flow];
        it.counters.messages += 1;
        it.counters.bytes += size;
        if now < self.settings.warmup {
            it.result.before += 1;
        } else {
            it.result.completions.push(Completion {
                at: now,
                latency: now - arrived,
                size,
            });
        }
        if let crate::Arrivals::Closed { think, .. } = it.spec.arrivals {
            self.at(now + think, Event::Send(flow));
        }
    }
}

fn state_of(flow: &Flow, number: u64, settings: &Settings) -> FlowState {
    // Streams 0 to 15 are the platform's.
    let stream = |purpose| Stream::new(settings.seed, 16 + 2 * number + purpose);
    FlowState {
        spec: flow.clone(),
        present: true,
        routes: vec![Route {
            accelerators: flow.accelerators.clone(),
            engine: flow.engine,
        }],
        sizes: stream(0),
        times: stream(1),
        due: Time::ZERO,
        queued: 0,
        in_port: false,
        held: VecDeque::new(),
        ready: VecDeque::new(),
        finish: 0.0,
        counters: Counters::default(),
        result: FlowResult::default(),
    }
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

/// The queue limit is the platform's own.
fn unlimited(config: FlowConfig) -> FlowConfig {
    FlowConfig {
        queue_limit: usize::MAX,
        ..config
    }
}

/// Values by number; numbers are used again.
#[derive(Clone, Debug)]
pub(super) struct Slab<T> {
    values: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab {
            values: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T: Copy> Slab<T> {
    pub(super) fn insert(&mut self, value: T) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self.values[number as usize] = value;
                number
            }
            None => {
                self.values.push(value);
                (self.values.len() - 1) as u32
            }
        }
    }

    pub(super) fn get(&mut self, number: u32) -> &mut T {
        &mut self.values[number as usize]
    }

    pub(super) fn peek(&self, number: u32) -> &T {
        &self.values[number as usize]
    }

    pub(super) fn remove(&mut self, number: u32) -> T {
        self.free.push(number);
        self.values[number as usize]
    }

    pub(super) fn live(&self) -> usize {
        self.values.len() - self.free.len()
    }
}
