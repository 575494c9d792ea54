//! Uncertain inputs: how much the results of a scenario vary if inputs are not known exactly.

use std::fmt;

use accelflow_kernel::Stream;
use accelflow_parameters::Refusal;

use super::quantity::{CyclesPerSecond, MeanCycles, OffloadsPerSecond};
use super::scenario::{Kernel, Queueing, Scenario, Selection};

/// The probability distribution of a model input that is not known exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// A uniform distribution: all values between two bounds are equally likely.
    Uniform {
        /// The smallest value of the input.
        min: f64,
        /// The largest value of the input.
        max: f64,
    },
    /// A triangular distribution: values between two bounds, with one most probable value.
    Triangular {
        /// The smallest value of the input.
        min: f64,
        /// The most probable value of the input.
        mode: f64,
        /// The largest value of the input.
        max: f64,
    },
    /// A normal distribution, as for an input that was measured with an error.
    Normal {
        /// The mean of the input.
        mean: f64,
        /// The standard deviation of the input, above 0.
        sd: f64,
    },
}

impl fmt::Display for Distribution {
    /// As users write it: `min 2, max 3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distribution::Uniform { min, max } => write!(f, "min {min}, max {max}"),
            Distribution::Triangular { min, mode, max } => {
                write!(f, "min {min}, mode {mode}, max {max}")
            }
            Distribution::Normal { mean, sd } => write!(f, "mean {mean}, sd {sd}"),
        }
    }
}

impl Distribution {
    /// Checks the parameters of the distribution. `place` names the uncertain input in the error.
    ///
    /// # Errors
    /// [`Refusal`] for an infinite parameter, for a `min` that is not below `max`, for a `mode`
    /// outside `min` to `max`, and for an `sd` that is not above 0.
    pub fn check(self, place: &str) -> Result<(), Refusal> {
        let (allowed, rule) = match self {
            Distribution::Uniform { min, max } => (
                min < max && (max - min).is_finite(),
                "must have finite min and max, and min below max",
            ),
            Distribution::Triangular { min, mode, max } => (
                min <= mode && mode <= max && min < max && (max - min).is_finite(),
                "must have finite min and max, min below max, and mode from min to max",
            ),
            Distribution::Normal { mean, sd } => (
                mean.is_finite() && sd > 0.0 && sd.is_finite(),
                "must have a finite mean, and a finite sd above 0",
            ),
        };
        if allowed {
            return Ok(());
        }
        Err(Refusal::new(place, self, rule))
    }

    /// The single value that stands for the distribution: the mode of a triangular distribution,
    /// the mean of the other distributions.
    pub fn central(self) -> f64 {
        match self {
            Distribution::Uniform { min, max } => min + (max - min) / 2.0,
            Distribution::Triangular { mode, .. } => mode,
            Distribution::Normal { mean, .. } => mean,
        }
    }

    /// A low and a high value of the input: the bounds, or for a normal distribution the mean minus
    /// and plus two standard deviations.
    pub fn ends(self) -> (f64, f64) {
        match self {
            Distribution::Uniform { min, max } | Distribution::Triangular { min, max, .. } => {
                (min, max)
            }
            Distribution::Normal { mean, sd } => (mean - 2.0 * sd, mean + 2.0 * sd),
        }
    }

    fn draw(self, dice: &mut Stream) -> f64 {
        match self {
            Distribution::Uniform { min, max } => min + (max - min) * dice.uniform(),
            Distribution::Triangular { min, mode, max } => {
                let (u, left) = (dice.uniform(), (mode - min) / (max - min));
                if u < left {
                    min + libm::sqrt(u * (max - min) * (mode - min))
                } else {
                    max - libm::sqrt((1.0 - u) * (max - min) * (max - mode))
                }
            }
            Distribution::Normal { mean, sd } => {
                let radius = libm::sqrt(-2.0 * libm::log(1.0 - dice.uniform()));
                let angle = std::f64::consts::TAU * dice.uniform();
                mean + sd * radius * libm::cos(angle)
            }
        }
    }
}

/// An input of a [`Scenario`] that may be uncertain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// C: the cycles of the host per second.
    HostCycles,
    /// alpha: the kernel's share of the host's cycles.
    KernelShare,
    /// n: the offloads per second.
    Offloads,
    /// o0: the cycles to prepare one offload.
    Setup,
    /// Q: the cycles that an offload waits in the accelerator's queue, if Q is given as a mean.
    Queue,
    /// The hosts that share the accelerator, if Q is computed from an M/G/k queue. The number is
    /// the same for all kernels that share the queue.
    QueueHosts,
    /// The part of L, the cycles to move one offload, that does not depend on the size.
    Transfer,
    /// The part of L, the cycles to move one offload, that each byte adds.
    TransferPerByte,
    /// o1: the cycles of one thread switch.
    ThreadSwitch,
    /// A: how many times as fast as the host the accelerator is.
    Acceleration,
    /// C_b: the host needs C_b g^beta cycles for an offload of g bytes.
    CyclesPerByte,
    /// beta: the exponent of the size g in C_b g^beta, the host's cycles for an offload.
    Complexity,
}

