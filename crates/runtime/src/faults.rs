//! Injected faults of accelerators.
//!
//! A fault wraps the body of an accelerator and makes chosen steps fail, panic or take longer. All
//! other steps run normally. The choice depends only on the step's number, counted over all
//! ensembles that share the faults, so a run can be repeated.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use accelflow_accel::{AccelError, Accelerator, Ensemble, Job};
use accelflow_trace::Accel;

/// What an injected fault does to a call of an accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The call fails like a broken device (`device_failed`). The message is unchanged.
    Fail,
    /// The accelerator's code panics before it has done anything.
    Panic,
    /// The call is delayed by this time, and then runs.
    Delay(Duration),
}

/// Which calls of an accelerator an injected fault affects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FaultWhen {
    /// Only the call with this number, counted from 1.
    Nth(u64),
    /// A share of all calls, drawn by the call's number and the seed.
    Share {
        /// The share of calls, from 0 to 1.
        ratio: f64,
        /// The seed of the draw. Equal seeds choose equal calls.
        seed: u64,
    },
}

/// A fault that is injected into one accelerator, for tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// The accelerator that fails.
    pub accel: Accel,
    /// The calls of the accelerator that fail.
    pub when: FaultWhen,
    /// What happens to these calls.
    pub kind: FaultKind,
}

/// The error of a fault whose settings are out of range.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum FaultError {
    /// A share outside 0 to 1.
    #[error("fault of {accel}: share = {ratio}: must be from 0 to 1")]
    Share {
        /// The accelerator that fails.
        accel: Accel,
        /// The share as given.
        ratio: f64,
    },
    /// A step number of 0. Steps are counted from 1.
    #[error("fault of {accel}: step 0: must be 1 or more")]
    Nth {
        /// The accelerator that fails.
        accel: Accel,
    },
}

/// Injected faults and their counters of calls, which ensembles share.
#[derive(Clone, Debug, Default)]
pub struct Faults(Arc<[Armed]>);

#[derive(Debug)]
struct Armed {
    fault: Fault,
    steps: AtomicU64,
}

impl Faults {
    /// Whether there are no injected faults.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Creates faults that apply in this order. Several faults can affect a call. One that fails or
    /// panics ends the call, and later faults of that accelerator do not count it.
    ///
    /// # Errors
    /// [`FaultError`] for a share outside 0 to 1, and for the step number 0.
    pub fn new(faults: &[Fault]) -> Result<Faults, FaultError> {
        for fault in faults {
            let accel = fault.accel;
            match fault.when {
                FaultWhen::Nth(0) => return Err(FaultError::Nth { accel }),
                FaultWhen::Share { ratio, .. } if !(0.0..=1.0).contains(&ratio) => {
                    return Err(FaultError::Share { accel, ratio });
                }
                _ => {}
            }
        }
        let armed = |fault: &Fault| Armed {
            fault: *fault,
            steps: AtomicU64::new(0),
        };
        Ok(Faults(faults.iter().map(armed).collect()))
    }

    /// Injects the faults into the accelerators of `ensemble`.
    #[must_use]
    pub fn around(&self, ensemble: Ensemble) -> Ensemble {
        ensemble.wrapped(|body| {
            let kind = body.kind();
            match self.0.iter().any(|armed| armed.fault.accel == kind) {
                true => Box::new(Faulty {
                    faults: self.clone(),
                    body,
                }),
                false => body,
            }
        })
    }
}

impl Armed {
    /// Whether the next step is affected.
    fn strikes(&self) -> bool {
        let number = self.steps.fetch_add(1, Ordering::Relaxed) + 1;
        match self.fault.when {
            FaultWhen::Nth(wanted) => number == wanted,
            FaultWhen::Share { ratio, seed } => {
                // 53 bits, as many as a float of 64 has.
                let drawn = mix(seed ^ mix(number)) >> 11;
                (drawn as f64) < ratio * 2f64.powi(53)
            }
        }
    }
}

/// The finalizer of SplitMix64.
fn mix(key: u64) -> u64 {
    let key = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let key = (key ^ (key >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    key ^ (key >> 31)
}

/// A body with faults around it.
struct Faulty {
    faults: Faults,
    body: Box<dyn Accelerator>,
}

impl Accelerator for Faulty {
    fn kind(&self) -> Accel {
        self.body.kind()
    }

    fn forget(&mut self) {
        self.body.forget();
    }

    fn run(&mut self, job: &mut Job) -> Result<(), AccelError> {
        let kind = self.kind();
        for armed in self
            .faults
            .0
            .iter()
            .filter(|armed| armed.fault.accel == kind)
        {
            if !armed.strikes() {
                continue;
            }
            match armed.fault.kind {
                FaultKind::Fail => {
                    let why = "injected fault".to_owned();
                    return Err(AccelError::Device { why });
                }
                FaultKind::Panic => panic!("injected fault in {kind}"),
                FaultKind::Delay(time) => thread::sleep(time),
            }
        }
        self.body.run(job)
    }
}
