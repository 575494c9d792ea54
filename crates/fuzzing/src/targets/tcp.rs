//! Fuzz target of the TCP receiver: any packets are read as a message, or are refused and leave the
//! connection unchanged. Packets with valid headers may arrive in any order. A message that is read
//! advances the connection by its length, and is the same after sending it again.

use std::net::{Ipv4Addr, SocketAddrV4};

use accelflow_accel::Limits;
use accelflow_accel::tcp::{TcpSession, receive, send};

const BASE: u32 = u32::MAX - 300;

/// The input of [`check`]. `Ok` holds TCP segments, to which [`check`] adds valid headers. Each is
/// (its sequence number minus the expected one, push flag, payload). `Err` holds raw packets.
pub type Input<'a> = Result<Vec<(i16, bool, &'a [u8])>, &'a [u8]>;

/// Receives a message from TCP packets. Panics unless the packets are refused and the connection is
/// unchanged, or the received message is the same after sending it again.
pub fn check(input: Input<'_>) {
    let server = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), 9090);
    let client = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 40000);
    let limits = Limits::default();
    let before = TcpSession::new(server, client, 1, BASE);
    let mut session = before.clone();
    let packets = match &input {
        Ok(segments) => segments.iter().flat_map(|s| packet(&before, s)).collect(),
        Err(packets) => packets.to_vec(),
    };
    match receive(&mut session, &packets, &limits) {
        Ok(message) => {
            let advance = session.receive_next.wrapping_sub(BASE);
            assert_eq!(advance as usize, message.len());
            // The same message in the sender's own packets.
            let mut peer = before.mirrored();
            let sent = send(&mut peer, &message, &limits).expect("no longer than it was");
            let mut again = before.clone();
            assert_eq!(receive(&mut again, &sent, &limits).as_ref(), Ok(&message));
            assert_eq!(again, session);
        }
        Err(error) => {
            assert_eq!(session, before);
            assert!(!error.to_string().is_empty());
        }
    }
}

fn packet(session: &TcpSession, (ahead, last, payload): &(i16, bool, &[u8])) -> Vec<u8> {
    let payload = &payload[..payload.len().min(60_000)];
    let source = session.peer.ip().octets();
    let destination = session.local.ip().octets();
    let mut tcp = Vec::new();
    tcp.extend(session.peer.port().to_be_bytes());
    tcp.extend(session.local.port().to_be_bytes());
    tcp.extend(BASE.wrapping_add(i32::from(*ahead) as u32).to_be_bytes());
    tcp.extend([
        0,
        0,
        0,
        1,
        0x50,
        0x10 | u8::from(*last) << 3,
        1,
        0,
        0,
        0,
        0,
        0,
    ]);
    tcp.extend(payload);
    let mut pseudo = [source, destination].concat();
    pseudo.extend([0, 6]);
    pseudo.extend((tcp.len() as u16).to_be_bytes());
    pseudo.extend(&tcp);
    tcp[16..18].copy_from_slice(&checksum(&pseudo));
    let mut ip = vec![0x45, 0];
    ip.extend((20 + tcp.len() as u16).to_be_bytes());
    ip.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    ip.extend(source);
    ip.extend(destination);
    let sum = checksum(&ip);
    ip[10..12].copy_from_slice(&sum);
    ip.extend(tcp);
    ip
}

/// The Internet checksum, 16 bits at a time, independent of the code under test.
fn checksum(bytes: &[u8]) -> [u8; 2] {
    let sum = bytes.chunks(2).fold(0u32, |sum, pair| {
        let word = u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
        let sum = sum + word;
        (sum & 0xffff) + (sum >> 16)
    });
    (!(sum as u16)).to_be_bytes()
}
