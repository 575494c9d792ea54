//! The simulation of offloads against what must hold of it.

use accelflow_model::accelerometer::simulation::{Measured, Offered, Run, Spread, simulate};
use accelflow_model::accelerometer::{
    Approximation, CyclesPerSecond, Design, HostCost, Interpolation, Kernel, MeanCycles,
    OffloadsPerSecond, Placement, Queueing, Scenario, Selection, SizeCdf, Threading, Transfer,
};
use proptest::prelude::*;

const HOST: CyclesPerSecond = CyclesPerSecond(1e9);

/// alpha 0.4, A 4, 20,000 cycles of kernel an offload: every term has a value of its own.
pub(super) fn kernel(threading: Threading) -> Kernel {
    Kernel {
        name: "kernel".to_owned(),
        design: Design::new(threading, Placement::OffChip, None).expect("a design"),
        share: 0.4,
        offloads: OffloadsPerSecond(20_000.0),
        setup: MeanCycles(500.0),
        transfer: Transfer {
            fixed: MeanCycles(1_000.0),
            per_byte: MeanCycles(0.0),
        },
        thread_switch: MeanCycles(750.0),
        acceleration: Some(4.0),
        queue: Queueing::Mean(MeanCycles(250.0)),
        host_cost: HostCost {
            cycles_per_byte: None,
            complexity: 1.0,
        },
        sizes: None,
        selection: Selection::All,
        rides_on: None,
    }
}

pub(super) const RUN: Run = Run {
    hosts: 1,
    threads: 8,
    kernels_per_request: 3,
    responses_first: false,
    own_work: Spread::Constant,
    kernel_work: Spread::Constant,
    offered: Offered::Saturated,
    offloading: true,
    requests: 8_000,
    seed: 1,
};

pub(super) fn service(kernels: &[Kernel]) -> Scenario {
    Scenario {
        host: HOST,
        kernels: kernels.to_vec(),
    }
}

pub(super) fn run(kernel: &Kernel, run: Run) -> Measured {
    simulate(&service(std::slice::from_ref(kernel)), &run).expect("a run")
}

fn speedup(kernel: &Kernel, with: Run) -> f64 {
    let without = run(
        kernel,
        Run {
            offloading: false,
            ..with
        },
    );
    run(kernel, with).requests_per_cycle / without.requests_per_cycle
}

fn mean_latency(measured: &Measured) -> f64 {
    measured.mean_latency_cycles.expect("known")
}

/// One request at a time: its latency is without waits for cores.
fn latency_reduction(kernel: &Kernel, with: Run) -> f64 {
    let alone = Run { threads: 1, ..with };
    let without = run(
        kernel,
        Run {
            offloading: false,
            ..alone
        },
    );
    mean_latency(&without) / mean_latency(&run(kernel, alone))
}

fn predicted(kernel: &Kernel) -> (f64, f64) {
    let outcome = service(std::slice::from_ref(kernel))
        .evaluate()
        .expect("an outcome");
    (outcome.speedup, outcome.latency_reduction.expect("known"))
}

/// With threads enough and a queue of fixed length every equation holds to the digit.
#[test]
fn equations_hold_where_nothing_waits() {
    for threading in Threading::ALL {
        let kernel = kernel(threading);
        let (faster, sooner) = predicted(&kernel);
        let found = speedup(&kernel, RUN);
        assert!(
            (found / faster - 1.0).abs() < 2e-3,
            "{threading:?}: {found} {faster}"
        );
        // Requests that need no response overlap with the accelerator; equation (8) adds.
        let one = Run {
            kernels_per_request: 1,
            ..RUN
        };
        let with = if threading == Threading::AsyncNoResponse {
            one
        } else {
            RUN
        };
        let found = latency_reduction(&kernel, with);
        if threading != Threading::AsyncNoResponse {
            assert!(
                (found / sooner - 1.0).abs() < 1e-3,
                "{threading:?}: {found} {sooner}"
            );
        } else {
            assert!(
                found >= sooner * (1.0 - 1e-3),
                "{threading:?}: {found} {sooner}"
            );
        }
    }
}

