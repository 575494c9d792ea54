//! Fuzz target of TLS records: bytes that were not encrypted as a record are refused, and so is a
//! record with one changed byte. An intact record is decrypted. A refusal leaves the receiver's
//! record number unchanged.

use accelflow_accel::Limits;
use accelflow_accel::tls::{CipherSuite, RecordKeys, open, open_first, record_length, seal};

/// Encrypts and decrypts TLS records. Panics unless arbitrary bytes and a record with one changed
/// byte are refused, and an intact record gives its plaintext. A refusal must leave the receiver's
/// record number unchanged.
///
/// The input is (whether keys have 256 instead of 128 bits, plaintext, position of the changed
/// byte, bits of this byte to change, arbitrary bytes instead of records).
pub fn check(input: (bool, &[u8], u16, u8, &[u8])) {
    let (long_keys, plaintext, place, change, records) = input;
    let suite = if long_keys {
        CipherSuite::Aes256GcmSha384
    } else {
        CipherSuite::Aes128GcmSha256
    };
    let secret = vec![7; suite.secret_bytes()];
    let keys = || RecordKeys::from_secret(suite, &secret).expect("a secret of the right size");
    let limits = Limits::default();

    let mut read = keys();
    open(&mut read, records, &limits).expect_err("nobody sealed this");
    assert_eq!(read.sequence(), 0);
    open_first(&mut read, records, &mut Vec::new()).expect_err("nobody sealed this");
    assert_eq!(read.sequence(), 0);
    if let Ok(Some((length, _))) = record_length(records) {
        assert!((22..=5 + (1 << 14) + 256).contains(&length));
    }

    let mut sealed = seal(&mut keys(), plaintext, &limits).expect("small enough");
    assert_eq!(open(&mut read, &sealed, &limits).as_deref(), Ok(plaintext));
    let after = read.sequence();
    assert_eq!(after, plaintext.len().div_ceil(1 << 14).max(1) as u64);
    if change != 0 {
        let place = usize::from(place) % sealed.len();
        sealed[place] ^= change;
        let mut read = keys();
        open(&mut read, &sealed, &limits).expect_err("a byte is wrong");
        assert_eq!(read.sequence(), 0);
    }
}
