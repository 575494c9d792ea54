//! Prepares a scenario and the settings of a run for the event loop.

use accelflow_kernel::Stream;
use accelflow_parameters::{Refusal, quoted};
use accelflow_units::Time;

use super::run::{Offered, Run, Spread};
use crate::accelerometer::design::{Design, Threading};
use crate::accelerometer::parameters;
use crate::accelerometer::scenario::{Kernel, Queueing, Scenario, Selected, Selection};
use crate::accelerometer::sizes::SizeCdf;

/// The largest number of requests, of hosts, and of threads of a host.
const MOST: u32 = 1_000_000;

/// The number of cycles after which the simulated clock ends. The clock counts thousandths of
/// cycles.
const MOST_CYCLES: f64 = Time::MAX.as_ps() as f64 / 1_000.0;

/// The inputs of the engine.
pub(super) struct Setup {
    /// The number of hosts that share the accelerators.
    pub hosts: usize,
    /// The number of requests that a host works on at a time.
    pub threads: usize,
    /// The number of processing elements of each accelerator that has a queue.
    pub accelerators: Vec<u32>,
    /// The kernels, in the order of the scenario.
    pub kernels: Vec<Offloading>,
    /// The mean time between arrivals at a host; `None` for saturated hosts.
    pub between_arrivals: Option<Time>,
    /// Whether the time of every accelerator for which a request waits is known.
    pub knows_latency: bool,
    own_cycles: f64,
    own: Spread,
    /// For each kernel, the share of kernels up to and including it.
    mix: Vec<f64>,
}

/// A kernel, and how it is offloaded.
pub(super) struct Offloading {
    /// The threading design of the offloads, and the placement of the accelerator.
    pub design: Design,
    /// The time to prepare one offload (Accelerometer's o0).
    pub setup: Time,
    /// The time of one thread switch (Accelerometer's o1).
    pub thread_switch: Time,
    /// The accelerator's queue, or the given time that each offload waits.
    pub accelerator: Accelerator,
    work: Work,
}

/// Where an offload waits.
#[derive(Clone, Copy)]
pub(super) enum Accelerator {
    /// Nowhere: each offload waits for exactly this time.
    Fixed(Time),
    /// In the queue of the accelerator with this number.
    Numbered(usize),
}

/// The work of a kernel.
struct Work {
    kernel_cycles: f64,
    kernel: Spread,
    /// The sizes, beta, and the mean of g^beta.
    sizes: Option<(SizeCdf, f64, f64)>,
    choice: Choice,
    transfer_cycles: f64,
    transfer_per_byte: f64,
    service: Service,
}

/// The accelerator's time for an offload.
#[derive(Clone, Copy)]
enum Service {
    /// The host's time for the same work, times this.
    OfHost(f64),
    /// This many cycles, times g^beta.
    OfSize(f64),
    /// This mean in cycles, independent of the host's time.
    Apart(f64, Spread),
}

/// The selection of kernels that are offloaded.
#[derive(Clone, Copy)]
enum Choice {
    None,
    /// This share of all kernels, independent of size.
    Share(f64),
    Sizes(Selected),
}

/// One kernel of a request.
#[derive(Clone, Copy)]
pub(super) enum Piece {
    OnHost(Time),
    Offloaded {
        /// The number of the kernel in [`Setup::kernels`].
        kernel: usize,
        transfer: Time,
        service: Time,
    },
}

impl Setup {
    pub(super) fn new(scenario: &Scenario, run: &Run) -> Result<Setup, Refusal> {
        check_counts(run)?;
        let selected = selected(scenario, run)?;
        let host = scenario.host;
        let rates: Vec<f64> = scenario.kernels.iter().map(|k| k.candidates().0).collect();
        for (kernel, rate) in scenario.kernels.iter().zip(&rates) {
            if *rate <= 0.0 {
                let rule = "must be above 0: without offloads there is nothing to simulate";
                return Err(Refusal::new("offloads_per_s", rate, rule).within(&kernel.name));
            }
            if kernel.rides_on.is_some() {
                return Err(rider(kernel));
            }
        }
        let all: f64 = rates.iter().sum();
        for kernel in &scenario.kernels {
            check_offload(kernel, scenario, run).map_err(|error| error.within(&kernel.name))?;
        }
        check_clock(
            scenario,
            run,
            f64::from(run.kernels_per_request) * host.0 / all,
        )?;
        let mut found = Accelerators::new(run);
        let mut kernels = Vec::with_capacity(rates.len());
        for ((kernel, selected), rate) in scenario.kernels.iter().zip(selected).zip(&rates) {
            let queue = found.queue_of(kernel);
            let queue = queue.map_err(|error| error.within(&kernel.name))?;
            kernels.push(offloading(kernel, &queue, selected, host.0 / rate, run));
        }
        let share: f64 = scenario.kernels.iter().map(|kernel| kernel.share).sum();
        let each = host.0 / all;
        let sync = |kernel: &Offloading| kernel.design.threading() == Threading::Sync;
        let mut so_far = 0.0;
        Ok(Setup {
            hosts: found.hosts as usize,
            threads: match kernels.iter().all(sync) {
                true => 1,
                false => run.threads as usize,
            },
            accelerators: found.elements,
            kernels,
            between_arrivals: between(run.offered, f64::from(run.kernels_per_request) * each),
            knows_latency: !run.offloading || scenario.kernels.iter().all(knows_latency),
            own_cycles: (1.0 - share).max(0.0) * each,
            own: run.own_work,
            mix: rates
                .iter()
                .map(|rate| {
                    so_far += rate / all;
                    so_far
                })
                .collect(),
        })
    }

