//! The solver: which offloads go to the accelerator, and how long they wait there.

use accelflow_parameters::Refusal;

use super::service::{Kernel, Queueing, Scaling, Selection};
use crate::accelerometer::granularity::{Lucrative, Offload, bisect};
use crate::accelerometer::quantity::{CyclesPerSecond, MeanCycles, OffloadsPerSecond};
use crate::accelerometer::queueing::Station;
use crate::accelerometer::sizes::SizeCdf;

/// The offloads that go to the accelerator.
pub(super) struct Picked {
    pub(super) range: Lucrative,
    pub(super) part: f64,
    pub(super) offloads: OffloadsPerSecond,
    pub(super) share: f64,
    pub(super) transfer: MeanCycles,
}

const EVERY: Lucrative = Lucrative {
    from_bytes: 0.0,
    to_bytes: f64::INFINITY,
};

pub(super) struct Solver<'k> {
    kernel: &'k Kernel,
    host: CyclesPerSecond,
    pub(super) cycles_per_byte: Option<f64>,
}

impl<'k> Solver<'k> {
    pub(super) fn new(kernel: &'k Kernel, host: CyclesPerSecond) -> Solver<'k> {
        Solver {
            kernel,
            host,
            cycles_per_byte: cycles_per_byte(kernel, host),
        }
    }

    /// Returns the selected offloads and their wait in the queue.
    pub(super) fn solve(&self) -> Result<(Picked, MeanCycles), Refusal> {
        let at = |queue: f64| -> Result<(Picked, f64), Refusal> {
            let picked = self.pick(MeanCycles(queue))?;
            let wait = self.wait(&picked);
            Ok((picked, wait.0))
        };
        let (picked, wait) = at(0.0)?;
        let depends = matches!(self.kernel.selection, Selection::Lucrative(_))
            && self.kernel.design.coefficients().0.interface > 0.0
            && matches!(self.kernel.queue, Queueing::Station { .. });
        if !depends {
            if wait.is_infinite() {
                return Err(self.overload(&picked));
            }
            // A given mean or list of Q decides which offloads pay; a station's wait is solved for
            // below.
            let queue = MeanCycles(wait);
            return Ok((self.pick(queue)?, queue));
        }
        // With a longer wait fewer offloads pay, and fewer offloads wait less. So the resulting
        // wait decreases with the assumed wait, and there is exactly one crossing.
        let mut high = if wait.is_finite() { wait } else { 1.0 };
        while at(high)?.1 > high {
            high *= 2.0;
            if !high.is_finite() {
                return Err(self.overload(&picked));
            }
        }
        let wait_exceeds = |queue: f64| at(queue).is_ok_and(|(_, wait)| wait > queue);
        let crossing = if wait == 0.0 {
            0.0
        } else {
            bisect(0.0, high, wait_exceeds)
        };
        let (picked, wait) = at(crossing)?;
        Ok((picked, MeanCycles(wait)))
    }

    pub(super) fn pick(&self, queue: MeanCycles) -> Result<Picked, Refusal> {
        let kernel = self.kernel;
        let (range, part) = match (kernel.selection, &kernel.sizes) {
            (Selection::All, _) => (EVERY, 1.0),
            (Selection::OutOf(all), _) => (EVERY, kernel.offloads.0 / all.0),
            (Selection::Lucrative(_), Some(sizes)) => {
                let range = self.pays(queue, true).unwrap_or(Lucrative::NEVER);
                (range, sizes.share(range))
            }
            (Selection::Lucrative(_), None) => {
                return Err(missing("sizes", "selection is lucrative"));
            }
        };
        let offloads = match kernel.selection {
            Selection::Lucrative(_) => OffloadsPerSecond(part * kernel.offloads.0),
            _ => kernel.offloads,
        };
        let share = match kernel.selection {
            Selection::Lucrative(Scaling::Cycles) => self.share_by_cycles(range).unwrap_or(0.0),
            _ => kernel.share * part,
        };
        Ok(Picked {
            transfer: kernel.transfer.fixed + self.per_byte(range)?,
            range,
            part,
            offloads,
            share,
        })
    }

    /// The part of L that depends on the size, on average over the offloads in `range`.
    fn per_byte(&self, range: Lucrative) -> Result<MeanCycles, Refusal> {
        let each = self.kernel.transfer.per_byte;
        if each.0 == 0.0 {
            return Ok(each);
        }
        let Some(sizes) = &self.kernel.sizes else {
            return Err(missing("sizes", "transfer_cycles_per_byte is not 0"));
        };
        let share = sizes.share(range);
        let mean = if share > 0.0 {
            sizes.moment(1.0, range) / share
        } else {
            0.0
        };
        Ok(mean * each)
    }

    pub(super) fn share_by_cycles(&self, range: Lucrative) -> Option<f64> {
        let sizes = self.kernel.sizes.as_ref()?;
        let beta = self.kernel.host_cost.complexity;
        Some(self.kernel.share * sizes.moment(beta, range) / sizes.mean_power(beta))
    }

    pub(super) fn pays(&self, queue: MeanCycles, in_speedup: bool) -> Option<Lucrative> {
        let kernel = self.kernel;
        let (host_side, request_side) = kernel.design.coefficients();
        let offload = Offload {
            cycles_per_byte: self.cycles_per_byte?,
            complexity: kernel.host_cost.complexity,
            setup: kernel.setup,
            transfer: kernel.transfer.fixed,
            transfer_per_byte: kernel.transfer.per_byte,
            queue,
            thread_switch: kernel.thread_switch,
            acceleration: kernel.acceleration.unwrap_or(f64::INFINITY),
        };
        Some(offload.lucrative(if in_speedup { host_side } else { request_side }))
    }

    fn wait(&self, picked: &Picked) -> MeanCycles {
        match &self.kernel.queue {
            Queueing::Mean(mean) => *mean,
            Queueing::List(waits) => MeanCycles(waits.iter().sum::<f64>() / waits.len() as f64),
            Queueing::Station { approximation, .. } => self
                .station(picked)
                .map_or(MeanCycles(0.0), |station| station.mean_wait(*approximation)),
        }
    }

    pub(super) fn station(&self, picked: &Picked) -> Option<Station> {
        let Queueing::Station {
            servers,
            hosts,
            service,
            service_scv,
            ..
        } = self.kernel.queue
        else {
            return None;
        };
        let acceleration = self.kernel.acceleration.unwrap_or(f64::INFINITY);
        let cycles = picked.share * self.host.0 / acceleration;
        let derived = if picked.offloads.0 > 0.0 {
            MeanCycles(cycles / picked.offloads.0)
        } else {
            MeanCycles(0.0)
        };
        Some(Station {
            servers,
            arrivals: OffloadsPerSecond(hosts * picked.offloads.0) / self.host,
            service: service.unwrap_or(derived),
            service_scv: service_scv
                .or_else(|| self.size_scv(picked.range))
                .unwrap_or(1.0),
        })
    }

    /// The squared coefficient of variation of g^beta over the offloads in `range`.
    fn size_scv(&self, range: Lucrative) -> Option<f64> {
        let sizes: &SizeCdf = self.kernel.sizes.as_ref()?;
        let beta = self.kernel.host_cost.complexity;
        let (share, first) = (sizes.share(range), sizes.moment(beta, range));
        (first > 0.0)
            .then(|| (sizes.moment(2.0 * beta, range) * share / (first * first) - 1.0).max(0.0))
    }

    fn overload(&self, picked: &Picked) -> Refusal {
        let load = self.station(picked).map_or(f64::NAN, |s| s.utilisation());
        Refusal::new(
            "queue.utilisation",
            format!("{load:.4}"),
            "must be below 1: the accelerator cannot keep up with its offloads",
        )
    }
}

fn cycles_per_byte(kernel: &Kernel, host: CyclesPerSecond) -> Option<f64> {
    kernel.host_cost.cycles_per_byte.or_else(|| {
        let work = kernel.candidates().0 * kernel.mean_work()?;
        (work > 0.0).then(|| kernel.share * host.0 / work)
    })
}

pub(super) fn missing(place: &str, why: &str) -> Refusal {
    Refusal::new(place, "missing", format!("must be given, since {why}"))
}