impl Field {
    /// All inputs that may be uncertain.
    pub const ALL: [Field; 12] = [
        Field::HostCycles,
        Field::KernelShare,
        Field::Offloads,
        Field::Setup,
        Field::Queue,
        Field::QueueHosts,
        Field::Transfer,
        Field::TransferPerByte,
        Field::ThreadSwitch,
        Field::Acceleration,
        Field::CyclesPerByte,
        Field::Complexity,
    ];

    /// The input's name in files, such as `setup_cycles`.
    pub fn name(self) -> &'static str {
        match self {
            Field::HostCycles => "host_cycles_per_s",
            Field::KernelShare => "kernel_share_ratio",
            Field::Offloads => "offloads_per_s",
            Field::Setup => "setup_cycles",
            Field::Queue => "queue_cycles",
            Field::QueueHosts => "queue.hosts",
            Field::Transfer => "transfer_cycles",
            Field::TransferPerByte => "transfer_cycles_per_byte",
            Field::ThreadSwitch => "thread_switch_cycles",
            Field::Acceleration => "acceleration_ratio",
            Field::CyclesPerByte => "cycles_per_byte",
            Field::Complexity => "complexity_exponent",
        }
    }

    /// The input's value in `scenario`, for the kernel with the index `kernel`; `None` if the value
    /// is not given or there is no such kernel.
    pub fn get(self, scenario: &Scenario, kernel: usize) -> Option<f64> {
        let k = scenario.kernels.get(kernel)?;
        match self {
            Field::HostCycles => Some(scenario.host.0),
            Field::KernelShare => Some(k.share),
            Field::Offloads => Some(k.offloads.0),
            Field::Setup => Some(k.setup.0),
            Field::Queue => match k.queue {
                Queueing::Mean(mean) => Some(mean.0),
                _ => None,
            },
            Field::QueueHosts => match k.queue {
                Queueing::Station { hosts, .. } => Some(hosts),
                _ => None,
            },
            Field::Transfer => Some(k.transfer.fixed.0),
            Field::TransferPerByte => Some(k.transfer.per_byte.0),
            Field::ThreadSwitch => Some(k.thread_switch.0),
            Field::Acceleration => k.acceleration,
            Field::CyclesPerByte => k.host_cost.cycles_per_byte,
            Field::Complexity => Some(k.host_cost.complexity),
        }
    }

    fn set(self, scenario: &mut Scenario, kernel: usize, value: f64) {
        if self == Field::HostCycles {
            scenario.host = CyclesPerSecond(value);
            return;
        }
        if self == Field::QueueHosts {
            set_hosts(scenario, kernel, value);
            return;
        }
        let Some(k) = scenario.kernels.get_mut(kernel) else {
            return;
        };
        match self {
            Field::HostCycles | Field::QueueHosts => {}
            Field::KernelShare => k.share = value,
            Field::Offloads => k.offloads = OffloadsPerSecond(value),
            Field::Setup => k.setup = MeanCycles(value),
            Field::Queue => k.queue = Queueing::Mean(MeanCycles(value)),
            Field::Transfer => k.transfer.fixed = MeanCycles(value),
            Field::TransferPerByte => k.transfer.per_byte = MeanCycles(value),
            Field::ThreadSwitch => k.thread_switch = MeanCycles(value),
            Field::Acceleration => k.acceleration = Some(value),
            Field::CyclesPerByte => k.host_cost.cycles_per_byte = Some(value),
            Field::Complexity => k.host_cost.complexity = value,
        }
    }
}

/// Sets the hosts of the kernel's accelerator, for all kernels that share it.
fn set_hosts(scenario: &mut Scenario, kernel: usize, value: f64) {
    let chosen = scenario.kernels.get(kernel);
    let name = chosen.and_then(shared_queue).map(str::to_owned);
    for (number, other) in scenario.kernels.iter_mut().enumerate() {
        let shares = name.is_some() && shared_queue(other) == name.as_deref();
        if let Queueing::Station { hosts, .. } = &mut other.queue
            && (shares || number == kernel)
        {
            *hosts = value;
        }
    }
}

