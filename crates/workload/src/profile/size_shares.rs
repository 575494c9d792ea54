//! The shares of recorded costs that are proportional to the payload's size.

use accelflow_parameters::Provenance;
use accelflow_trace::{Accel, Image};

use super::cost::size_share_parameters;
use super::number::{ProfileParameter, number};
use super::recording::{RecordedService, RecordedSize, RecordedStep};

/// The largest standard error with which a share counts as measured.
const MAX_ERROR: f64 = 0.1;

/// The fewest size groups beyond one for each step, and one more, with which the error is known.
const MIN_DEGREES: usize = 8;

/// By accelerator, the share of an operation's cost that is proportional to the payload's size:
/// from the recording's size groups, else as assumed.
pub(super) struct SizeShares<'o> {
    /// Of the paper's accelerators, by [`Accel::index`].
    assumed: &'o [f64; Accel::COUNT],
    /// Of the paper's accelerators, by [`Accel::index`].
    measured: [Option<Measured>; Accel::COUNT],
}

/// How the costs of one accelerator rise with the size of its input.
#[derive(Clone, Copy)]
struct Measured {
    ns_per_byte: f64,
    /// The share of the mean cost over all recorded steps.
    share: f64,
}

impl<'o> SizeShares<'o> {
    /// The shares of all steps of `services`.
    pub(super) fn new<'r>(
        services: impl Iterator<Item = &'r RecordedService> + Clone,
        image: &Image,
        assumed: &'o [f64; Accel::COUNT],
    ) -> SizeShares<'o> {
        let measured = Accel::ALL.map(|accel| {
            let steps = services.clone().flat_map(RecordedService::steps);
            let steps = steps.filter(|step| image.accelerator(&step.accelerator) == Some(accel));
            measure(&steps.collect::<Vec<_>>())
        });
        SizeShares { assumed, measured }
    }

    /// The share of the cost of `step`, which is an operation of `accel`.
    pub(super) fn of(&self, accel: Accel, step: &RecordedStep) -> f64 {
        match self.measured.get(accel.index()) {
            Some(Some(measured)) => {
                let of_size = measured.ns_per_byte * step.input_bytes as f64;
                (of_size / step.cost_ns).clamp(0.0, 1.0)
            }
            // One half for custom accelerators: assumed, as for the others.
            _ => self.assumed.get(accel.index()).copied().unwrap_or(0.5),
        }
    }

    /// The shares of the paper's accelerators, with their origins.
    pub(super) fn parameters(&self) -> impl Iterator<Item = ProfileParameter> + '_ {
        let assumed = size_share_parameters(self.assumed);
        let both = assumed.zip(&self.measured);
        both.map(|(parameter, measured)| match measured {
            Some(Measured { ns_per_byte, share }) => {
                let source = format!(
                    "mean share of the recorded costs: {ns_per_byte:.3} ns a byte, by the line \
                     through the costs of calls of several sizes"
                );
                number(parameter.key, *share, Provenance::Measured, source)
            }
            None => parameter,
        })
    }
}

/// Fits costs over sizes in all `steps` by least squares, with one slope for all and an intercept
/// for each step, since steps that send and receive have different costs at the same size. `None`
/// if the share's error is too large or unknown.
fn measure(steps: &[&RecordedStep]) -> Option<Measured> {
    let grouped: Vec<&[RecordedSize]> = steps
        .iter()
        .map(|step| step.by_size.as_slice())
        .filter(|groups| groups.len() > 1)
        .collect();
    let (mut squares, mut products) = (0.0, 0.0);
    for (x, y, calls) in grouped.iter().flat_map(|groups| centred(groups)) {
        squares += calls * x * x;
        products += calls * x * y;
    }
    // Each group has a size of its own.
    let slope = products / squares;
    let points: usize = grouped.iter().map(|groups| groups.len()).sum();
    let degrees = points.saturating_sub(grouped.len() + 1);
    let residuals = grouped.iter().flat_map(|groups| centred(groups));
    let residuals: f64 = residuals
        .map(|(x, y, calls)| calls * (y - slope * x).powi(2))
        .sum();
    let error = (residuals / degrees as f64 / squares).sqrt();
    let bytes: f64 = steps.iter().map(|step| step.input_bytes as f64).sum();
    let cost_ns: f64 = steps.iter().map(|step| step.cost_ns).sum();
    let known = degrees >= MIN_DEGREES && error * bytes / cost_ns <= MAX_ERROR;
    known.then(|| Measured {
        ns_per_byte: slope.max(0.0),
        share: (slope * bytes / cost_ns).clamp(0.0, 1.0),
    })
}

/// The sizes and costs of the groups of a step, less their means, and the numbers of calls.
fn centred(groups: &[RecordedSize]) -> impl Iterator<Item = (f64, f64, f64)> + '_ {
    let calls: f64 = groups.iter().map(|group| group.calls as f64).sum();
    let mean = |of: fn(&RecordedSize) -> f64| {
        let sum: f64 = groups
            .iter()
            .map(|group| group.calls as f64 * of(group))
            .sum();
        sum / calls
    };
    let bytes = mean(|group| group.input_bytes as f64);
    let cost_ns = mean(|group| group.cost_ns);
    groups.iter().map(move |group| {
        let (x, y) = (group.input_bytes as f64 - bytes, group.cost_ns - cost_ns);
        (x, y, group.calls as f64)
    })
}
