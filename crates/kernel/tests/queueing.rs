//! The kernel against closed forms of queueing theory: M/M/1, M/D/1 and M/M/k.
//!
//! Seeds are fixed, so a run either always passes or always fails. A mean is compared through the
//! 95 % confidence interval of twenty replications, which is also required to be narrow.

use std::collections::VecDeque;

use accelflow_kernel::{
    BusyTime, Calendar, ConfidenceInterval, Priority, Samples, Stream, TimeAverage,
};
use accelflow_units::Time;

const SERVICE: Time = Time::from_ns(1_000);
const REPLICATIONS: u64 = 20;

#[derive(Clone, Copy)]
enum Event {
    Arrive,
    Depart { arrived: Time },
}

#[derive(Clone, Copy)]
enum Service {
    Exponential,
    Deterministic,
}

/// An M/G/k queue with one FIFO line, run until `jobs` have arrived and all have left.
struct Queue {
    servers: u64,
    gap_ps: f64,
    service: Service,
    calendar: Calendar<Event>,
    arrivals: Stream,
    services: Stream,
    line: VecDeque<Time>,
    busy: BusyTime,
    present: TimeAverage,
    work: Time,
    waits: Samples,
    stays: Samples,
}

impl Queue {
    fn run(servers: u64, load: f64, service: Service, jobs: u64, seed: u64) -> Queue {
        let mut queue = Queue {
            servers,
            gap_ps: SERVICE.as_ps() as f64 / (load * servers as f64),
            service,
            calendar: Calendar::new(),
            arrivals: Stream::new(seed, 0),
            services: Stream::new(seed, 1),
            line: VecDeque::new(),
            busy: BusyTime::new(Time::ZERO),
            present: TimeAverage::new(Time::ZERO),
            work: Time::ZERO,
            waits: Samples::new(),
            stays: Samples::new(),
        };
        let mut to_come = jobs;
        queue.next_arrival(Time::ZERO);
        while let Some((now, event)) = queue.calendar.pop() {
            match event {
                Event::Arrive => {
                    to_come -= 1;
                    queue.arrive(now);
                    if to_come > 0 {
                        queue.next_arrival(now);
                    }
                }
                Event::Depart { arrived } => queue.depart(now, arrived),
            }
            let waiting = queue.line.len() as u64;
            assert!(
                waiting == 0 || queue.busy.busy() == servers,
                "a server idles beside a line"
            );
            assert_eq!(queue.present.level(), waiting + queue.busy.busy());
        }
        queue
    }

    fn next_arrival(&mut self, now: Time) {
        let gap = self.arrivals.exponential(self.gap_ps).round() as u64;
        self.calendar
            .schedule(now + Time::from_ps(gap), Priority::NORMAL, Event::Arrive);
    }

    fn arrive(&mut self, now: Time) {
        self.present.increase(now);
        if self.busy.busy() < self.servers {
            self.busy.begin(now);
            self.start(now, now);
        } else {
            self.line.push_back(now);
        }
    }

    fn start(&mut self, now: Time, arrived: Time) {
        let service = match self.service {
            Service::Exponential => self.services.exponential_time(SERVICE),
            Service::Deterministic => SERVICE,
        };
        self.work += service;
        self.waits.record(now - arrived);
        self.calendar
            .schedule(now + service, Priority::FIRST, Event::Depart { arrived });
    }

    fn depart(&mut self, now: Time, arrived: Time) {
        self.present.decrease(now);
        self.stays.record(now - arrived);
        match self.line.pop_front() {
            Some(next) => self.start(now, next),
            None => self.busy.end(now),
        }
    }
}

/// Each replication reduced to one number, which the closed form must explain.
fn check(
    (servers, load, service): (u64, f64, Service),
    what: &str,
    statistic: impl Fn(&mut Queue) -> f64,
    expected: f64,
) {
    let observations: Vec<f64> = (0..REPLICATIONS)
        .map(|seed| statistic(&mut Queue::run(servers, load, service, 200_000, seed)))
        .collect();
    let interval = ConfidenceInterval::of(&observations).expect("twenty observations");
    assert!(
        interval.contains(expected),
        "{what}: {interval:?} misses {expected}"
    );
    assert!(
        interval.half_width < 0.03 * expected,
        "{what}: {interval:?} is wide"
    );
}

