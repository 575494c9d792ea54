//! One direction of a PCIe link in simulated time: its packets, turns between senders, and
//! flow-control credits.

use std::collections::VecDeque;

use accelflow_units::{Bandwidth, Bytes, Time};

use super::pcie::{Packet, PcieConfig};

/// Data or a read request that waits to cross the PCIe link in packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The caller's identifier of the transfer.
    pub tag: u32,
    /// The kind of packets that make up the transfer.
    pub packet: Packet,
    /// The payload bytes still to send; for a read request, the bytes still to request.
    pub left: Bytes,
}

/// A packet that is crossing the PCIe link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The caller's identifier of the transfer to which the packet belongs.
    pub tag: u32,
    /// The kind of the packet.
    pub packet: Packet,
    /// The size of the packet's payload; for a read request, the number of bytes that it requests.
    pub size: Bytes,
    /// Whether the packet is the last one of its transfer.
    pub last: bool,
    /// The time for which the packet occupies the wire.
    pub wire: Time,
}

/// One direction of a PCIe link in simulated time. Sources (the queues of the DMA engines) take
/// turns packet by packet; the packets of one source go in order. A packet for which the receiver's
/// credits do not suffice blocks only its own source.
#[derive(Clone, Debug)]
pub struct Direction {
    sources: Vec<VecDeque<Transfer>>,
    turn: usize,
    busy: bool,
    bandwidth: Bandwidth,
    max_payload: Bytes,
    max_read_request: Bytes,
    posted_headers: u32,
    posted_data: Bytes,
    non_posted_headers: u32,
    wire_bytes: u64,
}

impl Direction {
    /// Creates an idle direction of a PCIe link that `sources` queues of packets share.
    pub fn new(config: &PcieConfig, sources: usize) -> Direction {
        Direction {
            sources: vec![VecDeque::new(); sources],
            turn: 0,
            busy: false,
            bandwidth: config.bandwidth(),
            max_payload: config.max_payload,
            max_read_request: config.max_read_request,
            posted_headers: config.posted_headers,
            posted_data: config.posted_data,
            non_posted_headers: config.non_posted_headers,
            wire_bytes: 0,
        }
    }

    /// Queues a transfer behind the earlier transfers of the source with index `source`.
    pub fn push(&mut self, source: usize, transfer: Transfer) {
        self.sources[source].push_back(transfer);
    }

    /// Puts the next packet on the wire and returns it. `None` if the wire is busy, if no packet
    /// waits, or if the credits suffice for no waiting packet. The wire stays busy until
    /// [`Direction::release`].
    pub fn start(&mut self) -> Option<Sent> {
        if self.busy {
            return None;
        }
        let count = self.sources.len();
        let mut turns = (0..count).map(|step| (self.turn + step) % count);
        let source = turns.find(|source| self.may_go(*source))?;
        self.turn = (source + 1) % count;
        let head = self.sources[source].front_mut()?;
        let size = head
            .left
            .min(limit(head.packet, self.max_payload, self.max_read_request));
        head.left = head.left.beyond(size);
        let sent_whole = head.left == Bytes(0);
        let (tag, packet) = (head.tag, head.packet);
        if sent_whole {
            self.sources[source].pop_front();
        }
        self.take_credits(packet, size);
        self.busy = true;
        let payload = if packet == Packet::ReadRequest {
            Bytes(0)
        } else {
            size
        };
        let wire_bytes = payload + packet.overhead();
        self.wire_bytes += wire_bytes.get();
        Some(Sent {
            tag,
            packet,
            size,
            last: sent_whole,
            wire: self.bandwidth.transfer(wire_bytes),
        })
    }

    /// Frees the wire, after the packet of [`Direction::start`] has left it.
    pub fn release(&mut self) {
        self.busy = false;
    }

    /// Gives back the flow-control credits of a packet with `size` payload bytes that the receiver
    /// has processed.
    pub fn return_credits(&mut self, packet: Packet, size: Bytes) {
        match packet {
            Packet::Write => {
                self.posted_headers += 1;
                self.posted_data += size;
            }
            Packet::ReadRequest => self.non_posted_headers += 1,
            // The device has room for every completion that it requested.
            Packet::Completion => {}
        }
    }

    /// The bytes sent over the wire so far, including framing.
    pub fn wire_bytes(&self) -> Bytes {
        Bytes(self.wire_bytes)
    }

    fn may_go(&self, source: usize) -> bool {
        self.sources[source]
            .front()
            .is_some_and(|head| match head.packet {
                Packet::Write => {
                    self.posted_headers > 0 && self.posted_data >= head.left.min(self.max_payload)
                }
                Packet::ReadRequest => self.non_posted_headers > 0,
                Packet::Completion => true,
            })
    }

    fn take_credits(&mut self, packet: Packet, size: Bytes) {
        match packet {
            Packet::Write => {
                self.posted_headers -= 1;
                self.posted_data = self.posted_data.beyond(size);
            }
            Packet::ReadRequest => self.non_posted_headers -= 1,
            Packet::Completion => {}
        }
    }
}

fn limit(packet: Packet, max_payload: Bytes, max_read_request: Bytes) -> Bytes {
    match packet {
        Packet::ReadRequest => max_read_request,
        _ => max_payload,
    }
}
