//! The rows of ARCUS's PerFlowStatusTable, one for each registered flow.

use accelflow_shaping::{Clock, FlowConfig, Registers, Splitting, Unit};
use accelflow_units::Bytes;

use super::Rate;
use super::registers::{registers_for, registers_for_bursts};
use super::request::{AdmissionRequest, ServiceClass};
use super::route::{RouteEntry, Traffic, add, cut};
use super::thresholds::{RESULTS_ABOVE, TOLERANCE};
use crate::{Arrivals, Flow, Path, PlatformError, Sizes};

/// The state of a registered flow, which is one row of ARCUS's PerFlowStatusTable.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowStatus {
    /// The request by which the flow was admitted.
    pub request: AdmissionRequest,
    /// The route of the flow at present.
    pub route: RouteEntry,
    /// The size of the segments that the flow's messages are cut to. Messages that are not larger
    /// stay whole.
    pub segment: Bytes,
    /// The registers of the flow's shaper for the rate in [`AdmissionRequest::slo`], multiplied by
    /// `shaped_gbit_per_s` over the promised rate. For an opportunistic flow, the registers are for
    /// the rate that other flows leave.
    pub registers: Registers,
    /// The registers of the flow's shaper for the rate in [`AdmissionRequest::also`], multiplied
    /// like `registers`; `None` without such a rate, and for an opportunistic flow.
    pub also: Option<Registers>,
    /// The registers of the flow's second shaper, which limits the bytes that accelerators write to
    /// the storage (section 4.1, "PatternC"). The second shaper passes one result at a time, at the
    /// first shaper's rate of messages. `None` without a second shaper, as on all routes that do
    /// not lead from accelerators to the storage.
    pub results: Option<Registers>,
    /// The accelerators' output; `None` without a second shaper.
    pub(super) output: Option<Output>,
    /// The rate that the registers of the flow's shaper allow, in gigabits per second.
    pub shaped_gbit_per_s: f64,
    /// The flow's measured rate in gigabits per second, smoothed over the last control periods;
    /// `None` before the first measurement.
    pub measured_gbit_per_s: Option<f64>,
}

impl FlowStatus {
    /// The row of a flow that is shaped to `gbit_per_s` on a route.
    pub(super) fn planned(
        request: AdmissionRequest,
        route: RouteEntry,
        segment: Bytes,
        output: Option<Output>,
        gbit_per_s: f64,
    ) -> Result<FlowStatus, PlatformError> {
        let (registers, also) = registers_of(&request, segment, gbit_per_s)?;
        Ok(FlowStatus {
            results: results_of(&request, output, gbit_per_s)?,
            output,
            shaped_gbit_per_s: gbit_per_s,
            route,
            segment,
            registers,
            also,
            measured_gbit_per_s: None,
            request,
        })
    }

    /// Sets the rate to `gbit_per_s`: new registers.
    pub(super) fn reshape(&mut self, gbit_per_s: f64) -> Result<(), PlatformError> {
        let limits = registers_of(&self.request, self.segment, gbit_per_s)?;
        self.results = results_of(&self.request, self.output, gbit_per_s)?;
        (self.registers, self.also) = limits;
        self.shaped_gbit_per_s = gbit_per_s;
        Ok(())
    }

    /// Moves the flow to another route, with another output of its accelerators.
    pub(super) fn reroute(
        &mut self,
        route: RouteEntry,
        output: Option<Output>,
    ) -> Result<(), PlatformError> {
        self.results = results_of(&self.request, output, self.shaped_gbit_per_s)?;
        self.output = output;
        self.route = route;
        Ok(())
    }

    /// The rate that is promised to the flow, in gigabits per second; `None` for an opportunistic
    /// flow.
    pub fn slo_gbit_per_s(&self) -> Option<f64> {
        let promised = self.request.class != ServiceClass::Opportunistic;
        promised.then(|| self.request.asked_gbit_per_s()).flatten()
    }

    /// The flow's traffic in a profile, at the rate `gbit_per_s`.
    pub(super) fn traffic(&self, gbit_per_s: f64) -> Vec<Traffic> {
        parts(&self.request.sizes, &self.route, self.segment, gbit_per_s)
    }

    /// Returns the input for a simulation of this flow: the flow with the arrival process
    /// `arrivals`, and the settings of the flow's shaper.
    pub fn deployed(&self, arrivals: Arrivals) -> (Flow, FlowConfig) {
        let request = &self.request;
        let largest = request.sizes.largest();
        let flow = Flow::new(request.vm, self.route.path, largest, arrivals);
        let port = (self.route.path == Path::InlineTx).then_some(0);
        let flow = Flow {
            port,
            sizes: request.sizes.clone(),
            results: self.results,
            ..flow
        }
        .through(&self.route.accelerators)
        .by_engine(self.route.engine);
        let shaping = FlowConfig {
            also: self.also,
            splitting: match largest > self.segment {
                true => Splitting::Segments {
                    segment: self.segment,
                    header: Bytes(0),
                },
                false => Splitting::Never,
            },
            ..FlowConfig::new(request.unit(), self.registers)
        };
        (flow, shaping)
    }

    /// The one or two rate limits of the flow's shaper, each with the unit of its tokens and its
    /// registers.
    pub fn limits(&self) -> impl Iterator<Item = (Unit, Registers)> {
        let unit = self.request.unit();
        let also = self.also.map(|registers| (unit.other(), registers));
        std::iter::once((unit, self.registers)).chain(also)
    }

