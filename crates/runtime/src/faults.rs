//! Faults that are injected into accelerators, for tests.
//!
//! A fault wraps the body of an accelerator and makes chosen calls fail, panic or take longer. All
//! other calls run normally. The choice depends only on the fault's settings and the call's number,
//! counted over all ensembles that share the faults. So a run with faults can be repeated.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use accelflow_accel::{AccelError, Accelerator, Ensemble, Job};
use accelflow_trace::Accel;

/// What an injected fault does to a call of an accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The call fails with the error of a broken device (`device_failed`). The message that the
    /// accelerator should process is unchanged.
    Fail,
    /// The accelerator's code panics before it has done anything.
    Panic,
    /// The call is delayed by this time, and then runs normally.
    Delay(Duration),
}

/// Which calls of an accelerator an injected fault affects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FaultWhen {
    /// Only one call: the one with this number, counted from 1.
    Nth(u64),
    /// A random share of all calls. The number of a call and the seed decide whether it is
    /// affected.
    Share {
        /// The share of calls that the fault affects, from 0 to 1.
        ratio: f64,
        /// The seed of the random choice. Equal seeds choose the same calls.
        seed: u64,
    },
}

/// A fault that is injected into calls of one accelerator, for tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// The accelerator into which the fault is injected, one of the nine. A fault in a custom
    /// accelerator has no effect.
    pub accel: Accel,
    /// The calls that the fault affects.
    pub when: FaultWhen,
    /// What the fault does to the calls that it affects.
    pub kind: FaultKind,
}

/// The error of a fault whose settings are out of range.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum FaultError {
    /// The share of affected calls is outside 0 to 1.
    #[error("fault of {accel}: share = {ratio}: must be from 0 to 1")]
    Share {
        /// The accelerator into which the fault was to be injected.
        accel: Accel,
        /// The refused share.
        ratio: f64,
    },
    /// The number of the affected call is 0, but calls are counted from 1.
    #[error("fault of {accel}: step = 0: must be at least 1")]
    Nth {
        /// The accelerator into which the fault was to be injected.
        accel: Accel,
    },
}

/// A list of faults to inject into accelerators, for tests. Each fault counts its accelerator's
/// calls to choose those that it affects. Several sets of accelerators can share the list and its
/// counters.
#[derive(Clone, Debug, Default)]
pub struct Faults(Arc<[Armed]>);

#[derive(Debug)]
struct Armed {
    fault: Fault,
    steps: AtomicU64,
}

impl Faults {
    /// Whether the list has no faults.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Creates the list of `faults`. They apply in this order to each call of an accelerator, and
    /// several can affect one call. If a fault makes a call fail or panic, the later faults neither
    /// affect nor count this call.
    ///
    /// # Errors
    /// [`FaultError`] for a share outside 0 to 1, and for the call number 0.
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

    /// Returns the accelerators of `ensemble` with the faults of this list injected into them.
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
