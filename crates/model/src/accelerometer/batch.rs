//! The equations of Accelerometer for many points at once, such as those of a sweep or a heat map.

use std::ops::Range;

use accelflow_parameters::Refusal;

use super::design::{Coefficients, Design};
use super::granularity::Offload;
use super::point::Point;
use super::quantity::{CyclesPerSecond, MeanCycles, OffloadsPerSecond};

/// Number of points that are evaluated together: few enough for a processor's first-level cache.
const BLOCK: usize = 256;

/// The values of one parameter at the points of a sweep: one value for all points, or one for each.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// One value for all points.
    One(f64),
    /// One value for each point.
    Each(Vec<f64>),
}

impl Column {
    /// The values of the points in `range`, repeated in `scratch` if there is one for all.
    #[inline]
    fn slice<'a>(&'a self, range: Range<usize>, scratch: &'a mut [f64; BLOCK]) -> &'a [f64] {
        match self {
            Column::Each(values) => &values[range],
            Column::One(value) => {
                let repeated = &mut scratch[..range.len()];
                repeated.fill(*value);
                repeated
            }
        }
    }

    #[inline]
    fn at(&self, index: usize) -> f64 {
        match self {
            Column::One(value) => *value,
            Column::Each(values) => values[index],
        }
    }

    fn check(
        &self,
        place: &str,
        (first, points): (usize, usize),
        rule: &str,
        allowed: impl Fn(f64) -> bool,
    ) -> Result<(), Refusal> {
        match self {
            Column::One(value) if !allowed(*value) => Err(Refusal::new(place, value, rule)),
            Column::One(_) => Ok(()),
            Column::Each(values) if values.len() != points => Err(Refusal::new(
                place,
                format!("{} values", values.len()),
                format!("must have one value, or one for each of the {points} points"),
            )),
            Column::Each(values) => {
                // Without an early exit within a block, so that blocks are checked many at a time.
                let good = |block: &[f64]| block.iter().fold(true, |all, v| all & allowed(*v));
                if values.chunks(BLOCK).all(good) {
                    return Ok(());
                }
                let bad = values.iter().position(|value| !allowed(*value));
                let index = bad.unwrap_or_default();
                let place = format!("{place}[{}]", first + index);
                Err(Refusal::new(place, values[index], rule))
            }
        }
    }
}

const FROM_ZERO: &str = "must be a number, 0 or more";
const ABOVE_ZERO: &str = "must be a number above 0";

fn from_zero(value: f64) -> bool {
    value >= 0.0 && value.is_finite()
}

fn above_zero(value: f64) -> bool {
    value > 0.0 && value.is_finite()
}

/// The costs of one offload at each point of a [`Sweep`] or a [`BreakEven`]: times as mean numbers
/// of host cycles, and the accelerator's speed.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// o0: the cycles to prepare one offload; `setup_cycles` in files.
    pub setup: Column,
    /// L: the cycles to move one offload to the accelerator; `transfer_cycles` in files.
    pub transfer: Column,
    /// Q: the cycles that one offload waits in the accelerator's queue; `queue_cycles` in files.
    pub queue: Column,
    /// o1: the cycles of one thread switch; `thread_switch_cycles` in files.
    pub thread_switch: Column,
    /// A: how many times as fast as the host the accelerator is; `acceleration_ratio` in files.
    pub acceleration: Column,
}

impl Costs {
    fn check(&self, points: (usize, usize)) -> Result<(), Refusal> {
        for (place, column) in [
            ("setup_cycles", &self.setup),
            ("transfer_cycles", &self.transfer),
            ("queue_cycles", &self.queue),
            ("thread_switch_cycles", &self.thread_switch),
        ] {
            column.check(place, points, FROM_ZERO, from_zero)?;
        }
        let rule = "must be above 0 (inf for an ideal accelerator)";
        self.acceleration
            .check("acceleration_ratio", points, rule, |value| value > 0.0)
    }
}

/// The inputs of the Accelerometer equations at many points. A column has one value for all points,
/// or one for each.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// C: the cycles of the host per second; `host_cycles_per_s` in files.
    pub host: Column,
    /// alpha: the kernel's share of the host's cycles, from 0 to 1; `kernel_share_ratio` in files.
    pub kernel_share: Column,
    /// n: the offloads per second; `offloads_per_s` in files.
    pub offloads: Column,
    /// The costs of one offload: its setup (o0), transfer (L), wait in the queue (Q) and thread
    /// switches (o1), and the acceleration (A).
    pub costs: Costs,
}

impl Sweep {
    /// Fills `speedup` and `latency_reduction` with C / C_S and C / C_L for each point: the factors
    /// by which throughput grows and by which requests become faster. C is the host's cycles per
    /// second without offloading. With offloading, the same work takes C_S cycles of the host, and
    /// C_L cycles count in the latency of the requests. Error messages number the points from
    /// `first`, for callers that pass a long sweep in pieces.
    ///
    /// # Errors
    /// [`Refusal`] for a value out of range, which states the column and the point's index. Also
    /// for columns or output slices of different lengths.
    pub fn evaluate(
        &self,
        design: Design,
        first: usize,
        speedup: &mut [f64],
        latency_reduction: &mut [f64],
    ) -> Result<(), Refusal> {
        let points = speedup.len();
        if latency_reduction.len() != points {
            let found = format!("{} values", latency_reduction.len());
            let rule = format!("must have {points} values, as many as the speedups");
            return Err(Refusal::new("latency_reduction", found, rule));
        }
        let points = (first, points);
        self.host
            .check("host_cycles_per_s", points, ABOVE_ZERO, above_zero)?;
        self.kernel_share
            .check("kernel_share_ratio", points, "must be from 0 to 1", |v| {
                (0.0..=1.0).contains(&v)
            })?;
        self.offloads
            .check("offloads_per_s", points, FROM_ZERO, from_zero)?;
        self.costs.check(points)?;
        let outputs = speedup
            .chunks_mut(BLOCK)
            .zip(latency_reduction.chunks_mut(BLOCK));
        for (number, (speedup, latency)) in outputs.enumerate() {
            self.block(design, number * BLOCK, speedup, latency);
        }
        Ok(())
    }

