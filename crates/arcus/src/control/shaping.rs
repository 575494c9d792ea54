//! Candidate shapings of a flow: routes, and the segments that its messages are cut to.

use accelflow_units::Bytes;

use super::route::{RouteEntry, cut};
use super::status::Output;
use super::thresholds::{SEGMENT_LOSS, SMALLEST_SEGMENT};
use crate::{Egress, Path, Platform, Sizes};

/// A candidate shaping of a flow: its route, and the segments that its messages are cut to.
#[derive(Clone, Debug)]
pub(super) struct Shaping {
    pub(super) route: RouteEntry,
    pub(super) segment: Bytes,
}

/// The candidates for a shaping of messages of `sizes`: on each route with messages cut to the best
/// segment, and whole where that differs.
pub(super) fn shapings(
    platform: &Platform,
    sizes: &Sizes,
    routes: Vec<RouteEntry>,
) -> (Vec<Shaping>, Vec<Shaping>) {
    let largest = sizes.largest();
    let cut = routes.into_iter().map(|route| Shaping {
        segment: segment(platform, &route, sizes),
        route,
    });
    let cut: Vec<Shaping> = cut.collect();
    let longer = cut.iter().filter(|shaping| shaping.segment < largest);
    let whole = longer.map(|shaping| Shaping {
        route: shaping.route.clone(),
        segment: largest,
    });
    let whole = whole.collect();
    (cut, whole)
}

/// The segment size to which messages of `sizes` are cut (`ReshapeDecision`): the smallest power of
/// two, from 1 KiB on, that costs no accelerator on the route more than 3 % of its rate for any of
/// the sizes.
fn segment(platform: &Platform, route: &RouteEntry, sizes: &Sizes) -> Bytes {
    let largest = sizes.largest();
    if route.accelerators.is_empty() {
        return largest; // an operation of the storage is one
    }
    let curves = || {
        let accelerators = route.accelerators.iter();
        accelerators.map(|accelerator| &platform.accelerators[*accelerator].curve)
    };
    let keeps_rate = |segment: Bytes, size: Bytes| {
        let (before, rest) = cut(size, segment);
        curves().all(|curve| {
            let busy = |size: Bytes| curve.busy(size).as_ns_f64();
            let cut = before as f64 * busy(segment) + busy(rest);
            busy(size) >= (1.0 - SEGMENT_LOSS) * cut
        })
    };
    let shares = sizes.shares();
    let mut segments = (SMALLEST_SEGMENT.get().ilog2()..26).map(|power| Bytes(1 << power));
    let good = segments.find(|segment| {
        *segment < largest && shares.iter().all(|(size, _)| keeps_rate(*segment, *size))
    });
    good.unwrap_or(largest)
}

/// The output of the accelerators on a route to the storage; `None` on other routes, and if there
/// is no output.
pub(super) fn output(
    platform: &Platform,
    sizes: &Sizes,
    route: &RouteEntry,
    segment: Bytes,
) -> Option<Output> {
    if route.path != Path::StorageWrite || route.accelerators.is_empty() {
        return None;
    }
    // A digest belongs to the whole message, so its last segment carries it.
    let of = |input: Bytes, last: bool| {
        let passed = route.accelerators.iter().fold(input, |data, number| {
            match platform.accelerators[*number].egress {
                Egress::Fixed(_) if !last => Bytes(0),
                egress => egress.of(data),
            }
        });
        passed.get()
    };
    let (mut mean, mut largest) = (0.0, 0);
    for (size, share) in sizes.shares() {
        let (before, rest) = cut(size, segment);
        let (each, end) = (of(segment, false), of(rest, true));
        mean += share * (before * each + end) as f64;
        largest = largest.max(end).max(if before > 0 { each } else { 0 });
    }
    let largest = Bytes(largest);
    (mean > 0.0).then_some(Output { mean, largest })
}
