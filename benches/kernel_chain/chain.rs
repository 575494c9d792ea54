//! The chain of nine stations on this project's event queue; `run.py` beside it describes the model
//! and gives it parameters as NAME=VALUE. Prints a line of JSON.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use accelflow_kernel::{Calendar, EventQueue, Samples, Stream};
use accelflow_units::Time;

const STATIONS: usize = 9;
const MANAGER: usize = STATIONS;
const CORES: usize = STATIONS + 1;
/// Steps of a request: the manager, stations 0 to 4, perhaps the manager, station 5, a core,
/// stations 6 to 8.
const WAY: [usize; 12] = [MANAGER, 0, 1, 2, 3, 4, MANAGER, 5, CORES, 6, 7, 8];
const BRANCH: usize = 6;
const APPLICATION: usize = 8;

struct Parameters(HashMap<String, Vec<f64>>);

impl Parameters {
    fn read() -> Result<Parameters, String> {
        let mut found = HashMap::new();
        for argument in std::env::args().skip(1) {
            let (name, values) = argument
                .split_once('=')
                .ok_or_else(|| format!("{argument}: must be NAME=VALUE"))?;
            let values = values.split(',').map(str::parse);
            let values = values.collect::<Result<_, _>>();
            let values = values.map_err(|error| format!("{argument}: {error}"))?;
            found.insert(name.to_owned(), values);
        }
        Ok(Parameters(found))
    }

    fn all(&self, name: &str) -> Result<&[f64], String> {
        let found = self.0.get(name).map(Vec::as_slice);
        found.ok_or_else(|| format!("{name} is missing"))
    }

    fn one(&self, name: &str) -> Result<f64, String> {
        let found = self.all(name)?.first().copied();
        found.ok_or_else(|| format!("{name} is empty"))
    }
}

#[derive(Clone, Copy)]
enum Event {
    Arrival,
    Done { place: u8, job: u32 },
}

#[derive(Clone, Copy, Default)]
struct Job {
    arrived: Time,
    number: u64,
    step: u8,
    overflowed: bool,
    fell_back: bool,
}

/// Servers and those that wait for one.
struct Place {
    free: usize,
    waiting: VecDeque<u32>,
    room: usize,
}

struct Chain {
    queue: Calendar<Event>,
    draw: Stream,
    places: Vec<Place>,
    jobs: Vec<Job>,
    unused: Vec<u32>,
    service_ns: Vec<f64>,
    manager_ns: f64,
    application_ns: f64,
    gap_ns: f64,
    branch: f64,
    entries: usize,
    fetch_ns: f64,
    software: f64,
    requests: u64,
    warmup: u64,
    arrived: u64,
    visits: u64,
    overflows: u64,
    fallbacks: u64,
    events: u64,
    times: Samples,
}

impl Chain {
    fn new(given: &Parameters) -> Result<Chain, String> {
        let entries = given.one("entries")? as usize;
        let room = entries + given.one("overflow")? as usize;
        let place = |free: f64, room| Place {
            free: free as usize,
            waiting: VecDeque::new(),
            room,
        };
        let elements = given.one("elements")?;
        let mut places: Vec<Place> = (0..STATIONS).map(|_| place(elements, room)).collect();
        places.push(place(1.0, usize::MAX));
        places.push(place(given.one("cores")?, usize::MAX));
        let requests = given.one("requests")? as u64;
        Ok(Chain {
            queue: Calendar::new(),
            draw: Stream::new(given.one("seed")? as u64, 0),
            places,
            jobs: Vec::new(),
            unused: Vec::new(),
            service_ns: given.all("service_ns")?.to_vec(),
            manager_ns: given.one("manager_ns")?,
            application_ns: given.one("application_ns")?,
            gap_ns: given.one("gap_ns")?,
            branch: given.one("branch")?,
            entries,
            fetch_ns: given.one("fetch_ns")?,
            software: given.one("software")?,
            requests,
            warmup: requests / 10,
            arrived: 0,
            visits: 0,
            overflows: 0,
            fallbacks: 0,
            events: 0,
            times: Samples::with_capacity(requests as usize),
        })
    }