/// Whether `field` is one input for the kernels `a` and `b`, such as the hosts of their queue.
fn same_input(scenario: &Scenario, field: Field, a: usize, b: usize) -> bool {
    let queue = |kernel: usize| scenario.kernels.get(kernel).and_then(shared_queue);
    a == b || field == Field::QueueHosts && queue(a).is_some() && queue(a) == queue(b)
}

/// The name of the queue that the kernel shares with others.
fn shared_queue(kernel: &Kernel) -> Option<&str> {
    match &kernel.queue {
        Queueing::Station { shared, .. } => shared.as_deref(),
        _ => None,
    }
}

/// An input of a [`Scenario`] that is not known exactly, with its distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Uncertain {
    /// The index of the kernel in [`Scenario::kernels`]; ignored for [`Field::HostCycles`]. For an
    /// index without a kernel, the input has no effect.
    pub kernel: usize,
    /// Which input of the kernel (or host) is uncertain.
    pub field: Field,
    /// The probability distribution of the input's value.
    pub distribution: Distribution,
}

impl Uncertain {
    /// `error` with the kernel's name in its place; C belongs to no kernel.
    fn within(&self, scenario: &Scenario, error: Refusal) -> Refusal {
        match scenario.kernels.get(self.kernel) {
            Some(kernel) if self.field != Field::HostCycles => error.within(&kernel.name),
            _ => error,
        }
    }
}

/// The results of many evaluations of a [`Scenario`] with randomly drawn inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    /// The speedups C / C_S of all draws that the model accepted, in increasing order.
    pub speedup: Vec<f64>,
    /// The latency reductions C / C_L of all draws that the model accepted, in increasing order;
    /// empty if the scenario does not determine them.
    pub latency_reduction: Vec<f64>,
    /// The number of draws that the model refused, for example because an accelerator is
    /// overloaded. They do not count in the results.
    pub rejected: usize,
    /// The reason why the model refused the last rejected draw; `None` if no draw was rejected.
    pub why_rejected: Option<Refusal>,
}

/// Evaluates `scenario` for `draws` independent random draws of the uncertain inputs. Equal
/// arguments give bit-identical results; each input has its own stream of random numbers.
///
/// A kernel's share of the host's cycles and the cost of its offloads describe the same work: alpha
/// C = n C_b E(g^beta) in Accelerometer's symbols, with g the size of an offload in bytes. If all
/// of these are given, alpha is adjusted to the drawn inputs; if alpha itself is drawn, C_b is
/// adjusted.
///
/// A kernel that rides on another ([`Kernel::rides_on`]) shares the other's offloads. Their number
/// is drawn once, for the kernel that carries them.
///
/// # Errors
/// [`Refusal`] for an invalid distribution, for two uncertain inputs of which one follows from the
/// other (alpha and C_b), for an uncertain beta if C_b is given, and if the model refuses every
/// draw.
pub fn sample(
    scenario: &Scenario,
    uncertain: &[Uncertain],
    draws: usize,
    seed: u64,
) -> Result<Samples, Refusal> {
    for input in uncertain {
        let checked = input.distribution.check(input.field.name());
        checked.map_err(|error| input.within(scenario, error))?;
    }
    for (number, kernel) in scenario.kernels.iter().enumerate() {
        check_independent(kernel, |field| is_uncertain(uncertain, field, number))
            .map_err(|error| error.within(&kernel.name))?;
    }
    let mut dice: Vec<Stream> = (0..uncertain.len() as u64)
        .map(|stream| Stream::new(seed, stream))
        .collect();
    let carried = carried(scenario);
    let mut drawn = scenario.clone();
    let mut samples = Samples {
        speedup: Vec::with_capacity(draws),
        latency_reduction: Vec::with_capacity(draws),
        rejected: 0,
        why_rejected: None,
    };
    for _ in 0..draws {
        for (input, dice) in uncertain.iter().zip(&mut dice) {
            let value = input.distribution.draw(dice);
            input.field.set(&mut drawn, input.kernel, value);
        }
        if uncertain.iter().any(|input| input.field == Field::Offloads) {
            keep_carried(&mut drawn, &carried);
        }
        keep_relation(&mut drawn, scenario, |field, number| {
            is_uncertain(uncertain, field, number)
        });
        match drawn.evaluate() {
            Ok(outcome) => {
                samples.speedup.push(outcome.speedup);
                samples.latency_reduction.extend(outcome.latency_reduction);
            }
            Err(error) => {
                samples.rejected += 1;
                samples.why_rejected = Some(error);
            }
        }
    }
    if samples.speedup.is_empty()
        && let Some(error) = samples.why_rejected
    {
        return Err(Refusal {
            place: format!(
                "every random draw is refused, the last one for {}",
                error.place
            ),
            ..error
        });
    }
    samples.speedup.sort_by(f64::total_cmp);
    samples.latency_reduction.sort_by(f64::total_cmp);
    Ok(samples)
}

