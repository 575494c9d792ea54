//! The queues of simulated offloads against the closed form's: service times, and what is
//! offloaded.

use accelflow_model::accelerometer::simulation::{Offered, Run, Spread};
use accelflow_model::accelerometer::{
    Design, Interpolation, Kernel, MeanCycles, OffloadsPerSecond, Placement, Scaling, Selection,
    SizeCdf, Threading,
};

use super::simulation::{RUN, kernel, queue, run, service};

/// The closed form's wait in the queue and utilisation, at `load` of what a host can do.
fn closed(kernel: &Kernel, load: f64) -> (f64, f64) {
    let kernel = Kernel {
        share: kernel.share * load,
        offloads: OffloadsPerSecond(kernel.offloads.0 * load),
        ..kernel.clone()
    };
    let outcome = service(&[kernel]).evaluate().expect("an outcome");
    let found = &outcome.kernels[0];
    (found.queue.0, found.utilisation.expect("a queue"))
}

/// The accelerator's times have the mean and the variation that the closed form has, where they are
/// given instead of following from the host's.
#[test]
fn given_service_times_are_those_of_the_closed_form() {
    let load = 0.03;
    let sizes = SizeCdf::new(vec![(100.0, 0.9), (10_000.0, 1.0)], Interpolation::Step);
    let sized = Kernel {
        // With this, 100 B (1,835 cycles on the host) do not pay.
        setup: MeanCycles(3_000.0),
        sizes: Some(sizes.expect("a distribution")),
        acceleration: Some(20.0),
        ..kernel(Threading::AsyncSameThread)
    };
    let lucrative = Kernel {
        selection: Selection::Lucrative(Scaling::Cycles),
        ..sized.clone()
    };
    let free = Kernel {
        share: 0.0,
        ..kernel(Threading::AsyncSameThread)
    };
    let given = |kernel: &Kernel, service: Option<f64>, scv: Option<f64>| Kernel {
        queue: queue(1_000.0, service, scv),
        ..kernel.clone()
    };
    for (name, kernel) in [
        ("constant", given(&sized, Some(1_000.0), Some(0.0))),
        ("exponential", given(&sized, Some(1_000.0), Some(1.0))),
        ("of sizes that pay", given(&lucrative, Some(10_000.0), None)),
        ("with their mean", given(&lucrative, None, Some(1.0))),
        (
            "of a kernel without time",
            given(&free, Some(1_000.0), None),
        ),
    ] {
        let with = Run {
            kernels_per_request: 1,
            own_work: Spread::Exponential,
            kernel_work: Spread::Exponential,
            offered: Offered::Load(load),
            requests: 300_000,
            ..RUN
        };
        let found = run(&kernel, with);
        let (wait, used) = closed(&kernel, load);
        assert!(
            (found.utilisation.unwrap() / used - 1.0).abs() < 0.03,
            "{name}: {found:?} {used}"
        );
        assert!(
            (found.mean_queue_cycles / wait - 1.0).abs() < 0.1,
            "{name}: {found:?} {wait}"
        );
    }
}

/// Offloads of one size all stop paying at the same wait: a part of them goes, as at this load.
#[test]
fn a_part_of_the_size_that_pays_nothing_is_offloaded() {
    let of_hosts = |hosts| Kernel {
        share: 0.15,
        offloads: OffloadsPerSecond(6_500.0),
        setup: MeanCycles(0.0),
        acceleration: Some(27.0),
        sizes: Some(SizeCdf::new(vec![(4_096.0, 1.0)], Interpolation::Step).expect("one size")),
        selection: Selection::Lucrative(Scaling::Cycles),
        queue: queue(hosts, None, Some(1.0)),
        ..kernel(Threading::Sync)
    };
    // All offloads would use the accelerator for 0.5, 0.9 or all of its time.
    for (hosts, load) in [(180.0, 0.5), (180.0, 0.9), (225.0, 0.8)] {
        let kernel = of_hosts(hosts);
        let with = Run {
            kernels_per_request: 1,
            own_work: Spread::Exponential,
            offered: Offered::Load(load),
            requests: 60_000,
            ..RUN
        };
        let (_, used) = closed(&kernel, load);
        let found = run(&kernel, with);
        assert!(
            (found.utilisation.unwrap() / used - 1.0).abs() < 0.03,
            "{load}: {found:?} {used}"
        );
    }
    let (_, used) = closed(&of_hosts(180.0), 1.0);
    let found = run(&of_hosts(180.0), RUN);
    assert!(
        used > 0.9 && found.utilisation.unwrap() > 0.9,
        "{found:?} {used}"
    );
}

/// Beyond full load the accelerator is overloaded, but its wait does not decide what pays.
#[test]
fn sizes_that_pay_are_known_with_an_overloaded_accelerator() {
    let design = Design::new(Threading::AsyncNoResponse, Placement::Remote, None);
    let sizes = SizeCdf::new(vec![(100.0, 0.5), (4_096.0, 1.0)], Interpolation::Step);
    let kernel = Kernel {
        design: design.expect("a design"),
        setup: MeanCycles(3_000.0),
        sizes: Some(sizes.expect("a distribution")),
        selection: Selection::Lucrative(Scaling::Cycles),
        // The larger half is offloaded: 0.8 of the accelerator's time at a load of 1.
        queue: queue(1.0, Some(80_000.0), Some(0.0)),
        ..kernel(Threading::AsyncNoResponse)
    };
    assert!((closed(&kernel, 1.0).1 - 0.8).abs() < 1e-9);
    let with = Run {
        offered: Offered::Load(1.5),
        ..RUN
    };
    assert!(run(&kernel, with).utilisation.unwrap() > 0.9);
}
