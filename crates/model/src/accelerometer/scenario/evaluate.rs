//! From a scenario to its outcome.

use accelflow_parameters::Refusal;

use super::outcome::{KernelOutcome, Limit, Losses, Outcome};
use super::service::{Kernel, Queueing, Scaling, Scenario, Selection};
use crate::accelerometer::granularity::{Lucrative, Offload, bisect};
use crate::accelerometer::point::Point;
use crate::accelerometer::quantity::{CyclesPerSecond, MeanCycles, OffloadsPerSecond};
use crate::accelerometer::queueing::Station;
use crate::accelerometer::sizes::SizeCdf;

impl Scenario {
    /// Evaluates the scenario.
    ///
    /// Where queueing and selection depend on each other (what queues decides what pays, and what
    /// pays decides what queues), the result is their one common solution.
    ///
    /// # Errors
    /// [`Refusal`] for a value outside its range, shares that add up to more than 1, an
    /// accelerator that cannot keep up, a value that is missing for what is asked, and a share that
    /// differs by more than [`super::RELATION_TOLERANCE`] from what the offloads cost, where that is given.
    pub fn evaluate(&self) -> Result<Outcome, Refusal> {
        outcome_of(self)
    }
}

fn outcome_of(scenario: &Scenario) -> Result<Outcome, Refusal> {
    let host = scenario.host;
    above_zero("host_cycles_per_s", host.0)?;
    if scenario.kernels.is_empty() {
        return Err(Refusal::new("kernels", 0, "must be one or more"));
    }
    let total: f64 = scenario.kernels.iter().map(|k| k.share).sum();
    let mut kernels = Vec::with_capacity(scenario.kernels.len());
    let (mut offloaded, mut host_added, mut request_added) = (0.0, 0.0, Some(0.0));
    for kernel in &scenario.kernels {
        let (point, outcome) =
            evaluate(kernel, host).map_err(|error| error.within(&kernel.name))?;
        let (host_side, request_side) = kernel.design.coefficients();
        offloaded += outcome.offloaded_share;
        host_added += point.added(host_side);
        request_added = request_added
            .filter(|_| outcome.latency_reduction.is_some())
            .map(|sum| sum + point.added(request_side));
        kernels.push(outcome);
    }
    if total > 1.0 {
        return Err(Refusal::new(
            "sum of kernel_share_ratio",
            total,
            "must be at most 1: kernels are parts of one host's cycles",
        ));
    }
    Ok(Outcome {
        speedup: 1.0 / ((1.0 - offloaded) + host_added),
        latency_reduction: request_added.map(|added| 1.0 / ((1.0 - offloaded) + added)),
        ideal_speedup: 1.0 / (1.0 - total),
        kernels,
    })
}

fn evaluate(kernel: &Kernel, host: CyclesPerSecond) -> Result<(Point, KernelOutcome), Refusal> {
    check(kernel)?;
    kernel.check_relation(host)?;
    let (host_side, request_side) = kernel.design.coefficients();
    let solver = Solver {
        kernel,
        host,
        cycles_per_byte: cycles_per_byte(kernel, host),
    };
    if host_side.accelerator > 0.0 && kernel.acceleration.is_none() {
        return Err(missing(
            "acceleration_ratio",
            "the host waits for the accelerator",
        ));
    }
    let (picked, queue) = solver.solve()?;
    let transfer = picked.transfer;
    let acceleration = kernel.acceleration.unwrap_or(f64::INFINITY);
    let point = Point {
        kernel_share: picked.share,
        offload_rate: picked.offloads / host,
        setup: kernel.setup,
        interface: transfer + queue,
        thread_switch: kernel.thread_switch,
        acceleration,
    };
    let knows_latency = request_side.accelerator == 0.0 || kernel.acceleration.is_some();
    let rate = point.offload_rate;
    let losses = Losses {
        not_offloaded: kernel.share - picked.share,
        accelerator: host_side.accelerator * picked.share / acceleration,
        setup: rate * kernel.setup,
        transfer: rate * (host_side.interface * transfer),
        queue: rate * (host_side.interface * queue),
        thread_switches: rate * (host_side.switches * kernel.thread_switch),
    };
    let outside = request_side.interface == 0.0 && kernel.acceleration.is_some();
    let speedup = 1.0 / point.remaining(host_side);
    let ideal_speedup = 1.0 / (1.0 - kernel.share);
    let outcome = KernelOutcome {
        offloaded_share: picked.share,
        offloaded_share_by_cycles: solver.share_by_cycles(picked.range),
        offloads: picked.offloads,
        lucrative_share: picked.part,
        cycles_per_byte: solver.cycles_per_byte,
        transfer,
        queue,
        utilisation: solver.station(&picked).map(|s| s.utilisation()),
        pays_in_speedup: solver.pays(queue, true),
        pays_in_latency: knows_latency.then(|| solver.pays(queue, false)).flatten(),
        speedup,
        latency_reduction: knows_latency.then(|| 1.0 / point.remaining(request_side)),
        outside_service: outside.then(|| picked.share / acceleration + rate * (transfer + queue)),
        ideal_speedup,
        losses,
        limit: losses.limit(speedup, ideal_speedup),
    };
    Ok((point, outcome))
}

/// What goes to the accelerator.
struct Picked {
    range: Lucrative,
    part: f64,
    offloads: OffloadsPerSecond,
    share: f64,
    transfer: MeanCycles,
}

const EVERY: Lucrative = Lucrative {
    from_bytes: 0.0,
    to_bytes: f64::INFINITY,
};