fn is_uncertain(uncertain: &[Uncertain], field: Field, kernel: usize) -> bool {
    let shared = field == Field::HostCycles;
    let mut all = uncertain.iter();
    all.any(|input| input.field == field && (shared || input.kernel == kernel))
}

/// The kernels that ride on another: the index of each, and of the kernel that carries it.
fn carried(scenario: &Scenario) -> Vec<(usize, usize)> {
    let kernels = scenario.kernels.iter().enumerate();
    kernels
        .filter_map(|(rider, kernel)| {
            let name = kernel.rides_on.as_deref()?;
            let carrier = scenario.kernels.iter().position(|k| k.name == name)?;
            Some((rider, carrier))
        })
        .collect()
}

/// Gives riders the offloads of the kernels that carry them.
fn keep_carried(changed: &mut Scenario, carried: &[(usize, usize)]) {
    for (rider, carrier) in carried {
        changed.kernels[*rider].offloads = changed.kernels[*carrier].offloads;
    }
}

fn check_independent(kernel: &Kernel, is_uncertain: impl Fn(Field) -> bool) -> Result<(), Refusal> {
    let given = kernel.host_cost.cycles_per_byte.is_some();
    let refuse = |field: Field, why: &str| Err(Refusal::new(field.name(), "a range", why));
    if is_uncertain(Field::Complexity) && given {
        return refuse(
            Field::Complexity,
            "must be a number, since the exponent sets the unit of cycles_per_byte; for a range, leave \
             cycles_per_byte out and give sizes",
        );
    }
    let tied = given && kernel.sizes.is_some();
    if tied && is_uncertain(Field::KernelShare) && is_uncertain(Field::CyclesPerByte) {
        return refuse(
            Field::CyclesPerByte,
            "must be left out, since kernel_share_ratio is a range too: cycles_per_byte is \
             then computed from kernel_share_ratio, offloads_per_s, sizes and host_cycles_per_s",
        );
    }
    Ok(())
}

/// Updates alpha for the changes from `given` to `changed`, or C_b if alpha itself has changed, in
/// every kernel where all of alpha C = n C_b E(g^beta) is given. The cost of a byte is a property
/// of kernel and host, so more offloads mean more work.
fn keep_relation(
    changed: &mut Scenario,
    given: &Scenario,
    has_changed: impl Fn(Field, usize) -> bool,
) {
    let host = changed.host;
    for (number, (kernel, before)) in changed.kernels.iter_mut().zip(&given.kernels).enumerate() {
        let Some(counted_before) = before.counted_share(given.host) else {
            continue;
        };
        if !has_changed(Field::CyclesPerByte, number) {
            kernel.host_cost.cycles_per_byte = before.host_cost.cycles_per_byte;
        }
        let Some(ratio) = kernel
            .counted_share(host)
            .map(|counted| counted / counted_before)
            .filter(|ratio| *ratio >= 0.0 && ratio.is_finite())
        else {
            continue;
        };
        if !has_changed(Field::KernelShare, number) {
            kernel.share = before.share * ratio;
        } else if let Some(cost) = &mut kernel.host_cost.cycles_per_byte
            && before.share * ratio > 0.0
        {
            *cost *= kernel.share / before.share / ratio;
        }
    }
}

/// Returns the quantile `quantile` (clamped to 0 to 1) of the ascending list `sorted`, interpolated
/// linearly between neighbours; `None` for an empty list.
pub fn quantile(sorted: &[f64], quantile: f64) -> Option<f64> {
    let place = quantile.clamp(0.0, 1.0) * sorted.len().checked_sub(1)? as f64;
    let (low, part) = (place.floor() as usize, place.fract());
    let high = (low + 1).min(sorted.len() - 1);
    Some(sorted[low] + part * (sorted[high] - sorted[low]))
}

/// The change of the speedup when one input alone changes: a bar of a tornado diagram.
#[derive(Clone, Debug, PartialEq)]
pub struct Swing {
    /// The index of the kernel in [`Scenario::kernels`].
    pub kernel: usize,
    /// The input whose value changes.
    pub field: Field,
    /// The input's low value, and the speedup with it: `None` if the model refuses the value.
    pub low: (f64, Option<f64>),
    /// The input's high value, and the speedup with it: `None` if the model refuses the value.
    pub high: (f64, Option<f64>),
}

