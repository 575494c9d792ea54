//! The NIC's choice of a core for each request (section 4.3), and the function map by which it
//! chooses.

use std::collections::VecDeque;

/// The rule by which the NIC chooses a core for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steering {
    /// The NIC chooses the core with the fewest requests in progress or waiting.
    LeastLoaded,
    /// The NIC prefers cores that recently got a request to the same function, according to the
    /// function map. Of these, it chooses the core with the fewest requests. If none of them can
    /// take a request, it chooses among all cores.
    Affinity,
}

/// The part of the NIC that chooses a core for each request. It counts the unfinished requests of
/// each core, and keeps a function map: for each core, the functions of the requests that the core
/// got last.
#[derive(Clone, Debug)]
pub struct CoreSelector {
    /// The number of requests that each core has.
    outstanding: Vec<usize>,
    /// The function map: for each core its latest functions, the most recent first.
    recent: Vec<VecDeque<usize>>,
    slots: usize,
    depth: usize,
    /// The core at which the search starts, so that equally loaded cores take turns.
    next: usize,
}

/// The core that [`CoreSelector::select`] chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selected {
    /// The index of the chosen core.
    pub core: usize,
    /// Whether the function map has the request's function among the last functions of the chosen
    /// core.
    pub affine: bool,
}

impl CoreSelector {
    /// Creates a selector for `cores` idle cores, each of which takes at most `slots` requests at a
    /// time. For each core, the function map has the functions of the last `depth` requests.
    pub fn new(cores: usize, slots: usize, depth: usize) -> CoreSelector {
        CoreSelector {
            outstanding: vec![0; cores],
            recent: vec![VecDeque::with_capacity(depth + 1); cores],
            slots,
            depth,
            next: 0,
        }
    }

    /// Chooses a core for a request to the function with index `function`, and counts the request
    /// at this core. `None` if no core can take a request.
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

    /// Reports that core `core` has ended one of its requests.
    pub fn complete(&mut self, core: usize) {
        debug_assert!(self.outstanding[core] > 0, "core {core} has no request");
        self.outstanding[core] = self.outstanding[core].saturating_sub(1);
    }
}
