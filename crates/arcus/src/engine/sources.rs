//! The path of a message from its sender to the arbiter: its arrival, its port if it comes from the
//! network, and, depending on the mechanism, the host's shaping software, the hardware shaper or
//! neither.

use accelflow_shaping::{FlowId, Message, Segment};
use accelflow_units::{Bytes, Time};

use super::run::Run;
use super::state::{Event, FlowState, InFlight, Ready};
use crate::{Arrivals, FRAME_OVERHEAD, Mechanism, Path, PlatformError};

impl Run<'_> {
    pub(super) fn begin_flow(&mut self, now: Time, flow: usize) -> Result<(), PlatformError> {
        match self.flows[flow].spec.arrivals {
            Arrivals::Backlogged => self.top_up(now, flow),
            Arrivals::Closed { clients, .. } => {
                for _ in 0..clients {
                    self.at(now, Event::Send(flow));
                }
                Ok(())
            }
            Arrivals::Answers => Ok(()),
            _ => {
                self.schedule_arrival(now, flow);
                Ok(())
            }
        }
    }

    /// Handles the arrival of the next message or burst. The one after it waits at its sender until
    /// the port is free.
    pub(super) fn arrive(&mut self, now: Time, flow: usize) -> Result<(), PlatformError> {
        if !self.flows[flow].present {
            return Ok(());
        }
        let burst = match self.flows[flow].spec.arrivals {
            Arrivals::Bursts { burst, .. } => burst,
            _ => 1,
        };
        for _ in 0..burst {
            self.send(now, flow)?;
        }
        self.schedule_arrival(now, flow);
        Ok(())
    }

    fn schedule_arrival(&mut self, now: Time, flow: usize) {
        let state = &mut self.flows[flow];
        let since = state.due.saturating_sub(state.result.since);
        let Some(pause) = state.spec.arrivals.next(since, &mut state.times) else {
            return;
        };
        state.due += pause;
        let due = state.due;
        let port = self.incoming_port(flow);
        let free = port.map_or(Time::ZERO, |port| self.port_in[port]);
        self.at(due.max(free).max(now), Event::Arrive(flow));
    }

    /// Sends a message to its port, or to its queue. The network loses no message of a closed loop:
    /// without room in the device's buffer, the message waits.
    pub(super) fn send(&mut self, now: Time, flow: usize) -> Result<(), PlatformError> {
        if self.holds_back(flow) {
            self.flows[flow].held_back.push_back(now);
            return Ok(());
        }
        self.transmit(now, flow, now)
    }

    /// Sends the host's answer of `size` bytes to a message that was sent at `sent`.
    pub(super) fn answer(
        &mut self,
        now: Time,
        flow: usize,
        size: Bytes,
        sent: Time,
    ) -> Result<(), PlatformError> {
        if !self.flows[flow].present {
            return Ok(());
        }
        let message = self.new_message(flow, sent, size);
        self.enqueue(now, flow, message)
    }

    fn new_message(&mut self, flow: usize, arrived: Time, size: Bytes) -> InFlight {
        self.flows[flow].result.arrived += 1;
        let sequence = self.sequence;
        self.sequence += 1;
        InFlight {
            arrived,
            size,
            sequence,
            jobs: 0,
            whole: false,
        }
    }

    /// Whether a closed loop's next message has no space in PANIC's buffer, where messages on their
    /// way there count as present.
    fn holds_back(&self, flow: usize) -> bool {
        let Mechanism::Panic { buffer, .. } = self.mechanism else {
            return false;
        };
        let from_network = |state: &&FlowState| state.spec.path == Path::InlineRx;
        let closed = matches!(self.flows[flow].spec.arrivals, Arrivals::Closed { .. });
        closed && from_network(&&self.flows[flow]) && {
            let waiting = self.flows.iter().filter(from_network);
            waiting
                .map(|state| state.queued + state.in_port)
                .sum::<usize>()
                >= *buffer
        }
    }

    /// Sends a message whose client sent it at `sent`.
    fn transmit(&mut self, now: Time, flow: usize, sent: Time) -> Result<(), PlatformError> {
        let state = &mut self.flows[flow];
        let size = state.spec.sizes.draw(&mut state.sizes);
        let message = self.new_message(flow, sent, size);
        let Some(port) = self.incoming_port(flow) else {
            return self.enqueue(now, flow, message);
        };
        let wire = self.platform.ports[port].transfer(size + FRAME_OVERHEAD);
        let through = self.port_in[port].max(now) + wire;
        self.port_in[port] = through;
        self.busy
            .add(through - wire, through, |usage| &mut usage.ports_in[port]);
        self.flows[flow].in_port += 1;
        let number = self.messages.insert(message);
        self.at(through, Event::Ported(flow, number));
        Ok(())
    }

    pub(super) fn ported(
        &mut self,
        now: Time,
        flow: usize,
        message: u32,
    ) -> Result<(), PlatformError> {
        let message = self.messages.remove(message);
        let state = &mut self.flows[flow];
        state.in_port -= 1;
        // Latencies of messages from the network count from the port, and those of answers from the
        // client.
        let arrived = match state.spec.answers {
            Some(_) => message.arrived,
            None => now,
        };
        self.enqueue(now, flow, InFlight { arrived, ..message })?;
        self.top_up(now, flow)
    }

    /// Refills a flow's backlog, as far as queue and port allow, and sends messages that were held
    /// back.
    pub(super) fn top_up(&mut self, now: Time, flow: usize) -> Result<(), PlatformError> {
        let port = self.incoming_port(flow).is_some();
        while self.flows[flow].present
            && self.flows[flow].spec.arrivals == Arrivals::Backlogged
            && self.flows[flow].queued < self.flows[flow].spec.queue_limit
            && self.flows[flow].in_port == 0
            && !self.is_full(flow)
        {
            self.send(now, flow)?;
            if port {
                break;
            }
        }
        while self.flows[flow].present && !self.holds_back(flow) {
            let Some(sent) = self.flows[flow].held_back.pop_front() else {
                break;
            };
            self.transmit(now, flow, sent)?;
        }
        Ok(())
    }

    fn incoming_port(&self, flow: usize) -> Option<usize> {
        let spec = &self.flows[flow].spec;
        spec.port.filter(|_| spec.path == Path::InlineRx)
    }

    /// Puts a message into its flow's queue, or drops it.
    fn enqueue(&mut self, now: Time, flow: usize, message: InFlight) -> Result<(), PlatformError> {
        if self.is_full(flow) {
            self.flows[flow].result.dropped += 1;
            return Ok(());
        }
        let number = self.messages.insert(message);
        let state = &mut self.flows[flow];
        state.queued += 1;
        if state.spec.arrivals != Arrivals::Backlogged {
            state.result.came.push((now, message.size));
        }
        let host_side = spec_is_host_side(self.flows[flow].spec.path);
        match &mut self.shaper {
            Some(shaper) => {
                let (tag, size) = (u64::from(number), message.size);
                shaper.offer(now, FlowId(flow), Message { tag, size })?;
                self.schedule_grant();
            }
            None if self.software.is_some() && host_side => {
                self.flows[flow].held.push_back(number);
            }
            None => self.known(now, flow, number),
        }
        Ok(())
    }

    /// Whether the queue or buffer has no space for the next message of a flow.
    fn is_full(&self, flow: usize) -> bool {
        let FlowState { spec, queued, .. } = &self.flows[flow];
        match self.mechanism {
            Mechanism::Panic { buffer, .. } if spec.path == Path::InlineRx => {
                let shared = self
                    .flows
                    .iter()
                    .filter(|flow| flow.spec.path == Path::InlineRx);
                shared.map(|flow| flow.queued).sum::<usize>() >= *buffer
            }
            // A client whose ring is full waits: its message is not lost.
            _ => {
                let waits = matches!(spec.arrivals, Arrivals::Closed { .. } | Arrivals::Answers);
                *queued >= spec.queue_limit && !waits
            }
        }
    }

    /// Makes a message known to the device.
    pub(super) fn known(&mut self, _now: Time, flow: usize, message: u32) {
        let InFlight { size, sequence, .. } = *self.messages.get(message);
        self.may_pass = true;
        self.flows[flow].ready.push_back(Ready {
            message,
            left: size,
            basis: size,
            last: true,
            sequence,
        });
    }

    /// Runs a round of the software thread, which releases the messages that the buckets allow, one
    /// after the other.
    pub(super) fn round(&mut self, now: Time) {
        let Some(mut software) = self.software.take() else {
            return;
        };
        software.collect(now);
        let config = *software.config();
        let mut worked = Time::ZERO;
        let mut idle = false;
        while !idle {
            idle = true;
            for flow in 0..self.flows.len() {
                let Some(&message) = self.flows[flow].held.front() else {
                    continue;
                };
                let size = self.messages.get(message).size;
                if software.spend(flow, size) {
                    self.flows[flow].held.pop_front();
                    worked += config.per_message;
                    self.at(now + worked + config.latency, Event::Known(flow, message));
                    idle = false;
                }
            }
        }
        let pause = software.pause(worked);
        self.at(now + pause, Event::Round);
        self.software = Some(software);
    }

    /// Schedules a poll of the shaper at its next grant.
    pub(super) fn schedule_grant(&mut self) {
        let next = self.shaper.as_ref().and_then(|shaper| shaper.next_grant());
        if let Some(time) = next
            && time < self.grant_at
        {
            self.grant_at = time;
            self.at(time, Event::Grant);
        }
    }

    pub(super) fn grant(&mut self, now: Time) -> Result<(), PlatformError> {
        if now >= self.grant_at {
            self.grant_at = Time::MAX;
        }
        let Some(shaper) = &mut self.shaper else {
            return Ok(());
        };
        let mut granted = Vec::new();
        while let Some(segment) = shaper.poll(now)? {
            granted.push(segment);
        }
        for segment in granted {
            self.at(segment.released.max(now), Event::Released(segment));
        }
        self.schedule_grant();
        Ok(())
    }

    pub(super) fn released(&mut self, _now: Time, segment: Segment) {
        let message = segment.tag as u32;
        let sequence = self.messages.get(message).sequence;
        self.may_pass = true;
        self.flows[segment.flow.0].ready.push_back(Ready {
            message,
            left: segment.size.max(Bytes(1)),
            basis: segment.size,
            last: segment.last,
            sequence,
        });
    }
}

/// Whether the host's software sees the flow's messages before the device does.
fn spec_is_host_side(path: Path) -> bool {
    path != Path::InlineRx
}
