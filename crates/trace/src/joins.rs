//! Open joins, the state that every executor of traces needs in addition to [`step`](crate::step()).

/// The place of an execution among the parallel executions (arms) that one join waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct JoinArm {
    join: u32,
    /// The number of the execution within the join, counted from 0 in the order of starts.
    pub arm: u8,
}

/// The joins of one run for which some arms have not arrived yet.
///
/// `T` is the value that each arm brings to the join, such as its payload.
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
    /// Opens a join for an execution that splits into two, and returns their places in it. `outer`
    /// is the place of the splitting execution in the join around this one, if there is one.
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

    /// Adds an arm to the join of the execution at `join_arm`, and returns the place of the new arm.
    /// `None` if the execution is in no join.
    pub fn fork(&mut self, join_arm: Option<JoinArm>) -> Option<JoinArm> {
        let join = join_arm?.join;
        let arms = &mut self.joins[join as usize].arms;
        arms.push(None);
        let arm = (arms.len() - 1) as u8;
        Some(JoinArm { join, arm })
    }

    /// Records that the execution at `join_arm` has reached its join with the value `brings`. For the
    /// last one to arrive, returns the values of all arms in order, and the place in the
    /// surrounding join of the execution that continues. For others, returns `None`.
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

    /// Returns the values of the arms that have arrived at joins that are not complete.
    pub fn into_waiting(self) -> Vec<T> {
        let arms = self.joins.into_iter().flat_map(|open| open.arms);
        arms.flatten().collect()
    }
}