/// Below a switch of accelerator time, the second switch of Sync-OS is in the latency, too.
#[test]
fn fast_accelerator_waits_for_the_switch_away() {
    let mut kernel = kernel(Threading::SyncOs);
    kernel.acceleration = Some(1e9);
    kernel.queue = Queueing::Mean(MeanCycles(0.0));
    let two = Kernel {
        design: kernel.design.with_latency_switches(2).expect("two"),
        ..kernel.clone()
    };
    let found = latency_reduction(&kernel, RUN);
    assert!((found / predicted(&two).1 - 1.0).abs() < 1e-3, "{found}");
    assert!(found < predicted(&kernel).1 * 0.99);
}

/// A core whose only thread waits for the accelerator is as idle as in Sync.
#[test]
fn one_thread_gains_nothing_from_switching() {
    let mut kernel = kernel(Threading::SyncOs);
    kernel.thread_switch = MeanCycles(0.0);
    let alone = speedup(&kernel, Run { threads: 1, ..RUN });
    let sync = speedup(&self::kernel(Threading::Sync), RUN);
    assert!((alone / sync - 1.0).abs() < 1e-6, "{alone} {sync}");
}

/// M/M/1: many hosts at a small load each are Poisson arrivals at the accelerator.
#[test]
fn queue_is_that_of_pollaczek_and_khinchine() {
    let mut kernel = kernel(Threading::AsyncSameThread);
    kernel.queue = Queueing::Station {
        servers: 1,
        hosts: 200.0,
        service: None,
        service_scv: Some(1.0),
        approximation: Approximation::Kimura,
        shared: None,
    };
    // 200 hosts x 20,000 offloads x 5,000 cycles is 20 of the accelerator's time; 3 % of it here.
    let load = 0.03;
    let with = Run {
        kernels_per_request: 1,
        own_work: Spread::Exponential,
        offered: Offered::Load(load),
        requests: 60_000,
        ..RUN
    };
    let found = run(&kernel, with);
    let busy = 200.0 * 20_000.0 * load * 5_000.0 / HOST.0;
    let expected = busy / (1.0 - busy) * 5_000.0;
    assert!(
        (found.utilisation.unwrap() / busy - 1.0).abs() < 0.03,
        "{found:?} {busy}"
    );
    assert!(
        (found.mean_queue_cycles / expected - 1.0).abs() < 0.1,
        "{found:?} {expected}"
    );
}

/// One host for kernels of all designs: their costs add up, as in the closed form of the service.
#[test]
fn kernels_of_one_host_add_up() {
    let share = 0.08;
    let kernels: Vec<Kernel> = (0_u8..)
        .zip(Threading::ALL)
        .map(|(number, threading)| Kernel {
            name: format!("{threading:?}"),
            share,
            offloads: OffloadsPerSecond(2_000.0 * f64::from(number + 1)),
            ..kernel(threading)
        })
        .collect();
    let service = service(&kernels);
    let long = Run {
        kernels_per_request: 1,
        threads: 16,
        requests: 60_000,
        ..RUN
    };
    let throughput = |offloading| {
        let run = Run { offloading, ..long };
        simulate(&service, &run).expect("a run").requests_per_cycle
    };
    let found = throughput(true) / throughput(false);
    let predicted = service.evaluate().expect("an outcome").speedup;
    assert!(
        (found / predicted - 1.0).abs() < 5e-3,
        "{found} {predicted}"
    );
}

