//! The policies of the load balancer.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_accel::balance::{
    Affinity, BalancingPolicy, CoreLoads, FunctionMap, Ldb, LeastLoaded, RoundRobin,
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

#[test]
fn a_function_goes_to_the_core_that_has_just_run_it() {
    let idle = [0; 4];
    let mut map = FunctionMap::default();
    // Cores take turns with functions that none has run.
    let first: Vec<_> = (0..4).map(|key| map.pick(key, &idle).unwrap()).collect();
    assert_eq!(first, [0, 1, 2, 3]);
    for key in [2, 0, 3, 1, 1, 2] {
        assert_eq!(map.pick(key, &idle), Some(key as usize), "it stays there");
    }
    // A fifth function displaces the one of the core that gets it, and no other.
    let mut shared = map.clone();
    let core = shared.pick(9, &idle).unwrap();
    assert_eq!(map.pick(9, &idle), Some(core), "clones share the table");
    let displaced = core as u64;
    assert_ne!(map.pick(displaced, &idle), Some(core));
}

#[test]
fn of_the_cores_that_have_run_a_function_the_least_loaded_takes_it() {
    let mut map = FunctionMap::default();
    // A busy core leaves the function to another, so that two have run it.
    assert_eq!(map.pick(5, &[0, 0, 0]), Some(0));
    assert_eq!(map.pick(5, &[9, 0, 1]), Some(1));
    assert_eq!(map.pick(5, &[1, 2, 1]), Some(0));
    assert_eq!(
        map.pick(5, &[2, 1, 1]),
        Some(1),
        "not 2, which has not run it"
    );
    // Both have too much to do.
    assert_eq!(map.pick(5, &[9, 9, 0]), Some(2));
}

#[test]
fn a_deeper_map_remembers_more_functions() {
    let idle = [0; 2];
    let run = |depth: usize| {
        let mut map = FunctionMap::new(depth);
        let mut cores = [0, 1, 2, 3]
            .map(|key| map.pick(key, &idle).unwrap())
            .to_vec();
        let mut moved = 0;
        for round in 0..40 {
            let key = round % 4;
            let core = map.pick(key as u64, &idle).unwrap();
            moved += usize::from(std::mem::replace(&mut cores[key], core) != core);
        }
        moved
    };
    assert_eq!(run(2), 0, "two functions for each of two cores");
    assert_eq!(run(0), run(1));
}

proptest! {
    #[test]
    fn a_function_map_bounds_the_load(keys in proptest::collection::vec(0u64..4, 1..500), cores in 1usize..20) {
        let (mut policy, mut loads) = (FunctionMap::default(), vec![0u32; cores]);
        for key in keys {
            let core = policy.pick(key, &loads).unwrap();
            loads[core] += 1;
            let total: u32 = loads.iter().sum();
            let bound = (1.25 * f64::from(total) / cores as f64).ceil();
            prop_assert!(f64::from(loads[core]) <= bound);
        }
    }

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
        let policies: [Box<dyn BalancingPolicy>; 4] = [
            Box::new(RoundRobin::default()),
            Box::new(LeastLoaded),
            Box::new(Affinity::default()),
            Box::new(FunctionMap::default()),
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