    /// The service's own work before a kernel.
    pub(super) fn own(&self, dice: &mut Stream) -> Time {
        cycles(self.own.draw(self.own_cycles, dice))
    }

    /// Draws a kernel: where it is executed and for how long. `mix` draws which one.
    pub(super) fn kernel(&self, mix: &mut Stream, dice: &mut Stream) -> Piece {
        let number = match self.kernels.len() {
            1 => 0,
            several => {
                let drawn = mix.uniform();
                let number = self.mix.partition_point(|share| *share <= drawn);
                number.min(several - 1)
            }
        };
        self.kernels[number].work.draw(number, dice)
    }
}

/// Whether the accelerator's time is known, or adds nothing to a request's latency.
fn knows_latency(kernel: &Kernel) -> bool {
    let (_, request_side) = kernel.design.coefficients();
    let stated = matches!(
        kernel.queue,
        Queueing::Station {
            service: Some(_),
            ..
        }
    );
    request_side.accelerator == 0.0 || kernel.acceleration.is_some() || stated
}

fn check_counts(run: &Run) -> Result<(), Refusal> {
    for (parameter, number) in [
        (parameters::HOSTS, run.hosts),
        (parameters::THREADS, run.threads),
        (parameters::KERNELS_PER_REQUEST, run.kernels_per_request),
        (parameters::REQUESTS, run.requests),
    ] {
        parameter.check(f64::from(number)).map_err(of_run)?;
    }
    match run.offered {
        Offered::Saturated => Ok(()),
        Offered::Load(load) => parameters::LOAD_RATIO.check(load).map_err(of_run),
    }
}

/// `refusal` with its place as [`Run`] has it.
fn of_run(refusal: Refusal) -> Refusal {
    let place = refusal.place.trim_start_matches("simulation.").to_owned();
    Refusal { place, ..refusal }
}

fn rider(kernel: &Kernel) -> Refusal {
    let carrier = quoted(kernel.rides_on.as_deref().unwrap_or_default());
    let rule = format!(
        "must be left out for a simulation: add the work of this kernel to that of {carrier}"
    );
    Refusal::new("rides_on", carrier, rule).within(&kernel.name)
}

/// Refuses a run that lasts longer than the clock can count. A host's own work and its kernels take
/// `request_cycles` for a request.
fn check_clock(scenario: &Scenario, run: &Run, request_cycles: f64) -> Result<(), Refusal> {
    let most = longest_request(scenario, run);
    let refuse = |place: &str, value: f64, least: f64| {
        // The limit is shown with three digits, rounded up.
        let least = 1.005 * least;
        let rule = format!(
            "must be at least {least:.2e} for {} requests: the simulated clock ends after \
             {MOST_CYCLES:.1e} cycles",
            run.requests
        );
        Err(Refusal::new(place, value, rule))
    };
    if request_cycles > most {
        let all: f64 = scenario.kernels.iter().map(|k| k.candidates().0).sum();
        let refused = refuse("offloads_per_s", all, all * request_cycles / most);
        return refused.map_err(|error| match scenario.kernels.as_slice() {
            [only] => error.within(&only.name),
            _ => error,
        });
    }
    match run.offered {
        Offered::Load(load) if load > 0.0 && request_cycles / load > most => {
            refuse("load_ratio", load, request_cycles / most)
        }
        _ => Ok(()),
    }
}