/// Many hosts with little load at a shared accelerator: its queue is the closed form's, M/G/1 with
/// the moments of both kernels.
#[test]
fn kernels_that_share_an_accelerator_wait_in_one_queue() {
    let shared = |name: &str, offloads: f64, share: f64| Kernel {
        name: name.to_owned(),
        share,
        offloads: OffloadsPerSecond(offloads),
        queue: Queueing::Station {
            servers: 1,
            hosts: 200.0,
            service: None,
            service_scv: Some(1.0),
            approximation: Approximation::Kimura,
            shared: Some("accelerator".to_owned()),
        },
        ..kernel(Threading::AsyncSameThread)
    };
    // Both use the accelerator for 0.3 of the time at this load, one with 4 times as long offloads.
    let load = 0.05;
    let kernels = [shared("long", 60.0, 0.12), shared("short", 240.0, 0.12)];
    let with = Run {
        kernels_per_request: 1,
        own_work: Spread::Exponential,
        offered: Offered::Load(load),
        requests: 60_000,
        ..RUN
    };
    let found = simulate(&service(&kernels), &with).expect("a run");
    // The closed form's rates are those of a saturated host: here they are `load` of that.
    let rates = kernels.clone().map(|kernel| Kernel {
        share: kernel.share * load,
        offloads: OffloadsPerSecond(kernel.offloads.0 * load),
        ..kernel
    });
    let outcome = service(&rates).evaluate().expect("an outcome");
    let (queue, used) = (outcome.kernels[0].queue.0, outcome.kernels[0].utilisation);
    assert!(
        (found.utilisation.unwrap() / used.unwrap() - 1.0).abs() < 0.03,
        "{found:?} {used:?}"
    );
    assert!(
        (found.mean_queue_cycles / queue - 1.0).abs() < 0.1,
        "{found:?} {queue}"
    );
}

/// One processing element for the offloads of `hosts` hosts.
pub(super) fn queue(hosts: f64, service: Option<f64>, service_scv: Option<f64>) -> Queueing {
    Queueing::Station {
        servers: 1,
        hosts,
        service: service.map(MeanCycles),
        service_scv,
        approximation: Approximation::Kimura,
        shared: None,
    }
}

/// Equations (2), (4) and (7): offloads of one size raise the throughput above the break-even size,
/// and lower it below. The latency has a break-even size of its own.
#[test]
fn sizes_pay_above_the_break_even() {
    const CYCLES_PER_BYTE: f64 = 5.0;
    for threading in Threading::ALL {
        let of_size = |bytes: f64| Kernel {
            // n C_b g is alpha C, as half of the host's cycles are the kernel's.
            share: 0.5,
            offloads: OffloadsPerSecond(0.5 * HOST.0 / (CYCLES_PER_BYTE * bytes)),
            host_cost: HostCost {
                cycles_per_byte: Some(CYCLES_PER_BYTE),
                complexity: 1.0,
            },
            sizes: Some(
                SizeCdf::new(vec![(bytes, 1.0)], Interpolation::Step).expect("a distribution"),
            ),
            ..kernel(threading)
        };
        let outcome = service(&[of_size(1_000.0)]).evaluate().expect("an outcome");
        let pays = outcome.kernels[0].pays_in_speedup.expect("known");
        let sooner = outcome.kernels[0].pays_in_latency.expect("known");
        let one = Run {
            kernels_per_request: 1,
            threads: 16,
            ..RUN
        };
        for (times, gains) in [(0.8, false), (0.95, false), (1.05, true), (1.3, true)] {
            let found = speedup(&of_size(times * pays.from_bytes), one);
            assert_eq!(found > 1.0, gains, "{threading:?}: {times} {found}");
            let found = latency_reduction(&of_size(times * sooner.from_bytes), one);
            assert_eq!(found > 1.0, gains, "{threading:?}: {times} {found}");
        }
    }
}

/// What is left of a request waits for the core once more, unless responses go first.
#[test]
fn responses_that_go_first_end_sooner() {
    let kernel = kernel(Threading::AsyncSameThread);
    let loaded = Run {
        kernels_per_request: 1,
        own_work: Spread::Exponential,
        offered: Offered::Load(0.7),
        requests: 20_000,
        ..RUN
    };
    let in_order = mean_latency(&run(&kernel, loaded));
    let responses_first = Run {
        responses_first: true,
        ..loaded
    };
    let first = mean_latency(&run(&kernel, responses_first));
    assert!(first < 0.9 * in_order, "{first} {in_order}");
}

