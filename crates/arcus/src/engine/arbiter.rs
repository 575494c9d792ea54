//! The arbiter: chooses the flow whose message passes next, and checks that the message has buffer
//! space.

use accelflow_units::{Bytes, Time};

use super::run::Run;
use super::state::{Head, Job, Ready, Room, Route, Turn};
use crate::{Mechanism, Order, Path, PlatformError};

impl Run<'_> {
    /// Dispatches messages while there is buffer space. A flow in turn that lacks space reserves
    /// this space against the flows after it. Otherwise small messages could overtake large ones
    /// for ever. Most events neither make a message ready nor free room, and then none can pass.
    pub(super) fn dispatch(&mut self, now: Time) -> Result<(), PlatformError> {
        if !self.may_pass {
            return Ok(());
        }
        while let Some((flow, room)) = self.choose() {
            let burst = self.platform.dma.burst;
            let state = &mut self.flows[flow];
            let Some(head) = state.ready.front_mut() else {
                break;
            };
            let size = piece(state.spec.path, head.left, burst);
            let Ready {
                message,
                basis,
                last,
                ..
            } = *head;
            head.left = head.left.beyond(size);
            let whole = head.left == Bytes(0);
            if whole {
                state.ready.pop_front();
                state.queued -= usize::from(last);
            }
            let job = Job {
                flow,
                message,
                route: (state.routes.len() - 1) as u32,
                stage: 0,
                size,
                data: size,
                basis,
                last: whole && last,
                coming: Bytes(0),
                reserved: Bytes(0),
            };
            let in_flight = self.messages.get(message);
            in_flight.jobs += 1;
            in_flight.whole = job.last;
            self.charge(flow, room, size);
            self.depart(now, job)?;
            // Under PANIC, the next message of any flow may take the room that it leaves; the
            // flow's own comes last.
            let others = match self.mechanism {
                Mechanism::Panic { .. } => self.flows.len() - 1,
                _ => 0,
            };
            for step in (0..=others).rev() {
                self.top_up(now, (flow + self.flows.len() - step) % self.flows.len())?;
            }
        }
        self.may_pass = false;
        Ok(())
    }

    /// Returns the flow whose message passes next, and the resource that the message takes. For
    /// each resource, only the flow that is first in turn may pass; of these flows, the first in
    /// turn whose message has space is chosen.
    fn choose(&mut self) -> Option<(usize, Room)> {
        let mut heads = std::mem::take(&mut self.heads);
        heads.clear();
        for flow in 0..self.flows.len() {
            if self.flows[flow].ready.is_empty() {
                continue;
            }
            let (room, size) = self.need(flow);
            let head = Head {
                rank: self.rank(flow, self.turn_at(room)),
                flow,
                room,
                size,
            };
            match heads.iter_mut().find(|other| other.room == room) {
                Some(other) if head.place() < other.place() => *other = head,
                Some(_) => {}
                None => heads.push(head),
            }
        }
        if self.mechanism.order() == Order::InProportion {
            // No flow passes before the flow in turn, whatever that one waits for.
            if let Some(first) = heads.iter().min_by_key(|head| head.place()).copied() {
                heads.clear();
                heads.push(first);
            }
        }
        let fitting = heads.iter().filter(|head| self.has(head.room, head.size));
        let chosen = fitting.min_by_key(|head| (self.rank(head.flow, self.turn), head.flow));
        let chosen = chosen.map(|head| (head.flow, head.room));
        self.heads = heads;
        chosen
    }

    /// The turn among the flows that need `room`. Each resource has its own: with a common one, the
    /// messages of one accelerator would move the turn of another's, and flows in step with them
    /// would never pass.
    fn turn_at(&self, room: Room) -> Turn {
        let common = self.mechanism.order() == Order::InProportion;
        let own = self.turns.iter().find(|(other, _)| *other == room);
        match own {
            Some((_, turn)) if !common => *turn,
            None if !common => Turn::default(),
            _ => self.turn,
        }
    }

    /// A flow's rank at `turn` among the flows with a message ready; the lowest is first in turn.
    fn rank(&self, flow: usize, turn: Turn) -> (u64, u64) {
        let state = &self.flows[flow];
        match self.mechanism.order() {
            Order::RoundRobin => {
                let count = self.flows.len();
                (((flow + count - turn.next) % count) as u64, 0)
            }
            Order::Priority => {
                let sequence = state.ready.front().map_or(0, |head| head.sequence);
                (state.spec.priority.into(), sequence)
            }
            // Virtual times are not negative, and the bits of such numbers are in their order.
            Order::WeightedFair | Order::InProportion => {
                (state.finish.max(turn.virtual_time).to_bits(), 0)
            }
        }
    }

    /// Updates the order of the flows after a dispatch of `size` bytes of `flow`, which take
    /// `room`.
    fn charge(&mut self, flow: usize, room: Room, size: Bytes) {
        let count = self.flows.len();
        let before = self.turn_at(room);
        let state = &mut self.flows[flow];
        let start = state.finish.max(before.virtual_time);
        state.finish = start + size.get() as f64 / state.spec.weight;
        self.turn = Turn {
            next: (flow + 1) % count,
            virtual_time: start,
        };
        match self.turns.iter_mut().find(|(other, _)| *other == room) {
            Some((_, turn)) => *turn = self.turn,
            None => self.turns.push((room, self.turn)),
        }
    }

    fn need(&self, flow: usize) -> (Room, Bytes) {
        let state = &self.flows[flow];
        let left = state.ready.front().map_or(Bytes(0), |head| head.left);
        let size = piece(state.spec.path, left, self.platform.dma.burst);
        let Route {
            accelerators,
            engine,
            ..
        } = &state.routes[state.routes.len() - 1];
        let room = match (state.spec.path, accelerators.first()) {
            (path, _) if path.reads_host() => Room::Reads(*engine),
            (path, _) if path.uses_storage() => Room::Commands,
            (_, Some(first)) => Room::Input(*first),
            (_, None) => Room::Egress(*engine),
        };
        (room, size)
    }

    fn has(&self, room: Room, size: Bytes) -> bool {
        let fits = |used: Bytes, limit: Bytes| used == Bytes(0) || used + size <= limit;
        match room {
            Room::Reads(engine) => fits(self.reading[engine], self.platform.dma.read_window),
            Room::Input(unit) => fits(
                self.units[unit].reserved,
                self.platform.accelerators[unit].input,
            ),
            Room::Egress(engine) => fits(self.leaving[engine], self.platform.dma.egress),
            Room::Commands => {
                let limit = self
                    .platform
                    .storage
                    .map_or(0, |storage| storage.queue_depth);
                self.commands < limit
            }
        }
    }
}

/// The part of a message's remaining bytes that passes at once.
fn piece(path: Path, left: Bytes, burst: Bytes) -> Bytes {
    match path.uses_storage() {
        true => left,
        false => left.min(burst),
    }
}