struct Solver<'k> {
    kernel: &'k Kernel,
    host: CyclesPerSecond,
    cycles_per_byte: Option<f64>,
}

impl Solver<'_> {
    /// What is picked, and the queue that it meets.
    fn solve(&self) -> Result<(Picked, MeanCycles), Refusal> {
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
            // The mean or list of Q decides what pays; a station's wait does not here.
            let queue = MeanCycles(wait);
            return Ok((self.pick(queue)?, queue));
        }
        // A longer wait makes fewer offloads pay, and fewer offloads wait less: the wait that
        // results falls with the wait assumed, so there is exactly one crossing.
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

    fn share_by_cycles(&self, range: Lucrative) -> Option<f64> {
        let sizes = self.kernel.sizes.as_ref()?;
        let beta = self.kernel.host_cost.complexity;
        Some(self.kernel.share * sizes.moment(beta, range) / sizes.mean_power(beta))
    }

    fn pays(&self, queue: MeanCycles, in_speedup: bool) -> Option<Lucrative> {
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

    fn station(&self, picked: &Picked) -> Option<Station> {
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

impl Losses {
    fn limit(&self, speedup: f64, ideal: f64) -> Limit {
        if speedup - 1.0 >= 0.9 * (ideal - 1.0) {
            return Limit::RestOfService;
        }
        let losses = [
            (self.not_offloaded, Limit::NotOffloaded),
            (self.accelerator, Limit::Accelerator),
            (self.setup, Limit::Setup),
            (self.transfer, Limit::Transfer),
            (self.queue, Limit::Queue),
            (self.thread_switches, Limit::ThreadSwitches),
        ];
        let largest = losses.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
        largest.map_or(Limit::RestOfService, |(_, limit)| limit)
    }
}

fn cycles_per_byte(kernel: &Kernel, host: CyclesPerSecond) -> Option<f64> {
    kernel.host_cost.cycles_per_byte.or_else(|| {
        let work = kernel.candidates().0 * kernel.mean_work()?;
        (work > 0.0).then(|| kernel.share * host.0 / work)
    })
}

fn check(kernel: &Kernel) -> Result<(), Refusal> {
    if !(0.0..=1.0).contains(&kernel.share) {
        return Err(Refusal::new(
            "kernel_share_ratio",
            kernel.share,
            "must be from 0 to 1",
        ));
    }
    at_least_zero("offloads_per_s", kernel.offloads.0)?;
    at_least_zero("setup_cycles", kernel.setup.0)?;
    at_least_zero("transfer_cycles", kernel.transfer.fixed.0)?;
    at_least_zero("transfer_cycles_per_byte", kernel.transfer.per_byte.0)?;
    at_least_zero("thread_switch_cycles", kernel.thread_switch.0)?;
    above_zero("complexity_exponent", kernel.host_cost.complexity)?;
    if let Some(cost) = kernel.host_cost.cycles_per_byte {
        above_zero("cycles_per_byte", cost)?;
    }
    if let Some(acceleration) = kernel.acceleration
        && (acceleration.is_nan() || acceleration <= 0.0)
    {
        return Err(Refusal::new(
            "acceleration_ratio",
            acceleration,
            "must be above 0 (inf for an ideal accelerator)",
        ));
    }
    check_queue(kernel)?;
    check_selection(kernel)
}

fn check_selection(kernel: &Kernel) -> Result<(), Refusal> {
    if let Selection::OutOf(all) = kernel.selection
        && !(all.0 > 0.0 && all.0 >= kernel.offloads.0 && all.0.is_finite())
    {
        return Err(Refusal::new(
            "all_offloads_per_s",
            all.0,
            format!("must be at least offloads_per_s, {}", kernel.offloads.0),
        ));
    }
    Ok(())
}

fn check_queue(kernel: &Kernel) -> Result<(), Refusal> {
    match &kernel.queue {
        Queueing::Mean(mean) => at_least_zero("queue_cycles", mean.0),
        Queueing::List(waits) if waits.is_empty() => Err(Refusal::new(
            "queue_cycles",
            "[]",
            "must have at least one wait",
        )),
        Queueing::List(waits) => waits
            .iter()
            .enumerate()
            .try_for_each(|(i, wait)| at_least_zero(&format!("queue_cycles[{i}]"), *wait)),
        Queueing::Station {
            servers,
            hosts,
            service,
            service_scv,
            ..
        } => {
            if !(1..=100_000).contains(servers) {
                let rule = "must be from 1 to 100000";
                return Err(Refusal::new("queue.servers", servers, rule));
            }
            above_zero("queue.hosts", *hosts)?;
            at_least_zero("queue.service_cycles", service.map_or(0.0, |s| s.0))?;
            at_least_zero("queue.service_scv_ratio", service_scv.unwrap_or(0.0))?;
            if service.is_none() && kernel.acceleration.is_none() {
                let why = "the queue's service_cycles are to be derived from it";
                return Err(missing("acceleration_ratio", why));
            }
            Ok(())
        }
    }
}

fn missing(place: &str, why: &str) -> Refusal {
    Refusal::new(place, "missing", format!("must be given, since {why}"))
}

fn at_least_zero(place: &str, value: f64) -> Result<(), Refusal> {
    if value >= 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(Refusal::new(
        place,
        value,
        "must be a number from 0 upwards",
    ))
}

fn above_zero(place: &str, value: f64) -> Result<(), Refusal> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(Refusal::new(place, value, "must be a number above 0"))
}
