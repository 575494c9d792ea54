//! Static links between accelerators.

use std::collections::BTreeSet;

use accelflow_trace::Accel;

/// Pairs of accelerators with a static link for direct hand-over, as Cohort has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links(BTreeSet<(Accel, Accel)>);

impl Links {
    /// Links the pairs of accelerators that follow one another most often: "links pairs of
    /// accelerators that frequently go together" (AccelFlow, section VI). No accelerator is in two
    /// pairs.
    ///
    /// `transitions` counts how often the second accelerator follows the first. The most frequent
    /// pair is linked, then the most frequent pair of the remaining accelerators, and so on; ties
    /// go to the lower accelerator numbers.
    pub fn most_frequent(transitions: &[((Accel, Accel), u64)]) -> Links {
        let mut ranked = transitions.to_vec();
        ranked.sort_by_key(|&(pair, count)| (std::cmp::Reverse(count), pair));
        let (mut linked, mut taken) = (BTreeSet::new(), BTreeSet::new());
        for ((from, to), count) in ranked {
            if count > 0 && from != to && !taken.contains(&from) && !taken.contains(&to) {
                linked.insert((from, to));
                taken.extend([from, to]);
            }
        }
        Links(linked)
    }

    /// Whether there is a link from `from` to `to`.
    pub fn linked(&self, from: Accel, to: Accel) -> bool {
        self.0.contains(&(from, to))
    }

    /// Returns the linked pairs, in ascending order.
    pub fn pairs(&self) -> impl Iterator<Item = (Accel, Accel)> + '_ {
        self.0.iter().copied()
    }
}
