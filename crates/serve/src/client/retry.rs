//! The pauses between attempts of a call, and the budget of a client's retries.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::config::RetryPolicy;
use super::error::{CallError, Executed};

/// The retry budget of a client and its source of jitter.
pub(super) struct Retries {
    policy: RetryPolicy,
    state: Mutex<State>,
}

struct State {
    budget: f64,
    jitter: Xoshiro256PlusPlus,
}

impl Retries {
    pub(super) fn new(policy: &RetryPolicy) -> Retries {
        Retries {
            policy: policy.clone(),
            state: Mutex::new(State {
                budget: f64::from(policy.budget_reserve),
                jitter: Xoshiro256PlusPlus::seed_from_u64(policy.seed),
            }),
        }
    }

    /// Adds a new call's share to the budget.
    pub(super) fn call(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let reserve = f64::from(self.policy.budget_reserve);
        state.budget = (state.budget + self.policy.budget_ratio).min(reserve);
    }

    /// Returns the pause after attempt number `attempt`, from 1; `None` if it was the last.
    pub(super) fn next(&self, attempt: u32) -> Option<Duration> {
        if attempt >= self.policy.max_attempts {
            return None;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.budget < 1.0 {
            return None;
        }
        state.budget -= 1.0;
        // A uniform number in [0, 1) from 53 bits, the precision of a double.
        let share = (state.jitter.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let doublings = (attempt - 1).min(30);
        let bound = self.policy.base_delay.saturating_mul(1 << doublings);
        Some(bound.min(self.policy.max_delay).mul_f64(share))
    }
}

/// What the failed attempts of a call leave unknown.
#[derive(Default)]
pub(super) struct Earlier(Option<CallError>);

impl Earlier {
    /// Takes the error of an attempt that is followed by another one.
    pub(super) fn add(&mut self, error: CallError) {
        if error.executed() != Executed::No {
            self.0 = Some(error);
        }
    }

    /// Returns the error of the whole call, whose last attempt ended with `last`.
    pub(super) fn and(self, last: CallError) -> CallError {
        match self.0 {
            Some(earlier) if last.executed() == Executed::No => CallError::Repeated {
                last: Box::new(last),
                earlier: Box::new(earlier),
            },
            _ => last,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_are_those_of_the_seed() {
        let policy = RetryPolicy {
            max_attempts: 12,
            budget_reserve: 1_000,
            ..RetryPolicy::default()
        };
        let pauses = |seed| {
            let retries = Retries::new(&RetryPolicy {
                seed,
                ..policy.clone()
            });
            let pauses: Vec<_> = (0..50)
                .flat_map(|_| (1..12).map(|attempt| (attempt, retries.next(attempt))))
                .collect();
            pauses
        };
        assert_eq!(pauses(1), pauses(1));
        assert_ne!(pauses(1), pauses(2));
        for (attempt, pause) in pauses(3) {
            let bound = Duration::from_millis(10 << (attempt - 1)).min(policy.max_delay);
            assert!(
                pause.is_some_and(|pause| pause < bound),
                "{attempt}: {pause:?}"
            );
        }
    }

    #[test]
    fn the_budget_bounds_retries_to_a_share_of_calls() {
        let retries = Retries::new(&RetryPolicy::default());
        let mut retried = 0;
        for _ in 0..1_000 {
            retries.call();
            retried += u32::from(retries.next(1).is_some());
        }
        // The reserve, and one for each ten calls.
        assert!((105..=111).contains(&retried), "{retried}");
        assert_eq!(retries.next(3), None);
    }
}
