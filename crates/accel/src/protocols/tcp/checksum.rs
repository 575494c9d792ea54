//! The Internet checksum.

use std::net::Ipv4Addr;

use crate::error::AccelError;

/// The protocol number of TCP.
pub(super) const PROTOCOL_TCP: u8 = 6;

/// Verifies the checksum of `bytes`. The checksum is at offset `field` of `bytes`, and at byte `at`
/// of the input.
///
/// # Errors
/// `bad_checksum` with the value found and the one computed.
pub(super) fn check_sum(
    protocol: &'static str,
    initial: u64,
    bytes: &[u8],
    field: usize,
    at: usize,
) -> Result<(), AccelError> {
    if internet_checksum(initial, bytes) == 0 {
        return Ok(());
    }
    let mut zeroed = bytes.to_vec();
    zeroed[field..field + 2].fill(0);
    let computed = internet_checksum(initial, &zeroed);
    Err(AccelError::BadChecksum {
        protocol,
        at,
        found: u16::from_be_bytes([bytes[field], bytes[field + 1]]),
        computed,
    })
}

/// The sum over the pseudo header of RFC 9293, section 3.1.
pub(super) fn pseudo_header_sum(
    source: Ipv4Addr,
    destination: Ipv4Addr,
    segment_bytes: usize,
) -> u64 {
    let [source, destination] = [source, destination].map(|ip| u64::from(u32::from(ip)));
    source + destination + u64::from(PROTOCOL_TCP) + segment_bytes as u64
}

/// The ones' complement checksum of RFC 1071 over `bytes`, continued from `initial`.
///
/// Sums 32-bit words into 64 bits and folds once at the end. No carry is lost below 2^32 words,
/// which is more than any message has.
pub(super) fn internet_checksum(initial: u64, bytes: &[u8]) -> u16 {
    let mut words = bytes.chunks_exact(4);
    let mut sum = initial;
    for word in &mut words {
        sum += u64::from(u32::from_be_bytes([word[0], word[1], word[2], word[3]]));
    }
    let mut tail = [0; 4];
    let rest = words.remainder();
    tail[..rest.len()].copy_from_slice(rest);
    sum += u64::from(u32::from_be_bytes(tail));
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}
