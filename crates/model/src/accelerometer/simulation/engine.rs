//! The event loop of the simulation of offloads.

use std::collections::VecDeque;

use accelflow_kernel::{Calendar, Priority, Samples, Stream};
use accelflow_units::Time;

use super::host::{Doing, Host, Request, Requests};
use super::run::{Measured, Run};
use super::setup::{Accelerator, Piece, Setup};
use crate::accelerometer::design::{Design, Placement, Threading};

/// An offload in flight. Its request may have ended if it does not wait for the response.
#[derive(Clone, Copy)]
struct Offload {
    request: usize,
    host: usize,
    kernel: usize,
    service: Time,
    entered: Time,
}

/// An accelerator with a queue.
struct Station {
    elements: u32,
    free: u32,
    queue: VecDeque<Offload>,
    serving_ps: u128,
}

#[derive(Clone, Copy)]
enum Event {
    Arrival(usize),
    /// The present work of a core is done.
    Core(usize),
    /// An offload has crossed the interface.
    Entered(Offload),
    /// An offload has waited for its fixed time.
    Waited(Offload),
    Accelerated(Offload),
}

pub(super) struct Engine<'s> {
    setup: &'s Setup,
    run: &'s Run,
    calendar: Calendar<Event>,
    arrivals: Stream,
    work: Stream,
    /// Draws which kernel comes next.
    mix: Stream,
    hosts: Vec<Host>,
    requests: Requests,
    stations: Vec<Station>,
    measures: Measures,
}

#[derive(Default)]
struct Measures {
    ended: u32,
    began: Option<Time>,
    latencies: Samples,
    queued: Samples,
    busy_ps: u128,
}