impl Swing {
    /// The absolute difference between the speedups in `low` and in `high`. Infinite if the model
    /// refuses the low or the high value.
    pub fn size(&self) -> f64 {
        match (self.low.1, self.high.1) {
            (Some(low), Some(high)) => (high - low).abs(),
            _ => f64::INFINITY,
        }
    }
}

/// Evaluates `scenario` for a low and a high value of one input at a time. Returns the changes of
/// the speedup, largest first: a tornado diagram. An input in `uncertain` varies between the ends
/// of its distribution. Any other input varies by the share `around` in both directions: with 0.1
/// from 90 % to 110 % of its value, alpha to at most 1, and n to at most all possible offloads.
///
/// The result leaves out inputs that are not given, infinite or derived from others, and inputs of
/// 0 that are not in `uncertain`. The offloads of a kernel that rides on another are derived: they
/// are those of the kernel that carries it, and change with them. The hosts of a queue that kernels
/// share are one input, of the first of these kernels, whichever of them is in `uncertain`. As in
/// [`sample`], the last of several distributions of one input counts. If alpha, C, n, C_b and sizes
/// are all given (in Accelerometer's symbols), alpha is derived from the others; if alpha is in
/// `uncertain`, C_b is derived instead. C, beta, and C_b without sizes vary only if they are in
/// `uncertain`: C has an effect only as n / C, beta determines the unit of C_b, and C_b without
/// sizes has no effect.
pub fn tornado(scenario: &Scenario, uncertain: &[Uncertain], around: f64) -> Vec<Swing> {
    let mut swings = Vec::new();
    for (number, kernel) in scenario.kernels.iter().enumerate() {
        for field in Field::ALL {
            let shared = field == Field::HostCycles;
            let known = uncertain.iter().rfind(|input| {
                input.field == field
                    && (shared || same_input(scenario, field, input.kernel, number))
            });
            let Some(value) = field.get(scenario, number) else {
                continue;
            };
            let follows = match field {
                Field::Offloads => kernel.rides_on.is_some(),
                Field::QueueHosts => shared_queue(kernel).is_some_and(|name| {
                    let mut before = scenario.kernels[..number].iter();
                    before.any(|other| shared_queue(other) == Some(name))
                }),
                _ => false,
            };
            let skipped = match known {
                _ if follows => true,
                Some(_) => shared && number > 0,
                None => {
                    value == 0.0
                        || !varies_by_itself(field, kernel, |field| {
                            is_uncertain(uncertain, field, number)
                        })
                }
            };
            if skipped || value.is_infinite() {
                continue;
            }
            let around = || (value * (1.0 - around), value * (1.0 + around));
            let (low, high) = known.map_or_else(around, |input| input.distribution.ends());
            // The high value is limited to all of the host, and to all offloads.
            let high = match (field, kernel.selection, known) {
                (Field::KernelShare, _, None) => high.min(1.0),
                (Field::Offloads, Selection::OutOf(all), None) => high.min(all.0),
                _ => high,
            };
            swings.push(Swing {
                kernel: number,
                field,
                low: (low, with(scenario, uncertain, (field, number), low)),
                high: (high, with(scenario, uncertain, (field, number), high)),
            });
        }
    }
    swings.sort_by(|a, b| b.size().total_cmp(&a.size()));
    swings
}

/// Whether `field` is an input that varies even if no uncertainty is given for it.
fn varies_by_itself(field: Field, kernel: &Kernel, is_uncertain: impl Fn(Field) -> bool) -> bool {
    let tied = kernel.host_cost.cycles_per_byte.is_some() && kernel.sizes.is_some();
    match field {
        Field::HostCycles | Field::Complexity => false,
        Field::KernelShare => !tied,
        Field::CyclesPerByte => tied && !is_uncertain(Field::KernelShare),
        _ => true,
    }
}

/// The speedup with the input `field` of a kernel changed; `None` if that is impossible. As in
/// [`sample`], an alpha in `uncertain` follows from no other input.
fn with(
    scenario: &Scenario,
    uncertain: &[Uncertain],
    (field, kernel): (Field, usize),
    value: f64,
) -> Option<f64> {
    let mut changed = scenario.clone();
    field.set(&mut changed, kernel, value);
    if field == Field::Offloads {
        keep_carried(&mut changed, &carried(scenario));
    }
    keep_relation(&mut changed, scenario, |other, number| {
        let varied = other == field && (number == kernel || other == Field::HostCycles);
        varied || other == Field::KernelShare && is_uncertain(uncertain, other, number)
    });
    changed.evaluate().ok().map(|outcome| outcome.speedup)
}
