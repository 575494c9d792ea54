//! TCP segments and TLS records beyond the simple round trip.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_accel::tcp::{MSS, TcpSession, receive, send};
use accelflow_accel::tls::{
    CipherSuite, ContentType, Decr, MAX_PLAINTEXT, RecordKeys, TlsSession, open, open_first,
    open_first_in_place, record_length, seal, seal_as,
};
use accelflow_accel::{AccelError, Accelerator, Job, Limits, Session};
use proptest::prelude::*;

fn ends(sequence: u32) -> (TcpSession, TcpSession) {
    let [local, peer] = ["10.0.0.1:4000", "10.0.0.2:9090"].map(|text| text.parse().unwrap());
    let client = TcpSession::new(local, peer, sequence, 77);
    let server = client.mirrored();
    (client, server)
}

/// Cuts a packet sequence at the IPv4 total lengths.
fn packets(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    while !bytes.is_empty() {
        let (packet, rest) = bytes.split_at(u16::from_be_bytes([bytes[2], bytes[3]]).into());
        packets.push(packet.to_vec());
        bytes = rest;
    }
    packets
}

fn reason<T: std::fmt::Debug>(outcome: Result<T, AccelError>) -> &'static str {
    outcome.unwrap_err().reason()
}

/// A segment with checksums computed by hand.
#[test]
fn header_layout_and_checksum() {
    let (mut client, _) = ends(1);
    let wire = send(&mut client, b"ab", &Limits::default()).unwrap();
    assert_eq!(wire.len(), 42);
    assert_eq!(wire[..4], [0x45, 0, 0, 42]);
    assert_eq!(
        wire[6..10],
        [0x40, 0, 64, 6],
        "do not fragment, 64 hops, TCP"
    );
    assert_eq!(
        wire[32..36],
        [0x50, 0x18, 0xff, 0xff],
        "no options, ACK and PSH, window"
    );
    // 4500+002a+0000+4000+4006+0a00+0001+0a00+0002 = d933.
    assert_eq!(u16::from_be_bytes([wire[10], wire[11]]), !0xd933);
    // Pseudo header 0a00+0001+0a00+0002+0006+0016, segment 0fa0+2382+0000+0001+0000+004d+5018
    // +ffff+0000+0000+6162: 1f908, and with the carry added f909.
    assert_eq!(u16::from_be_bytes([wire[36], wire[37]]), !0xf909);
}

proptest! {
    #[test]
    fn any_order_with_duplicates_gives_the_message(
        message in proptest::collection::vec(any::<u8>(), 0..6 * MSS),
        sequence in any::<u32>(),
        order in any::<u64>(),
    ) {
        let (mut client, mut server) = ends(sequence);
        let limits = Limits::default();
        let wire = send(&mut client, &message, &limits).unwrap();
        let mut shuffled = packets(&wire);
        prop_assert_eq!(shuffled.len(), message.len().div_ceil(MSS).max(1));
        shuffled.push(shuffled[order as usize % shuffled.len()].clone());
        let length = shuffled.len();
        for place in 0..length {
            shuffled.swap(place, (order.rotate_left(place as u32) as usize) % length);
        }
        prop_assert_eq!(receive(&mut server, &shuffled.concat(), &limits).unwrap(), message);
        prop_assert_eq!(server.receive_next, client.send_next);
    }

    #[test]
    fn records_round_trip(
        message in proptest::collection::vec(any::<u8>(), 0..3 * MAX_PLAINTEXT),
        secret in any::<[u8; 32]>(),
        sequence in 0u64..=u64::MAX - 10,
    ) {
        let limits = Limits::default();
        let keys = || {
            let mut keys = RecordKeys::from_secret(CipherSuite::Aes128GcmSha256, &secret).unwrap();
            keys.resume_at(sequence);
            keys
        };
        let (mut write, mut read) = (keys(), keys());
        let wire = seal(&mut write, &message, &limits).unwrap();
        prop_assert_eq!(open(&mut read, &wire, &limits).unwrap(), message);
        prop_assert_eq!(read.sequence(), write.sequence());
    }
}

#[test]
fn loss_overlap_and_strangers_are_named() {
    let limits = Limits::default();
    let (mut client, server) = ends(u32::MAX - 2_000);
    let wire = send(&mut client, &[7; 3 * MSS], &limits).unwrap();
    let parts = packets(&wire);
    let attempt = |list: &[&[u8]]| {
        let mut end = server.clone();
        let outcome = receive(&mut end, &list.concat(), &limits);
        assert!(
            outcome.is_ok() || end == server,
            "a refused message leaves the connection alone"
        );
        outcome
    };
    assert_eq!(reason(attempt(&[&parts[0], &parts[2]])), "segment_gap");
    assert_eq!(reason(attempt(&[&parts[1], &parts[2]])), "segment_gap");
    assert_eq!(reason(attempt(&[&parts[0], &parts[1]])), "truncated");
    assert_eq!(reason(attempt(&[])), "truncated");
    let (mut other, _) = ends(u32::MAX - 2_000 + 100);
    let overlapping = send(&mut other, &[7; MSS], &limits).unwrap();
    let parted = [&parts[0][..], &overlapping, &parts[1], &parts[2]];
    assert_eq!(reason(attempt(&parted)), "segment_overlap");
    let mut stranger = server.mirrored();
    stranger.local.set_port(1);
    let strange = send(&mut stranger, b"x", &limits).unwrap();
    assert_eq!(reason(attempt(&[&strange])), "wrong_connection");
    assert_eq!(attempt(&[&wire]).unwrap(), [7; 3 * MSS]);

    // A message that was received before is dropped entirely.
    let mut end = server.clone();
    receive(&mut end, &wire, &limits).unwrap();
    assert_eq!(reason(receive(&mut end, &wire, &limits)), "truncated");
    let next = send(&mut client, b"next", &limits).unwrap();
    assert_eq!(
        receive(&mut end, &[wire, next].concat(), &limits).unwrap(),
        b"next"
    );
}