impl<'s> Engine<'s> {
    pub(super) fn new(setup: &'s Setup, run: &'s Run) -> Engine<'s> {
        Engine {
            setup,
            run,
            calendar: Calendar::new(),
            arrivals: Stream::new(run.seed, 0),
            work: Stream::new(run.seed, 1),
            mix: Stream::new(run.seed, 2),
            hosts: (0..setup.hosts).map(|_| Host::new(setup.threads)).collect(),
            requests: Requests::default(),
            stations: setup
                .accelerators
                .iter()
                .map(|elements| Station {
                    elements: *elements,
                    free: *elements,
                    queue: VecDeque::new(),
                    serving_ps: 0,
                })
                .collect(),
            measures: Measures::default(),
        }
    }

    /// Runs until the last request that is measured has ended.
    pub(super) fn run(mut self) -> Measured {
        for host in 0..self.setup.hosts {
            match self.setup.between_arrivals {
                Some(mean) => self.next_arrival(host, mean),
                None => {
                    for _ in 0..self.setup.threads {
                        self.begin(host, Time::ZERO);
                    }
                    self.dispatch(host);
                }
            }
        }
        let all = self.run.requests + self.warm_up();
        while self.measures.ended < all {
            let Some((_, event)) = self.calendar.pop() else {
                break;
            };
            self.handle(event);
        }
        self.measured()
    }

    fn warm_up(&self) -> u32 {
        let at_a_time = match self.setup.between_arrivals {
            Some(_) => 0,
            None => self.setup.hosts * self.setup.threads,
        };
        self.run.requests / 10 + u32::try_from(2 * at_a_time).unwrap_or(u32::MAX / 2)
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Arrival(host) => {
                if let Some(mean) = self.setup.between_arrivals {
                    self.next_arrival(host, mean);
                }
                let now = self.calendar.now();
                self.hosts[host].backlog.push_back(now);
                self.admit(host);
                self.dispatch(host);
            }
            Event::Core(host) => self.core_done(host),
            Event::Entered(offload) => self.entered(offload),
            Event::Waited(offload) => self.start(offload),
            Event::Accelerated(offload) => self.accelerated(offload),
        }
    }

    fn after(&mut self, time: Time, event: Event) {
        let at = self.calendar.now() + time;
        self.calendar.schedule(at, Priority::NORMAL, event);
    }

    fn next_arrival(&mut self, host: usize, mean: Time) {
        let time = self.arrivals.exponential_time(mean);
        self.after(time, Event::Arrival(host));
    }

    /// Gives threads to arrivals, as far as there are threads.
    fn admit(&mut self, host: usize) {
        while self.hosts[host].free_threads > 0 {
            let Some(arrived) = self.hosts[host].backlog.pop_front() else {
                return;
            };
            self.begin(host, arrived);
        }
    }

    fn begin(&mut self, host: usize, arrived: Time) {
        self.hosts[host].free_threads -= 1;
        let request = self.requests.add(Request {
            host,
            arrived,
            kernels_left: self.run.kernels_per_request,
            next: None,
            outstanding: 0,
            host_done: false,
        });
        self.hosts[host].ready.push_back((request, Time::ZERO));
    }

    /// Gives an idle core the request that has been ready for longest.
    fn dispatch(&mut self, host: usize) {
        if self.hosts[host].doing != Doing::Nothing {
            return;
        }
        let state = &mut self.hosts[host];
        if let Some((request, switch)) = state.first.pop_front().or_else(|| state.ready.pop_front())
        {
            self.go_on(request, switch);
        }
    }

    /// Lets the core of `request` work on it, after `before`, until it offloads a kernel or ends.
    fn go_on(&mut self, request: usize, before: Time) {
        let mut time = before;
        let mut next = None;
        let mut left = self.requests.get(request).kernels_left;
        while left > 0 && next.is_none() {
            left -= 1;
            time += self.setup.own(&mut self.work);
            match self.setup.kernel(&mut self.mix, &mut self.work) {
                Piece::OnHost(kernel) => time += kernel,
                offloaded @ Piece::Offloaded { kernel, .. } => {
                    time += self.setup.kernels[kernel].setup;
                    next = Some(offloaded);
                }
            }
        }
        let state = self.requests.get(request);
        state.kernels_left = left;
        state.next = next;
        let host = state.host;
        self.set(host, Doing::Request(request));
        self.after(time, Event::Core(host));
    }

    fn set(&mut self, host: usize, doing: Doing) {
        let now = self.calendar.now();
        let state = &mut self.hosts[host];
        if state.doing != Doing::Nothing
            && let Some(began) = self.measures.began
        {
            let busy = now.saturating_sub(state.since.max(began));
            self.measures.busy_ps += u128::from(busy.as_ps());
        }
        state.doing = doing;
        state.since = now;
    }

    fn core_done(&mut self, host: usize) {
        match self.hosts[host].doing {
            Doing::Request(request) => match self.requests.get(request).next.take() {
                Some(Piece::Offloaded {
                    kernel,
                    transfer,
                    service,
                }) => self.offload(request, kernel, transfer, service),
                _ => self.host_done(request),
            },
            _ => {
                self.set(host, Doing::Nothing);
                self.dispatch(host);
            }
        }
    }

    fn design(&self, kernel: usize) -> Design {
        self.setup.kernels[kernel].design
    }

    fn offload(&mut self, request: usize, kernel: usize, transfer: Time, service: Time) {
        let design = self.design(kernel);
        let state = self.requests.get(request);
        let host = state.host;
        if design.threading() == Threading::AsyncNoResponse
            && design.placement() != Placement::Remote
        {
            state.outstanding += 1;
        }
        let entered = self.calendar.now() + transfer;
        let offload = Offload {
            request,
            host,
            kernel,
            service,
            entered,
        };
        self.after(transfer, Event::Entered(offload));
        if design.driver_waits() {
            self.set(host, Doing::Held(request));
        } else {
            self.handed_over(offload);
        }
    }

    fn entered(&mut self, offload: Offload) {
        let station = match self.setup.kernels[offload.kernel].accelerator {
            Accelerator::Fixed(wait) => return self.after(wait, Event::Waited(offload)),
            Accelerator::Numbered(number) => &mut self.stations[number],
        };
        if station.free == 0 {
            return station.queue.push_back(offload);
        }
        station.free -= 1;
        self.start(offload);
    }

    /// Starts `offload` on the accelerator.
    fn start(&mut self, offload: Offload) {
        let now = self.calendar.now();
        if self.measures.began.is_some() {
            self.measures
                .queued
                .record(now.saturating_sub(offload.entered));
            if let Accelerator::Numbered(number) = self.setup.kernels[offload.kernel].accelerator {
                self.stations[number].serving_ps += u128::from(offload.service.as_ps());
            }
        }
        self.after(offload.service, Event::Accelerated(offload));
        let design = self.design(offload.kernel);
        if design.driver_waits() && design.threading() != Threading::Sync {
            self.handed_over(offload);
        }
    }

    /// Continues the host after an offload whose completion it does not wait for.
    fn handed_over(&mut self, offload: Offload) {
        let (host, kernel) = (offload.host, &self.setup.kernels[offload.kernel]);
        match kernel.design.threading() {
            Threading::AsyncNoResponse => self.resume(offload.request),
            Threading::SyncOs => {
                self.set(host, Doing::Switching);
                self.after(kernel.thread_switch, Event::Core(host));
            }
            _ => {
                self.set(host, Doing::Nothing);
                self.dispatch(host);
            }
        }
    }

    /// Lets the core of `request` continue with its remaining work.
    fn resume(&mut self, request: usize) {
        if self.requests.get(request).kernels_left > 0 {
            self.go_on(request, Time::ZERO);
        } else {
            self.host_done(request);
        }
    }

    fn accelerated(&mut self, offload: Offload) {
        let kernel = &self.setup.kernels[offload.kernel];
        if let Accelerator::Numbered(number) = kernel.accelerator {
            match self.stations[number].queue.pop_front() {
                Some(next) => self.start(next),
                None => self.stations[number].free += 1,
            }
        }
        let design = kernel.design;
        match design.threading() {
            Threading::Sync => self.resume(offload.request),
            Threading::AsyncNoResponse if design.placement() == Placement::Remote => {}
            Threading::AsyncNoResponse => {
                let state = self.requests.get(offload.request);
                state.outstanding -= 1;
                if state.host_done && state.outstanding == 0 {
                    self.ended(offload.request);
                }
            }
            threading => {
                let switch = match threading {
                    Threading::AsyncSameThread => Time::ZERO,
                    _ => kernel.thread_switch,
                };
                let state = &mut self.hosts[offload.host];
                let line = if self.run.responses_first {
                    &mut state.first
                } else {
                    &mut state.ready
                };
                line.push_back((offload.request, switch));
                self.dispatch(offload.host);
            }
        }
    }

    /// Ends the host's work for `request`, and frees its thread.
    fn host_done(&mut self, request: usize) {
        let state = self.requests.get(request);
        state.host_done = true;
        let (host, waits) = (state.host, state.outstanding > 0);
        if !waits {
            self.ended(request);
        }
        self.hosts[host].free_threads += 1;
        if self.setup.between_arrivals.is_none() {
            let now = self.calendar.now();
            self.hosts[host].backlog.push_back(now);
        }
        self.admit(host);
        self.set(host, Doing::Nothing);
        self.dispatch(host);
    }

    fn ended(&mut self, request: usize) {
        let now = self.calendar.now();
        let arrived = self.requests.get(request).arrived;
        self.requests.remove(request);
        self.measures.ended += 1;
        if self.measures.began.is_some() {
            self.measures.latencies.record(now.saturating_sub(arrived));
        } else if self.measures.ended >= self.warm_up() {
            self.measures.began = Some(now);
        }
    }

    fn measured(mut self) -> Measured {
        for host in 0..self.hosts.len() {
            self.set(host, Doing::Nothing);
        }
        let began = self.measures.began.unwrap_or(Time::ZERO);
        let time = self.calendar.now().saturating_sub(began).as_ps().max(1) as f64;
        let hosts = self.hosts.len() as f64;
        let mut latencies = self.measures.latencies;
        let in_cycles = |ps: Option<f64>| ps.unwrap_or(0.0) / 1_000.0;
        // Without the accelerator's time, the measured latency is too short.
        let latency = |ps: Option<f64>| self.setup.knows_latency.then(|| in_cycles(ps));
        let p99 = latencies.percentile(99.0).map(|time| time.as_ps() as f64);
        Measured {
            requests_per_cycle: latencies.count() as f64 / (time / 1_000.0) / hosts,
            mean_latency_cycles: latency(latencies.mean_ps()),
            p99_latency_cycles: latency(p99),
            mean_queue_cycles: in_cycles(self.measures.queued.mean_ps()),
            utilisation: self
                .stations
                .iter()
                .map(|station| station.serving_ps as f64 / time / f64::from(station.elements))
                .max_by(f64::total_cmp),
            core_busy: self.measures.busy_ps as f64 / time / hosts,
        }
    }
}
