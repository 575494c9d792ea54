//! The choice of a core for a request (section 4.3), and the function map.

use std::collections::VecDeque;

/// The NIC's choice among available cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steering {
    /// The core with the fewest requests.
    LeastLoaded,
    /// The core with the fewest requests among those that have just run the function, if any.
    Affinity,
}

/// The NIC's state of the cores.
#[derive(Clone, Debug)]
pub struct CoreSelector {
    /// Requests that each core has.
    outstanding: Vec<usize>,
    /// The function map: for each core its latest functions, the most recent first.
    recent: Vec<VecDeque<usize>>,
    slots: usize,
    depth: usize,
    /// The core at which the search starts, so that equally loaded cores take turns.
    next: usize,
}

/// The choice of [`CoreSelector::select`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selected {
    /// The core.
    pub core: usize,
    /// Whether the function map had the function among the latest ones of this core.
    pub affine: bool,
}

impl CoreSelector {
    /// A selector for `cores` idle cores that take `slots` requests each, with a function map of
    /// depth `depth`.
    pub fn new(cores: usize, slots: usize, depth: usize) -> CoreSelector {
        CoreSelector {
            outstanding: vec![0; cores],
            recent: vec![VecDeque::with_capacity(depth + 1); cores],
            slots,
            depth,
            next: 0,
        }
    }

    /// Chooses a core for a request to `function` and counts the request there; `None` if no core
    /// is available.
    pub fn select(&mut self, steering: Steering, function: usize) -> Option<Selected> {
        let cores = self.outstanding.len();
        let known = |core: usize| self.recent[core].contains(&function);
        let available = (0..cores)
            .map(|n| (self.next + n) % cores)
            .filter(|&core| self.outstanding[core] < self.slots);
        let core = available.min_by_key(|&core| {
            let stranger = steering == Steering::Affinity && !known(core);
            (stranger, self.outstanding[core])
        })?;
        let affine = known(core);
        self.outstanding[core] += 1;
        self.next = (core + 1) % cores;
        let recent = &mut self.recent[core];
        recent.push_front(function);
        recent.truncate(self.depth);
        Some(Selected { core, affine })
    }

    /// Counts a request of `core` as done.
    pub fn complete(&mut self, core: usize) {
        debug_assert!(self.outstanding[core] > 0, "core {core} has no request");
        self.outstanding[core] = self.outstanding[core].saturating_sub(1);
    }
}