    /// Fills the ratios of the points from `first` on, in a loop that compilers vectorise.
    fn block(&self, design: Design, first: usize, speedup: &mut [f64], latency: &mut [f64]) {
        let points = speedup.len();
        let range = || first..first + points;
        let mut scratch = [[0.0; BLOCK]; 8];
        let [s0, s1, s2, s3, s4, s5, s6, s7] = &mut scratch;
        let (host, share) = (
            self.host.slice(range(), s0),
            self.kernel_share.slice(range(), s1),
        );
        let (offloads, costs) = (self.offloads.slice(range(), s2), &self.costs);
        let (setup, transfer) = (
            costs.setup.slice(range(), s3),
            costs.transfer.slice(range(), s4),
        );
        let (queue, switch) = (
            costs.queue.slice(range(), s5),
            costs.thread_switch.slice(range(), s6),
        );
        let acceleration = costs.acceleration.slice(range(), s7);
        let (host_side, request_side) = design.coefficients();
        let latency = &mut latency[..points];
        for i in 0..points {
            let point = Point {
                kernel_share: share[i],
                offload_rate: OffloadsPerSecond(offloads[i]) / CyclesPerSecond(host[i]),
                setup: MeanCycles(setup[i]),
                interface: MeanCycles(transfer[i] + queue[i]),
                thread_switch: MeanCycles(switch[i]),
                acceleration: acceleration[i],
            };
            speedup[i] = 1.0 / point.remaining(host_side);
            latency[i] = 1.0 / point.remaining(request_side);
        }
    }
}

/// The inputs from which break-even sizes are calculated at many points. A column has one value for
/// all points, or one for each.
#[derive(Clone, Debug, PartialEq)]
pub struct BreakEven {
    /// C_b: the host needs C_b g^beta cycles for an offload of g bytes; `cycles_per_byte` in files.
    pub cycles_per_byte: Column,
    /// beta: the exponent in C_b g^beta, the host's cycles for an offload of g bytes; 1 for linear
    /// work. `complexity_exponent` in files.
    pub complexity: Column,
    /// The cycles that each byte adds to L, the transfer of one offload; `transfer_cycles_per_byte`
    /// in files.
    pub transfer_per_byte: Column,
    /// The costs of one offload: its setup (o0), the part of its transfer (L) that is independent
    /// of the size, wait in the queue (Q) and thread switches (o1), and the acceleration (A).
    pub costs: Costs,
}

impl BreakEven {
    /// Fills `from_bytes` and `to_bytes`, for each point, with the range of sizes for which an
    /// offload saves cycles ([`Lucrative`](super::Lucrative)). Both bounds are infinite if no size
    /// saves cycles. `coefficients` states how often each cost counts. Error messages number the
    /// points from `first`, for callers that pass a long sweep in pieces.
    ///
    /// # Errors
    /// [`Refusal`] for a value out of range, which states the column and the point's index. Also
    /// for columns or output slices of different lengths.
    pub fn evaluate(
        &self,
        coefficients: Coefficients,
        first: usize,
        from_bytes: &mut [f64],
        to_bytes: &mut [f64],
    ) -> Result<(), Refusal> {
        let points = from_bytes.len();
        if to_bytes.len() != points {
            let found = format!("{} values", to_bytes.len());
            let rule = format!("must have {points} values, as many as from_bytes");
            return Err(Refusal::new("to_bytes", found, rule));
        }
        let points = (first, points);
        self.cycles_per_byte
            .check("cycles_per_byte", points, ABOVE_ZERO, above_zero)?;
        self.complexity
            .check("complexity_exponent", points, ABOVE_ZERO, above_zero)?;
        self.transfer_per_byte
            .check("transfer_cycles_per_byte", points, FROM_ZERO, from_zero)?;
        self.costs.check(points)?;
        for (index, (from, to)) in from_bytes.iter_mut().zip(to_bytes).enumerate() {
            let costs = &self.costs;
            let sizes = Offload {
                cycles_per_byte: self.cycles_per_byte.at(index),
                complexity: self.complexity.at(index),
                setup: MeanCycles(costs.setup.at(index)),
                transfer: MeanCycles(costs.transfer.at(index)),
                transfer_per_byte: MeanCycles(self.transfer_per_byte.at(index)),
                queue: MeanCycles(costs.queue.at(index)),
                thread_switch: MeanCycles(costs.thread_switch.at(index)),
                acceleration: costs.acceleration.at(index),
            }
            .lucrative(coefficients);
            (*from, *to) = (sizes.from_bytes, sizes.to_bytes);
        }
        Ok(())
    }
}