/// Without A, the simulation knows a latency where the equations do: if no request waits for the
/// accelerator. It also takes the accelerator's time from a queue.
#[test]
fn latencies_that_depend_on_an_unknown_time_are_unknown() {
    let few = Run {
        requests: 100,
        ..RUN
    };
    let known = |kernels: &[Kernel], with: Run| {
        let measured = simulate(&service(kernels), &with).expect("a run");
        let known = measured.mean_latency_cycles.is_some();
        assert_eq!(measured.p99_latency_cycles.is_some(), known);
        known
    };
    for threading in Threading::ALL {
        for placement in [Placement::OffChip, Placement::Remote] {
            let whole = Kernel {
                design: Design::new(threading, placement, None).expect("a design"),
                ..kernel(threading)
            };
            assert!(known(std::slice::from_ref(&whole), few));
            if threading == Threading::Sync {
                continue;
            }
            let without = Kernel {
                acceleration: None,
                ..whole.clone()
            };
            let both = [whole, without];
            let closed = service(&both[1..]).evaluate().expect("an outcome");
            let apart = threading == Threading::AsyncNoResponse && placement == Placement::Remote;
            assert_eq!(closed.latency_reduction.is_some(), apart);
            assert_eq!(known(&both[1..], few), apart, "{threading:?} {placement:?}");
            assert_eq!(known(&both, few), apart, "{threading:?} {placement:?}");
            let on_host = Run {
                offloading: false,
                ..few
            };
            assert!(known(&both, on_host));
            let stated = Kernel {
                queue: queue(1.0, Some(2_000.0), None),
                ..both[1].clone()
            };
            assert!(known(&[stated], few));
        }
    }
}

