//! The evaluation of an Accelerometer scenario: speedup, latency reduction and losses.

use accelflow_parameters::Refusal;

use super::outcome::{KernelResult, Limit, Losses, ScenarioResult};
use super::service::{Kernel, Queueing, Scenario, Selection};
use super::shared::{SharedQueue, check_shared, lines};
use super::solver::{Solver, missing};
use crate::accelerometer::parameters;
use crate::accelerometer::point::Point;
use crate::accelerometer::quantity::CyclesPerSecond;

impl Scenario {
    /// Evaluates the Accelerometer model: speedup, latency reduction and losses of the service and
    /// of each kernel.
    ///
    /// With [`Selection::Lucrative`], the wait in the accelerator's queue and the selected offloads
    /// depend on each other: a longer wait means that fewer offloads save cycles, and fewer
    /// offloads shorten the wait. The result is the only wait and selection that fit each other. If
    /// offloads of one size then save exactly 0 cycles, only a part of them goes to the
    /// accelerator.
    ///
    /// # Errors
    /// [`Refusal`] for
    ///
    /// * a value outside its range, a missing value, or no kernels;
    /// * shares of the kernels that add up to more than 1;
    /// * a kernel's share that contradicts its offloads, sizes and cycles per byte, if all of these
    ///   are given: the given share and the share that follows from them differ by more than the
    ///   factor [`RELATION_TOLERANCE`](super::RELATION_TOLERANCE);
    /// * an accelerator that cannot keep up with its offloads;
    /// * kernels that describe a shared accelerator differently;
    /// * a [`Kernel::rides_on`] that does not name another kernel, or that names a kernel which
    ///   itself has a `rides_on`;
    /// * [`Selection::Lucrative`] for a kernel with a `rides_on` or for the kernel that it names.
    pub fn evaluate(&self) -> Result<ScenarioResult, Refusal> {
        outcome_of(self)
    }

    /// # Errors
    /// [`Refusal`] for a value outside its range, for shares that add up to more than 1 or that the
    /// offloads contradict, and for kernels that describe a shared accelerator differently.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        check_kernels(self)?;
        for kernel in &self.kernels {
            let checked = kernel.check(self.host).and_then(|()| check_given(kernel));
            checked.map_err(|error| error.within(&kernel.name))?;
            check_rider(kernel, self).map_err(|error| error.within(&kernel.name))?;
        }
        check_shared(self)?;
        check_total(self)
    }
}

fn outcome_of(scenario: &Scenario) -> Result<ScenarioResult, Refusal> {
    let host = scenario.host;
    above_zero("host_cycles_per_s", host.0)?;
    check_kernels(scenario)?;
    let mut kernels = Vec::with_capacity(scenario.kernels.len());
    let (mut offloaded, mut host_added, mut request_added) = (0.0, 0.0, Some(0.0));
    for kernel in &scenario.kernels {
        check(kernel).map_err(|error| error.within(&kernel.name))?;
        check_rider(kernel, scenario).map_err(|error| error.within(&kernel.name))?;
    }
    let waits = lines(scenario)?;
    for (kernel, line) in scenario.kernels.iter().zip(waits) {
        let (point, outcome) =
            evaluate(kernel, scenario, line).map_err(|error| error.within(&kernel.name))?;
        let (host_side, request_side) = kernel.design.coefficients();
        offloaded += outcome.offloaded_share;
        host_added += point.added(host_side);
        request_added = request_added
            .filter(|_| outcome.latency_reduction.is_some())
            .map(|sum| sum + point.added(request_side));
        kernels.push(outcome);
    }
    check_total(scenario)?;
    let offloaded = whole(offloaded);
    Ok(ScenarioResult {
        speedup: 1.0 / ((1.0 - offloaded) + host_added),
        latency_reduction: request_added.map(|added| 1.0 / ((1.0 - offloaded) + added)),
        ideal_speedup: 1.0 / (1.0 - total_share(scenario)),
        kernels,
    })
}

/// The largest difference from 1 of a sum of shares that is 1 but for rounding.
const ROUNDING: f64 = 1e-12;

/// Returns 1 for a sum of shares that differs from 1 by rounding only, and other sums unchanged.
fn whole(sum: f64) -> f64 {
    if (sum - 1.0).abs() <= ROUNDING {
        return 1.0;
    }
    sum
}

fn total_share(scenario: &Scenario) -> f64 {
    whole(scenario.kernels.iter().map(|kernel| kernel.share).sum())
}

fn check_total(scenario: &Scenario) -> Result<(), Refusal> {
    let total = total_share(scenario);
    if total > 1.0 {
        return Err(Refusal::new(
            "sum of kernel_share_ratio",
            total,
            "must be at most 1: kernels are parts of one host's cycles",
        ));
    }
    Ok(())
}

impl Kernel {
    /// # Errors
    /// [`Refusal`] for a value outside its range, and for a share that the offloads contradict.
    pub(crate) fn check(&self, host: CyclesPerSecond) -> Result<(), Refusal> {
        above_zero("host_cycles_per_s", host.0)?;
        check(self)?;
        self.check_relation(host)
    }
}

