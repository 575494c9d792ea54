//! Q from queues: closed forms where they are exact, and the kernel's simulation where they are
//! not.

use std::collections::VecDeque;

use accelflow_kernel::{Calendar, Priority, Samples, Stream};
use accelflow_model::accelerometer::uncertainty::{Distribution, Field, Uncertain, tornado};
use accelflow_model::accelerometer::{
    Approximation, CyclesPerSecond, Design, HostCost, Interpolation, Kernel, MeanCycles,
    OffloadsPerCycle, OffloadsPerSecond, Placement, Queueing, Scaling, Scenario, Selection,
    SizeCdf, Station, Threading, Transfer,
};
use accelflow_units::Time;

fn station(servers: u32, load: f64, service_scv: f64) -> Station {
    Station {
        servers,
        arrivals: OffloadsPerCycle(load * f64::from(servers) / 1_000.0),
        service: MeanCycles(1_000.0),
        service_scv,
    }
}

/// In units of the mean service time.
fn wait(servers: u32, load: f64, scv: f64, approximation: Approximation) -> f64 {
    station(servers, load, scv).mean_wait(approximation).0 / 1_000.0
}

#[test]
fn one_server_is_pollaczek_and_khinchine() {
    for approximation in [Approximation::AllenCunneen, Approximation::Kimura] {
        for (load, scv, expected) in [(0.5, 0.0, 0.5), (0.5, 1.0, 1.0), (0.8, 4.0, 10.0)] {
            let found = wait(1, load, scv, approximation);
            assert!((found / expected - 1.0).abs() < 1e-12, "{found} {expected}");
        }
    }
}

#[test]
fn exponential_service_is_erlang() {
    // M/M/2 waits rho^2 / (1 - rho^2) of a service.
    let found = wait(2, 0.6, 1.0, Approximation::Kimura);
    assert!((found - 0.36 / 0.64).abs() < 1e-12);
}

#[test]
fn no_load_waits_nothing_and_overload_for_ever() {
    assert_eq!(wait(4, 0.0, 1.0, Approximation::Kimura), 0.0);
    for load in [1.0, 1.5] {
        assert_eq!(wait(4, load, 0.5, Approximation::Kimura), f64::INFINITY);
    }
}

const SERVICE: Time = Time::from_ns(1_000);

#[derive(Clone, Copy)]
enum Event {
    Arrive,
    Depart,
}

/// The mean wait of `jobs` in a simulated M/G/k queue, in units of the mean service time: constant
/// service (c2 = 0), Erlang of order 2 (0.5), or hyperexponential with balanced means (above 1).
fn simulated(servers: usize, load: f64, scv: f64, jobs: u64) -> f64 {
    let mut calendar = Calendar::new();
    let (mut gaps, mut services) = (Stream::new(3, 0), Stream::new(3, 1));
    let mean_gap = SERVICE.as_ps() as f64 / (load * servers as f64);
    let (mut line, mut waits) = (VecDeque::new(), Samples::new());
    let (mut busy, mut to_come) = (0, jobs);
    calendar.schedule(Time::ZERO, Priority::NORMAL, Event::Arrive);
    while let Some((now, event)) = calendar.pop() {
        match event {
            Event::Arrive => {
                line.push_back(now);
                to_come -= 1;
                if to_come > 0 {
                    let gap = Time::from_ps(gaps.exponential(mean_gap) as u64);
                    calendar.schedule(now + gap, Priority::NORMAL, Event::Arrive);
                }
            }
            Event::Depart => busy -= 1,
        }
        while busy < servers {
            let Some(arrived) = line.pop_front() else {
                break;
            };
            busy += 1;
            waits.record(now - arrived);
            calendar.schedule(
                now + draw(&mut services, scv),
                Priority::FIRST,
                Event::Depart,
            );
        }
    }
    waits.mean_ps().expect("jobs") / SERVICE.as_ps() as f64
}

