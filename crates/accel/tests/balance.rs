//! The policies of the load balancer.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_accel::balance::{
    Affinity, BalancingPolicy, CoreLoads, Ldb, LeastLoaded, RoundRobin,
};
use accelflow_accel::{Accelerator, Job};
use proptest::prelude::*;

#[test]
fn round_robin_takes_turns() {
    let mut policy = RoundRobin::default();
    let picks: Vec<_> = (0..5)
        .map(|_| policy.pick(0, &[9, 0, 0]).unwrap())
        .collect();
    assert_eq!(picks, [0, 1, 2, 0, 1]);
    assert_eq!(policy.pick(0, &[0]), Some(0), "cores may go away");
}

#[test]
fn least_loaded_takes_the_first_of_the_smallest() {
    assert_eq!(LeastLoaded.pick(0, &[3, 1, 2, 1]), Some(1));
}

#[test]
fn affinity_keeps_a_key_on_its_core_until_that_is_overloaded() {
    let mut policy = Affinity::default();
    let idle = [0; 8];
    let home = policy.pick(7, &idle).unwrap();
    assert_eq!(policy.pick(7, &idle), Some(home));
    let mut loads = [1; 8];
    assert_eq!(
        policy.pick(7, &loads),
        Some(home),
        "one above the mean is within 1.25 times it"
    );
    loads[home] = 20;
    assert_eq!(
        policy.pick(7, &loads),
        Some((home + 1) % 8),
        "the next core takes over"
    );
    let used: std::collections::HashSet<_> = (0..200).map(|key| policy.pick(key, &idle)).collect();
    assert_eq!(used.len(), 8, "consecutive keys spread over all cores");
}

proptest! {
    #[test]
    fn affinity_bounds_the_load(keys in proptest::collection::vec(0u64..4, 1..500), cores in 1usize..20) {
        let (mut policy, mut loads) = (Affinity::new(1.25), vec![0u32; cores]);
        for key in keys {
            let core = policy.pick(key, &loads).unwrap();
            loads[core] += 1;
            let total: u32 = loads.iter().sum();
            let bound = (1.25 * f64::from(total) / cores as f64).ceil();
            prop_assert!(f64::from(loads[core]) <= bound);
        }
    }

    #[test]
    fn picks_exist(key: u64, loads in proptest::collection::vec(any::<u32>(), 0..40)) {
        let policies: [Box<dyn BalancingPolicy>; 3] = [
            Box::new(RoundRobin::default()),
            Box::new(LeastLoaded),
            Box::new(Affinity::default()),
        ];
        for mut policy in policies {
            match policy.pick(key, &loads) {
                Some(core) => prop_assert!(core < loads.len()),
                None => prop_assert!(loads.is_empty()),
            }
        }
    }
}

#[test]
fn the_accelerator_sets_the_core_alone() {
    let loads = CoreLoads::idle(3);
    loads.set(0, 5);
    loads.set(1, 4);
    loads.set(99, 1);
    let mut ldb = Ldb::new(Box::new(LeastLoaded), loads);
    let mut job = Job {
        bytes: b"kept".to_vec(),
        ..Job::default()
    };
    ldb.run(&mut job).unwrap();
    assert_eq!((job.core, &job.bytes[..]), (Some(2), &b"kept"[..]));
    let error = Ldb::new(Box::new(LeastLoaded), CoreLoads::idle(0))
        .run(&mut job)
        .unwrap_err();
    assert_eq!(error.reason(), "no_core");
}
