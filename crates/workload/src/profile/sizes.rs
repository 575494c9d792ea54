//! Calls of one step grouped by input size.

use super::recording::RecordedSize;

/// The largest number of groups by input size that a recording may have for the measured calls of
/// one step (one accelerator call in a chain of traces).
pub const MAX_SIZES: usize = 64;

/// The largest number of groups that [`by_size`] makes.
const GROUPS: usize = 32;

/// Groups accelerator calls by input size. `calls` has a pair (input size in bytes, cost in ns) for
/// each call.
///
/// Up to 32 different sizes give one group each. More sizes give at most 32 groups of about equally
/// many calls. Calls of one size are always in the same group. A group has the mean size, rounded
/// to whole bytes, and the median cost of its calls. The groups are in ascending order of size.
/// Without calls, there are no groups.
pub fn by_size(calls: &[(u64, f64)]) -> Vec<RecordedSize> {
    let mut sorted = calls.to_vec();
    sorted.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let sizes: Vec<&[(u64, f64)]> = sorted.chunk_by(|a, b| a.0 == b.0).collect();
    if sizes.len() <= GROUPS {
        return sizes.into_iter().map(group).collect();
    }
    let enough = sorted.len().div_ceil(GROUPS);
    let (mut groups, mut from, mut to) = (Vec::new(), 0, 0);
    for size in sizes {
        to += size.len();
        if to - from >= enough || to == sorted.len() {
            groups.push(group(&sorted[from..to]));
            from = to;
        }
    }
    groups
}

/// The group of `calls`, of which there is at least one.
fn group(calls: &[(u64, f64)]) -> RecordedSize {
    let bytes: u128 = calls.iter().map(|&(bytes, _)| u128::from(bytes)).sum();
    let count = calls.len() as u128;
    let mut costs: Vec<f64> = calls.iter().map(|&(_, cost)| cost).collect();
    let middle = (costs.len() - 1) / 2;
    let (_, median, _) = costs.select_nth_unstable_by(middle, f64::total_cmp);
    RecordedSize {
        // The mean of numbers of 64 bits has at most 64 bits.
        input_bytes: u64::try_from((bytes + count / 2) / count).unwrap_or(u64::MAX),
        calls: calls.len() as u64,
        cost_ns: *median,
    }
}