fn draw(dice: &mut Stream, scv: f64) -> Time {
    if scv == 0.0 {
        return SERVICE;
    }
    if scv == 0.5 {
        let half = SERVICE.scale(0.5);
        return dice.exponential_time(half) + dice.exponential_time(half);
    }
    let short = (1.0 + ((scv - 1.0) / (scv + 1.0)).sqrt()) / 2.0;
    let part = if dice.bernoulli(short) {
        short
    } else {
        1.0 - short
    };
    dice.exponential_time(SERVICE.scale(0.5 / part))
}

/// The relative errors that the documentation of [`Approximation`] states.
#[test]
fn errors_of_the_approximations_for_several_servers() {
    let mut worst = [[0.0_f64; 3]; 2];
    for servers in [2, 4, 8] {
        for load in [0.5, 0.7, 0.9] {
            for (column, scv) in [0.0, 0.5, 4.0].into_iter().enumerate() {
                let truth = simulated(servers, load, scv, 400_000);
                for (row, approximation) in [Approximation::AllenCunneen, Approximation::Kimura]
                    .into_iter()
                    .enumerate()
                {
                    let error = wait(servers as u32, load, scv, approximation) / truth - 1.0;
                    println!("{approximation:?} k {servers} load {load} c2 {scv}: {error:+.3}");
                    worst[row][column] = worst[row][column].max(error.abs());
                }
            }
        }
    }
    println!("{worst:.3?}");
    let stated = [[0.23, 0.11, 0.58], [0.05, 0.05, 0.05]];
    for (found, stated) in worst.as_flattened().iter().zip(stated.as_flattened()) {
        assert!(*found < stated + 0.005, "{worst:?}");
    }
    assert!(
        worst[0]
            .iter()
            .zip([0.22, 0.10, 0.57])
            .all(|(found, least)| *found > least)
    );
}

fn shared(hosts: f64, selection: Selection) -> Scenario {
    let sizes = vec![(64.0, 0.0), (512.0, 0.5), (4_096.0, 1.0)];
    Scenario {
        host: CyclesPerSecond(2e9),
        kernels: vec![Kernel {
            name: "compression".to_owned(),
            design: Design::new(Threading::Sync, Placement::OffChip, None).expect("a design"),
            share: 0.2,
            offloads: OffloadsPerSecond(50_000.0),
            setup: MeanCycles(0.0),
            transfer: Transfer {
                fixed: MeanCycles(500.0),
                per_byte: MeanCycles(0.0),
            },
            thread_switch: MeanCycles(0.0),
            acceleration: Some(8.0),
            queue: Queueing::Station {
                servers: 1,
                hosts,
                service: None,
                service_scv: None,
                approximation: Approximation::Kimura,
                shared: None,
            },
            host_cost: HostCost {
                cycles_per_byte: None,
                complexity: 1.0,
            },
            sizes: Some(SizeCdf::new(sizes, Interpolation::Linear).expect("a distribution")),
            selection,
            rides_on: None,
        }],
    }
}

#[test]
fn station_takes_service_and_spread_from_the_kernel() {
    let outcome = shared(16.0, Selection::All).evaluate().unwrap();
    let kernel = &outcome.kernels[0];
    // 16 hosts x 0.2 / 8 of work for one accelerator; service of 1,000 cycles.
    assert!((kernel.utilisation.unwrap() - 0.4).abs() < 1e-12);
    // Moments of the sizes, and Pollaczek and Khinchine, by hand.
    let square = |low: f64, high: f64| (high * high + high * low + low * low) / 3.0;
    let mean = 0.5 * 288.0 + 0.5 * 2_304.0;
    let second = 0.5 * square(64.0, 512.0) + 0.5 * square(512.0, 4_096.0);
    let expected = 0.4 / 0.6 * 1_000.0 * second / (mean * mean) / 2.0;
    assert!((kernel.queue.0 / expected - 1.0).abs() < 1e-9, "{kernel:?}");
}

#[test]
fn overloaded_accelerator_is_an_error() {
    let error = shared(40.0, Selection::All).evaluate().unwrap_err();
    assert_eq!(
        error.to_string(),
        "compression.queue.utilisation = 1.0000: must be below 1, computed from the offloads: the \
         accelerator cannot keep up with them"
    );
}

