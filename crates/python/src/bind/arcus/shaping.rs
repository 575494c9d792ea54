//! The traffic shaper of ARCUS for `accelflow.arcus`.

use accelflow_parameters::{Parameter, Refusal};
use accelflow_shaping::{
    Clock, FlowConfig, Message, Registers, Segment, Shaper, ShapingError, Splitting, Timing, Unit,
    table2,
};
use accelflow_units::{Bytes, Time};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::bind::parameters::arcus;
use crate::errors::failure;

/// Segments that one call may return: more would fill the memory.
const MAX_SEGMENTS: u64 = 10_000_000;

fn unit_named(name: &str) -> PyResult<Unit> {
    let found = Unit::ALL.into_iter().find(|unit| unit.name() == name);
    found.ok_or_else(|| {
        let known = Unit::ALL.map(Unit::name);
        failure(Refusal::unknown("unit", name, known))
    })
}

/// refill, bucket, interval and the clock in hertz.
type Settings = (u64, u64, u64, u64);

fn settings(values: Settings) -> PyResult<(Registers, Clock)> {
    let (refill, bucket, interval, clock_hz) = values;
    let registers = Registers::new(refill, bucket, interval).map_err(failure)?;
    Ok((registers, Clock::from_hz(clock_hz).map_err(failure)?))
}

/// Returns the registers of ARCUS's Table 2 and the rates that they allow, as a JSON list.
#[pyfunction]
pub(crate) fn arcus_table2() -> String {
    let row = |registers: &Registers| {
        json!({
            "refill_bytes": registers.refill(),
            "bucket_bytes": registers.bucket(),
            "interval_cycles": registers.interval().0,
            "bytes_per_interval": registers.tokens_per_interval(),
            "gbit_per_s": registers.gbit_per_s(Clock::PAPER.frequency()),
        })
    };
    Value::from_iter(table2::ROWS.iter().map(row)).to_string()
}

/// Returns the rate and the burst that registers of a traffic shaper allow, as JSON.
///
/// `values` are the registers (refill, bucket, interval) and the clock in Hz; `unit` is bytes or
/// operations. Use `accelflow.arcus.shape`. Raises AccelflowError for a value out of range.
#[pyfunction]
pub(crate) fn arcus_shape(values: Settings, unit: &str) -> PyResult<String> {
    let (registers, clock) = settings(values)?;
    let unit = unit_named(unit)?;
    let per_s = registers.tokens_per_s(clock.frequency());
    let gbit_per_s = registers.gbit_per_s(clock.frequency());
    Ok(json!({
        "unit": unit.name(),
        "refill_tokens": registers.refill(),
        "bucket_tokens": registers.bucket(),
        "interval_cycles": registers.interval().0,
        "clock_hz": clock.frequency().as_hz(),
        "interval_ns": clock.edge(registers.interval()).as_ns_f64(),
        "tokens_per_interval": registers.tokens_per_interval(),
        "tokens_per_s": per_s,
        "gbit_per_s": (unit == Unit::Bytes).then_some(gbit_per_s),
        "burst_tokens": registers.bucket(),
        "most_tokens_within_an_interval": registers.most_within(registers.interval()),
    })
    .to_string())
}

/// message, index, whether it is the last, size, and the times of grant and release in picoseconds.
type Released = (u64, u32, bool, u64, u64, u64);

/// Passes messages through a traffic shaper, and returns when each of their segments may go on.
///
/// `messages` are pairs (time in ps, size in bytes), `values` and `unit` those of `arcus_shape`.
/// `split` is (bytes of the largest segment, bytes of the header that each segment repeats). A
/// returned segment is (index of the message, index of the segment, whether it is the last, bytes,
/// time in ps of the grant, time in ps of the release). Use `accelflow.arcus.release`. Raises
/// AccelflowError for a value out of range, a message that could never pass, and times that
/// decrease.
#[pyfunction]
#[pyo3(signature = (values, unit, messages, split=None))]
pub(crate) fn arcus_release(
    py: Python<'_>,
    values: Settings,
    unit: &str,
    messages: Vec<(u64, u64)>,
    split: Option<(u64, u64)>,
) -> PyResult<Vec<Released>> {
    let (registers, clock) = settings(values)?;
    let mut config = FlowConfig::new(unit_named(unit)?, registers);
    if let Some((segment, header)) = split {
        let splitting = Splitting::segments(Bytes(segment), Bytes(header));
        config.splitting = splitting.map_err(failure)?;
    }
    let counts = messages
        .iter()
        .map(|(_, size)| config.splitting.count(Bytes(*size)));
    let count = counts.fold(0, u64::saturating_add);
    if count > MAX_SEGMENTS {
        let message = format!("segments = {count}: must be at most {MAX_SEGMENTS} in one call");
        return Err(failure(message));
    }
    let timing = Timing {
        clock,
        ..Timing::default()
    };
    let segments = py.detach(|| release(timing, config, &messages));
    let row = |segment: &Segment| {
        let (granted, released) = (segment.granted.as_ps(), segment.released.as_ps());
        let Segment {
            tag, index, last, ..
        } = *segment;
        (tag, index, last, segment.size.get(), granted, released)
    };
    Ok(segments.map_err(failure)?.iter().map(row).collect())
}

fn release(
    timing: Timing,
    config: FlowConfig,
    messages: &[(u64, u64)],
) -> Result<Vec<Segment>, ShapingError> {
    let mut shaper = Shaper::new(timing);
    let flow = shaper.add_flow(Time::ZERO, config)?;
    for (&(at, size), tag) in messages.iter().zip(0..) {
        let size = Bytes(size);
        shaper.offer(Time::from_ps(at), flow, Message { tag, size })?;
    }
    let mut segments = Vec::new();
    while let Some(segment) = shaper.poll(Time::MAX)? {
        segments.push(segment);
    }
    Ok(segments)
}

/// Returns the parameters of ARCUS's traffic shaper and of the host around it, as a JSON list.
#[pyfunction]
pub(crate) fn arcus_parameters() -> String {
    let row = |parameter: &'static Parameter| {
        json!({
            "key": parameter.key,
            "value": parameter.default,
            "unit": parameter.unit,
            "provenance": parameter.provenance.name(),
            "source": parameter.source,
        })
    };
    Value::from_iter(arcus().into_iter().map(row)).to_string()
}
