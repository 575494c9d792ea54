//! Combinations of flows at their SLOs, with their tags.

use super::profile::{ProfileTable, Tag};
use super::route::Traffic;
use crate::PlatformError;

/// A flow on one of its routes, as a candidate for combinations.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The flow's number; two routes of one flow are not combined.
    pub flow: usize,
    /// Its traffic at its SLO.
    pub traffic: Vec<Traffic>,
    /// The load up to which its class is admitted.
    pub share: f64,
}

/// A combination of flows on their routes.
#[derive(Clone, Debug, PartialEq)]
pub struct Combination {
    /// The indices of its candidates.
    pub members: Vec<usize>,
    /// The traffic of its flows.
    pub traffic: Vec<Traffic>,
    /// The sum of its flows' SLOs, in gigabits per second.
    pub asked_gbit_per_s: f64,
    /// The capacity of the platform for this combination, in gigabits per second.
    pub gbit_per_s: f64,
    /// Whether all its flows can be promised their SLOs.
    pub tag: Tag,
}

/// The largest number of combinations, including the empty one.
const MOST_COMBINATIONS: usize = 2_000;

/// Classifies every combination of up to `most` flows.
///
/// # Errors
/// [`PlatformError::OutOfRange`] for more than 2,000 combinations, and the errors of
/// [`crate::Platform::check`].
pub fn combinations(
    profiles: &mut ProfileTable,
    candidates: &[Candidate],
    most: usize,
) -> Result<Vec<Combination>, PlatformError> {
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
        let count = chosen.len() as f64;
        let good = chosen.len() <= MOST_COMBINATIONS;
        PlatformError::unless(good, "combinations", count, "at most 2000: lower --most")?;
    }
    let combined = chosen.into_iter().skip(1);
    combined
        .map(|members| {
            let of = || members.iter().map(|member| &candidates[*member]);
            let traffic: Vec<Traffic> = of().flat_map(|part| part.traffic.clone()).collect();
            let share = of().map(|part| part.share).fold(f64::MAX, f64::min);
            Ok(Combination {
                asked_gbit_per_s: traffic.iter().map(|flow| flow.gbit_per_s).sum(),
                gbit_per_s: profiles.capacity_of(&traffic)?,
                tag: profiles.classify(&traffic, share)?,
                members,
                traffic,
            })
        })
        .collect()
}
