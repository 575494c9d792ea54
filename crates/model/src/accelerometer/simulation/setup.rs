//! Prepares a kernel and a run for the engine.

use accelflow_kernel::Stream;
use accelflow_parameters::Refusal;
use accelflow_units::Time;

use super::run::{Offered, Run, Spread};
use crate::accelerometer::design::{Design, Threading};
use crate::accelerometer::granularity::Lucrative;
use crate::accelerometer::quantity::CyclesPerSecond;
use crate::accelerometer::scenario::{Kernel, Queueing, Scenario, Selection};
use crate::accelerometer::sizes::SizeCdf;

/// The largest number of requests, of hosts, and of threads of a host.
const MOST: u32 = 1_000_000;

/// The inputs of the engine.
pub(super) struct Setup {
    pub design: Design,
    pub hosts: usize,
    /// Requests that a host works on at a time.
    pub threads: usize,
    /// The number of elements of the accelerator; `None` if each offload waits exactly
    /// `fixed_queue`.
    pub elements: Option<u32>,
    pub fixed_queue: Time,
    pub setup: Time,
    pub thread_switch: Time,
    /// The time between arrivals at a host; `None` if it is saturated.
    pub between_arrivals: Option<Time>,
    pub work: Work,
}

/// The work of requests.
pub(super) struct Work {
    own_cycles: f64,
    own: Spread,
    kernel_cycles: f64,
    kernel: Spread,
    /// The sizes, beta, and the mean of g^beta.
    sizes: Option<(SizeCdf, f64, f64)>,
    choice: Choice,
    transfer_cycles: f64,
    transfer_per_byte: f64,
    /// The accelerator's cycles for one of the host.
    accelerated: f64,
}

/// The selection of kernels that are offloaded.
#[derive(Clone, Copy)]
enum Choice {
    None,
    /// This share of all kernels, independent of size.
    Share(f64),
    Sizes(Lucrative),
}

/// One kernel of a request.
#[derive(Clone, Copy)]
pub(super) enum Piece {
    OnHost(Time),
    Offloaded { transfer: Time, service: Time },
}

impl Setup {
    pub(super) fn new(kernel: &Kernel, host: CyclesPerSecond, run: &Run) -> Result<Setup, Refusal> {
        let range = pays(kernel, host)?;
        for (place, number) in [
            ("hosts", run.hosts),
            ("threads", run.threads),
            ("kernels_per_request", run.kernels_per_request),
            ("requests", run.requests),
        ] {
            if !(1..=MOST).contains(&number) {
                let rule = format!("must be from 1 to {MOST}");
                return Err(Refusal::new(place, number, rule));
            }
        }
        let candidates = kernel.candidates().0;
        if candidates <= 0.0 {
            return Err(Refusal::new(
                "offloads_per_s",
                candidates,
                "must be above 0: without offloads there is nothing to simulate",
            ));
        }
        let queue = Queue::of(&kernel.queue, run)?;
        let each = host.0 / candidates;
        let work = Work {
            own_cycles: (1.0 - kernel.share) * each,
            own: run.own_work,
            kernel_cycles: kernel.share * each,
            kernel: queue.spread.unwrap_or(run.kernel_work),
            sizes: kernel.sizes.as_ref().map(|sizes| {
                let beta = kernel.host_cost.complexity;
                (sizes.clone(), beta, sizes.mean_power(beta))
            }),
            choice: match kernel.selection {
                _ if !run.offloading => Choice::None,
                Selection::All => Choice::Share(1.0),
                Selection::OutOf(all) => Choice::Share(kernel.offloads.0 / all.0),
                Selection::Lucrative(_) => Choice::Sizes(range),
            },
            transfer_cycles: kernel.transfer.fixed.0,
            transfer_per_byte: kernel.transfer.per_byte.0,
            accelerated: match queue.service_cycles {
                Some(service) => service / (kernel.share * each),
                None => 1.0 / kernel.acceleration.unwrap_or(f64::INFINITY),
            },
        };
        let request = f64::from(run.kernels_per_request) * each;
        Ok(Setup {
            design: kernel.design,
            hosts: queue.hosts as usize,
            threads: match kernel.design.threading() {
                Threading::Sync => 1,
                _ => run.threads as usize,
            },
            elements: queue.elements,
            fixed_queue: cycles(queue.fixed_cycles),
            setup: cycles(kernel.setup.0),
            thread_switch: cycles(kernel.thread_switch.0),
            between_arrivals: between(run.offered, request)?,
            work,
        })
    }
}

