//! Open joins: the state that every executor of traces needs in addition to
//! [`step`](crate::step()).

/// Identifies one arm of a join. The arms are the parallel executions of a trace for which the join
/// waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct JoinArm {
    join: u32,
    /// The index of this arm among the arms of the join, counted from 0 in the order in which they
    /// start.
    pub arm: u8,
}

/// The open joins of one run of a trace. A join is open until all its arms (the parallel executions
/// for which it waits) have arrived.
///
/// `T` is the type of the value that each arm brings to the join, such as its payload.
#[derive(Clone, Debug)]
pub struct Joins<T> {
    joins: Vec<Open<T>>,
    free: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Open<T> {
    /// The place of the scattering execution in the surrounding join.
    outer: Option<JoinArm>,
    /// The values of the arms that have arrived, by arm.
    arms: Vec<Option<T>>,
}

impl<T> Default for Joins<T> {
    fn default() -> Joins<T> {
        Joins {
            joins: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Joins<T> {
    /// Opens a join for an execution that splits into two, and returns the two arms for which the
    /// join waits. `outer` identifies the splitting execution as an arm of a surrounding join;
    /// `None` if no join surrounds it.
    pub fn scatter(&mut self, outer: Option<JoinArm>) -> [JoinArm; 2] {
        let open = Open {
            outer,
            arms: vec![None, None],
        };
        let join = match self.free.pop() {
            Some(join) => {
                self.joins[join as usize] = open;
                join
            }
            None => {
                self.joins.push(open);
                (self.joins.len() - 1) as u32
            }
        };
        [0, 1].map(|arm| JoinArm { join, arm })
    }

    /// Adds one more arm to the open join of an execution that forks, and returns this arm for the
    /// newly started execution.
    ///
    /// `join_arm` identifies the forking execution as an arm of its join; `None` if it is in no
    /// join. The new execution is then in no join either, and the result is `None`.
    pub fn fork(&mut self, join_arm: Option<JoinArm>) -> Option<JoinArm> {
        let join = join_arm?.join;
        let arms = &mut self.joins[join as usize].arms;
        arms.push(None);
        let arm = (arms.len() - 1) as u8;
        Some(JoinArm { join, arm })
    }

    /// Records that the execution `join_arm` has reached its join with the value `brings`. Each arm
    /// may arrive once.
    ///
    /// Returns `None` while other arms of the join have not arrived. When the last arm arrives,
    /// returns a pair. First, the values of all arms, in the order in which the arms started.
    /// Second, if another join surrounds this one, the arm of the surrounding join as which the
    /// execution continues; otherwise `None`.
    pub fn arrive(&mut self, join_arm: JoinArm, brings: T) -> Option<(Vec<T>, Option<JoinArm>)> {
        let open = &mut self.joins[join_arm.join as usize];
        open.arms[usize::from(join_arm.arm)] = Some(brings);
        if open.arms.iter().any(Option::is_none) {
            return None;
        }
        let all = std::mem::take(&mut open.arms);
        let outer = open.outer;
        self.free.push(join_arm.join);
        Some((all.into_iter().flatten().collect(), outer))
    }

    /// Returns the values of the arms that wait at a join because other arms of the same join have
    /// not arrived.
    pub fn into_waiting(self) -> Vec<T> {
        let arms = self.joins.into_iter().flat_map(|open| open.arms);
        arms.flatten().collect()
    }
}
