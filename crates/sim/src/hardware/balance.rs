use super::core::Core;
use crate::config::Balancing;

impl Balancing {
    /// The core for a request with the random numbers `draws`. `turn` is the number of requests
    /// assigned before. Of equal cores, the first is taken, counting from `first`.
    pub(crate) fn choose<T: Copy>(
        self,
        cores: &[Core<T>],
        draws: [u64; 2],
        turn: u64,
        first: usize,
    ) -> usize {
        let count = cores.len();
        let of = |number: u64, count: usize| (number % count.max(1) as u64) as usize;
        let any = of(draws[0], count);
        match self {
            // This function does not know which services the cores ran before.
            Balancing::LeastLoaded | Balancing::Affinity => {
                let from_first = (0..count).map(|place| (first + place) % count);
                from_first
                    .min_by_key(|&core| cores[core].committed())
                    .unwrap_or(0)
            }
            Balancing::Random => any,
            Balancing::RoundRobin => of(turn, count),
            Balancing::TwoChoices if count < 2 => any,
            Balancing::TwoChoices => {
                let other = of(draws[1], count - 1);
                let other = other + usize::from(other >= any);
                if cores[other].committed() < cores[any].committed() {
                    other
                } else {
                    any
                }
            }
            Balancing::JoinIdleQueue => {
                let free = cores.iter().enumerate();
                let free = free.filter(|(_, core)| core.committed() == (0, 0));
                let idle = free.filter_map(|(index, core)| Some((core.idle_since()?, index)));
                idle.min().map_or(any, |(_, core)| core)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use accelflow_units::Time;

    use super::*;
    use crate::hardware::core::Slices;

    /// Cores with so many tasks each; those without have been idle since the given times.
    fn cores(loads: [(usize, u64); 4]) -> Vec<Core<u32>> {
        let core = |(load, idle_since): (usize, u64)| {
            let mut core = Core::new(Slices {
                length: Time::ZERO,
                switch: Time::ZERO,
            });
            core.push(0, Time::from_ns(idle_since), Time::ZERO);
            core.finish(1, Time::from_ns(idle_since));
            for task in 0..load {
                core.push(task as u32, Time::from_ns(5), Time::from_ns(100));
            }
            core
        };
        loads.map(core).to_vec()
    }

    #[test]
    fn the_least_loaded_is_the_first_of_equals() {
        let cores = cores([(2, 1), (1, 1), (1, 1), (3, 1)]);
        let choose = |first| Balancing::LeastLoaded.choose(&cores, [0, 0], 7, first);
        assert_eq!([0, 1, 2, 3].map(choose), [1, 1, 2, 1]);
    }

    #[test]
    fn a_request_counts_until_it_ends() {
        let mut cores = cores([(0, 1), (0, 2), (1, 1), (1, 1)]);
        let choose = |policy: Balancing, cores: &[Core<u32>]| policy.choose(cores, [2, 0], 0, 0);
        for policy in [Balancing::LeastLoaded, Balancing::JoinIdleQueue] {
            assert_eq!(choose(policy, &cores), 0);
        }
        cores[0].own();
        for policy in [Balancing::LeastLoaded, Balancing::JoinIdleQueue] {
            assert_eq!(choose(policy, &cores), 1);
        }
        cores[0].disown();
        assert_eq!(choose(Balancing::LeastLoaded, &cores), 0);
    }

    #[test]
    fn random_goes_by_the_first_draw_alone() {
        let cores = cores([(2, 1), (0, 1), (0, 1), (0, 1)]);
        for (draw, core) in [(0, 0), (3, 3), (4, 0), (u64::MAX, 3)] {
            assert_eq!(Balancing::Random.choose(&cores, [draw, 1], 1, 0), core);
        }
    }

    #[test]
    fn round_robin_goes_by_the_turn_alone() {
        let cores = cores([(2, 1), (0, 1), (0, 1), (0, 1)]);
        let chosen: Vec<usize> = (0..6)
            .map(|turn| Balancing::RoundRobin.choose(&cores, [2, 2], turn, 0))
            .collect();
        assert_eq!(chosen, [0, 1, 2, 3, 0, 1]);
    }

    #[test]
    fn of_two_different_choices_the_less_loaded_wins() {
        let cores = cores([(2, 1), (1, 1), (1, 1), (0, 1)]);
        // The second number is that of the others: 0, 2, 3 for a first choice of 1.
        for (draws, core) in [
            ([1, 0], 1),
            ([1, 1], 1),
            ([1, 2], 3),
            ([0, 0], 1),
            ([2, 1], 2),
        ] {
            assert_eq!(
                Balancing::TwoChoices.choose(&cores, draws, 0, 0),
                core,
                "{draws:?}"
            );
        }
        assert_eq!(Balancing::TwoChoices.choose(&cores[..1], [5, 5], 0, 0), 0);
    }

    #[test]
    fn the_core_that_is_idle_for_longest_is_the_head_of_the_idle_queue() {
        let busy = [(1, 1), (1, 1), (2, 1), (1, 1)];
        for draw in 0..4 {
            let chosen = Balancing::JoinIdleQueue.choose(&cores(busy), [draw, 0], 0, 0);
            assert_eq!(chosen, draw as usize, "none is idle");
        }
        let mixed = cores([(1, 1), (0, 30), (0, 20), (0, 20)]);
        assert_eq!(Balancing::JoinIdleQueue.choose(&mixed, [0, 0], 0, 0), 2);
    }
}
