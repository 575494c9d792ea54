//! The event loop that simulates the server: NIC, pipelines, core selection and cores.

use std::collections::VecDeque;

use accelflow_kernel::{BusyTime, Calendar, Priority, Stream, attribute_unit};
use accelflow_model::cerebros::Design;
use accelflow_units::{Bytes, Time};

use crate::Platform;
use crate::buffers::BufferManager;
use crate::icache::InstructionCache;
use crate::load::{Arrivals, Load};
use crate::outcome::{Queue, Saturation, SimulationResult, Spent};
use crate::pipelines::Pipelines;
use crate::program::{Builder, Kind, Program, Step};
use crate::registration::Registration;
use crate::request::{Place, Request, record};
use crate::services::Service;
use crate::steering::{CoreSelector, Steering};
use accelflow_parameters::Refusal;

#[derive(Clone, Copy)]
enum Event {
    /// The message of request n arrives at the NIC.
    Arrive(usize),
    /// Cerebros is done with the request's message.
    Parsed(usize),
    /// The core's queue pair has the request.
    Notified(usize, usize),
    /// The core is at the next step of what it runs.
    Step(usize),
    /// The wait of request n without its core is over.
    Travelled(usize),
    /// The response of request n has been sent.
    Answered(usize),
}

/// A backlog below this many requests is a burst, not saturation.
const SATURATED_BACKLOG: usize = 32;
/// The load is too high if more than this share of the requests waits when the last one arrives: 5
/// %, as in the simulator of ensembles.
const SATURATED_ONE_IN: usize = 20;
/// Cores count as waiting for pipelines if these are busy for this share of the time.
const PIPELINES_BUSY: f64 = 0.95;
/// The first block of other code, beyond all blocks of services.
const OTHER_CODE: u32 = 1 << 24;

struct Core {
    cache: InstructionCache,
    pair: VecDeque<usize>,
    /// The number of requests that the core has started and not ended.
    started: usize,
    /// The started requests that the core can continue, and their next steps.
    ready: VecDeque<(usize, usize)>,
    /// The request that the core runs, and its next step.
    running: Option<(usize, usize)>,
}

pub(crate) struct Server<'r> {
    service: &'r Service,
    platform: &'r Platform,
    design: Design,
    steering: Steering,
    load: &'r Load,
    registration: Registration,
    /// The programs of each function for the kinds known, unknown and malformed.
    programs: Vec<[Program; 3]>,
    calendar: Calendar<Event>,
    arrivals: Stream,
    requests: Vec<Request>,
    buffers: BufferManager,
    pipelines: Pipelines,
    selector: CoreSelector,
    waiting: VecDeque<usize>,
    cores: Vec<Core>,
    busy: BusyTime,
    outcome: SimulationResult,
}

