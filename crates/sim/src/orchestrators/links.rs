//! Static links between accelerators.

use std::collections::BTreeSet;

use accelflow_trace::Accel;

/// The pairs of accelerators that the system Cohort connects by static links. The first accelerator
/// of a pair hands operations over to the second without a core, if the payload fits a queue entry
/// and there is no branch, transformation or join in between.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links(BTreeSet<(Accel, Accel)>);

impl Links {
    /// Creates links between the accelerators that follow one another most often: "links pairs of
    /// accelerators that frequently go together" (AccelFlow, section VI). An accelerator has at
    /// most one link, incoming or outgoing, and none to itself.
    ///
    /// `transitions` has pairs of accelerators, and how often the second follows the first. The
    /// most frequent pair is linked, then the most frequent pair of the remaining accelerators, and
    /// so on. Equally frequent pairs are linked in ascending order of [`Accel`].
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

    /// Returns whether there is a link from `from` to `to`. Links have a direction.
    pub fn linked(&self, from: Accel, to: Accel) -> bool {
        self.0.contains(&(from, to))
    }

    /// Returns the linked pairs (from, to), in ascending order of [`Accel`].
    pub fn pairs(&self) -> impl Iterator<Item = (Accel, Accel)> + '_ {
        self.0.iter().copied()
    }
}
