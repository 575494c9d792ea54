//! Combinations of flows that may run together, and whether the platform can give all of them their
//! SLOs.

use std::collections::BTreeMap;

use super::profile::{ProfileTable, Tag};
use super::route::Traffic;
use crate::PlatformError;

/// A flow on one of its possible routes, to be combined with other flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The flow's identifier, chosen by the caller. A combination has at most one candidate of each
    /// flow.
    pub flow: usize,
    /// The traffic of the flow if it sends at its promised rate (its SLO): one element for each
    /// size of message or segment.
    pub traffic: Vec<Traffic>,
    /// The limit on the load of every combination with this flow, as a share of the platform's
    /// capacity: a combination with a higher load is not [`Tag::SloFriendly`]. 1 is the full
    /// capacity; with over-subscription, the limit may be above 1.
    pub share: f64,
}

/// One or more flows, each on one of its routes, that share the platform.
#[derive(Clone, Debug, PartialEq)]
pub struct Combination {
    /// The candidates in this combination, as indices into the list given to [`combinations`].
    pub members: Vec<usize>,
    /// The traffic of all flows of the combination together if each sends at its promised rate (its
    /// SLO).
    pub traffic: Vec<Traffic>,
    /// The sum of the promised rates (SLOs) of the combination's flows, in gigabits per second.
    pub asked_gbit_per_s: f64,
    /// The largest total rate that the platform can deliver if the combination's flows send in the
    /// proportions of their SLOs, in gigabits per second.
    pub gbit_per_s: f64,
    /// The limit on the load of this combination, as a share of the platform's capacity: the
    /// smallest [`Candidate::share`] of its members.
    pub most: f64,
    /// The combination's tag: [`Tag::SloFriendly`] if the load of its flows at their promised rates
    /// is at most `most`.
    pub tag: Tag,
}

/// The largest number of combinations that are tagged.
const MOST_COMBINATIONS: f64 = 2_000.0;
/// The largest number that is counted: 2^53, up to which sums of whole numbers are exact.
const MOST_COUNTED: f64 = 9_007_199_254_740_992.0;

/// Returns every combination of 1 to `most` candidates, each with its capacity and tag. Two
/// candidates of the same flow are never combined. The list is empty if `most` is 0.
///
/// # Errors
/// [`PlatformError::OutOfRange`] for more than 2,000 combinations, and for candidates without a
/// rate above 0; further, the errors of [`crate::Platform::check`].
pub fn combinations(
    profiles: &mut ProfileTable,
    candidates: &[Candidate],
    most: usize,
) -> Result<Vec<Combination>, PlatformError> {
    check_count(candidates, most)?;
    let together = |a: usize, b: usize| candidates[a].flow != candidates[b].flow;
    let mut chosen: Vec<Vec<usize>> = vec![Vec::new()];
    let mut next = 0;
    while next < chosen.len() {
        let members = chosen[next].clone();
        let from = members.last().map_or(0, |last| last + 1);
        let longer = (from..candidates.len()).filter(|more| {
            members.len() < most && members.iter().all(|member| together(*member, *more))
        });
        chosen.extend(longer.map(|more| [&members[..], &[more]].concat()));
        next += 1;
    }
    let combined = chosen.into_iter().skip(1);
    combined
        .map(|members| {
            let of = || members.iter().map(|member| &candidates[*member]);
            let traffic: Vec<Traffic> = of().flat_map(|part| part.traffic.clone()).collect();
            let most = of().map(|part| part.share).fold(f64::MAX, f64::min);
            Ok(Combination {
                asked_gbit_per_s: traffic.iter().map(|flow| flow.gbit_per_s).sum(),
                gbit_per_s: profiles.capacity_of(&traffic)?,
                tag: profiles.classify(&traffic, most)?,
                most,
                members,
                traffic,
            })
        })
        .collect()
}

/// Refuses too many combinations before they are made.
fn check_count(candidates: &[Candidate], most: usize) -> Result<(), PlatformError> {
    let count = count(candidates, most);
    let allowed = match count < MOST_COUNTED {
        true => "at most 2000: lower --most",
        false => "at most 2000, and there are more than this value says: lower --most",
    };
    PlatformError::unless(
        count <= MOST_COMBINATIONS,
        "combinations of flows",
        count,
        allowed,
    )
}

/// The number of combinations of up to `most` candidates, at most one of each flow. Counting stops
/// at [`MOST_COUNTED`].
fn count(candidates: &[Candidate], most: usize) -> f64 {
    let mut routes: BTreeMap<usize, f64> = BTreeMap::new();
    for candidate in candidates {
        *routes.entry(candidate.flow).or_default() += 1.0;
    }
    // By the number of members: the combinations of the flows so far.
    let mut of_size = vec![1.0];
    for routes in routes.into_values() {
        if of_size.len() <= most {
            of_size.push(0.0);
        }
        for size in (1..of_size.len()).rev() {
            of_size[size] += of_size[size - 1] * routes;
        }
        let all: f64 = of_size.iter().sum();
        if all > MOST_COUNTED {
            return MOST_COUNTED;
        }
    }
    of_size.iter().skip(1).sum()
}
