//! The stations, their lines and the jobs, without an engine.

use accelflow_kernel::{Samples, Stream};
use accelflow_units::Time;
use serde::Serialize;

use crate::spec::{SERVERS, Spec, TEMPLATES};

const LINE: usize = 64;
const END: u8 = u8::MAX;

/// The state of a run. Its events are slots: a server that finishes, or the next arrival.
#[derive(Clone, Debug)]
pub struct Model {
    stations: Vec<Station>,
    /// The job at each server, by slot.
    serving: Vec<Job>,
    /// All paths one after another, each closed by [`END`].
    steps: Vec<u8>,
    /// For each template where its two paths begin, and when the first is taken.
    routes: [Route; TEMPLATES],
    mean_gap_ps: f64,
    to_come: u64,
    random: Stream,
    visits: u64,
    lost: u64,
    stays: Samples,
}

#[derive(Clone, Copy, Debug, Default)]
struct Job {
    arrived: Time,
    step: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Route {
    begin: [u32; 2],
    /// The second path is taken from this 32-bit number on.
    threshold: u64,
}

#[derive(Clone, Debug)]
struct Station {
    service: Time,
    /// One bit for each idle server.
    idle: u8,
    line: [Job; LINE],
    head: usize,
    waiting: usize,
}

/// What came of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Jobs that went through all of their path.
    pub jobs: usize,
    /// Jobs that met a full line. The model is meant to lose none.
    pub lost: u64,
    /// Mean number of stations visited.
    pub visits_per_job: f64,
    /// Mean time from arrival to departure.
    pub mean_us: f64,
    /// Median of the same.
    pub p50_us: f64,
    /// 99th percentile of the same.
    pub p99_us: f64,
}

impl Model {
    /// The empty system, before `jobs` jobs.
    pub fn new(spec: &Spec, jobs: u64, seed: u64) -> Model {
        let mut steps = Vec::new();
        let mut routes = [Route::default(); TEMPLATES];
        for (route, template) in routes.iter_mut().zip(&spec.templates) {
            route.threshold = (template.p * (1_u64 << 32) as f64).round() as u64;
            for (begin, path) in route.begin.iter_mut().zip(template.paths()) {
                *begin = steps.len() as u32;
                steps.extend(path);
                steps.push(END);
            }
        }
        let station = |&service_ps: &u64| Station {
            service: Time::from_ps(service_ps),
            idle: u8::MAX,
            line: [Job::default(); LINE],
            head: 0,
            waiting: 0,
        };
        Model {
            stations: spec.service_ps.iter().map(station).collect(),
            serving: vec![Job::default(); spec.service_ps.len() * SERVERS],
            steps,
            routes,
            mean_gap_ps: spec.iat_ps,
            to_come: jobs,
            random: Stream::new(seed, 0),
            visits: 0,
            lost: 0,
            stays: Samples::with_capacity(jobs as usize),
        }
    }

    /// The number of slots; the last one is the arrivals.
    pub fn slots(&self) -> usize {
        self.serving.len() + 1
    }

    /// Schedules the first arrival.
    pub fn begin(&mut self, mut schedule: impl FnMut(Time, u16)) {
        if self.to_come > 0 {
            schedule(self.next_arrival(Time::ZERO), self.serving.len() as u16);
        }
    }

    /// The event of `slot` happens. Each slot is scheduled at most once until it happens.
    #[inline]
    pub fn handle(&mut self, now: Time, slot: u16, mut schedule: impl FnMut(Time, u16)) {
        let slot = usize::from(slot);
        if slot == self.serving.len() {
            self.to_come -= 1;
            if self.to_come > 0 {
                schedule(self.next_arrival(now), slot as u16);
            }
            let job = self.draw(now);
            self.visit(now, job, schedule);
            return;
        }
        let mut job = self.serving[slot];
        let station = &mut self.stations[slot / SERVERS];
        if station.waiting > 0 {
            self.serving[slot] = station.line[station.head % LINE];
            station.head += 1;
            station.waiting -= 1;
            schedule(now + station.service, slot as u16);
        } else {
            station.idle |= 1 << (slot % SERVERS);
        }
        job.step += 1;
        self.visit(now, job, schedule);
    }

    /// The statistics so far.
    pub fn report(&mut self) -> Report {
        let percentile = |stays: &mut Samples, percent| {
            stays.percentile(percent).unwrap_or_default().as_us_f64()
        };
        let jobs = self.stays.count();
        Report {
            jobs,
            lost: self.lost,
            visits_per_job: self.visits as f64 / jobs.max(1) as f64,
            mean_us: self.stays.mean_ps().unwrap_or_default() / 1e6,
            p50_us: percentile(&mut self.stays, 50.0),
            p99_us: percentile(&mut self.stays, 99.0),
        }
    }

    fn next_arrival(&mut self, now: Time) -> Time {
        // The half rounds, where the cast truncates.
        now + Time::from_ps((self.random.exponential(self.mean_gap_ps) + 0.5) as u64)
    }

    fn draw(&mut self, now: Time) -> Job {
        let bits = self.random.bits();
        let route = &self.routes[(bits >> 32) as usize % TEMPLATES];
        let second = (bits & 0xFFFF_FFFF) >= route.threshold;
        Job {
            arrived: now,
            step: route.begin[usize::from(second)],
        }
    }

    /// The job takes the station of its step, or leaves.
    #[inline]
    fn visit(&mut self, now: Time, job: Job, mut schedule: impl FnMut(Time, u16)) {
        let at = self.steps[job.step as usize];
        if at == END {
            self.stays.record(now - job.arrived);
            return;
        }
        self.visits += 1;
        let station = &mut self.stations[usize::from(at)];
        if station.idle != 0 {
            let server = station.idle.trailing_zeros() as usize;
            station.idle &= station.idle - 1;
            let slot = usize::from(at) * SERVERS + server;
            self.serving[slot] = job;
            schedule(now + station.service, slot as u16);
        } else if station.waiting < LINE {
            station.line[(station.head + station.waiting) % LINE] = job;
            station.waiting += 1;
        } else {
            self.lost += 1;
        }
    }
}
