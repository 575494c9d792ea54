//! The worked example of CONTRIBUTING.md: a load-balancing policy of one's own.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

// quoted: begin
use accelflow_accel::balance::{BalancingPolicy, CoreLoads};
use accelflow_accel::{AccelError, Ensemble, Settings};

/// The less loaded of two cores that a hash picks (power of two choices).
#[derive(Default)]
struct TwoChoices {
    calls: u64,
}

impl BalancingPolicy for TwoChoices {
    fn name(&self) -> &'static str {
        "two_choices"
    }

    fn pick(&mut self, _key: u64, loads: &[u32]) -> Option<usize> {
        // Deterministic: nothing but the arguments and the calls before.
        self.calls += 1;
        let hash = self.calls.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let cores = u64::try_from(loads.len()).ok()?;
        let one = (hash >> 32).checked_rem(cores)? as usize;
        let other = (hash & 0xffff_ffff).checked_rem(cores)? as usize;
        Some(if loads[other] < loads[one] {
            other
        } else {
            one
        })
    }
}

fn ensemble_with_two_choices(loads: CoreLoads) -> Result<Ensemble, AccelError> {
    Ensemble::software(&Settings::default(), Box::new(TwoChoices::default()), loads)
}
// quoted: end

use accelflow_accel::Job;
use accelflow_trace::Accel;

#[test]
fn it_keeps_the_contract_of_policies() {
    let mut policy = TwoChoices::default();
    assert_eq!(policy.pick(0, &[]), None);
    for cores in 1..40 {
        assert!(policy.pick(0, &vec![0; cores]).unwrap() < cores);
    }
    let picks = || {
        let mut policy = TwoChoices::default();
        (0..50)
            .map(move |_| policy.pick(0, &[0; 36]))
            .collect::<Vec<_>>()
    };
    assert_eq!(picks(), picks());
}

#[test]
fn ldb_balances_with_it() {
    let loads = CoreLoads::idle(8);
    let mut ensemble = ensemble_with_two_choices(loads.clone()).unwrap();
    let mut given = [0; 8];
    for _ in 0..800 {
        let mut job = Job::default();
        ensemble.run(Accel::Ldb, &mut job).unwrap();
        let core = job.core.unwrap();
        given[core] += 1;
        loads.set(core, given[core]);
    }
    assert!(
        given.iter().all(|load| (95..=105).contains(load)),
        "{given:?}"
    );
}
