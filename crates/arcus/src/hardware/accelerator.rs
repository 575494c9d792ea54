//! Accelerators: how long a message of each size keeps them busy, and how large their output is.

use accelflow_kernel::Stream;
use accelflow_units::{Bandwidth, Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::PlatformError;

/// The time for which a message keeps an accelerator busy, as a function of the message's size.
///
/// The ARCUS paper (section 5.3.1, Fig. 7(a)) shows three types of curve, but prints no values.
#[derive(Clone, Debug, PartialEq)]
pub enum Curve {
    /// A fixed time per message plus a time per byte. The rate rises steeply with the message size
    /// at first and then more slowly: the paper's logarithmic type.
    Saturating {
        /// The fixed time per message.
        setup: Time,
        /// The rate that very large messages approach: the inverse of the time per byte.
        peak: Bandwidth,
    },
    /// The message's size is rounded up to whole blocks, which are processed at the peak rate.
    /// Below one block, the rate doubles when the size doubles: the paper's exponential type (the
    /// size axis of the paper's figure is logarithmic).
    Blocks {
        /// The size of a block; above 0 ([`Curve::busy`] takes 0 as 1).
        block: Bytes,
        /// The rate for messages of whole blocks.
        peak: Bandwidth,
    },
    /// Measured pairs of a message size and its busy time, at least one, in the order of growing
    /// sizes. Sizes and times must be above 0, and times must not fall. The time is constant below
    /// the first size, linear between two sizes, and proportional to the size beyond the last: the
    /// paper's ad hoc type.
    Points(Vec<(Bytes, Time)>),
}

impl Curve {
    /// The time for which a message of `size` keeps the accelerator busy.
    pub fn busy(&self, size: Bytes) -> Time {
        match self {
            Curve::Saturating { setup, peak } => *setup + peak.transfer(size),
            Curve::Blocks { block, peak } => {
                let block = block.get().max(1);
                let blocks = size.get().div_ceil(block).max(1);
                peak.transfer(Bytes(blocks.saturating_mul(block)))
            }
            Curve::Points(points) => between(points, size),
        }
    }

    /// The accelerator's rate for back-to-back messages of `size`, in gigabits per second.
    pub fn gbit_per_s(&self, size: Bytes) -> f64 {
        size.get() as f64 * 8.0 / self.busy(size).as_ns_f64()
    }

    fn check(&self) -> Result<(), PlatformError> {
        match self {
            Curve::Saturating { .. } => Ok(()),
            Curve::Blocks { block, .. } => {
                let value = block.get() as f64;
                PlatformError::unless(
                    block.get() > 0,
                    "block of an accelerator",
                    value,
                    "at least 1 byte",
                )
            }
            Curve::Points(points) => {
                let count = points.len() as f64;
                let name = "number of points of an accelerator's curve";
                PlatformError::unless(count > 0.0, name, count, "at least 1")?;
                let mut before = (Bytes(0), Time::from_ps(1));
                for point in points {
                    PlatformError::unless(
                        point.0 > before.0,
                        "size of a point of an accelerator's curve, in bytes",
                        point.0.get() as f64,
                        "above 0 and above that of the point before",
                    )?;
                    PlatformError::unless(
                        point.1 >= before.1,
                        "time of a point of an accelerator's curve, in ns",
                        point.1.as_ns_f64(),
                        "above 0 and at least that of the point before",
                    )?;
                    before = *point;
                }
                Ok(())
            }
        }
    }
}

fn between(points: &[(Bytes, Time)], size: Bytes) -> Time {
    let above = points.iter().position(|point| size <= point.0);
    match (above, points.last()) {
        (Some(0), _) => points[0].1,
        (Some(upper), _) => {
            let ((size_a, time_a), (size_b, time_b)) = (points[upper - 1], points[upper]);
            let share = (size.get() - size_a.get()) as f64 / (size_b.get() - size_a.get()) as f64;
            time_a + time_b.saturating_sub(time_a).scale(share)
        }
        (None, Some(last)) => last.1.scale(size.get() as f64 / last.0.get() as f64),
        (None, None) => Time::ZERO,
    }
}

/// The probability distribution of an accelerator's compute times for messages of equal size. Its
/// mean is the time of the [`Curve`]. The paper names bi-modal, Poisson and uniform distributions
/// without values (section 5.3.1); the values here are assumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Law {
    /// All compute times are equal to the mean.
    #[default]
    Constant,
    /// Compute times are uniformly distributed from zero to twice the mean.
    Uniform,
    /// Compute times are a Poisson-distributed number of cycles of 4 ns.
    Poisson,
    /// A message takes half the mean time with probability 0.9, and otherwise 5.5 times the mean.
    #[serde(rename = "bi-modal")]
    Bimodal,
}

