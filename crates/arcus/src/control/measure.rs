//! The measurement of a context's capacity by simulation.

use std::borrow::Cow;

use accelflow_units::Time;

use super::context::{Capacity, Context};
use super::route::RouteEntry;
use super::thresholds::{
    ENOUGH, FEW, LONGEST, MESSAGES, MOST, ROUND_TRIPS, WATCHED, WATCHED_STORAGE,
};
use crate::{
    Accelerator, Law, Mechanism, Order, Platform, PlatformError, RunResult, Settings, simulate,
};

/// Measures the capacity of a context: all flows with a backlog, served in its proportions.
pub(super) fn measure(platform: &Platform, context: &Context) -> Result<Capacity, PlatformError> {
    // Rates are in proportion, so the flow that falls furthest behind its share limits all.
    let order = Order::InProportion;
    let buffer = 1 << 16;
    let fair = watch(platform, context, &Mechanism::Panic { order, buffer })?;
    let shares = context
        .patterns()
        .iter()
        .map(|pattern| f64::from(pattern.permille));
    let total: f64 = shares.clone().sum();
    let limits = rates(&fair)
        .zip(shares)
        .map(|(rate, share)| rate * total / share);
    let gbit_per_s = limits.fold(f64::MAX, f64::min);
    Ok(Capacity { gbit_per_s })
}

/// The rates of a context's flows without shaping, in gigabits per second.
pub(super) fn unshaped(platform: &Platform, context: &Context) -> Result<Vec<f64>, PlatformError> {
    let turns = watch(platform, context, &Mechanism::NoShaping)?;
    Ok(rates(&turns).collect())
}

/// Simulates a context until each flow has passed enough messages.
fn watch(
    platform: &Platform,
    context: &Context,
    mechanism: &Mechanism,
) -> Result<RunResult, PlatformError> {
    let platform = &steady(platform);
    let flows = context.flows();
    let long = latency(platform, context) * ROUND_TRIPS;
    let (warmup, least) = match flows.iter().any(|flow| flow.path.uses_storage()) {
        true => (WATCHED_STORAGE, WATCHED_STORAGE.max(long)),
        false => (WATCHED.max(long) / 10, WATCHED.max(long)),
    };
    let longest = least * LONGEST;
    let mut duration = least;
    loop {
        let settings = Settings {
            warmup,
            ..Settings::lasting(duration)
        };
        let result = simulate(platform, &flows, mechanism, &settings)?;
        let passed = result.flows.iter().map(|flow| flow.completions.len());
        let (total, fewest) = (passed.clone().sum::<usize>(), passed.min().unwrap_or(0));
        let most = if fewest >= FEW { ENOUGH } else { MOST };
        if fewest >= MESSAGES || 2 * total > most || duration >= longest {
            return Ok(result);
        }
        // The time that the slowest flow needs at its present rate, and a quarter more.
        let needed = (MESSAGES * 5 / 4).div_ceil(fewest.max(1));
        let factor = needed.min(most / total.max(1)).max(2);
        duration = (duration * factor as u64).min(longest);
    }
}

/// The platform with compute times that do not vary. Their means decide the capacity, and a short
/// simulation would measure those of the times that it has drawn.
fn steady(platform: &Platform) -> Cow<'_, Platform> {
    let varies = |accelerator: &Accelerator| accelerator.law != Law::Constant;
    if !platform.accelerators.iter().any(varies) {
        return Cow::Borrowed(platform);
    }
    let mut platform = platform.clone();
    for accelerator in &mut platform.accelerators {
        accelerator.law = Law::Constant;
    }
    Cow::Owned(platform)
}

/// The longest latency of a context's routes: that of reads of the host's memory, and of the
/// accelerators' pipelines. Messages complete in bursts, one in such a time.
fn latency(platform: &Platform, context: &Context) -> Time {
    let of = |route: &RouteEntry| {
        let accelerators = route.accelerators.iter();
        let pipelines = accelerators.map(|number| platform.accelerators[*number].latency);
        let read = match route.path.reads_host() {
            true => platform.pcie.read_latency,
            false => Time::ZERO,
        };
        pipelines.fold(read, |sum, latency| sum + latency)
    };
    let patterns = context.patterns().iter();
    patterns
        .map(|pattern| of(&pattern.route))
        .max()
        .unwrap_or(Time::ZERO)
}

/// The rate of each flow in gigabits per second, from the end of its first measured message to that
/// of its last, so that only whole messages count.
fn rates(result: &RunResult) -> impl Iterator<Item = f64> {
    result.flows.iter().map(|flow| {
        let [Some(first), Some(last)] = [flow.completions.first(), flow.completions.last()] else {
            return 0.0;
        };
        let time = last.at.saturating_sub(first.at).as_ns_f64();
        match time > 0.0 {
            true => (flow.bytes() - first.size.get()) as f64 * 8.0 / time,
            false => 0.0,
        }
    })
}
