//! The path of a result through the second shaper, which decides when results of accelerators
//! become commands to the storage.

use accelflow_shaping::{Message, Registers};
use accelflow_units::Time;

use super::run::Run;
use super::state::Event;
use crate::PlatformError;
use crate::hardware::Packet;

impl Run<'_> {
    /// Queues a result for the storage if its flow has a second shaper, and returns whether it has
    /// one. The result waits in its flow's queue at the interface, so it frees its space in the
    /// output buffer.
    pub(super) fn inject(&mut self, now: Time, job: u32) -> Result<bool, PlatformError> {
        let state = *self.jobs.get(job);
        let Some(injection) = &mut self.injection else {
            return Ok(false);
        };
        let Some(Some(number)) = injection.flows.get(state.flow).copied() else {
            return Ok(false);
        };
        let (tag, size) = (u64::from(job), state.data);
        injection.shaper.offer(now, number, Message { tag, size })?;
        self.schedule_injection();
        self.release_egress(now, job);
        Ok(true)
    }

    fn schedule_injection(&mut self) {
        let Some(injection) = &mut self.injection else {
            return;
        };
        if let Some(time) = injection.shaper.next_grant()
            && time < injection.poll_at
        {
            injection.poll_at = time;
            self.at(time, Event::Inject);
        }
    }

    /// Polls the second shaper.
    pub(super) fn injections(&mut self, now: Time) -> Result<(), PlatformError> {
        let Some(injection) = &mut self.injection else {
            return Ok(());
        };
        if now >= injection.poll_at {
            injection.poll_at = Time::MAX;
        }
        let mut granted = Vec::new();
        while let Some(segment) = injection.shaper.poll(now)? {
            granted.push(segment);
        }
        for segment in granted {
            self.at(
                segment.released.max(now),
                Event::Injected(segment.tag as u32),
            );
        }
        self.schedule_injection();
        Ok(())
    }

    /// Sends a result to the storage that has passed the second shaper.
    pub(super) fn injected(&mut self, now: Time, job: u32) {
        let state = *self.jobs.get(job);
        let engine = self.route(&state).engine;
        self.leaving[engine] += state.data;
        self.jobs.get(job).reserved = state.data;
        self.push_up(now, engine, job, Packet::Write, state.data);
    }

    /// Writes registers of the second shaper.
    pub(super) fn write_results(
        &mut self,
        now: Time,
        flow: usize,
        registers: Registers,
    ) -> Result<(), PlatformError> {
        if let Some(injection) = &mut self.injection {
            injection.write(now, flow, registers)?;
            self.schedule_injection();
        }
        Ok(())
    }
}