/// Selection sheds load until what still pays meets the queue that it makes.
#[test]
fn selection_and_queue_agree() {
    for hosts in [1.0, 16.0, 38.0, 60.0] {
        let scenario = shared(hosts, Selection::Lucrative(Scaling::Cycles));
        let found = scenario.evaluate().unwrap().kernels[0].clone();
        let load = found.utilisation.unwrap();
        assert!(load < 1.0 && load > 0.0, "{load}");
        let mut fixed = scenario.clone();
        fixed.kernels[0].queue = Queueing::Mean(found.queue);
        let again = fixed.evaluate().unwrap().kernels[0].clone();
        assert!((again.offloads.0 / found.offloads.0 - 1.0).abs() < 1e-9);
        assert!((again.speedup / found.speedup - 1.0).abs() < 1e-9);
    }
}

/// Two halves of a kernel in one line wait as the whole does.
#[test]
fn halves_that_share_a_line_wait_as_the_whole() {
    for selection in [Selection::All, Selection::Lucrative(Scaling::Cycles)] {
        let whole = shared(16.0, selection).evaluate().unwrap();
        let mut halved = shared(16.0, selection);
        let mut half = halved.kernels.remove(0);
        half.share /= 2.0;
        half.offloads = OffloadsPerSecond(half.offloads.0 / 2.0);
        if let Queueing::Station { shared, .. } = &mut half.queue {
            *shared = Some("device".to_owned());
        }
        let other = Kernel {
            name: "other".to_owned(),
            ..half.clone()
        };
        halved.kernels = vec![half, other];
        let found = halved.evaluate().unwrap();
        for kernel in &found.kernels {
            assert!((kernel.queue.0 / whole.kernels[0].queue.0 - 1.0).abs() < 1e-9);
            let (here, there) = (kernel.utilisation, whole.kernels[0].utilisation);
            assert!((here.unwrap() / there.unwrap() - 1.0).abs() < 1e-9);
        }
        assert!((found.speedup / whole.speedup - 1.0).abs() < 1e-9);
    }
}

#[test]
fn kernels_that_share_a_line_must_describe_it_alike() {
    let mut scenario = shared(16.0, Selection::All);
    let mut other = scenario.kernels[0].clone();
    other.name = "encryption".to_owned();
    for (kernel, servers) in [(&mut scenario.kernels[0], 1), (&mut other, 2)] {
        kernel.share = 0.1;
        if let Queueing::Station {
            shared,
            servers: elements,
            ..
        } = &mut kernel.queue
        {
            *shared = Some("device".to_owned());
            *elements = servers;
        }
    }
    scenario.kernels.push(other);
    let error = scenario.evaluate().unwrap_err().to_string();
    assert!(
        error.starts_with(
            "compression.queue.shared = the accelerator of encryption: must have the same"
        ),
        "{error}"
    );
}

/// 60 % of 100 B and 40 % of 400 B. The means are 220 B and 36.36 cycles a byte, so an offload of
/// 100 B saves 3,181.8 cycles less 500 of transfer, and one of 400 B 12,727.3 less 500.
fn two_sizes(hosts: f64, name: Option<&str>) -> Scenario {
    let mut scenario = shared(hosts, Selection::Lucrative(Scaling::Cycles));
    let kernel = &mut scenario.kernels[0];
    let sizes = vec![(100.0, 0.6), (400.0, 1.0)];
    kernel.sizes = Some(SizeCdf::new(sizes, Interpolation::Step).expect("a distribution"));
    if let Queueing::Station { shared, .. } = &mut kernel.queue {
        *shared = name.map(str::to_owned);
    }
    scenario
}

fn near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
}