impl Law {
    /// All four distributions.
    pub const ALL: [Law; 4] = [Law::Constant, Law::Uniform, Law::Poisson, Law::Bimodal];

    /// The distribution's name in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Law::Constant => "constant",
            Law::Uniform => "uniform",
            Law::Poisson => "poisson",
            Law::Bimodal => "bi-modal",
        }
    }

    /// Draws a random time from the distribution with this mean.
    pub(crate) fn draw(self, mean: Time, stream: &mut Stream) -> Time {
        match self {
            Law::Constant => mean,
            Law::Uniform => mean.scale(2.0 * stream.uniform()),
            Law::Poisson => CYCLE * poisson(mean.as_ns_f64() / CYCLE.as_ns_f64(), stream),
            Law::Bimodal => mean.scale(if stream.bernoulli(0.1) { 5.5 } else { 0.5 }),
        }
    }
}

/// One cycle of the prototype's clock of 250 MHz.
const CYCLE: Time = Time::from_ns(4);

/// Draws a Poisson-distributed number: how many exponential times of mean 1 fit into `mean`.
fn poisson(mean: f64, stream: &mut Stream) -> u64 {
    let mut left = mean;
    let mut count = 0;
    loop {
        left -= stream.exponential(1.0);
        if left < 0.0 {
            return count;
        }
        count += 1;
    }
}

/// The size of an accelerator's output: a multiple of the size of its input (R in section 2, the
/// ratio of output to input bandwidth), or a fixed size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Egress {
    /// The output is this multiple (R) of the input, rounded up to whole bytes: 1 for a cipher,
    /// below 1 for compression, above 1 for decompression.
    Ratio(f64),
    /// The output of every message has this size, for example the size of a digest.
    Fixed(Bytes),
}

impl Egress {
    /// The size of the output for an input of `size`.
    pub fn of(self, size: Bytes) -> Bytes {
        match self {
            Egress::Ratio(ratio) => Bytes((size.get() as f64 * ratio).ceil() as u64),
            Egress::Fixed(bytes) => bytes,
        }
    }
}

/// The name that a flow gives instead of an accelerator's name if it uses only the storage (the
/// SSDs).
pub const STORAGE: &str = "storage";

/// An accelerator of the device, which serves one message after another.
#[derive(Clone, Debug, PartialEq)]
pub struct Accelerator {
    /// The accelerator's name in the control plane's tables. The name `storage` stands for the SSDs
    /// there, so no accelerator may have it.
    pub name: String,
    /// The time for which a message keeps the accelerator busy, by message size.
    pub curve: Curve,
    /// The distribution of the busy times of messages of equal size.
    pub law: Law,
    /// The size of the output for an input, as a ratio or as a fixed size.
    pub egress: Egress,
    /// The size of the output on [`Path::FunctionCall`](crate::Path::FunctionCall), if it differs
    /// from `egress`; `None` if it does not. For example, an accelerator that checks a payload
    /// returns only the verdict to a calling host.
    pub call_egress: Option<Egress>,
    /// The latency of the accelerator's pipeline, which every message takes in addition to its busy
    /// time. The latency does not lower the accelerator's rate.
    pub latency: Time,
    /// The capacity of the accelerator's input buffer, which holds the bytes that wait to be
    /// processed; above 0. It limits only messages on [`Path::InlineRx`](crate::Path::InlineRx), at
    /// the first accelerator of their route.
    pub input: Bytes,
}

impl Accelerator {
    /// Creates an accelerator whose output is as large as its input, with constant busy times, no
    /// pipeline latency and an input buffer of 4,096 bytes.
    pub fn new(name: &str, curve: Curve) -> Accelerator {
        Accelerator {
            name: name.to_owned(),
            curve,
            law: Law::Constant,
            egress: Egress::Ratio(1.0),
            call_egress: None,
            latency: Time::ZERO,
            input: Bytes(4_096),
        }
    }

    /// Checks that every parameter of the accelerator is allowed.
    ///
    /// # Errors
    /// [`PlatformError::NamedStorage`] for the name `storage`, and [`PlatformError::OutOfRange`]
    /// for the first parameter that is outside its range.
    pub fn check(&self) -> Result<(), PlatformError> {
        if self.name == STORAGE {
            return Err(PlatformError::NamedStorage);
        }
        self.curve.check()?;
        for egress in [Some(self.egress), self.call_egress].into_iter().flatten() {
            if let Egress::Ratio(ratio) = egress {
                let good = ratio.is_finite() && ratio >= 0.0;
                PlatformError::unless(
                    good,
                    "output bytes per input byte",
                    ratio,
                    "a finite number, at least 0",
                )?;
            }
        }
        let input = self.input.get();
        PlatformError::unless(
            input > 0,
            "input buffer of an accelerator",
            0.0,
            "at least 1 byte",
        )
    }
}
