//! Injected faults strike the steps that they are meant for and no others.

use std::time::{Duration, Instant};

use accelflow_accel::Ensemble;
use accelflow_runtime::{Executor, Fault, FaultError, FaultKind, FaultWhen, Faults, Message, demo};
use accelflow_trace::{Accel, Image, templates};

fn image() -> Image {
    templates().expect("templates").link().expect("links")
}

fn executor(faults: &Faults) -> Executor {
    let ensemble = Ensemble::with_cores(2).expect("bodies");
    Executor::new(image(), faults.around(ensemble))
}

/// Whether each of so many runs of T1 came to its end, or why not.
fn runs(executor: &mut Executor, count: usize) -> Vec<&'static str> {
    let packets = demo::request("ComposePost", 1, 0, true).expect("known");
    let message = Message::received(&packets);
    let mut run = || demo::run_trace_as(executor, "T1", &message, Default::default());
    (0..count)
        .map(|_| run().map_or_else(|failure| failure.error.reason, |_| "done"))
        .collect()
}

fn fault(accel: Accel, when: FaultWhen, kind: FaultKind) -> Fault {
    Fault { accel, when, kind }
}

#[test]
fn the_nth_step_fails_wherever_it_is_run() {
    let faults = Faults::new(&[
        fault(Accel::Rpc, FaultWhen::Nth(2), FaultKind::Fail),
        fault(Accel::Dser, FaultWhen::Nth(3), FaultKind::Panic),
    ]);
    let faults = faults.expect("good");
    let (mut one, mut other) = (executor(&faults), executor(&faults));
    assert_eq!(runs(&mut one, 1), ["done"]);
    // Dser is not reached by the run that fails at RPC: its third step is that of the fourth run.
    assert_eq!(runs(&mut other, 2), ["device_failed", "done"]);
    assert_eq!(runs(&mut one, 3), ["panic", "done", "done"]);
}

#[test]
fn a_share_of_steps_fails_and_equal_seeds_choose_equal_steps() {
    let chosen = |ratio, seed| {
        let when = FaultWhen::Share { ratio, seed };
        let faults = Faults::new(&[fault(Accel::Ldb, when, FaultKind::Fail)]);
        runs(&mut executor(&faults.expect("good")), 400)
    };
    let first = chosen(0.25, 7);
    assert_eq!(first, chosen(0.25, 7));
    assert_ne!(first, chosen(0.25, 8));
    let failed = first
        .iter()
        .filter(|reason| **reason == "device_failed")
        .count();
    // Five standard deviations around a hundred.
    assert!((57..=143).contains(&failed), "{failed}");
    assert!(chosen(0.0, 7).iter().all(|reason| *reason == "done"));
    assert!(
        chosen(1.0, 7)
            .iter()
            .all(|reason| *reason == "device_failed")
    );
}

#[test]
fn a_delayed_step_is_done_later() {
    let time = Duration::from_millis(30);
    let delay = fault(Accel::Tcp, FaultWhen::Nth(1), FaultKind::Delay(time));
    let faults = Faults::new(&[delay]).expect("good");
    let start = Instant::now();
    assert_eq!(runs(&mut executor(&faults), 1), ["done"]);
    assert!(start.elapsed() >= time);
}

#[test]
fn faults_that_cannot_be_are_refused() {
    let share = |ratio| {
        let when = FaultWhen::Share { ratio, seed: 1 };
        Faults::new(&[fault(Accel::Encr, when, FaultKind::Fail)]).map(drop)
    };
    let refused = share(1.5).expect_err("more than all");
    assert_eq!(
        refused.to_string(),
        "fault of Encr: share = 1.5: must be from 0 to 1"
    );
    assert!(share(f64::NAN).is_err());
    let zero = Faults::new(&[fault(Accel::Encr, FaultWhen::Nth(0), FaultKind::Fail)]);
    assert_eq!(zero.map(drop), Err(FaultError::Nth { accel: Accel::Encr }));
}