#[test]
fn records_out_of_order_or_under_other_keys_fail() {
    let limits = Limits::default();
    let secret = [3; 48];
    let keys = || RecordKeys::from_secret(CipherSuite::Aes256GcmSha384, &secret).unwrap();
    let mut write = keys();
    let first = seal(&mut write, b"first", &limits).unwrap();
    let second = seal(&mut write, b"second", &limits).unwrap();
    let mut read = keys();
    assert_eq!(reason(open(&mut read, &second, &limits)), "bad_tag");
    let swapped = [&second[..], &first[..]].concat();
    assert_eq!(reason(open(&mut read, &swapped, &limits)), "bad_tag");
    assert_eq!(read.sequence(), 0);
    assert_eq!(
        open(&mut read, &[first, second].concat(), &limits).unwrap(),
        b"firstsecond"
    );
    let mut exhausted = keys();
    exhausted.resume_at(u64::MAX);
    assert_eq!(
        reason(seal(&mut exhausted, b"x", &limits)),
        "sequence_exhausted"
    );
    let short = RecordKeys::from_secret(CipherSuite::Aes256GcmSha384, &[0; 32]);
    assert_eq!(reason(short), "bad_key");
    let mut oversized = vec![23, 3, 3];
    oversized.extend_from_slice(&(MAX_PLAINTEXT as u16 + 257).to_be_bytes());
    assert_eq!(
        reason(open(&mut read, &oversized, &limits)),
        "record_overflow"
    );
}

#[test]
fn sessions_are_needed() {
    let mut ensemble = crate::common::ensemble();
    for accel in [accelflow_trace::Accel::Tcp, accelflow_trace::Accel::Encr] {
        let error = ensemble
            .run(accel, &mut accelflow_accel::Job::default())
            .unwrap_err();
        assert_eq!(error.reason(), "no_session");
    }
}

/// The control path decrypts single records of any content type; Decr accepts application data
/// alone.
#[test]
fn records_of_the_control_path() {
    let keys = || RecordKeys::from_secret(CipherSuite::Aes128GcmSha256, &[9; 32]).unwrap();
    let (mut write, limits) = (keys(), Limits::default());
    let update = [24, 0, 0, 1, 0];
    let mut wire = seal_as(&mut write, ContentType::Handshake, &update, &limits).unwrap();
    let first = wire.len();
    wire.extend(seal(&mut write, b"data", &limits).unwrap());
    assert_eq!(record_length(&wire[..4]), Ok(None));
    assert_eq!(record_length(&wire), Ok(Some((first, false))));
    assert_eq!(reason(record_length(&[23, 3, 3, 0, 3])), "bad_record");
    assert_eq!(
        reason(record_length(&[23, 3, 3, 0x41, 1])),
        "record_overflow"
    );

    let mut read = keys();
    assert_eq!(
        reason(open(&mut read, &wire, &limits)),
        "unexpected_content_type"
    );
    let mut out = b"before".to_vec();
    assert_eq!(
        reason(open_first(&mut read, &wire[1..], &mut out)),
        "bad_record"
    );
    assert_eq!((read.sequence(), &*out), (0, &b"before"[..]));
    let opened = open_first(&mut read, &wire, &mut out).unwrap();
    assert_eq!(opened, (ContentType::Handshake, first));
    assert_eq!(out, [b"before", &update[..]].concat());
    let rest = open_first(&mut read, &wire[first..], &mut Vec::new()).unwrap();
    assert_eq!(rest, (ContentType::ApplicationData, wire.len() - first));
    assert_eq!(read.sequence(), 2);

    let (mut read, mut place) = (keys(), wire.clone());
    assert_eq!(
        reason(open_first_in_place(&mut read, &mut place[1..])),
        "bad_record"
    );
    let (kind, inside, end) = open_first_in_place(&mut read, &mut place).unwrap();
    assert_eq!((kind, end), (ContentType::Handshake, first));
    assert_eq!(place[inside], update);
    assert_eq!(place[first..], wire[first..]);
    place[first + 7] ^= 1;
    let forged = open_first_in_place(&mut read, &mut place[first..]);
    assert_eq!((reason(forged), read.sequence()), ("bad_tag", 1));
}

/// Decr outputs the plaintext that was decrypted ahead first, once, and keeps it after an error.
#[test]
fn decr_begins_with_plaintext_opened_ahead() {
    let secret = [9; 32];
    let suite = CipherSuite::Aes128GcmSha256;
    let mut tls = TlsSession::from_secrets(suite, &secret, &secret).unwrap();
    let limits = Limits::default();
    let sealed = seal(&mut tls.write, b" world", &limits).unwrap();
    tls.ahead = b"hello".to_vec();
    let session = Session {
        tls: Some(tls),
        ..Session::default()
    };
    let mut job = Job::receive(b"no record".to_vec(), session);
    let mut decr = Decr::new(limits);
    assert_eq!(reason(decr.run(&mut job)), "bad_record");
    assert_eq!(job.session.tls.as_ref().unwrap().ahead, b"hello");
    job.bytes = sealed;
    decr.run(&mut job).unwrap();
    assert_eq!(job.bytes, b"hello world");
    assert_eq!(job.session.tls.as_ref().unwrap().ahead, b"");
}