impl<'r> Server<'r> {
    pub(crate) fn new(
        service: &'r Service,
        platform: &'r Platform,
        design: Design,
        steering: Steering,
        load: &'r Load,
    ) -> Result<Server<'r>, Refusal> {
        let builder = Builder::of(platform, design, service);
        let programs = service.functions.iter().map(|f| {
            Ok([
                builder.program(f, Kind::Known)?,
                builder.program(f, Kind::Unknown)?,
                builder.program(f, Kind::Malformed)?,
            ])
        });
        let workers = platform.workers().min(service.most_cores);
        let core = || Core {
            cache: InstructionCache::new(platform),
            pair: VecDeque::new(),
            started: 0,
            ready: VecDeque::new(),
            running: None,
        };
        Ok(Server {
            service,
            platform,
            design,
            steering,
            load,
            registration: Registration::new(platform, service)?,
            programs: programs.collect::<Result<_, Refusal>>()?,
            calendar: Calendar::new(),
            arrivals: Stream::new(load.seed, 0),
            requests: Vec::with_capacity(load.requests),
            buffers: BufferManager::new(
                Bytes(platform.buffer_bytes as u64),
                platform.arenas as usize,
            ),
            pipelines: Pipelines::new(platform.pipelines as usize),
            selector: CoreSelector::new(
                workers,
                platform.core_slots.max(platform.core_threads) as usize,
                platform.function_map_depth as usize,
            ),
            waiting: VecDeque::new(),
            cores: (0..workers).map(|_| core()).collect(),
            busy: BusyTime::new(Time::ZERO),
            outcome: SimulationResult::empty(service.functions.len()),
        })
    }

    pub(crate) fn run(mut self) -> SimulationResult {
        match self.load.arrivals {
            Arrivals::Closed(senders) => {
                for _ in 0..senders.min(self.load.requests) {
                    self.send(Time::ZERO);
                }
            }
            Arrivals::Rate(_) | Arrivals::Share(_) => self.send_later(Time::ZERO),
        }
        while let Some((now, event)) = self.calendar.pop() {
            match event {
                Event::Arrive(request) => self.arrive(now, request),
                Event::Parsed(request) => self.parsed(now, request),
                Event::Notified(core, request) => {
                    self.cores[core].pair.push_back(request);
                    self.begin(now, core);
                }
                Event::Step(core) => self.step(now, core),
                Event::Travelled(request) => self.travel(now, request),
                Event::Answered(request) => self.answered(now, request),
            }
        }
        self.finish()
    }

    fn at(&mut self, time: Time, event: Event) {
        self.calendar.schedule(time, Priority::NORMAL, event);
    }

    /// Sends the next request, whose function and kind depend only on the seed and the request's
    /// number.
    fn send(&mut self, now: Time) {
        let n = self.requests.len();
        let (seed, number) = (self.load.seed, n as u64);
        let shares = self.service.functions.iter().map(|f| f.popularity);
        let mut left = attribute_unit(seed, number, 0) * shares.clone().sum::<f64>();
        let mut function = 0;
        for (n, share) in shares.enumerate().filter(|(_, share)| *share > 0.0) {
            function = n;
            if left < share {
                break;
            }
            left -= share;
        }
        let chance = attribute_unit(seed, number, 1);
        let kind = if chance < self.load.unknown || !self.registration.knows(function) {
            Kind::Unknown
        } else if chance < self.load.unknown + self.load.malformed {
            Kind::Malformed
        } else {
            Kind::Known
        };
        self.requests.push(Request {
            function,
            kind,
            arrived: now,
            place: Place::Coming,
            attempts: 0,
            held: Vec::new(),
            core: 0,
            next: 0,
            steered: false,
            misses: 0,
            layer_misses: 0,
            spent: Spent::default(),
        });
        self.at(now, Event::Arrive(n));
    }

    /// Schedules the next request after a random time, if arrivals are open-loop.
    fn send_later(&mut self, now: Time) {
        if let Arrivals::Rate(rate) = self.load.arrivals
            && self.requests.len() < self.load.requests
        {
            let gap = self.arrivals.exponential_time(Time::from_s_f64(1.0 / rate));
            self.send(now + gap);
        }
    }

    fn program(&self, request: usize) -> &Program {
        let Request { function, kind, .. } = self.requests[request];
        &self.programs[function][kind as usize]
    }

    /// Handles a message at the NIC, which reserves memory or answers with a NACK.
    fn arrive(&mut self, now: Time, request: usize) {
        if self.requests[request].attempts == 0 {
            if request + 1 == self.load.requests {
                self.outcome.saturated = self.saturation(now);
            }
            self.send_later(now);
        }
        let bytes = self.program(request).reserve;
        if !self.reserve(request, bytes) {
            self.requests[request].place = Place::NoMemory;
            self.refuse(now, request);
            return;
        }
        match self.program(request).received {
            Some(work) => {
                let slot = self.pipelines.offer(now, work);
                self.requests[request].place = Place::Pipeline(slot.start);
                let spent = &mut self.requests[request].spent;
                spent.accelerator += work;
                spent.queued += slot.start - now;
                self.at(slot.end, Event::Parsed(request));
            }
            None => self.parsed(now, request),
        }
    }

    /// The saturation, if the number of requests that wait when the last one arrives is more than a
    /// burst.
    fn saturation(&self, now: Time) -> Option<Saturation> {
        let Arrivals::Rate(_) = self.load.arrivals else {
            return None;
        };
        let (mut memory, mut pipelines, mut cores) = (0, 0, 0);
        for request in &self.requests {
            match request.place {
                Place::NoMemory => memory += 1,
                Place::Pipeline(start) if start > now => pipelines += 1,
                Place::Nic => cores += 1,
                Place::Coming | Place::Pipeline(_) | Place::Core => {}
            }
        }
        let waiting = memory + pipelines + cores;
        if waiting <= SATURATED_BACKLOG.max(self.load.requests / SATURATED_ONE_IN) {
            return None;
        }
        // If memory runs out, the cause is usually that requests wait elsewhere; only if hardly any
        // do, it is the memory.
        let queue = if memory > 0 && pipelines.max(cores) < self.cores.len() {
            Queue::Memory
        } else if pipelines >= cores {
            Queue::Pipelines
        } else if self.pipelines.utilisation(now) >= PIPELINES_BUSY {
            Queue::CoresForPipelines
        } else {
            Queue::Cores
        };
        Some(Saturation { queue, waiting })
    }

    /// Reserves memory for a message of the request. Returns whether there was enough.
    fn reserve(&mut self, request: usize, bytes: Bytes) -> bool {
        let reserved = self.buffers.reserve(bytes);
        let request = &mut self.requests[request];
        if let Some(reserved) = reserved {
            request.held.push(reserved);
            request.attempts = 0;
        } else {
            request.attempts += 1;
            self.outcome.nacks += 1;
        }
        reserved.is_some()
    }

    /// Releases all memory of the request.
    fn release(&mut self, request: usize) {
        for reserved in std::mem::take(&mut self.requests[request].held) {
            self.buffers.release(reserved);
        }
    }

    /// The time at which the sender of a refused message tries again; `None` if it gives up.
    fn retry(&self, now: Time, request: usize) -> Option<Time> {
        let again = self.requests[request].attempts as f64 <= self.platform.retries;
        again.then(|| now + Time::from_ns_f64(self.platform.retry_after_ns))
    }

    fn refuse(&mut self, now: Time, request: usize) {
        match self.retry(now, request) {
            Some(time) => self.at(time, Event::Arrive(request)),
            None => {
                self.outcome.refused += 1;
                self.next_of_closed(now);
            }
        }
    }

    /// Gives up a request that does not occupy its core: the response of its nested call was sent
    /// for the last time and found no memory.
    fn abandon(&mut self, now: Time, core: usize, request: usize) {
        self.cores[core].started -= 1;
        self.selector.complete(core);
        self.release(request);
        self.outcome.refused += 1;
        self.outcome.makespan = self.outcome.makespan.max(now);
        self.next_of_closed(now);
        self.steer(now);
        self.begin(now, core);
    }

    fn next_of_closed(&mut self, now: Time) {
        let closed = matches!(self.load.arrivals, Arrivals::Closed(_));
        if closed && self.requests.len() < self.load.requests {
            self.send(now);
        }
    }

    fn parsed(&mut self, now: Time, request: usize) {
        self.requests[request].place = Place::Nic;
        self.waiting.push_back(request);
        self.steer(now);
    }

    /// Gives the requests that wait at the NIC to cores that are available.
    fn steer(&mut self, now: Time) {
        while let Some(&request) = self.waiting.front() {
            let function = self.requests[request].function;
            let Some(selected) = self.selector.select(self.steering, function) else {
                return;
            };
            self.waiting.pop_front();
            self.requests[request].place = Place::Core;
            self.requests[request].core = selected.core;
            self.requests[request].steered = selected.affine;
            let notified = now + self.platform.time(self.platform.notification_cycles);
            self.at(notified, Event::Notified(selected.core, request));
        }
    }

    /// Lets a free core continue a request, or else begin the next one.
    fn begin(&mut self, now: Time, core: usize) {
        let Core {
            pair,
            started,
            ready,
            running,
            ..
        } = &mut self.cores[core];
        if running.is_some() {
            return;
        }
        if let Some((request, next)) = ready.pop_front() {
            *running = Some((request, next));
            self.busy.begin(now);
            let end = now + self.platform.time(self.platform.switch_cycles);
            self.spend(request, now, end, |spent| &mut spent.switched);
            self.at(end, Event::Step(core));
        } else if (*started as f64) < self.platform.core_threads
            && let Some(request) = pair.pop_front()
        {
            *running = Some((request, 0));
            *started += 1;
            self.busy.begin(now);
            let other = self.platform.other_code_bytes / self.platform.l1i_block_bytes;
            self.cores[core]
                .cache
                .sweep(OTHER_CODE..OTHER_CODE + other as u32);
            self.step(now, core);
        }
    }

    /// Detaches the core from its request, which waits.
    fn pause(&mut self, now: Time, core: usize) {
        self.cores[core].running = None;
        self.busy.end(now);
    }

    /// Whether a core continues with other requests during this step.
    fn is_away(&self, step: &Step) -> bool {
        let asynchronous = self.platform.core_threads > 1.0;
        asynchronous
            && match step {
                Step::Away(_) | Step::Arrival(_) => true,
                Step::Shared(_) => self.design == Design::Full,
                _ => false,
            }
    }

    /// Advances a request without its core, up to a step that needs the core.
    fn travel(&mut self, now: Time, request: usize) {
        let (core, next) = (self.requests[request].core, self.requests[request].next);
        let step = self.program(request).steps.get(next).cloned();
        let away = step.filter(|step| self.is_away(step));
        let end = match away {
            Some(Step::Shared(time)) => {
                let slot = self.pipelines.offer(now, time);
                let spent = &mut self.requests[request].spent;
                spent.accelerator += time;
                spent.queued += slot.start - now;
                slot.end
            }
            Some(Step::Away(time)) => {
                self.requests[request].spent.away += time;
                now + time
            }
            Some(Step::Arrival(bytes)) if !self.reserve(request, bytes) => {
                let Some(again) = self.retry(now, request) else {
                    self.abandon(now, core, request);
                    return;
                };
                self.requests[request].spent.refused += again - now;
                self.at(again, Event::Travelled(request));
                return;
            }
            Some(_) => now,
            None => {
                self.cores[core].ready.push_back((request, next));
                self.begin(now, core);
                return;
            }
        };
        self.requests[request].next += 1;
        self.at(end, Event::Travelled(request));
    }

    fn step(&mut self, now: Time, core: usize) {
        let Some((request, next)) = self.cores[core].running else {
            return;
        };
        let Some(step) = self.program(request).steps.get(next).cloned() else {
            self.leave(now, core, request);
            return;
        };
        if self.is_away(&step) {
            self.requests[request].next = next;
            self.pause(now, core);
            self.travel(now, request);
            self.begin(now, core);
            return;
        }
        self.cores[core].running = Some((request, next + 1));
        let end = match step {
            Step::Software(time, blocks) => {
                // The stalls of the software layer are part of its measured cycles.
                let misses = self.cores[core].cache.sweep(blocks);
                self.requests[request].layer_misses += misses;
                self.spend(request, now, now + time, |spent| &mut spent.software)
            }
            Step::Offload(time) => self.spend(request, now, now + time, |spent| &mut spent.offload),
            Step::Private(time) => {
                self.spend(request, now, now + time, |spent| &mut spent.accelerator)
            }
            Step::Shared(time) => {
                let slot = self.pipelines.offer(now, time);
                self.wait_on_core(request, now, slot.start, |spent| &mut spent.queued);
                self.spend(request, slot.start, slot.end, |spent| {
                    &mut spent.accelerator
                })
            }
            Step::Away(time) => self.spend(request, now, now + time, |spent| &mut spent.away),
            Step::Function(part, of) => self.execute(now, core, request, part, of),
            Step::Arrival(bytes) if self.reserve(request, bytes) => now,
            Step::Arrival(_) => {
                let Some(again) = self.retry(now, request) else {
                    self.pause(now, core);
                    self.abandon(now, core, request);
                    return;
                };
                self.cores[core].running = Some((request, next));
                self.wait_on_core(request, now, again, |spent| &mut spent.refused)
            }
        };
        self.at(end, Event::Step(core));
    }

    /// Charges time of the RPC layer on a core, and returns when this time ends.
    fn spend(
        &mut self,
        request: usize,
        start: Time,
        end: Time,
        what: fn(&mut Spent) -> &mut Time,
    ) -> Time {
        let spent = &mut self.requests[request].spent;
        *what(spent) += end - start;
        spent.on_core += end - start;
        end
    }

    /// Charges a wait that keeps the request's core, and returns when the wait ends.
    fn wait_on_core(
        &mut self,
        request: usize,
        start: Time,
        end: Time,
        what: fn(&mut Spent) -> &mut Time,
    ) -> Time {
        self.requests[request].spent.waits_on_core += end - start;
        self.spend(request, start, end, what)
    }

    /// Executes a part of the function: its share of the cycles and of the passes through its
    /// blocks.
    fn execute(&mut self, now: Time, core: usize, request: usize, part: u32, of: u32) -> Time {
        let function = &self.service.functions[self.requests[request].function];
        let blocks: u64 = function.footprint.iter().map(|r| r.len() as u64).sum();
        let all = blocks * u64::from(function.passes);
        let (first, last) = (
            all * u64::from(part) / u64::from(of),
            all * u64::from(part + 1) / u64::from(of),
        );
        let cache = &mut self.cores[core].cache;
        let mut misses = 0;
        let mut at = 0;
        for _ in 0..function.passes {
            for range in &function.footprint {
                let length = range.len() as u64;
                let from = first.saturating_sub(at).min(length) as u32;
                let to = last.saturating_sub(at).min(length) as u32;
                misses += cache.sweep(range.start + from..range.start + to);
                at += length;
            }
        }
        let execute = self.platform.time(function.execute_cycles / f64::from(of));
        let stall = self
            .platform
            .time(self.platform.miss_stall_cycles * misses as f64);
        let request = &mut self.requests[request];
        request.misses += misses;
        request.spent.execute += execute;
        request.spent.stall += stall;
        now + execute + stall
    }

    /// Ends the core's work on the request; Cerebros may have to send its response.
    fn leave(&mut self, now: Time, core: usize, request: usize) {
        self.pause(now, core);
        self.cores[core].started -= 1;
        self.selector.complete(core);
        match self.program(request).sent {
            Some(work) => {
                let slot = self.pipelines.offer(now, work);
                let spent = &mut self.requests[request].spent;
                spent.accelerator += work;
                spent.queued += slot.start - now;
                self.at(slot.end, Event::Answered(request));
            }
            None => self.answered(now, request),
        }
        self.steer(now);
        self.begin(now, core);
    }

    fn answered(&mut self, now: Time, request: usize) {
        self.release(request);
        self.outcome.answered += 1;
        self.outcome.fallbacks += u64::from(self.program(request).fallback);
        self.outcome.makespan = now;
        if request >= self.load.warmup {
            let request = &self.requests[request];
            record(&mut self.outcome.all, now, request);
            record(&mut self.outcome.functions[request.function], now, request);
        }
        self.next_of_closed(now);
    }

    fn finish(mut self) -> SimulationResult {
        let end = self.outcome.makespan;
        let seconds = end.as_s_f64();
        let outcome = &mut self.outcome;
        if let Arrivals::Rate(rate) = self.load.arrivals {
            outcome.offered_rps = Some(rate);
        }
        if seconds > 0.0 {
            outcome.throughput_rps = outcome.answered as f64 / seconds;
        }
        outcome.pipeline_utilisation = self.pipelines.utilisation(end);
        let cores = self.cores.len() as u64;
        outcome.core_utilisation = self.busy.utilisation_at(end, cores).unwrap_or(0.0);
        outcome.buffer_peak = self.buffers.peak();
        outcome.buffer_left = self.buffers.used();
        self.outcome
    }
}
