//! Converts messages to TCP packets and back: checks checksums, restores the order of packets,
//! drops duplicates, and detects loss.
//!
//! The wire form is a sequence of IPv4 packets without options, one after the other (link type RAW
//! of packet captures): 20 bytes of IPv4 header (RFC 791), 20 bytes of TCP header (RFC 9293,
//! section 3.1), payload. The total length in the IPv4 header delimits the packets. The IPv4
//! addresses give the pseudo header of the TCP checksum.
//!
//! A message is sent as segments of at most [`MSS`] payload bytes. PSH marks the last segment, so
//! that a receiver notices a missing tail. Connection set-up, acknowledgement and retransmission
//! belong to the control path of the transport and are not part of the accelerator.

use std::net::{Ipv4Addr, SocketAddrV4};

use super::checksum::{PROTOCOL_TCP, check_sum, internet_checksum, pseudo_header_sum};
use super::session::TcpSession;
use crate::error::AccelError;
use crate::limits::Limits;

/// The maximum TCP segment size in bytes: an Ethernet payload of 1,500 bytes less 20 bytes each for
/// the IPv4 and the TCP header.
pub const MSS: usize = 1_460;

const IP_HEADER: usize = 20;
const TCP_HEADER: usize = 20;
const HEADERS: usize = IP_HEADER + TCP_HEADER;
const FLAG_PSH: u8 = 0x08;
const FLAG_ACK: u8 = 0x10;
/// Flags for the control path only, which change the connection's state (URG, RST, SYN, FIN).
const CONTROL_FLAGS: u8 = 0x27;
const WINDOW: u16 = u16::MAX;
const TIME_TO_LIVE: u8 = 64;

/// Splits `message` into IPv4 packets with TCP segments, and returns the packets one after another.
/// Advances `session.send_next` and `session.identification`.
///
/// # Errors
/// `too_large` for a message beyond [`Limits::max_message_bytes`].
pub fn send(
    session: &mut TcpSession,
    message: &[u8],
    limits: &Limits,
) -> Result<Vec<u8>, AccelError> {
    limits.check_size("bytes of the message to send", message.len())?;
    let segments = message.len().div_ceil(MSS).max(1);
    let mut out = Vec::with_capacity(message.len() + segments * HEADERS);
    let mut rest = message;
    for index in 0..segments {
        let (payload, tail) = rest.split_at(rest.len().min(MSS));
        rest = tail;
        write_packet(&mut out, session, payload, index + 1 == segments);
        session.send_next = session.send_next.wrapping_add(payload.len() as u32);
        session.identification = session.identification.wrapping_add(1);
    }
    Ok(out)
}

fn write_packet(out: &mut Vec<u8>, session: &TcpSession, payload: &[u8], last: bool) {
    let start = out.len();
    let total = (HEADERS + payload.len()) as u16;
    out.extend_from_slice(&[0x45, 0]);
    out.extend_from_slice(&total.to_be_bytes());
    out.extend_from_slice(&session.identification.to_be_bytes());
    out.extend_from_slice(&[0x40, 0, TIME_TO_LIVE, PROTOCOL_TCP, 0, 0]);
    out.extend_from_slice(&session.local.ip().octets());
    out.extend_from_slice(&session.peer.ip().octets());
    let header_sum = internet_checksum(0, &out[start..start + IP_HEADER]);
    out[start + 10..start + 12].copy_from_slice(&header_sum.to_be_bytes());

    let segment = out.len();
    let flags = FLAG_ACK | if last { FLAG_PSH } else { 0 };
    out.extend_from_slice(&session.local.port().to_be_bytes());
    out.extend_from_slice(&session.peer.port().to_be_bytes());
    out.extend_from_slice(&session.send_next.to_be_bytes());
    out.extend_from_slice(&session.receive_next.to_be_bytes());
    out.extend_from_slice(&[0x50, flags]);
    out.extend_from_slice(&WINDOW.to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(payload);
    let pseudo = pseudo_header_sum(*session.local.ip(), *session.peer.ip(), out.len() - segment);
    let sum = internet_checksum(pseudo, &out[segment..]);
    out[segment + 16..segment + 18].copy_from_slice(&sum.to_be_bytes());
}

struct Segment<'a> {
    /// The offset of its packet.
    at: usize,
    sequence: u32,
    /// Whether PSH marks it as the last of its message.
    last: bool,
    payload: &'a [u8],
}

/// Assembles a message from `packets`, IPv4 packets in any order, and advances
/// `session.receive_next`.
///
/// Exact duplicates, and segments that end before `receive_next`, are dropped.
///
/// # Errors
/// `truncated` if a packet is incomplete or the last segment, which has the flag PSH, is missing;
/// `segment_gap`, `segment_overlap`, `bad_checksum`, `bad_segment`, `wrong_connection`,
/// `too_large`.
pub fn receive(
    session: &mut TcpSession,
    packets: &[u8],
    limits: &Limits,
) -> Result<Vec<u8>, AccelError> {
    // Headers add to the message and duplicates are legal, hence twice the limit.
    if packets.len() / 2 > limits.max_message_bytes {
        let (size, limit) = (packets.len(), limits.max_message_bytes.saturating_mul(2));
        return Err(AccelError::TooLarge {
            what: "bytes of all packets",
            size,
            limit,
        });
    }
    let mut segments = Vec::with_capacity(packets.len() / (MSS + HEADERS) + 1);
    let mut at = 0;
    while at < packets.len() || segments.is_empty() {
        let segment = read_packet(session, packets, at)?;
        at += HEADERS + segment.payload.len();
        segments.push(segment);
    }
    let base = session.receive_next;
    // Distances from the expected number sort segments correctly even if sequence numbers wrap.
    segments.sort_by_key(|segment| segment.sequence.wrapping_sub(base) as i32);
    let (message, next) = assemble(&segments, base, at)?;
    limits.check_size("bytes of the received message", message.len())?;
    session.receive_next = next;
    Ok(message)
}