/// The sizes that pay, if only those are to be offloaded. An accelerator that is overloaded in the
/// closed form can still be simulated: saturated hosts slow down, and hosts with little load may
/// not overload it.
fn pays(kernel: &Kernel, host: CyclesPerSecond) -> Result<Lucrative, Refusal> {
    if !matches!(kernel.selection, Selection::Lucrative(_)) {
        kernel.check(host)?;
        return Ok(Lucrative::NEVER);
    }
    let scenario = Scenario {
        host,
        kernels: vec![kernel.clone()],
    };
    let outcome = scenario.evaluate()?;
    Ok(outcome.kernels[0]
        .pays_in_speedup
        .unwrap_or(Lucrative::NEVER))
}

/// The accelerator of a [`Queueing`].
struct Queue {
    hosts: u32,
    elements: Option<u32>,
    fixed_cycles: f64,
    service_cycles: Option<f64>,
    spread: Option<Spread>,
}

impl Queue {
    fn of(queueing: &Queueing, run: &Run) -> Result<Queue, Refusal> {
        let fixed = |fixed_cycles| Queue {
            hosts: run.hosts,
            elements: None,
            fixed_cycles,
            service_cycles: None,
            spread: None,
        };
        match queueing {
            Queueing::Mean(mean) => Ok(fixed(mean.0)),
            Queueing::List(waits) => Ok(fixed(waits.iter().sum::<f64>() / waits.len() as f64)),
            Queueing::Station {
                servers,
                hosts,
                service,
                service_scv,
                ..
            } => {
                if hosts.fract() != 0.0 || *hosts > f64::from(MOST) {
                    let rule = format!("must be a whole number up to {MOST} for a simulation");
                    return Err(Refusal::new("queue.hosts", *hosts, rule));
                }
                Ok(Queue {
                    hosts: *hosts as u32,
                    elements: Some(*servers),
                    fixed_cycles: 0.0,
                    service_cycles: service.map(|service| service.0),
                    spread: service_scv.map(spread).transpose()?,
                })
            }
        }
    }
}

fn spread(scv: f64) -> Result<Spread, Refusal> {
    if scv == 0.0 {
        return Ok(Spread::Constant);
    }
    if scv == 1.0 {
        return Ok(Spread::Exponential);
    }
    Err(Refusal::new(
        "queue.service_scv_ratio",
        scv,
        "must be 0 or 1 for a simulation; give sizes for anything else",
    ))
}

fn between(offered: Offered, request_cycles: f64) -> Result<Option<Time>, Refusal> {
    match offered {
        Offered::Saturated => Ok(None),
        Offered::Load(load) if load > 0.0 && load.is_finite() => {
            Ok(Some(cycles(request_cycles / load)))
        }
        Offered::Load(load) => Err(Refusal::new("load", load, "must be above 0")),
    }
}

/// Converts cycles to simulated time: a cycle is a nanosecond, so times have a resolution of a
/// thousandth of a cycle.
pub(super) fn cycles(cycles: f64) -> Time {
    Time::from_ns_f64(cycles)
}

impl Work {
    /// The service's own work before a kernel.
    pub(super) fn own(&self, dice: &mut Stream) -> Time {
        cycles(self.own.draw(self.own_cycles, dice))
    }

    /// Draws a kernel: where it is executed and for how long.
    pub(super) fn kernel(&self, dice: &mut Stream) -> Piece {
        let (bytes, host) = match &self.sizes {
            None => (0.0, self.kernel.draw(self.kernel_cycles, dice)),
            Some((sizes, beta, mean)) => {
                let bytes = sizes.quantile(dice.uniform());
                (bytes, self.kernel_cycles * libm::pow(bytes, *beta) / mean)
            }
        };
        let offloaded = match self.choice {
            Choice::None => false,
            Choice::Share(share) => dice.bernoulli(share),
            Choice::Sizes(range) => range.contains(bytes),
        };
        if !offloaded {
            return Piece::OnHost(cycles(host));
        }
        Piece::Offloaded {
            transfer: cycles(self.transfer_cycles + self.transfer_per_byte * bytes),
            service: cycles(host * self.accelerated),
        }
    }
}

impl Spread {
    fn draw(self, mean: f64, dice: &mut Stream) -> f64 {
        match self {
            Spread::Constant => mean,
            Spread::Exponential => dice.exponential(mean),
        }
    }
}