#[test]
fn runs_that_cannot_be_are_refused() {
    let kernel = kernel(Threading::Sync);
    let queue = |hosts: f64| Kernel {
        share: 0.2,
        queue: Queueing::Station {
            servers: 1,
            hosts,
            service: None,
            service_scv: None,
            approximation: Approximation::Kimura,
            shared: None,
        },
        ..kernel.clone()
    };
    let error = simulate(&service(&[queue(2.0), queue(3.0)]), &RUN).unwrap_err();
    assert_eq!(
        error.to_string(),
        "kernel.queue.hosts = 3: must be 2, as for the other kernels, since a simulation has one \
         number of hosts"
    );
    let hyper = Kernel {
        queue: self::queue(2.0, None, Some(2.0)),
        ..kernel.clone()
    };
    assert_eq!(
        simulate(&service(&[hyper]), &RUN).unwrap_err().to_string(),
        "kernel.queue.service_scv_ratio = 2: must be 0 (constant) or 1 (exponential) for a \
         simulation; for other distributions leave it out and give sizes"
    );
    for (run, message) in [
        (
            Run { threads: 0, ..RUN },
            "threads = 0: must be a whole number from 1 to 1000000 threads",
        ),
        (
            Run {
                offered: Offered::Load(0.0),
                ..RUN
            },
            "load_ratio = 0: must be a number from 1e-12 to 1000000",
        ),
    ] {
        let error = simulate(&service(std::slice::from_ref(&kernel)), &run).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Sync has no other thread that could run: equation (1) holds for all inputs and variations.
    #[test]
    fn sync_is_equation_1(
        share in 0.05..0.9_f64,
        offloads in 1_000.0..50_000.0_f64,
        setup in 0.0..2_000.0_f64,
        transfer in 0.0..5_000.0_f64,
        acceleration in 1.0..50.0_f64,
        seed in 0..1_000_u64,
    ) {
        let mut kernel = kernel(Threading::Sync);
        kernel.share = share;
        kernel.offloads = OffloadsPerSecond(offloads);
        kernel.setup = MeanCycles(setup);
        kernel.transfer.fixed = MeanCycles(transfer);
        kernel.acceleration = Some(acceleration);
        let with = Run { seed, requests: 200, ..RUN };
        let (faster, sooner) = predicted(&kernel);
        prop_assert!((speedup(&kernel, with) / faster - 1.0).abs() < 1e-3);
        prop_assert!((latency_reduction(&kernel, with) / sooner - 1.0).abs() < 1e-3);
    }

    /// Threads only help, and never beyond the equation, which has no end of them.
    #[test]
    fn more_threads_serve_more(threads in 1..16_u32, acceleration in 0.5..20.0_f64) {
        let mut kernel = kernel(Threading::SyncOs);
        kernel.acceleration = Some(acceleration);
        let one = Run { kernels_per_request: 1, ..RUN };
        let few = speedup(&kernel, Run { threads, ..one });
        let more = speedup(&kernel, Run { threads: threads + 1, ..one });
        prop_assert!(more >= few * 0.995, "{few} {more}");
        prop_assert!(more <= predicted(&kernel).0 * 1.01);
    }
}

/// The clock counts 1.8e19 thousandths of a cycle.
#[test]
fn what_the_equations_need_the_simulation_needs_too() {
    let plain = kernel(Threading::Sync);
    let without_acceleration = Kernel {
        acceleration: None,
        ..plain.clone()
    };
    let mut without_sizes = plain;
    without_sizes.transfer.per_byte = MeanCycles(0.1);
    for kernels in [vec![], vec![without_acceleration], vec![without_sizes]] {
        let service = service(&kernels);
        let refused = service.evaluate().expect_err("a refusal");
        assert_eq!(simulate(&service, &RUN).expect_err("a refusal"), refused);
    }
}

#[test]
fn runs_that_outlast_the_clock_are_refused() {
    let refused = |kernels: &[Kernel], with: Run| {
        let error = simulate(&service(kernels), &with).expect_err("a refusal");
        error.to_string()
    };
    let rare = Kernel {
        offloads: OffloadsPerSecond(0.0003),
        ..kernel(Threading::Sync)
    };
    // A request has 3 kernels of 1e9 / 0.0003 cycles, and the clock of 1.8e16 lasts for 2.2 times
    // 8,000 requests, 6 times 8 threads' and 40.
    let saturated = refused(std::slice::from_ref(&rare), RUN);
    assert!(
        saturated.starts_with("kernel.offloads_per_s = 0.0003: must be at least 2.89e-3 for 8000"),
        "{saturated}"
    );
    let poisson = Run {
        offered: Offered::Load(1e-7),
        ..RUN
    };
    // 150,000 cycles a request, and as many requests but for the threads'.
    let idle = refused(&[kernel(Threading::Sync)], poisson);
    assert_eq!(
        idle,
        "load_ratio = 0.0000001: must be at least 1.44e-7 for 8000 requests: the simulated clock \
         ends after 1.8e16 cycles"
    );
    let enough = Run {
        offered: Offered::Load(1.5e-7),
        ..RUN
    };
    let found = run(&kernel(Threading::Sync), enough);
    assert!((found.requests_per_cycle * 1.5e5 / 1.5e-7 - 1.0).abs() < 0.05);
    let several = refused(&[rare.clone(), rare], RUN);
    assert!(
        several.starts_with("offloads_per_s = 0.0006: must be"),
        "{several}"
    );
}

/// A rider has no offload of its own to simulate.
#[test]
fn a_kernel_that_rides_on_another_is_not_simulated() {
    let rider = Kernel {
        name: "rider".to_owned(),
        share: 0.1,
        rides_on: Some("kernel".to_owned()),
        ..kernel(Threading::Sync)
    };
    let both = service(&[kernel(Threading::Sync), rider]);
    assert_eq!(
        simulate(&both, &RUN).expect_err("a refusal").to_string(),
        "rider.rides_on = 'kernel': must be left out for a simulation: add the work of this kernel to that of 'kernel'"
    );
}