/// Reads the packet at `at`, and checks that it belongs to the connection.
fn read_packet<'a>(
    session: &TcpSession,
    packets: &'a [u8],
    at: usize,
) -> Result<Segment<'a>, AccelError> {
    let packet = packet_at(packets, at)?;
    check_ip_header(packet, at)?;
    let (source, destination) = (address(packet, 12, 20), address(packet, 16, 22));
    let segment = &packet[IP_HEADER..];
    let pseudo = pseudo_header_sum(*source.ip(), *destination.ip(), segment.len());
    check_sum("TCP", pseudo, segment, 16, at + IP_HEADER + 16)?;
    if (source, destination) != (session.peer, session.local) {
        let found = format!("{source} > {destination}");
        let expected = format!("{} > {}", session.peer, session.local);
        return Err(AccelError::WrongConnection {
            at,
            found,
            expected,
        });
    }
    Ok(Segment {
        at,
        sequence: u32::from_be_bytes([segment[4], segment[5], segment[6], segment[7]]),
        last: flags(segment, at)? & FLAG_PSH != 0,
        payload: &segment[TCP_HEADER..],
    })
}

/// The bytes of the packet at `at`, delimited by the total length in its IPv4 header.
fn packet_at(packets: &[u8], at: usize) -> Result<&[u8], AccelError> {
    let rest = &packets[at..];
    let have = rest.len();
    if have < HEADERS {
        return Err(AccelError::Truncated {
            what: "IPv4 and TCP headers",
            at,
            need: HEADERS,
            have,
        });
    }
    if rest[0] != 0x45 {
        let why = format!(
            "IPv4 version and header length = {:#04x}: must be 0x45",
            rest[0]
        );
        return Err(AccelError::BadSegment { at, why });
    }
    let total = usize::from(be16(rest, 2));
    if total < HEADERS {
        let why = format!("total length = {total}: must be at least {HEADERS}, the headers' size");
        return Err(AccelError::BadSegment { at: at + 2, why });
    }
    if have < total {
        return Err(AccelError::Truncated {
            what: "TCP segment",
            at,
            need: total,
            have,
        });
    }
    Ok(&rest[..total])
}

fn check_ip_header(packet: &[u8], at: usize) -> Result<(), AccelError> {
    check_sum("IPv4 header", 0, &packet[..IP_HEADER], 10, at + 10)?;
    if be16(packet, 6) & 0xbfff != 0 {
        let why = "the packet is an IPv4 fragment: must be whole".to_owned();
        return Err(AccelError::BadSegment { at: at + 6, why });
    }
    if packet[9] != PROTOCOL_TCP {
        let why = format!("protocol = {}: must be 6 (TCP)", packet[9]);
        return Err(AccelError::BadSegment { at: at + 9, why });
    }
    Ok(())
}

/// Returns the flags of the segment in the packet at `at`. The segment must be a data segment
/// without options.
fn flags(segment: &[u8], at: usize) -> Result<u8, AccelError> {
    let (offset, flags) = (segment[12], segment[13]);
    if offset != 0x50 {
        let why = format!("data offset byte = {offset:#04x}: must be 0x50 (no options)");
        return Err(AccelError::BadSegment { at: at + 32, why });
    }
    if flags & CONTROL_FLAGS != 0 || flags & FLAG_ACK == 0 {
        let why = format!("flags = {flags:#04x}: must be ACK, or ACK and PSH");
        return Err(AccelError::BadSegment { at: at + 33, why });
    }
    Ok(flags)
}

/// Assembles a message from segments that are sorted by sequence number from `base`. Returns it and
/// the next expected number. `end` is the offset of the end of the input.
fn assemble(segments: &[Segment<'_>], base: u32, end: usize) -> Result<(Vec<u8>, u32), AccelError> {
    let mut message =
        Vec::with_capacity(segments.iter().map(|segment| segment.payload.len()).sum());
    let mut next = base;
    let mut previous: Option<&Segment<'_>> = None;
    for segment in segments {
        let ahead = segment.sequence.wrapping_sub(next) as i32;
        let (expected, found) = (next, segment.sequence);
        let at = segment.at;
        if ahead > 0 {
            return Err(AccelError::SegmentGap {
                at,
                expected,
                found,
            });
        }
        if ahead < 0 {
            let stale = ahead.unsigned_abs() as usize >= segment.payload.len();
            let before_message = (segment.sequence.wrapping_sub(base) as i32) < 0;
            let twin = previous.is_some_and(|last| {
                last.sequence == segment.sequence && last.payload == segment.payload
            });
            if twin || (stale && before_message) {
                continue;
            }
            return Err(AccelError::SegmentOverlap {
                at,
                expected,
                found,
            });
        }
        message.extend_from_slice(segment.payload);
        next = next.wrapping_add(segment.payload.len() as u32);
        previous = Some(segment);
    }
    match previous {
        Some(segment) if segment.last => Ok((message, next)),
        // All segments are old, or the last one of the message is missing.
        _ => Err(AccelError::Truncated {
            what: "last TCP segment, with the flag PSH,",
            at: end,
            need: HEADERS,
            have: 0,
        }),
    }
}

fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// The address whose IPv4 part and port are at these offsets of a packet.
fn address(packet: &[u8], ip: usize, port: usize) -> SocketAddrV4 {
    let octets = Ipv4Addr::new(packet[ip], packet[ip + 1], packet[ip + 2], packet[ip + 3]);
    SocketAddrV4::new(octets, be16(packet, port))
}
