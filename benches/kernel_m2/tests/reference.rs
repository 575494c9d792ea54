//! The kernel reproduces the reference statistics of the model.

use accelflow_bench_kernel_m2::{Engine, Model, Report, Spec};

fn run(engine: Engine, jobs: u64, seed: u64) -> Report {
    let spec = Spec::bundled().expect("the bundled model");
    let mut model = Model::new(&spec, jobs, seed);
    engine.run(&mut model).expect("73 slots");
    model.report()
}

/// The mean of one run of a million jobs has a standard deviation of 0.016 us over seeds, as wide
/// as the reference interval; the mean of four runs is what must lie in it.
#[test]
fn runs_of_a_million_jobs_lie_within_the_reference() {
    let spec = Spec::bundled().expect("the bundled model");
    let reports = [1, 2, 3, 4].map(|seed| run(Engine::SlotQueue, spec.reference.jobs, seed));
    for report in &reports {
        assert_eq!((report.jobs as u64, report.lost), (spec.reference.jobs, 0));
        assert!(
            (report.visits_per_job - spec.visits_per_job).abs() < 0.01,
            "{report:?}"
        );
    }
    let average = |statistic: fn(&Report) -> f64| reports.iter().map(statistic).sum::<f64>() / 4.0;
    for (what, value, [low, high]) in [
        (
            "mean",
            average(|report| report.mean_us),
            spec.reference.mean_us,
        ),
        (
            "median",
            average(|report| report.p50_us),
            spec.reference.p50_us,
        ),
        (
            "99th percentile",
            average(|report| report.p99_us),
            spec.reference.p99_us,
        ),
    ] {
        assert!((low..=high).contains(&value), "{what}: {value} us");
    }
}

/// The arrivals and paths are those of the seed, so engines may differ only in the order of
/// simultaneous events, which is rare and moves a mean by little.
#[test]
fn the_engines_simulate_the_same_system() {
    let [ours, calendar, simrs] = Engine::ALL.map(|engine| run(engine, 50_000, 7));
    for other in [calendar, simrs] {
        assert_eq!((other.jobs, other.lost), (50_000, 0));
        assert_eq!(other.visits_per_job, ours.visits_per_job);
        assert!(
            (other.mean_us / ours.mean_us - 1.0).abs() < 1e-3,
            "{ours:?} {other:?}"
        );
    }
}

#[test]
fn no_jobs_make_an_empty_report() {
    let report = run(Engine::SlotQueue, 0, 1);
    assert_eq!((report.jobs, report.mean_us), (0, 0.0));
}