    /// The flow's part of the sum of all promised rates, in gigabits per second:
    /// [`FlowStatus::slo_gbit_per_s`], or 0 for an opportunistic flow.
    pub fn counted_gbit_per_s(&self) -> f64 {
        self.slo_gbit_per_s().unwrap_or(0.0)
    }
}

/// The promised traffic of all flows except the one called `but`.
pub(super) fn promised(flows: &[FlowStatus], but: &str) -> Vec<Traffic> {
    let mut found = Vec::new();
    for flow in flows {
        let promised = flow.counted_gbit_per_s();
        if promised > 0.0 && flow.request.name != but {
            for traffic in flow.traffic(promised) {
                add(&mut found, traffic);
            }
        }
    }
    found
}

/// The traffic of messages of these sizes on a route, cut to segments. Each size has its part of
/// the bytes; the last segment of a message has its own size.
pub(super) fn parts(
    sizes: &Sizes,
    route: &RouteEntry,
    segment: Bytes,
    gbit_per_s: f64,
) -> Vec<Traffic> {
    let mut found = Vec::new();
    let mean = sizes.mean();
    for (size, share) in sizes.shares() {
        let (before, rest) = cut(size, segment);
        let whole = (segment, before * segment.get());
        for (unit, bytes) in [whole, (rest, rest.get())] {
            if bytes > 0 {
                let traffic = Traffic {
                    route: route.clone(),
                    size: unit,
                    gbit_per_s: gbit_per_s * share * bytes as f64 / mean,
                };
                add(&mut found, traffic);
            }
        }
    }
    found
}

/// The output of a route's accelerators for the messages of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Output {
    /// The mean output per message, in bytes.
    pub(super) mean: f64,
    /// The largest output for a segment.
    pub(super) largest: Bytes,
}

/// Registers that pass one result at a time, and as many messages per second as the first shaper.
fn results_of(
    request: &AdmissionRequest,
    output: Option<Output>,
    gbit_per_s: f64,
) -> Result<Option<Registers>, PlatformError> {
    let Some(Output { mean, largest }) = output else {
        return Ok(None);
    };
    let rate = gbit_per_s * mean / request.sizes.mean() * RESULTS_ABOVE;
    registers_for(Rate::GbitPerS(rate), largest, Clock::PAPER).map(Some)
}

/// The mean number of segments of a message.
fn pieces(sizes: &Sizes, segment: Bytes) -> f64 {
    let of = |size: Bytes| size.get().div_ceil(segment.get()) as f64;
    match sizes {
        Sizes::Fixed(size) => of(*size),
        Sizes::Mix(mix) => {
            let total: f64 = mix.iter().map(|size| size.1).sum();
            mix.iter().map(|size| of(size.0) * size.1).sum::<f64>() / total
        }
    }
}

/// The number of messages that may pass at once after a pause. A flow whose rate is promised in
/// periods keeps the tokens of the allowed shortfall of a period, so that it loses none of its rate
/// while its queue is empty for a moment. Nothing is promised to an opportunistic flow.
fn burst(request: &AdmissionRequest) -> u32 {
    let promised = request.class != ServiceClass::Opportunistic;
    let availability = request.availability.filter(|_| promised);
    let kept = availability.zip(request.asked_gbit_per_s());
    let kept = kept.map_or(0.0, |(promised, gbit_per_s)| {
        let messages = gbit_per_s / 8.0 / request.sizes.mean() * promised.period.as_ns_f64();
        TOLERANCE * messages
    });
    request.burst.max(kept.min(f64::from(u16::MAX)) as u32)
}

/// Number of segments that may pass at once: those of the messages of a burst, or one for a flow
/// without bursts, whose large messages pass segment by segment.
fn burst_segments(request: &AdmissionRequest, segment: Bytes) -> u32 {
    let largest = request.sizes.largest().get().div_ceil(segment.get());
    match burst(request) {
        0 | 1 => 1,
        burst => burst.saturating_mul(u32::try_from(largest).unwrap_or(u32::MAX)),
    }
}

/// The registers of both rate limits for `gbit_per_s`. Both limits are scaled by the same factor:
/// `gbit_per_s` over the promise, which is the smaller limit. Operations count segments. An
/// opportunistic flow has one limit, in bytes.
fn registers_of(
    request: &AdmissionRequest,
    segment: Bytes,
    gbit_per_s: f64,
) -> Result<(Registers, Option<Registers>), PlatformError> {
    let pieces = pieces(&request.sizes, segment);
    let burst = burst_segments(request, segment);
    let registers = |rate| registers_for_bursts(rate, segment, burst, Clock::PAPER);
    let promised = request.class != ServiceClass::Opportunistic;
    let (Some(slo), Some(asked)) = (request.slo.filter(|_| promised), request.asked_gbit_per_s())
    else {
        let registers = registers(Rate::GbitPerS(gbit_per_s))?;
        return Ok((registers, None));
    };
    let factor = gbit_per_s / asked;
    let scaled = |rate: Rate| {
        registers(match rate {
            Rate::OperationsPerS(rate) => Rate::OperationsPerS(rate * pieces * factor),
            Rate::GbitPerS(rate) => Rate::GbitPerS(rate * factor),
        })
    };
    let also = request.also.map(scaled).transpose()?;
    Ok((scaled(slo)?, also))
}