/// Evaluates `kernel` alone; if it shares a queue, with the wait in `line`.
fn evaluate(
    kernel: &Kernel,
    scenario: &Scenario,
    line: Option<SharedQueue>,
) -> Result<(Point, KernelResult), Refusal> {
    let host = scenario.host;
    kernel.check_relation(host)?;
    let (host_side, request_side) = kernel.design.coefficients();
    let solver = Solver::new(kernel, scenario);
    check_given(kernel)?;
    let crossing = line.map_or_else(|| solver.solve(), |line| Ok(line.crossing))?;
    let (picked, queue) = (solver.picked(crossing)?, crossing.queue);
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
    let pays_in_speedup = solver.pays(queue, true);
    let sizes = kernel.sizes.as_ref();
    let outcome = KernelResult {
        offloaded_share: picked.share,
        offloaded_share_by_cycles: solver.share_by_cycles(&picked),
        offloads: picked.offloads,
        lucrative_share: picked.part,
        paying_share: sizes.and_then(|sizes| Some(sizes.share(pays_in_speedup?))),
        cycles_per_byte: solver.cycles_per_byte,
        transfer,
        queue,
        utilisation: line.map_or_else(
            || solver.station(&picked).map(|station| station.utilisation()),
            |line| Some(line.utilisation),
        ),
        pays_in_speedup,
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

fn check_kernels(scenario: &Scenario) -> Result<(), Refusal> {
    match scenario.kernels.is_empty() {
        true => Err(Refusal::new("kernels", 0, "must be at least one kernel")),
        false => Ok(()),
    }
}

/// Refuses a kernel without the inputs that its design and its costs need.
fn check_given(kernel: &Kernel) -> Result<(), Refusal> {
    let (host_side, _) = kernel.design.coefficients();
    if host_side.accelerator > 0.0 && kernel.acceleration.is_none() {
        let why = "the host waits for the accelerator";
        return Err(missing("acceleration_ratio", why));
    }
    if kernel.transfer.per_byte.0 > 0.0 && kernel.sizes.is_none() {
        return Err(missing("sizes", "transfer_cycles_per_byte is not 0"));
    }
    Ok(())
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
    parameters::SETUP_CYCLES.check(kernel.setup.0)?;
    parameters::TRANSFER_CYCLES.check(kernel.transfer.fixed.0)?;
    parameters::TRANSFER_CYCLES_PER_BYTE.check(kernel.transfer.per_byte.0)?;
    parameters::THREAD_SWITCH_CYCLES.check(kernel.thread_switch.0)?;
    parameters::COMPLEXITY_EXPONENT.check(kernel.host_cost.complexity)?;
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

/// The offloads of a rider are those of its carrier, so neither is selected by size alone, and the
/// accelerator's time for one includes that for the rider.
fn check_rider(kernel: &Kernel, scenario: &Scenario) -> Result<(), Refusal> {
    let Some(name) = &kernel.rides_on else {
        return Ok(());
    };
    let mut kernels = scenario.kernels.iter();
    let Some(carrier) = kernels.find(|other| other.name == *name && other.rides_on.is_none())
    else {
        let rule = "must be the name of another kernel, which itself has no rides_on";
        return Err(Refusal::new("rides_on", format!("'{name}'"), rule));
    };
    let lucrative = |kernel: &Kernel| matches!(kernel.selection, Selection::Lucrative(_));
    if lucrative(kernel) || lucrative(carrier) {
        let rule = "must be 'all' for a kernel with rides_on and for the kernel named there";
        return Err(Refusal::new("selection", "lucrative", rule));
    }
    let derived = matches!(carrier.queue, Queueing::Station { service: None, .. });
    if derived && kernel.acceleration.is_none() {
        let why = format!("the service_cycles of {name}'s queue are left out and follow from it");
        return Err(missing("acceleration_ratio", &why));
    }
    Ok(())
}

fn check_selection(kernel: &Kernel) -> Result<(), Refusal> {
    if let Selection::OutOf(all) = kernel.selection
        && !(all.0 > 0.0 && all.0 >= kernel.offloads.0 && all.0.is_finite())
    {
        return Err(Refusal::new(
            "all_offloads_per_s",
            all.0,
            format!(
                "must be a number above 0, and at least {}, the value of offloads_per_s",
                kernel.offloads.0
            ),
        ));
    }
    Ok(())
}

fn check_queue(kernel: &Kernel) -> Result<(), Refusal> {
    match &kernel.queue {
        Queueing::Mean(mean) => parameters::QUEUE_CYCLES.check(mean.0),
        Queueing::List(waits) if waits.is_empty() => Err(Refusal::new(
            "queue_cycles",
            "[]",
            "must have at least one wait",
        )),
        Queueing::List(waits) => waits.iter().enumerate().try_for_each(|(i, wait)| {
            let checked = parameters::QUEUE_CYCLES.check(*wait);
            checked.map_err(|refusal| Refusal {
                place: format!("queue_cycles[{i}]"),
                ..refusal
            })
        }),
        Queueing::Station {
            servers,
            hosts,
            service,
            service_scv,
            ..
        } => {
            parameters::QUEUE_SERVERS.check(f64::from(*servers))?;
            above_zero("queue.hosts", *hosts)?;
            at_least_zero("queue.service_cycles", service.map_or(0.0, |s| s.0))?;
            at_least_zero("queue.service_scv_ratio", service_scv.unwrap_or(0.0))?;
            if service.is_none() && kernel.acceleration.is_none() {
                let why =
                    "the queue's service_cycles are left out and follow from acceleration_ratio";
                return Err(missing("acceleration_ratio", why));
            }
            Ok(())
        }
    }
}

fn at_least_zero(place: &str, value: f64) -> Result<(), Refusal> {
    if value >= 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(Refusal::new(place, value, "must be a number, 0 or more"))
}

fn above_zero(place: &str, value: f64) -> Result<(), Refusal> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(Refusal::new(place, value, "must be a number above 0"))
}
