//! The move of a trace's data out of an output queue: to the next accelerator, or to memory for a
//! core.

use accelflow_units::Time;

use crate::config::RpcProcessor;
use crate::hardware::{Endpoints, Movement};
use crate::orchestrators::Next;
use crate::server::engine::Engine;
use crate::server::error::Failure;
use crate::server::state::{Event, JobId, RequestId, Transfer, TransferKind, Unit};
use crate::stats::{Fallback, Part};

impl Engine<'_> {
    /// All decisions are taken: moves the job out of its output queue.
    #[inline(never)]
    pub(crate) fn forward(&mut self, id: JobId, now: Time) -> Result<(), Failure> {
        if !self.joins.none_forked() {
            self.start_arms(id, now)?;
        }
        match self.pass_on(id, now) {
            Some(done) => {
                self.schedule(done, Event::Moved(id));
                Ok(())
            }
            None => self.forward_anywhere(id, now),
        }
    }

    /// The same at the end of a step, which may go on with what follows.
    #[inline(always)]
    pub(crate) fn forward_at_once(&mut self, id: JobId, now: Time) -> Result<(), Failure> {
        if !self.joins.none_forked() {
            return self.forward(id, now);
        }
        match self.pass_on(id, now) {
            Some(done) if self.goes_on_at(done) => self.moved(id, done),
            Some(done) => {
                self.schedule(done, Event::Moved(id));
                Ok(())
            }
            None => self.forward_anywhere(id, now),
        }
    }

    /// Moves a job from its output queue to the input queue of the only accelerator that may
    /// execute its next operation, if that has room and an A-DMA engine is free. Returns when it
    /// arrives.
    #[inline(always)]
    fn pass_on(&mut self, id: JobId, now: Time) -> Option<Time> {
        let job = self.jobs.get_mut(id);
        let Next::Forward(to) = job.next_step.next else {
            return None;
        };
        let there = self.ensemble.only(to)?;
        let meets = job.next_step.meets;
        if meets || !self.dma.is_free() || !self.ensemble.station_mut(there).reserve_input() {
            return None;
        }
        let here = std::mem::replace(&mut job.unit, there);
        (job.accel, job.entry.missing) = (to, 1);
        job.transfer = Transfer {
            kind: TransferKind::Forward,
            source: Some(here),
        };
        let size = self.timing.entry_size(job.operation.input);
        self.dma.begin(now);
        let programmed = now + self.run.config.network.dma_setup;
        if self.is_followed() {
            self.show_links(None, now);
        }
        let units = ((here.accel, here.instance), (there.accel, there.instance));
        let done = self.uncore.pass(units, size, programmed);
        self.show_moves(id, now, done);
        Some(done)
    }

    #[inline(never)]
    fn forward_anywhere(&mut self, id: JobId, now: Time) -> Result<(), Failure> {
        let job = self.jobs.get(id);
        let unit = job.unit;
        match job.next_step.next {
            Next::Forward(_) if job.next_step.meets => self.come_to_join(id, Some(unit), now),
            Next::Forward(to) if self.manager.is_central() => {
                self.forward_centrally(id, to, Some(unit), now)
            }
            Next::Forward(to) => {
                if self.core_is_sooner(id, to) {
                    let request = job.request;
                    self.count_fallback(request, Fallback::CoreSooner);
                    return self.rescue(id, unit, now);
                }
                let Some(kind) = self.reserve(id, to) else {
                    return self.fall_back(id, Some(unit), now);
                };
                if self.goes_on(unit, self.jobs.get(id).unit, kind) {
                    self.withdraw(id, unit, now);
                    self.delivered(id, now);
                    return Ok(());
                }
                let here = unit.place();
                let movement = match kind {
                    TransferKind::Spill => self.overflow_movement(id, Endpoints::Write(here)),
                    _ => {
                        let there = self.jobs.get(id).unit.place();
                        self.entry_movement(id, Endpoints::Queues(here, there))
                    }
                };
                self.transfer_from(unit, id, kind, movement, now);
                Ok(())
            }
            Next::Park => {
                self.withdraw(id, unit, now);
                self.park(id, now);
                Ok(())
            }
            Next::End => {
                let output = job.operation.output;
                let movement = self.result_movement(id, output, unit.place());
                self.transfer_from(unit, id, TransferKind::Result, movement, now);
                Ok(())
            }
        }
    }

    /// Whether the transfer stays within one RPC processor, between the header and the payload of a
    /// message, so that no A-DMA engine moves it.
    fn goes_on(&self, from: Unit, to: Unit, kind: TransferKind) -> bool {
        let whole = self.run.config.accelerator.rpc_processor == RpcProcessor::Whole;
        whole && from == to && kind == TransferKind::Forward
    }

    /// Hands the rest of a job's trace to its core, as queue and overflow area are full or the chip
    /// does not have the accelerator: at once if its payload is in memory, otherwise when it has
    /// been moved there from `source`.
    pub(crate) fn fall_back(
        &mut self,
        id: JobId,
        source: Option<Unit>,
        now: Time,
    ) -> Result<(), Failure> {
        let job = self.jobs.get(id);
        self.count_turned_away(job.request, job.unit);
        match source {
            Some(source) => self.rescue(id, source, now),
            None => self.run_software(id, false, now),
        }
    }

    /// Moves the payload of a job from `source` to memory, where its core takes the trace on.
    fn rescue(&mut self, id: JobId, source: Unit, now: Time) -> Result<(), Failure> {
        let input = self.jobs.get(id).operation.input;
        let movement = self.result_movement(id, input, source.place());
        self.transfer_from(source, id, TransferKind::Rescue, movement, now);
        Ok(())
    }

    /// Counts that `unit` has turned away an operation of a request.
    pub(crate) fn count_turned_away(&mut self, request: RequestId, unit: Unit) {
        if !self.has(unit.accel) {
            self.count_fallback(request, Fallback::NoAccelerator);
        } else if !self.knows_function(request, unit.accel) {
            self.count_fallback(request, Fallback::UnknownFunction);
        } else {
            self.count_fallback(request, Fallback::OverflowFull);
            self.ensemble.station_mut(unit).turned_away += 1;
        }
    }

    /// Moves the data of a job out of the output queue of `source`.
    fn transfer_from(
        &mut self,
        source: Unit,
        job: JobId,
        kind: TransferKind,
        movement: Movement,
        now: Time,
    ) {
        let transfer = Transfer {
            kind,
            source: Some(source),
        };
        self.transfer(job, transfer, movement, now);
    }

    /// Requests an A-DMA engine for a transfer.
    pub(crate) fn transfer(
        &mut self,
        job: JobId,
        transfer: Transfer,
        movement: Movement,
        now: Time,
    ) {
        self.jobs.get_mut(job).transfer = transfer;
        if self.dma.request((job, movement), now) {
            self.move_data(job, &movement, now);
        }
    }

    /// Starts a transfer on an A-DMA engine: programs it and moves the data.
    #[inline(never)]
    fn move_data(&mut self, job: JobId, movement: &Movement, now: Time) {
        let programmed = now + self.run.config.network.dma_setup;
        if self.is_followed() {
            self.show_links(None, now);
        }
        let done = self.uncore.carry(movement, programmed);
        self.show_moves(job, now, done);
        self.schedule(done, Event::Moved(job));
    }

    /// An A-DMA engine has completed a transfer.
    pub(crate) fn moved(&mut self, id: JobId, now: Time) -> Result<(), Failure> {
        self.show_part(id, Part::Communication, now);
        let job = self.jobs.get_mut(id);
        job.path.spend(Part::Communication, now);
        let Transfer { kind, source } = job.transfer;
        if self.dma.backlog() > 0 {
            self.pass_engine_on(now);
        } else {
            self.dma.end(now);
        }
        if let Some(source) = source {
            self.withdraw(id, source, now);
        }
        match kind {
            TransferKind::Forward => self.delivered(id, now),
            _ => return self.moved_elsewhere(id, kind, now),
        }
        Ok(())
    }

    /// Gives the A-DMA engine of a transfer that has ended to the next that waits.
    #[inline(never)]
    fn pass_engine_on(&mut self, now: Time) {
        if let Some((next, movement)) = self.dma.next() {
            self.move_data(next, &movement, now);
        }
    }

    /// A transfer has ended elsewhere than in an input entry.
    #[inline(never)]
    fn moved_elsewhere(&mut self, id: JobId, kind: TransferKind, now: Time) -> Result<(), Failure> {
        match kind {
            // Delivered.
            TransferKind::Forward => {}
            TransferKind::Spill | TransferKind::CentralSpill => self.overflow_filled(id, now),
            TransferKind::Central => self.entered(id, now),
            TransferKind::Join => self.arrived(id, now)?,
            TransferKind::Grant => self.granted(id, now),
            TransferKind::Result => self.notify(id, now),
            TransferKind::Rescue => self.run_software(id, false, now)?,
        }
        Ok(())
    }
}
