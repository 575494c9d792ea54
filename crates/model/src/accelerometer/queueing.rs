//! The wait Q in the queue of an accelerator with one or several servers and Poisson arrivals.

use super::quantity::{MeanCycles, OffloadsPerCycle};

/// An accelerator and its queue as an M/G/k queue, served first come, first served.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Station {
    /// The number of identical processing elements, at least 1.
    pub servers: u32,
    /// The arrival rate of the offloads of all hosts that share the accelerator, per cycle of one
    /// host: the sum of their n, divided by C.
    pub arrivals: OffloadsPerCycle,
    /// The mean time that one offload occupies a processing element, in cycles of the host.
    pub service: MeanCycles,
    /// The squared coefficient of variation of the time `service`: 0 if constant, 1 if exponential.
    pub service_scv: f64,
}

/// An approximation of the mean wait in an M/G/k queue, which has no closed form for k > 1. For one
/// server, both approximations are exact (Pollaczek and Khinchine).
///
/// The description of each approximation states its largest error against simulations of 2 to 8
/// servers at utilisations from 0.5 to 0.9. The simulated service times were constant, Erlang of
/// order 2 (c2 = 0.5) or hyperexponential (c2 = 4), where c2 is their squared coefficient of
/// variation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approximation {
    /// The approximation of Allen and Cunneen (Lee and Longton for Poisson arrivals): (1 + c2) / 2
    /// times the wait of M/M/k. Here c2 is the squared coefficient of variation of the service
    /// times. The result is up to 23 % too low for constant times, 11 % too low for Erlang, and
    /// 58 % too high for hyperexponential.
    AllenCunneen,
    /// The approximation of Kimura (1986): a harmonic interpolation between the waits of M/M/k and
    /// M/D/k. The wait of M/M/k is exact. The wait of M/D/k is half of it, corrected by the formula
    /// of Cosmetatos (1976). At low load, the limit of Whitt (1993) applies to the correction. The
    /// error is at most 5 % for constant, Erlang and hyperexponential service times.
    Kimura,
}

impl Station {
    /// The share of time in which each processing element works. At 1 or more, the queue grows
    /// without bound.
    pub fn utilisation(&self) -> f64 {
        self.arrivals * self.service / f64::from(self.servers)
    }

    /// The mean time that an offload waits until a processing element is free, in cycles of the
    /// host; infinite at a utilisation of 1 or more.
    pub fn mean_wait(&self, approximation: Approximation) -> MeanCycles {
        let rho = self.utilisation();
        if rho >= 1.0 {
            return MeanCycles(f64::INFINITY);
        }
        if rho <= 0.0 {
            return MeanCycles(0.0);
        }
        let k = f64::from(self.servers);
        let exponential = erlang_c(self.servers, rho * k) / (k * (1.0 - rho)) * self.service;
        let c2 = self.service_scv;
        let factor = match approximation {
            Approximation::AllenCunneen => (1.0 + c2) / 2.0,
            Approximation::Kimura => {
                let constant = (1.0 + cosmetatos(k, rho)) / 2.0;
                (1.0 + c2) / (2.0 * c2 + (1.0 - c2) / constant)
            }
        };
        factor * exponential
    }
}

/// The probability that an arrival at an M/M/k queue has to wait (Erlang's C). `servers` is k.
/// `offered` is the load in erlangs (the arrival rate times the mean service time), and must be
/// below k.
pub fn erlang_c(servers: u32, offered: f64) -> f64 {
    let blocked = (1..=servers).fold(1.0, |b, n| {
        let carried = offered * b;
        carried / (f64::from(n) + carried)
    });
    let rho = offered / f64::from(servers);
    blocked / (1.0 - rho * (1.0 - blocked))
}

/// By how much the wait of M/D/k exceeds half that of M/M/k: 0 for one server.
fn cosmetatos(k: f64, rho: f64) -> f64 {
    let correction = (1.0 - rho) * (k - 1.0) * (libm::sqrt(4.0 + 5.0 * k) - 2.0) / (16.0 * k * rho);
    correction.min(0.24)
}