/// Refuses an offload whose own costs, times the kernels of all requests, outlast the clock.
fn check_offload(kernel: &Kernel, scenario: &Scenario, run: &Run) -> Result<(), Refusal> {
    let mean_size = kernel
        .sizes
        .as_ref()
        .map_or(0.0, |sizes| sizes.mean_power(1.0));
    let wait = match &kernel.queue {
        Queueing::Mean(mean) => mean.0,
        Queueing::List(waits) => waits.iter().copied().fold(0.0, f64::max),
        Queueing::Station { service, .. } => service.map_or(0.0, |service| service.0),
    };
    let each = kernel.share * scenario.host.0 / kernel.candidates().0;
    let cycles = kernel.setup.0
        + kernel.transfer.fixed.0
        + kernel.transfer.per_byte.0 * mean_size
        + 3.0 * kernel.thread_switch.0
        + wait
        + each / kernel.acceleration.unwrap_or(f64::INFINITY);
    let most = longest_request(scenario, run) / f64::from(run.kernels_per_request);
    if cycles <= most {
        return Ok(());
    }
    let rule = format!(
        "must be at most {most:.2e} for {} requests with {} kernels each: the simulated clock ends \
         after {MOST_CYCLES:.1e} cycles",
        run.requests, run.kernels_per_request
    );
    Err(Refusal::number(
        "cycles of an offload (setup, transfer, switches, wait, work)",
        cycles,
        rule,
    ))
}

/// The mean time between a host's requests with which the clock does not end before the run.
fn longest_request(scenario: &Scenario, run: &Run) -> f64 {
    let shared = scenario
        .kernels
        .iter()
        .find_map(|kernel| match kernel.queue {
            Queueing::Station { hosts, .. } => Some(hosts),
            _ => None,
        });
    let at_a_time = match run.offered {
        Offered::Saturated => 3.0 * f64::from(run.threads),
        Offered::Load(_) => 0.0,
    };
    // With the warm-up. The sum of random times is more than twice its mean, and 40 times, with a
    // probability below 1e-13.
    let each = 1.1 * f64::from(run.requests) / shared.unwrap_or(f64::from(run.hosts)) + at_a_time;
    MOST_CYCLES / (2.0 * each + 40.0)
}

/// A kernel with its share of the `cycles_each` that the host has for one of its kind.
fn offloading(
    kernel: &Kernel,
    queue: &Queue,
    selected: Option<Selected>,
    cycles_each: f64,
    run: &Run,
) -> Offloading {
    let kernel_cycles = kernel.share * cycles_each;
    let choice = match (kernel.selection, selected) {
        _ if !run.offloading => Choice::None,
        (Selection::OutOf(all), _) => Choice::Share(kernel.offloads.0 / all.0),
        (Selection::Lucrative(_), Some(selected)) => Choice::Sizes(selected),
        _ => Choice::Share(1.0),
    };
    Offloading {
        design: kernel.design,
        setup: cycles(kernel.setup.0),
        thread_switch: cycles(kernel.thread_switch.0),
        accelerator: queue.accelerator,
        work: Work {
            kernel_cycles,
            kernel: run.kernel_work,
            sizes: kernel.sizes.as_ref().map(|sizes| {
                let beta = kernel.host_cost.complexity;
                (sizes.clone(), beta, sizes.mean_power(beta))
            }),
            choice,
            transfer_cycles: kernel.transfer.fixed.0,
            transfer_per_byte: kernel.transfer.per_byte.0,
            service: service(kernel, queue, choice, kernel_cycles, run.kernel_work),
        },
    }
}

/// The accelerator's time for an offload, with the moments that the closed form has: those over the
/// offloads that go to the accelerator.
fn service(
    kernel: &Kernel,
    queue: &Queue,
    choice: Choice,
    kernel_cycles: f64,
    kernel_work: Spread,
) -> Service {
    let all = kernel.mean_work();
    let offloaded = match choice {
        Choice::Sizes(selected) => selected.mean_work.or(all),
        _ => all,
    };
    let accelerated = 1.0 / kernel.acceleration.unwrap_or(f64::INFINITY);
    match (queue.service_cycles, queue.spread, offloaded) {
        (None, None, _) => Service::OfHost(accelerated),
        (Some(mean), None, Some(offloaded)) => Service::OfSize(mean / offloaded),
        (Some(mean), spread, _) => Service::Apart(mean, spread.unwrap_or(kernel_work)),
        (None, Some(spread), _) => {
            let larger = offloaded.zip(all).map_or(1.0, |(some, all)| some / all);
            Service::Apart(kernel_cycles * larger * accelerated, spread)
        }
    }
}

/// The offloads of each kernel that pay at the run's load, if only those are to be offloaded. An
/// accelerator that is overloaded in the closed form can still be simulated: saturated hosts slow
/// down, and hosts with little load may not overload it.
fn selected(scenario: &Scenario, run: &Run) -> Result<Vec<Option<Selected>>, Refusal> {
    let lucrative = |kernel: &Kernel| matches!(kernel.selection, Selection::Lucrative(_));
    if !scenario.kernels.iter().any(lucrative) {
        scenario.check()?;
        return Ok(vec![None; scenario.kernels.len()]);
    }
    let load = match run.offered {
        Offered::Saturated => 1.0,
        Offered::Load(load) => load,
    };
    let selected = scenario.selected(load)?;
    Ok(selected.into_iter().map(Some).collect())
}

