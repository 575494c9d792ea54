//! Disjoint intervals of simulated time.

use accelflow_units::Time;

/// Disjoint stretches of time, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Stretches(Vec<(Time, Time)>);

impl Stretches {
    /// The union of `stretches`.
    pub(crate) fn of(mut stretches: Vec<(Time, Time)>) -> Stretches {
        stretches.sort_unstable();
        let mut apart: Vec<(Time, Time)> = Vec::new();
        for (from, until) in stretches {
            match apart.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(until),
                _ => apart.push((from, until)),
            }
        }
        Stretches(apart)
    }

    /// Whether any of them overlaps this stretch.
    pub(crate) fn meet(&self, from: Time, until: Time) -> bool {
        let ended = self.0.partition_point(|(_, end)| *end < from);
        self.0.get(ended).is_some_and(|(begin, _)| *begin <= until)
    }

    /// The number and the beginning of the stretch that contains a moment.
    pub(crate) fn at(&self, moment: Time) -> Option<(usize, Time)> {
        let index = self.0.partition_point(|(_, end)| *end < moment);
        let (begin, _) = self.0.get(index)?;
        (*begin <= moment).then_some((index, *begin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    #[test]
    fn stretches_that_touch_are_one() {
        let found = Stretches::of(vec![(ns(5), ns(9)), (ns(1), ns(2)), (ns(9), ns(12))]);
        assert_eq!(found, Stretches(vec![(ns(1), ns(2)), (ns(5), ns(12))]));
        assert!(found.meet(ns(2), ns(3)) && found.meet(ns(3), ns(5)) && found.meet(ns(0), ns(99)));
        assert!(!found.meet(ns(3), ns(4)) && !found.meet(ns(13), ns(14)));
        assert_eq!(found.at(ns(12)), Some((1, ns(5))));
        assert_eq!(found.at(ns(3)), None);
    }
}
