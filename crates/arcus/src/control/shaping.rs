//! Candidate shapings of a flow: routes, and the segments that its messages are cut to.

use accelflow_units::Bytes;

use super::route::RouteEntry;
use super::status::Output;
use super::thresholds::{SEGMENT_LOSS, SMALLEST_SEGMENT};
use crate::{Egress, Path, Platform, Sizes};

/// A candidate shaping of a flow: its route, and the segments that its messages are cut to.
#[derive(Clone, Debug)]
pub(super) struct Shaping {
    pub(super) route: RouteEntry,
    pub(super) segment: Bytes,
}

/// The candidates for a shaping of messages of up to `largest` bytes: on each route with messages
/// cut to the best segment, and whole where that differs.
pub(super) fn shapings(
    platform: &Platform,
    largest: Bytes,
    routes: Vec<RouteEntry>,
) -> (Vec<Shaping>, Vec<Shaping>) {
    let cut = routes.into_iter().map(|route| Shaping {
        segment: segment(platform, &route, largest),
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

/// The segment size to which messages of `size` are cut (`ReshapeDecision`): the smallest power of
/// two, from 1 KiB on, that costs no accelerator on the route more than 3 % of its rate.
fn segment(platform: &Platform, route: &RouteEntry, size: Bytes) -> Bytes {
    let curves = || {
        route
            .accelerators
            .iter()
            .map(|accelerator| &platform.accelerators[*accelerator].curve)
    };
    if route.accelerators.is_empty() {
        return size; // an operation of the storage is one
    }
    let sizes = (SMALLEST_SEGMENT.get().ilog2()..26).map(|power| Bytes(1 << power));
    let mut good = sizes.filter(|smaller| {
        *smaller < size
            && curves().all(|curve| {
                curve.gbit_per_s(*smaller) >= (1.0 - SEGMENT_LOSS) * curve.gbit_per_s(size)
            })
    });
    good.next().unwrap_or(size)
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
        let before = (size.get() - 1) / segment.get();
        let rest = Bytes(size.get() - before * segment.get());
        let (each, end) = (of(segment, false), of(rest, true));
        mean += share * (before * each + end) as f64;
        largest = largest.max(end).max(if before > 0 { each } else { 0 });
    }
    let largest = Bytes(largest);
    (mean > 0.0).then_some(Output { mean, largest })
}
