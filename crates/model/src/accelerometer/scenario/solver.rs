//! The solver: which offloads go to the accelerator, and how long they wait there.

use accelflow_parameters::Refusal;

use super::crossing::Crossing;
use super::service::{Kernel, Queueing, Scaling, Scenario, Selection};
use crate::accelerometer::granularity::{Lucrative, Offload};
use crate::accelerometer::quantity::{CyclesPerSecond, MeanCycles, OffloadsPerSecond};
use crate::accelerometer::queueing::Station;

/// The offloads that go to the accelerator.
pub(super) struct Picked {
    pub(super) range: Lucrative,
    pub(super) part: f64,
    pub(super) offloads: OffloadsPerSecond,
    pub(super) share: f64,
    pub(super) transfer: MeanCycles,
    work: Option<Work>,
}

/// Moments of g^beta over offloads, per candidate: their number, the sum and the sum of squares.
#[derive(Clone, Copy)]
struct Work {
    share: f64,
    sum: f64,
    squares: f64,
}

impl Work {
    /// The squared coefficient of variation of g^beta.
    fn scv(self) -> Option<f64> {
        (self.sum > 0.0).then(|| (self.squares * self.share / (self.sum * self.sum) - 1.0).max(0.0))
    }
}

impl Picked {
    /// The mean of g^beta, where g is an offload's size, over the selected offloads. `None` if none
    /// is selected, or if sizes are unknown.
    pub(super) fn mean_work(&self) -> Option<f64> {
        let work = self.work.filter(|work| work.share > 0.0)?;
        Some(work.sum / work.share)
    }

    /// These offloads, and `part` of those that only `more` has.
    fn and(self, more: &Picked, part: f64) -> Picked {
        let between = |less: f64, more: f64| less + part * (more - less);
        let offloads = between(self.offloads.0, more.offloads.0);
        let moved = between(
            self.offloads.0 * self.transfer.0,
            more.offloads.0 * more.transfer.0,
        );
        Picked {
            range: self.range,
            part: between(self.part, more.part),
            offloads: OffloadsPerSecond(offloads),
            share: between(self.share, more.share),
            transfer: if offloads > 0.0 {
                MeanCycles(moved / offloads)
            } else {
                self.transfer
            },
            work: self.work.zip(more.work).map(|(less, more)| Work {
                share: between(less.share, more.share),
                sum: between(less.sum, more.sum),
                squares: between(less.squares, more.squares),
            }),
        }
    }
}

const EVERY: Lucrative = Lucrative {
    from_bytes: 0.0,
    to_bytes: f64::INFINITY,
};

pub(super) struct Solver<'k> {
    kernel: &'k Kernel,
    host: CyclesPerSecond,
    /// The accelerator's time for the kernels that ride on this one, as a share of C.
    riding: f64,
    pub(super) cycles_per_byte: Option<f64>,
}

impl<'k> Solver<'k> {
    pub(super) fn new(kernel: &'k Kernel, scenario: &'k Scenario) -> Solver<'k> {
        let host = scenario.host;
        Solver {
            kernel,
            host,
            riding: scenario.riders(kernel).map(accelerated).sum(),
            cycles_per_byte: cycles_per_byte(kernel, host),
        }
    }

    /// Returns the wait in the queue, with which the offloads are selected.
    pub(super) fn solve(&self) -> Result<Crossing, Refusal> {
        let depends = matches!(self.kernel.selection, Selection::Lucrative(_))
            && self.kernel.design.coefficients().0.interface > 0.0
            && matches!(self.kernel.queue, Queueing::Station { .. });
        let without = Crossing::at(MeanCycles(0.0));
        let found = if depends {
            Crossing::find(|tried| Ok(self.wait(&self.picked(tried)?).0))?
        } else {
            // A given mean or list of Q decides which offloads pay.
            let wait = self.wait(&self.picked(without)?);
            wait.0.is_finite().then(|| Crossing::at(wait))
        };
        match found {
            Some(found) => Ok(found),
            None => Err(self.overload(&self.picked(without)?)),
        }
    }

    /// Returns the offloads that are selected at `crossing`.
    pub(super) fn picked(&self, crossing: Crossing) -> Result<Picked, Refusal> {
        let less = self.pick(crossing.queue)?;
        if crossing.part == 0.0 {
            return Ok(less);
        }
        Ok(less.and(&self.pick(crossing.below)?, crossing.part))
    }

    fn pick(&self, queue: MeanCycles) -> Result<Picked, Refusal> {
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
        let work = self.work(range);
        let offloads = match kernel.selection {
            Selection::Lucrative(_) => OffloadsPerSecond(part * kernel.offloads.0),
            _ => kernel.offloads,
        };
        let share = match kernel.selection {
            Selection::Lucrative(Scaling::Cycles) => self.share_of(work).unwrap_or(0.0),
            _ => kernel.share * part,
        };
        Ok(Picked {
            transfer: kernel.transfer.fixed + self.per_byte(range)?,
            range,
            part,
            offloads,
            share,
            work,
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

    fn work(&self, range: Lucrative) -> Option<Work> {
        let sizes = self.kernel.sizes.as_ref()?;
        let beta = self.kernel.host_cost.complexity;
        Some(Work {
            share: sizes.share(range),
            sum: sizes.moment(beta, range),
            squares: sizes.moment(2.0 * beta, range),
        })
    }

    fn share_of(&self, work: Option<Work>) -> Option<f64> {
        Some(self.kernel.share * work?.sum / self.kernel.mean_work()?)
    }

    /// alpha scaled by the cycles of the offloads, if the sizes of these are known.
    pub(super) fn share_by_cycles(&self, picked: &Picked) -> Option<f64> {
        match self.kernel.selection {
            // The sizes are those of all offloads, of which it is unknown which are selected.
            Selection::OutOf(_) if picked.part < 1.0 => None,
            _ => self.share_of(picked.work),
        }
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
        let cycles = picked.share * self.host.0 / acceleration + self.riding * self.host.0;
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
                .or_else(|| picked.work.and_then(Work::scv))
                .unwrap_or(1.0),
        })
    }

    fn overload(&self, picked: &Picked) -> Refusal {
        let load = self.station(picked).map_or(f64::NAN, |s| s.utilisation());
        Refusal::new(
            "queue.utilisation",
            format!("{load:.4}"),
            "must be below 1, computed from the offloads: the accelerator cannot keep up with them",
        )
    }
}

/// The accelerator's time for the offloads of `kernel`, which are not selected by size, as a share
/// of C; 0 if it is unknown.
fn accelerated(kernel: &Kernel) -> f64 {
    let part = match kernel.selection {
        Selection::OutOf(all) => kernel.offloads.0 / all.0,
        Selection::All | Selection::Lucrative(_) => 1.0,
    };
    kernel.share * part / kernel.acceleration.unwrap_or(f64::INFINITY)
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