/// A size whose offloads are too many with a shorter wait, and too few with a longer one: it pays
/// exactly 0, and part of it goes.
#[test]
fn wait_and_selection_meet_where_a_size_pays_nothing() {
    let saved = 4e8 / 11e6 * 7.0 / 8.0;
    for name in [None, Some("device")] {
        // All of both sizes would use 85 % and wait for longer than 100 B pay.
        let outcome = two_sizes(34.0, name).evaluate().unwrap();
        let kernel = &outcome.kernels[0];
        let queue = 100.0 * saved - 500.0;
        near(kernel.queue.0, queue);
        // Only 400 B gain: 20,000 a second, of 2e9 cycles.
        let gain = 2e4 * (400.0 * saved - 500.0 - queue) / 2e9;
        near(outcome.speedup, 1.0 / (1.0 - gain));
        near(kernel.speedup, outcome.speedup);
        assert!(!kernel.pays_in_speedup.unwrap().contains(100.0));
        assert!(kernel.pays_in_speedup.unwrap().contains(400.0));
        // The accelerator needs 454.5 cycles for 100 B, and four times that for 400 B. By Pollaczek
        // and Khinchine, 2 Q (1 - load) is the sum of each size's load times its time.
        let (arrivals, time) = (34.0 * 5e4 / 2e9, 4e8 / 11e6 * 100.0 / 8.0);
        let (many, rare) = (0.6 * arrivals * time, 0.4 * arrivals * 4.0 * time);
        let part = (2.0 * queue * (1.0 - rare) - rare * 4.0 * time) / (many * (time + 2.0 * queue));
        assert!(part > 0.0 && part < 1.0, "{part}");
        near(kernel.lucrative_share, 0.4 + 0.6 * part);
        near(kernel.utilisation.unwrap(), rare + many * part);

        // Even 400 B alone would overload it.
        let outcome = two_sizes(80.0, name).evaluate().unwrap();
        let kernel = &outcome.kernels[0];
        let queue = 400.0 * saved - 500.0;
        near(kernel.queue.0, queue);
        near(outcome.speedup, 1.0);
        // rho / (1 - rho) of half a time of 1,818.2 cycles.
        let waits = 2.0 * queue / (4.0 * time);
        let busy = waits / (1.0 + waits);
        near(kernel.utilisation.unwrap(), busy);
        near(kernel.offloaded_share, busy * 8.0 / 80.0);
        near(
            kernel.lucrative_share,
            0.4 * busy / (80.0 * 2e4 / 2e9 * 4.0 * time),
        );
    }
}

/// A share of 15 % and 9,000 offloads a second with an A of 20, and a rider with next to no share.
fn carrier_and_rider(hosts: f64) -> Scenario {
    let mut scenario = shared(hosts, Selection::All);
    let carrier = &mut scenario.kernels[0];
    (carrier.share, carrier.offloads) = (0.15, OffloadsPerSecond(9e3));
    (carrier.acceleration, carrier.sizes) = (Some(20.0), None);
    let rider = Kernel {
        name: "encryption".to_owned(),
        share: 1e-9,
        transfer: Transfer::default(),
        queue: Queueing::Mean(MeanCycles(0.0)),
        rides_on: Some(carrier.name.clone()),
        ..carrier.clone()
    };
    scenario.kernels.push(rider);
    scenario
}

/// M/M/1 waits rho / (1 - rho) of the accelerator's time.
fn exponential_wait(busy: f64, time: f64) -> f64 {
    busy / (1.0 - busy) * time
}

#[test]
fn an_offload_takes_as_long_as_all_kernels_that_share_it() {
    let mut scenario = carrier_and_rider(18.0);
    scenario.kernels[1].share = 0.06;
    scenario.kernels[1].acceleration = Some(5.0);
    let outcome = scenario.evaluate().unwrap();
    // 0.15 / 20 and 0.06 / 5 of 2e9 cycles, in 9,000 offloads.
    let busy = 18.0 * (0.0075 + 0.012);
    near(outcome.kernels[0].utilisation.unwrap(), busy);
    let time = 0.0195 * 2e9 / 9e3;
    near(outcome.kernels[0].queue.0, exponential_wait(busy, time));
    // A rider waits for nothing itself.
    assert_eq!(outcome.kernels[1].queue.0, 0.0);
    assert_eq!(outcome.kernels[1].utilisation, None);
    // A shared queue counts it as well.
    if let Queueing::Station { shared, .. } = &mut scenario.kernels[0].queue {
        *shared = Some("device".to_owned());
    }
    let shared = scenario.evaluate().unwrap();
    near(shared.kernels[0].queue.0, exponential_wait(busy, time));
    near(shared.speedup, outcome.speedup);
}

