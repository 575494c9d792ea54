//! The path of a job (a piece of a message that the arbiter lets pass at once) from the arbiter to
//! the end of the job: link, accelerators, ports, storage.

use accelflow_units::{Bytes, Time};

use super::run::Run;
use super::state::{Event, Job, Route};
use crate::hardware::{Operation, Packet, Transfer};
use crate::{Egress, FRAME_OVERHEAD, Mechanism, Order, Path, PlatformError};

impl Run<'_> {
    /// Starts a job that has passed the interface.
    pub(super) fn depart(&mut self, now: Time, job: Job) -> Result<(), PlatformError> {
        let Route {
            accelerators,
            engine,
            path,
            ..
        } = self.route(&job);
        let (engine, path, first) = (*engine, *path, accelerators.first().copied());
        let number = self.jobs.insert(job);
        match path {
            Path::FunctionCall | Path::InlineTx => {
                self.reading[engine] += job.size;
                let asked = job.size + self.platform.dma.descriptor;
                self.jobs.get(number).coming = asked;
                self.push_up(now, engine, number, Packet::ReadRequest, asked);
            }
            Path::InlineRx => {
                if let Some(unit) = first {
                    self.units[unit].reserved += job.size;
                }
                self.enter(now, number)?;
            }
            Path::StorageWrite => {
                self.commands += 1;
                self.enter(now, number)?;
            }
            Path::StorageRead => {
                self.commands += 1;
                if let Some(storage) = &mut self.storage {
                    let device = storage.pick();
                    storage.read(device, number);
                    self.begin_storage(now, device);
                }
            }
        }
        Ok(())
    }

    pub(super) fn route(&self, job: &Job) -> &Route {
        &self.flows[job.flow].routes[job.route as usize]
    }

    pub(super) fn push_up(
        &mut self,
        now: Time,
        engine: usize,
        tag: u32,
        packet: Packet,
        left: Bytes,
    ) {
        let source = 2 * engine + usize::from(packet == Packet::ReadRequest);
        self.up.push(source, Transfer { tag, packet, left });
        self.pump_wire(now, true);
    }

    /// Puts the next packet of a direction on the wire, if there is one and the wire is free.
    pub(super) fn pump_wire(&mut self, now: Time, up: bool) {
        let direction = if up { &mut self.up } else { &mut self.down };
        let Some(sent) = direction.start() else {
            return;
        };
        let gone = now + sent.wire;
        let there = gone + self.platform.pcie.propagation;
        self.busy.add(now, gone, |usage| match up {
            true => &mut usage.up,
            false => &mut usage.down,
        });
        self.at(gone, Event::WireFree(up));
        let arrival = match up {
            true => Event::AtHost(sent.tag, sent.packet, sent.size, sent.last),
            false => Event::AtDevice(sent.tag, sent.size, sent.last),
        };
        self.at(there, arrival);
        if sent.packet == Packet::Write && sent.last {
            self.release_egress(now, sent.tag);
        }
    }

    pub(super) fn wire_free(&mut self, now: Time, up: bool) {
        let direction = if up { &mut self.up } else { &mut self.down };
        direction.release();
        self.pump_wire(now, up);
    }

    pub(super) fn at_host(&mut self, now: Time, job: u32, packet: Packet, size: Bytes, last: bool) {
        let drained = now + self.platform.pcie.drain_latency;
        self.at(drained, Event::Credits(packet, size));
        match packet {
            Packet::ReadRequest => {
                self.at(
                    now + self.platform.pcie.read_latency,
                    Event::Answered(job, size),
                );
            }
            _ if !last => {}
            _ if self.route(self.jobs.peek(job)).path == Path::StorageWrite => {
                self.store(now, job);
            }
            _ => self.at(drained, Event::Done(job)),
        }
    }

    pub(super) fn answered(&mut self, now: Time, job: u32, left: Bytes) {
        let state = *self.jobs.get(job);
        let engine = self.route(&state).engine;
        let packet = Packet::Completion;
        self.down.push(
            engine,
            Transfer {
                tag: job,
                packet,
                left,
            },
        );
        self.pump_wire(now, false);
    }

    pub(super) fn at_device(
        &mut self,
        now: Time,
        job: u32,
        size: Bytes,
        _last: bool,
    ) -> Result<(), PlatformError> {
        let state = self.jobs.get(job);
        state.coming = state.coming.beyond(size);
        if state.coming == Bytes(0) {
            self.enter(now, job)?;
        }
        Ok(())
    }

    /// Moves a job whose data has reached the device, or has left an accelerator, to the next
    /// accelerator or out.
    fn enter(&mut self, now: Time, job: u32) -> Result<(), PlatformError> {
        let state = *self.jobs.get(job);
        match self.route(&state).accelerators.get(state.stage).copied() {
            Some(unit) => {
                self.units[unit].queue.push(state.flow, job);
                self.start_unit(now, unit);
                Ok(())
            }
            None => {
                if state.stage == 0 {
                    self.give_back(&state);
                }
                self.leave(now, job)
            }
        }
    }

    /// Starts the first job in front of an accelerator, if it is free and the way out has room.
    pub(super) fn start_unit(&mut self, now: Time, unit: usize) {
        if self.units[unit].busy {
            return;
        }
        let Some((lane, number)) = self.next_job(unit) else {
            return;
        };
        let job = *self.jobs.get(number);
        let accelerator = &self.platform.accelerators[unit];
        let weight = self.flows[job.flow].spec.weight;
        let (data, basis) = (
            self.output(unit, &job, job.data),
            self.output(unit, &job, job.basis),
        );
        let Route {
            accelerators,
            engine,
            ..
        } = self.route(&job);
        let engine = *engine;
        if job.stage + 1 == accelerators.len() {
            let used = self.leaving[engine];
            if used > Bytes(0) && used + data > self.platform.dma.egress {
                return;
            }
            self.leaving[engine] += data;
            self.jobs.get(number).reserved = data;
        }
        // A burst takes its part of the time of the message that it belongs to.
        let share = job.data.get() as f64 / job.basis.get().max(1) as f64;
        let busy = accelerator.curve.busy(job.basis).scale(share);
        let busy = accelerator.law.draw(busy, &mut self.compute);
        let latency = accelerator.latency;
        let station = &mut self.units[unit];
        station.queue.remove_front(lane);
        station.busy = true;
        station.virtual_time = station.virtual_time.max(station.finish[job.flow]);
        station.finish[job.flow] = station.virtual_time + job.data.get() as f64 / weight;
        if job.stage == 0 {
            self.give_back(&job);
        }
        let state = self.jobs.get(number);
        state.basis = basis;
        state.data = data;
        state.stage += 1;
        self.busy
            .add(now, now + busy, |usage| &mut usage.accelerators[unit]);
        self.at(now + busy, Event::Free(unit));
        self.at(now + busy + latency, Event::Computed(number));
    }

    /// The job that an accelerator takes next, and its lane in the queue: the first, or under
    /// PANIC, whose scheduler serves each unit, that of its policy. Jobs of a flow stay in order.
    fn next_job(&self, unit: usize) -> Option<(usize, u32)> {
        let station = &self.units[unit];
        let Mechanism::Panic { order, .. } = self.mechanism else {
            let first = station.queue.fronts().next();
            return first.map(|(lane, _, job)| (lane, job));
        };
        let keyed = station.queue.fronts().map(|(flow, arrival, job)| {
            let key = match order {
                Order::RoundRobin => 0.0,
                Order::Priority => f64::from(self.flows[flow].spec.priority),
                Order::WeightedFair | Order::InProportion => {
                    station.finish[flow].max(station.virtual_time)
                }
            };
            (key, arrival, flow, job)
        });
        let first = keyed.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        first.map(|(_, _, flow, job)| (flow, job))
    }

    /// The output of an accelerator for a job. A digest belongs to the whole message, so its last
    /// burst carries it.
    fn output(&self, unit: usize, job: &Job, input: Bytes) -> Bytes {
        let accelerator = &self.platform.accelerators[unit];
        let called = self.route(job).path == Path::FunctionCall;
        let egress = accelerator
            .call_egress
            .filter(|_| called)
            .unwrap_or(accelerator.egress);
        match egress {
            Egress::Fixed(_) if !job.last => Bytes(0),
            egress => egress.of(input),
        }
    }

    /// Frees the buffer space into which a job was dispatched.
    fn give_back(&mut self, job: &Job) {
        let Route {
            accelerators,
            engine,
            path,
            ..
        } = self.route(job);
        let (engine, path, first) = (*engine, *path, accelerators.first().copied());
        self.may_pass = true;
        match path {
            Path::FunctionCall | Path::InlineTx => {
                self.reading[engine] = self.reading[engine].beyond(job.size);
            }
            Path::InlineRx => {
                if let Some(unit) = first {
                    self.units[unit].reserved = self.units[unit].reserved.beyond(job.size);
                }
            }
            Path::StorageRead | Path::StorageWrite => {}
        }
    }

    pub(super) fn computed(&mut self, now: Time, job: u32) -> Result<(), PlatformError> {
        self.enter(now, job)
    }

    /// Sends a job's result out.
    fn leave(&mut self, now: Time, job: u32) -> Result<(), PlatformError> {
        let state = *self.jobs.get(job);
        let Route {
            engine, path, port, ..
        } = *self.route(&state);
        if state.reserved == Bytes(0) && state.stage == 0 {
            self.leaving[engine] += state.data;
            self.jobs.get(job).reserved = state.data;
        }
        match (path, port) {
            _ if state.data == Bytes(0) => self.finish_job(now, job),
            (Path::InlineTx, Some(port)) => {
                let wire = self.platform.ports[port].transfer(state.data + FRAME_OVERHEAD);
                let sent = self.port_out[port].max(now) + wire;
                self.port_out[port] = sent;
                self.busy
                    .add(sent - wire, sent, |usage| &mut usage.ports_out[port]);
                self.at(sent, Event::Done(job));
            }
            (Path::StorageRead, _) => self.finish_job(now, job),
            (Path::StorageWrite, _) if state.stage > 0 && self.inject(now, job)? => {}
            _ => self.push_up(now, engine, job, Packet::Write, state.data),
        }
        Ok(())
    }

    /// Ends a job.
    pub(super) fn done(&mut self, now: Time, job: u32) {
        self.finish_job(now, job);
    }

    pub(super) fn release_egress(&mut self, now: Time, job: u32) {
        let state = *self.jobs.get(job);
        let Route {
            accelerators,
            engine,
            ..
        } = self.route(&state);
        let (engine, last) = (*engine, accelerators.last().copied());
        self.may_pass = true;
        self.leaving[engine] = self.leaving[engine].beyond(state.reserved);
        self.jobs.get(job).reserved = Bytes(0);
        if state.reserved > Bytes(0) && last.is_some() {
            for unit in 0..self.units.len() {
                self.start_unit(now, unit);
            }
        }
    }

    fn finish_job(&mut self, now: Time, number: u32) {
        self.release_egress(now, number);
        let job = self.jobs.remove(number);
        if self.route(&job).path.uses_storage() {
            self.commands -= 1;
            self.may_pass = true;
        }
        let message = self.messages.get(job.message);
        message.jobs -= 1;
        if message.whole && message.jobs == 0 {
            self.complete(now, job.flow, job.message);
        }
    }

    /// Hands a write to the storage.
    fn store(&mut self, now: Time, job: u32) {
        let Some(storage) = &mut self.storage else {
            return;
        };
        let device = storage.pick();
        if let Some(acknowledged) = storage.write(device, job, now) {
            self.at(acknowledged, Event::Done(job));
        }
        self.begin_storage(now, device);
    }

    fn begin_storage(&mut self, now: Time, device: usize) {
        while let Some(begun) = self
            .storage
            .as_mut()
            .and_then(|storage| storage.begin(device, now))
        {
            self.busy.add(now, begun.done, |usage| &mut usage.ssd_units);
            self.at(begun.done, Event::UnitFree(device, begun.operation));
        }
    }

    pub(super) fn unit_free(&mut self, now: Time, device: usize, operation: Operation) {
        let Some(storage) = &mut self.storage else {
            return;
        };
        if let Some((job, acknowledged)) = storage.end(device, operation, now) {
            self.at(acknowledged, Event::Done(job));
        }
        if let Operation::Read(job) = operation {
            let size = self.jobs.get(job).size;
            let sent = self.storage.as_mut().map(|storage| {
                let ready = storage.send(device, size, now);
                (ready - storage.transfer(size), ready)
            });
            let (begun, ready) = sent.unwrap_or((now, now));
            self.busy.add(begun, ready, |usage| &mut usage.ssd_links);
            self.at(ready, Event::DataReady(job));
        }
        self.begin_storage(now, device);
    }

    pub(super) fn data_ready(&mut self, now: Time, job: u32) {
        let size = self.jobs.get(job).size;
        self.jobs.get(job).coming = size;
        self.answered(now, job, size);
    }
}
