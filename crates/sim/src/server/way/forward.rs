//! The move of a job out of its output queue: to the next accelerator, or to memory for a core.

use accelflow_units::Time;

use crate::config::RpcProcessor;
use crate::hardware::{Movement, Way};
use crate::orchestrators::Next;
use crate::server::engine::Engine;
use crate::server::error::Failure;
use crate::server::state::{Event, JobId, RequestId, Transfer, TransferKind, Unit};
use crate::stats::{Fallback, Part};

impl Engine<'_> {
    /// All decisions are taken: moves the job out of its output queue.
    pub(crate) fn forward(&mut self, id: JobId, now: Time) -> Result<(), Failure> {
        if !self.joins.none_forked() {
            self.start_arms(id, now)?;
        }
        let job = self.jobs.get(id);
        let unit = job.unit;
        match job.outlook.next {
            Next::Forward(_) if job.outlook.meets => self.come_to_join(id, Some(unit), now),
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
                    TransferKind::Spill => self.overflow_movement(id, Way::Write(here)),
                    _ => {
                        let there = self.jobs.get(id).unit.place();
                        self.entry_movement(id, Way::Queues(here, there))
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
    /// does not have the accelerator: at once if its payload is in memory, otherwise when it has been
    /// moved there from `source`.
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
        if self.has(unit.accel) {
            self.count_fallback(request, Fallback::OverflowFull);
            self.ensemble.station_mut(unit).turned_away += 1;
        } else {
            self.count_fallback(request, Fallback::NoAccelerator);
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
    pub(crate) fn moved(&mut self, job: JobId, now: Time) -> Result<(), Failure> {
        self.spend(job, Part::Communication, now);
        if let Some((next, movement)) = self.dma.release(now) {
            self.move_data(next, &movement, now);
        }
        let transfer = self.jobs.get(job).transfer;
        if let Some(source) = transfer.source {
            self.withdraw(job, source, now);
        }
        match transfer.kind {
            TransferKind::Forward => self.delivered(job, now),
            TransferKind::Spill | TransferKind::CentralSpill => self.overflow_filled(job, now),
            TransferKind::Central => self.entered(job, now),
            TransferKind::Join => self.arrived(job, now)?,
            TransferKind::Grant => self.granted(job, now),
            TransferKind::Result => self.notify(job, now),
            TransferKind::Rescue => self.run_software(job, false, now)?,
        }
        Ok(())
    }
}
