//! The sizes for which an offload saves cycles: equations (2), (4) and (7) of Accelerometer.

use super::design::Coefficients;
use super::quantity::MeanCycles;

/// The largest size considered, 8 EiB: for complexities near 1, turning points can exceed any
/// number.
const LARGEST: f64 = (1_u64 << 63) as f64;

/// The costs of one offload of g bytes, on the host and on the accelerator.
///
/// The host would need `cycles_per_byte` g^`complexity` cycles for the work. Moving the data takes
/// `transfer` cycles for any size, plus `transfer_per_byte` cycles for each byte. An accelerator
/// with a pipelined interface works while data arrive: `transfer_per_byte` is 0. An accelerator
/// that needs all g bytes before it begins has a transfer time in proportion to g: `transfer` is
/// usually 0. The paper uses only the mean transfer time L ("L is independent of g", section 3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offload {
    /// C_b: the host needs C_b g^`complexity` cycles for g bytes; above 0.
    pub cycles_per_byte: f64,
    /// beta: the exponent in C_b g^beta, the host's cycles for g bytes; above 0, and 1 for work
    /// that is linear in the size.
    pub complexity: f64,
    /// o0: the cycles to prepare one offload.
    pub setup: MeanCycles,
    /// The part of L, the cycles to move one offload, that does not depend on the size.
    pub transfer: MeanCycles,
    /// The part of L, the cycles to move one offload, that each byte adds.
    pub transfer_per_byte: MeanCycles,
    /// Q: the cycles that one offload waits in the accelerator's queue.
    pub queue: MeanCycles,
    /// o1: the cycles of one thread switch.
    pub thread_switch: MeanCycles,
    /// A: how many times as fast as the host the accelerator is; infinite for an ideal accelerator.
    pub acceleration: f64,
}

/// The range of sizes in bytes for which an offload saves cycles: above `from_bytes` and below
/// `to_bytes`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lucrative {
    /// The break-even size in bytes: larger offloads save cycles. Infinite if no size saves cycles.
    pub from_bytes: f64,
    /// The size in bytes above which an offload no longer saves cycles; infinite if there is no
    /// such size. Finite only for a kernel of sub-linear complexity whose transfer grows with the
    /// size.
    pub to_bytes: f64,
}

impl Lucrative {
    /// The empty range: no size saves cycles.
    pub const NEVER: Lucrative = Lucrative {
        from_bytes: f64::INFINITY,
        to_bytes: f64::INFINITY,
    };

    fn from(from_bytes: f64) -> Lucrative {
        Lucrative {
            from_bytes,
            to_bytes: f64::INFINITY,
        }
    }

    /// Whether the range is empty, so that no size saves cycles.
    pub fn is_never(self) -> bool {
        self.from_bytes == f64::INFINITY
    }

    /// Whether an offload of `bytes` bytes saves cycles.
    pub fn contains(self, bytes: f64) -> bool {
        self.from_bytes < bytes && bytes < self.to_bytes
    }
}

impl Offload {
    /// The host cycles that an offload of `bytes` bytes saves: the host's cycles for the work,
    /// minus the costs of the offload. `c` states how often each cost counts. Negative if the costs
    /// are higher.
    pub fn gain(&self, c: Coefficients, bytes: f64) -> MeanCycles {
        let (saved, fixed, per_byte) = self.terms(c);
        MeanCycles(saved * libm::pow(bytes, self.complexity) - per_byte * bytes - fixed)
    }

    /// The range of sizes for which [`Offload::gain`] is positive. `c` states how often each cost
    /// counts.
    ///
    /// The range has a closed form if the kernel is linear, or if the transfer does not depend on
    /// the size. Otherwise bisection finds its bounds to the last bit, among sizes up to 2^63 B.
    pub fn lucrative(&self, c: Coefficients) -> Lucrative {
        let (saved, fixed, per_byte) = self.terms(c);
        let beta = self.complexity;
        if saved <= 0.0 {
            return Lucrative::NEVER;
        }
        if per_byte == 0.0 {
            return Lucrative::from(libm::pow(fixed / saved, 1.0 / beta));
        }
        if beta == 1.0 {
            return if saved > per_byte {
                Lucrative::from(fixed / (saved - per_byte))
            } else {
                Lucrative::NEVER
            };
        }
        let gains = |bytes: f64| self.gain(c, bytes).0 > 0.0;
        if beta > 1.0 {
            // Where saved g^beta is at least twice either cost, it is at least their sum.
            let enough = libm::pow(2.0 * fixed / saved, 1.0 / beta)
                .max(libm::pow(2.0 * per_byte / saved, 1.0 / (beta - 1.0)));
            if enough > LARGEST && !gains(LARGEST) {
                return Lucrative::NEVER;
            }
            return Lucrative::from(bisect(0.0, enough.min(LARGEST), |g| !gains(g)));
        }
        let best = libm::pow(beta * saved / per_byte, 1.0 / (1.0 - beta)).min(LARGEST);
        if !gains(best) {
            return Lucrative::NEVER;
        }
        let too_large = libm::pow(saved / per_byte, 1.0 / (1.0 - beta));
        Lucrative {
            from_bytes: if fixed == 0.0 {
                0.0
            } else {
                bisect(0.0, best, |g| !gains(g))
            },
            to_bytes: if too_large > LARGEST && gains(LARGEST) {
                f64::INFINITY
            } else {
                bisect(best, too_large.min(LARGEST), gains)
            },
        }
    }

    /// The terms of the gain: saved cycles per byte^beta, cost per offload, cost per byte.
    fn terms(&self, c: Coefficients) -> (f64, f64, f64) {
        let saved = self.cycles_per_byte * (1.0 - c.accelerator / self.acceleration);
        let fixed = self.setup
            + c.interface * (self.transfer + self.queue)
            + c.switches * self.thread_switch;
        (saved, fixed.0, c.interface * self.transfer_per_byte.0)
    }
}

/// The border between `low`, where `holds`, and `high`, where it does not.
pub(crate) fn bisect(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            return high;
        }
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
}