/// The queue in front of a kernel's accelerator.
struct Queue {
    accelerator: Accelerator,
    service_cycles: Option<f64>,
    spread: Option<Spread>,
}

/// The accelerators so far, and the hosts that share them.
struct Accelerators<'s> {
    hosts: u32,
    /// Whether a queue has given the number of hosts.
    given: bool,
    elements: Vec<u32>,
    /// The numbers of accelerators with a name.
    named: Vec<(&'s str, usize)>,
}

impl<'s> Accelerators<'s> {
    fn new(run: &Run) -> Accelerators<'s> {
        Accelerators {
            hosts: run.hosts,
            given: false,
            elements: Vec::new(),
            named: Vec::new(),
        }
    }

    fn queue_of(&mut self, kernel: &'s Kernel) -> Result<Queue, Refusal> {
        let fixed = |wait: f64| Queue {
            accelerator: Accelerator::Fixed(cycles(wait)),
            service_cycles: None,
            spread: None,
        };
        match &kernel.queue {
            Queueing::Mean(mean) => Ok(fixed(mean.0)),
            Queueing::List(waits) => Ok(fixed(waits.iter().sum::<f64>() / waits.len() as f64)),
            Queueing::Station {
                servers,
                hosts,
                service,
                service_scv,
                shared,
                ..
            } => {
                self.share(*hosts)?;
                Ok(Queue {
                    accelerator: Accelerator::Numbered(self.number(*servers, shared.as_deref())),
                    service_cycles: service.map(|service| service.0),
                    spread: service_scv.map(spread).transpose()?,
                })
            }
        }
    }

    /// Takes over the number of hosts of a queue, which is the same for all queues.
    fn share(&mut self, hosts: f64) -> Result<(), Refusal> {
        if hosts.fract() != 0.0 || hosts > f64::from(MOST) {
            let rule = format!("must be a whole number up to {MOST} for a simulation");
            return Err(Refusal::new("queue.hosts", hosts, rule));
        }
        if self.given && f64::from(self.hosts) != hosts {
            let rule = format!(
                "must be {}, as for the other kernels, since a simulation has one number of hosts",
                self.hosts
            );
            return Err(Refusal::new("queue.hosts", hosts, rule));
        }
        (self.hosts, self.given) = (hosts as u32, true);
        Ok(())
    }

    /// The number of the accelerator with this name, or of a new one.
    fn number(&mut self, elements: u32, name: Option<&'s str>) -> usize {
        let known = name.and_then(|name| self.named.iter().find(|(other, _)| *other == name));
        if let Some((_, number)) = known {
            return *number;
        }
        let number = self.elements.len();
        self.elements.push(elements);
        self.named.extend(name.map(|name| (name, number)));
        number
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
        "must be 0 (constant) or 1 (exponential) for a simulation; for other distributions leave it \
         out and give sizes",
    ))
}

fn between(offered: Offered, request_cycles: f64) -> Option<Time> {
    match offered {
        Offered::Saturated => None,
        Offered::Load(load) => Some(cycles(request_cycles / load)),
    }
}

/// Converts cycles to simulated time: a cycle is a nanosecond, so times have a resolution of a
/// thousandth of a cycle.
pub(super) fn cycles(cycles: f64) -> Time {
    Time::from_ns_f64(cycles)
}

impl Work {
    /// Draws an instance of this kernel, which has the number `kernel`.
    fn draw(&self, kernel: usize, dice: &mut Stream) -> Piece {
        let (bytes, power, host) = match &self.sizes {
            None => (0.0, 0.0, self.kernel.draw(self.kernel_cycles, dice)),
            Some((sizes, beta, mean)) => {
                let bytes = sizes.quantile(dice.uniform());
                let power = libm::pow(bytes, *beta);
                (bytes, power, self.kernel_cycles * power / mean)
            }
        };
        let offloaded = match self.choice {
            Choice::None => false,
            Choice::Share(share) => dice.bernoulli(share),
            Choice::Sizes(selected) => selected.draw(bytes, dice),
        };
        if !offloaded {
            return Piece::OnHost(cycles(host));
        }
        Piece::Offloaded {
            kernel,
            transfer: cycles(self.transfer_cycles + self.transfer_per_byte * bytes),
            service: cycles(match self.service {
                Service::OfHost(accelerated) => host * accelerated,
                Service::OfSize(each) => power * each,
                Service::Apart(mean, spread) => spread.draw(mean, dice),
            }),
        }
    }
}

impl Selected {
    /// Whether an offload of `bytes` bytes goes to the accelerator.
    fn draw(&self, bytes: f64, dice: &mut Stream) -> bool {
        self.always.contains(bytes) || self.sometimes.contains(bytes) && dice.bernoulli(self.part)
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