fn mean_wait(queue: &mut Queue) -> f64 {
    queue.waits.mean_ps().expect("jobs") / SERVICE.as_ps() as f64
}

#[test]
fn mm1_waits_rho_over_mu_minus_lambda() {
    for load in [0.3, 0.5, 0.8] {
        check(
            (1, load, Service::Exponential),
            "mean wait",
            mean_wait,
            load / (1.0 - load),
        );
    }
}

/// The time in an M/M/1 system is exponential with rate mu - lambda.
#[test]
fn mm1_has_an_exponential_tail() {
    let load = 0.6;
    for percent in [50.0, 90.0, 99.0_f64] {
        let quantile = move |queue: &mut Queue| {
            queue.stays.percentile(percent).unwrap().as_ps() as f64 / SERVICE.as_ps() as f64
        };
        let expected = -(1.0 - percent / 100.0).ln() / (1.0 - load);
        check(
            (1, load, Service::Exponential),
            "percentile of stay",
            quantile,
            expected,
        );
    }
}

#[test]
fn md1_waits_as_pollaczek_and_khinchine_say() {
    for load in [0.3, 0.5, 0.8] {
        let expected = load / (2.0 * (1.0 - load));
        check(
            (1, load, Service::Deterministic),
            "mean wait",
            mean_wait,
            expected,
        );
    }
}

/// The probability that an arrival at k servers waits, for offered load `a` erlangs.
fn erlang_c(k: u64, a: f64) -> f64 {
    let blocked = (1..=k).fold(1.0, |b, n| a * b / (n as f64 + a * b));
    let rho = a / k as f64;
    blocked / (1.0 - rho * (1.0 - blocked))
}

#[test]
fn mmk_waits_as_erlang_says() {
    assert!((erlang_c(1, 0.8) - 0.8).abs() < 1e-12);
    for (servers, load) in [(2, 0.7), (8, 0.8)] {
        let delayed = erlang_c(servers, load * servers as f64);
        let expected = delayed / (servers as f64 * (1.0 - load));
        check(
            (servers, load, Service::Exponential),
            "mean wait",
            mean_wait,
            expected,
        );
        let waiting = |queue: &mut Queue| {
            let waited = queue.waits.iter().filter(|&wait| wait > Time::ZERO).count();
            waited as f64 / queue.waits.count() as f64
        };
        check(
            (servers, load, Service::Exponential),
            "probability of waiting",
            waiting,
            delayed,
        );
    }
}

/// Over a run that begins and ends empty, the integral of the number present is the sum of the
/// stays: to the picosecond, for every load, service and number of servers.
#[test]
fn littles_law_holds_exactly_and_work_is_conserved() {
    for service in [Service::Exponential, Service::Deterministic] {
        for (servers, load) in [(1, 0.9), (3, 0.5), (8, 0.95), (2, 1.1)] {
            let queue = Queue::run(servers, load, service, 20_000, 42);
            let end = queue.calendar.now();
            assert_eq!(queue.stays.count(), 20_000);
            assert_eq!(queue.present.level(), 0);
            assert_eq!(queue.present.integral_at(end), queue.stays.total_ps());
            assert_eq!(queue.busy.total_at(end), queue.work);
            assert_eq!(
                queue.stays.total_ps(),
                queue.waits.total_ps() + u128::from(queue.work.as_ps())
            );
            let little = 20_000.0 / end.as_ps() as f64 * queue.stays.mean_ps().unwrap();
            assert!((queue.present.mean_at(end).unwrap() / little - 1.0).abs() < 1e-14);
        }
    }
}

#[test]
fn utilisation_is_the_offered_load() {
    let utilisation = |queue: &mut Queue| {
        queue
            .busy
            .utilisation_at(queue.calendar.now(), queue.servers)
            .unwrap()
    };
    check(
        (4, 0.6, Service::Exponential),
        "utilisation",
        utilisation,
        0.6,
    );
}

#[test]
fn a_seed_decides_every_bit() {
    let run = |seed| Queue::run(3, 0.8, Service::Exponential, 5_000, seed);
    assert_eq!(run(7).stays, run(7).stays);
    assert_ne!(run(7).stays, run(8).stays);
}
