//! The scratchpad of an accelerator: results may be forwarded until other results need their slots.

use crate::dag::Kind;
use crate::task_ref::TaskRef;

/// Slots reserved for a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Room {
    /// Slots that its inputs are loaded into.
    pub(crate) inputs: Vec<usize>,
    /// The slot of its result.
    pub(crate) output: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Free,
    /// Reserved for the task that runs.
    Reserved,
    Result {
        of: TaskRef,
        /// Whether it is also in memory.
        written: bool,
        /// Consumers that have not begun to read.
        wanted: usize,
        /// Consumers that are reading.
        readers: usize,
        /// Order of completion.
        order: u64,
    },
}

/// The slots of 64 KB that results can be in.
#[derive(Clone, Debug)]
pub(crate) struct Scratchpad {
    slots: Vec<Slot>,
    /// Whether inputs take slots as well, so that a result is an input in place.
    shared: bool,
    order: u64,
}

impl Scratchpad {
    /// The scratchpad of RELIEF's release: element-wise units have four slots and convolutions
    /// three for inputs and results alike; the others have two for results and room of its own for
    /// inputs.
    pub(crate) fn of(kind: Kind) -> Scratchpad {
        let (slots, shared) = match kind {
            Kind::ElementWise => (4, true),
            Kind::Convolution => (3, true),
            _ => (2, false),
        };
        Scratchpad {
            slots: vec![Slot::Free; slots],
            shared,
            order: 0,
        }
    }

    /// Whether results can be used as inputs in place.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared
    }

    /// Reserves room for `transfers` inputs and a result, besides those in the slots `in_place`.
    /// Returns the room and the results that are lost; `None` if only unwritten or busy results are
    /// left.
    ///
    /// As in the release, it takes the first slots that may be taken, whichever results they hold.
    pub(crate) fn reserve(
        &mut self,
        in_place: &[usize],
        transfers: usize,
    ) -> Option<(Room, Vec<TaskRef>)> {
        let needed = 1 + if self.shared {
            self.loaded(transfers)
        } else {
            0
        };
        let mut taken: Vec<usize> = (0..self.slots.len())
            .filter(|slot| !in_place.contains(slot) && self.may_be_taken(*slot))
            .take(needed)
            .collect();
        if taken.len() < needed {
            return None;
        }
        let mut evicted = Vec::new();
        for &slot in &taken {
            if let Slot::Result { of, .. } = self.slots[slot] {
                evicted.push(of);
            }
            self.slots[slot] = Slot::Reserved;
        }
        let output = taken.pop()?;
        Some((
            Room {
                inputs: taken,
                output,
            },
            evicted,
        ))
    }

    /// Slots that transferred inputs take: convolution kernels have a store of their own.
    fn loaded(&self, transfers: usize) -> usize {
        if self.slots.len() == 3 {
            transfers.saturating_sub(1)
        } else {
            transfers
        }
    }

    /// Whether a slot may be taken: its result has no reader, and is in memory or no longer needed.
    fn may_be_taken(&self, slot: usize) -> bool {
        match self.slots[slot] {
            Slot::Free => true,
            Slot::Reserved => false,
            Slot::Result {
                written,
                wanted,
                readers,
                ..
            } => readers == 0 && (written || wanted == 0),
        }
    }

    /// The oldest result that only this scratchpad holds and that has no reader.
    pub(crate) fn oldest_unwritten(&self, in_place: &[usize]) -> Option<usize> {
        let unwritten = |slot: &usize| match self.slots[*slot] {
            Slot::Result {
                written: false,
                readers: 0,
                order,
                ..
            } => Some(order),
            _ => None,
        };
        (0..self.slots.len())
            .filter(|slot| !in_place.contains(slot) && unwritten(slot).is_some())
            .min_by_key(unwritten)
    }

    /// Notes that the task for which `room` was reserved has completed; its result has `wanted`
    /// consumers.
    pub(crate) fn computed(&mut self, room: Room, of: TaskRef, wanted: usize) {
        for slot in room.inputs {
            self.slots[slot] = Slot::Free;
        }
        self.order += 1;
        self.slots[room.output] = Slot::Result {
            of,
            written: false,
            wanted,
            readers: 0,
            order: self.order,
        };
    }

    pub(crate) fn begin_read(&mut self, slot: usize) {
        if let Slot::Result {
            wanted, readers, ..
        } = &mut self.slots[slot]
        {
            *wanted = wanted.saturating_sub(1);
            *readers += 1;
        }
    }

    pub(crate) fn end_read(&mut self, slot: usize) {
        if let Slot::Result { readers, .. } = &mut self.slots[slot] {
            *readers = readers.saturating_sub(1);
        }
    }

    /// Notes that the result in `slot` is in memory.
    pub(crate) fn written(&mut self, slot: usize) {
        if let Slot::Result { written, .. } = &mut self.slots[slot] {
            *written = true;
        }
    }

    /// Drops the results of `graph`, which are no longer needed.
    pub(crate) fn forget(&mut self, graph: usize) {
        for slot in &mut self.slots {
            if matches!(slot, Slot::Result { of, .. } if of.graph == graph) {
                *slot = Slot::Free;
            }
        }
    }
}