    fn run(&mut self) {
        self.schedule_arrival(Time::ZERO);
        while let Some((now, event)) = EventQueue::pop(&mut self.queue) {
            self.events += 1;
            match event {
                Event::Arrival => self.arrive(now),
                Event::Done { place, job } => self.done(now, usize::from(place), job),
            }
        }
    }

    fn schedule_arrival(&mut self, now: Time) {
        if self.arrived < self.requests {
            let gap = Time::from_ns_f64(self.draw.exponential(self.gap_ns));
            EventQueue::schedule(&mut self.queue, now + gap, Event::Arrival);
        }
    }

    fn arrive(&mut self, now: Time) {
        let job = Job {
            arrived: now,
            number: self.arrived,
            ..Job::default()
        };
        let index = self.unused.pop().unwrap_or_else(|| {
            self.jobs.push(Job::default());
            self.jobs.len() as u32 - 1
        });
        self.jobs[index as usize] = job;
        self.arrived += 1;
        self.schedule_arrival(now);
        self.enter(now, index);
    }

    /// The job goes to the place of its step.
    fn enter(&mut self, now: Time, index: u32) {
        let job = &mut self.jobs[index as usize];
        let mut place = WAY[usize::from(job.step)];
        job.overflowed = false;
        self.visits += u64::from(place < STATIONS);
        if self.places[place].free == 0 && place < STATIONS {
            let waiting = self.places[place].waiting.len();
            if waiting >= self.places[place].room {
                job.fell_back = true;
                place = CORES;
            } else if waiting >= self.entries {
                job.overflowed = true;
                self.overflows += 1;
            }
        }
        if self.places[place].free == 0 {
            self.places[place].waiting.push_back(index);
            return;
        }
        self.places[place].free -= 1;
        self.start(now, place, index);
    }

    fn start(&mut self, now: Time, place: usize, index: u32) {
        let job = self.jobs[index as usize];
        let ns = match place {
            MANAGER => self.manager_ns,
            CORES if job.fell_back => self.in_software(usize::from(job.step)),
            CORES => self.draw.exponential(self.application_ns),
            station => {
                let fetch = if job.overflowed { self.fetch_ns } else { 0.0 };
                self.draw.exponential(self.service_ns[station]) + fetch
            }
        };
        let done = Event::Done {
            place: place as u8,
            job: index,
        };
        EventQueue::schedule(&mut self.queue, now + Time::from_ns_f64(ns), done);
    }

    /// The core time of all that is left from `step` on.
    fn in_software(&mut self, step: usize) -> f64 {
        let mut ns = 0.0;
        for (number, &place) in WAY.iter().enumerate().skip(step) {
            ns += match place {
                MANAGER => 0.0,
                CORES => self.draw.exponential(self.application_ns),
                station => self.software * self.draw.exponential(self.service_ns[station]),
            };
            debug_assert!(place != CORES || number == APPLICATION);
        }
        ns
    }

    fn done(&mut self, now: Time, place: usize, index: u32) {
        match self.places[place].waiting.pop_front() {
            Some(next) => self.start(now, place, next),
            None => self.places[place].free += 1,
        }
        let branches = self.branch;
        let job = &mut self.jobs[index as usize];
        job.step += 1;
        if usize::from(job.step) == BRANCH && !self.draw.bernoulli(branches) {
            job.step += 1;
        }
        if usize::from(job.step) < WAY.len() && !job.fell_back {
            return self.enter(now, index);
        }
        let job = *job;
        if job.number >= self.warmup {
            self.fallbacks += u64::from(job.fell_back);
            self.times.record(now - job.arrived);
        }
        self.unused.push(index);
    }
}

fn main() -> Result<(), String> {
    let mut chain = Chain::new(&Parameters::read()?)?;
    let begin = Instant::now();
    chain.run();
    let seconds = begin.elapsed().as_secs_f64();
    let counted = chain.times.count() as f64;
    let us = |time: Option<Time>| time.map_or(f64::NAN, Time::as_us_f64);
    println!(
        r#"{{"seconds": {seconds}, "requests": {}, "events": {}, "mean_us": {}, "p99_us": {}, "overflow_share": {}, "fallback_share": {}}}"#,
        chain.arrived,
        chain.events,
        us(chain.times.mean()),
        us(chain.times.percentile(99.0)),
        chain.overflows as f64 / chain.visits as f64,
        chain.fallbacks as f64 / counted,
    );
    Ok(())
}