/// Half of all offloads are half of the work, for the rider as well.
#[test]
fn a_carrier_and_its_riders_count_only_the_offloads_that_go() {
    let mut scenario = carrier_and_rider(18.0);
    for kernel in &mut scenario.kernels {
        kernel.selection = Selection::OutOf(OffloadsPerSecond(18e3));
    }
    let time = 0.075 / 20.0 * 2e9 / 9e3;
    let found = scenario.evaluate().unwrap().kernels[0].clone();
    assert!((found.utilisation.unwrap() - 0.0675).abs() < 1e-7);
    assert!((found.queue.0 / exponential_wait(0.0675, time) - 1.0).abs() < 1e-6);
    scenario.kernels[1].share = 0.15;
    let found = scenario.evaluate().unwrap().kernels[0].clone();
    near(found.utilisation.unwrap(), 0.135);
    near(found.queue.0, exponential_wait(0.135, 2.0 * time));
}

/// The time of an offload varies with A, with or without a rider.
#[test]
fn a_carriers_time_follows_its_inputs() {
    let range = Uncertain {
        kernel: 0,
        field: Field::Acceleration,
        distribution: Distribution::Uniform {
            min: 4.0,
            max: 36.0,
        },
    };
    let both = carrier_and_rider(18.0);
    let mut alone = both.clone();
    alone.kernels.truncate(1);
    let low = |scenario: &Scenario| {
        let swings = tornado(scenario, &[range], 0.1);
        let swing = swings.iter().find(|s| s.field == Field::Acceleration);
        swing.unwrap().low.1.unwrap()
    };
    // At A = 4 the accelerator is busy for 18 x 0.15 / 4 of the time.
    let queue = exponential_wait(0.675, 0.0375 * 2e9 / 9e3);
    let expected = 1.0 / (0.85 + 0.0375 + 9e3 * (500.0 + queue) / 2e9);
    near(low(&alone), expected);
    assert!((low(&both) / expected - 1.0).abs() < 1e-6);
}

/// Without the rider's A, the accelerator would seem to do its work in no time.
#[test]
fn a_carriers_queue_needs_the_acceleration_of_its_riders() {
    let mut scenario = carrier_and_rider(18.0);
    let design = Design::new(Threading::AsyncSameThread, Placement::OffChip, None).unwrap();
    for kernel in &mut scenario.kernels {
        kernel.design = design;
    }
    scenario.kernels[1].acceleration = None;
    let carrier = scenario.kernels[0].name.clone();
    assert_eq!(
        scenario.evaluate().unwrap_err().to_string(),
        format!(
            "encryption.acceleration_ratio = missing: must be given, since the service_cycles of {carrier}'s queue are left out and follow from it"
        )
    );
    if let Queueing::Station { service, .. } = &mut scenario.kernels[0].queue {
        *service = Some(MeanCycles(1_000.0));
    }
    assert!(scenario.evaluate().is_ok());
}

#[test]
fn a_rider_needs_a_carrier_and_is_not_selected_by_size() {
    let mut scenario = carrier_and_rider(1.0);
    scenario.kernels[1].rides_on = Some("nothing".to_owned());
    assert_eq!(
        scenario.evaluate().unwrap_err().to_string(),
        "encryption.rides_on = 'nothing': must be the name of another kernel, which itself has no rides_on"
    );
    let mut scenario = carrier_and_rider(1.0);
    scenario.kernels[0].selection = Selection::Lucrative(Scaling::Cycles);
    assert_eq!(
        scenario.evaluate().unwrap_err().to_string(),
        "encryption.selection = lucrative: must be 'all' for a kernel with rides_on and for the kernel named there"
    );
}
