//! The buffer of bytes that a connection has received and not yet used.

use std::io::{self, Read};
use std::ops::Range;

use accelflow_accel::{AccelError, Limits, tls};

use crate::memory::wipe::wipe;

/// The size of an idle connection's buffer, and the smallest read, in bytes.
const RESTING_BYTES: usize = 16 * 1024;

/// The size of the buffer that a connection keeps while it receives large messages, in bytes.
const KEPT_BYTES: usize = 128 * 1024;

/// After this many turns in a row for which the resting buffer would have been enough, a connection
/// frees the memory that large messages needed. A turn ends when the buffer is empty.
const SMALL_TURNS: u32 = 8;

/// A receive buffer. Used bytes are wiped, and the memory of large messages is freed.
#[derive(Debug)]
pub(crate) struct Inbound {
    /// The buffer, which is zero outside `used`.
    buffer: Vec<u8>,
    used: Range<usize>,
    /// The largest number of bytes in the buffer since it was last empty.
    filled: usize,
    /// The number of turns in a row for which the resting buffer would have been enough.
    small_turns: u32,
    /// Where reading stops, if the length of a large message is known.
    expected: Option<usize>,
}

impl Inbound {
    pub(crate) fn new() -> Inbound {
        Inbound::with_buffer(vec![0; RESTING_BYTES])
    }

    /// A buffer without memory until it is used.
    pub(crate) fn unused() -> Inbound {
        Inbound::with_buffer(Vec::new())
    }

    fn with_buffer(buffer: Vec<u8>) -> Inbound {
        Inbound {
            buffer,
            used: 0..0,
            filled: 0,
            small_turns: 0,
            expected: None,
        }
    }

    /// Sets the length of the message at the beginning of the buffer. Large messages are then read
    /// one at a time, since the beginning of the next one would have to be moved to make room for
    /// its rest.
    pub(crate) fn expect(&mut self, length: usize) {
        self.expected = Some(length).filter(|length| *length > RESTING_BYTES);
    }

    /// Adds received `bytes`.
    pub(crate) fn append(&mut self, mut bytes: &[u8]) {
        // Reading from memory cannot fail.
        while !bytes.is_empty() && self.fill(&mut bytes).is_ok() {}
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.used.clone()]
    }

    /// The received bytes, to be changed in place. They are wiped when they are consumed.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[self.used.clone()]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.used.is_empty()
    }

    /// Whether the buffer is full, so that more data may be available.
    pub(crate) fn may_go_on(&self) -> bool {
        self.used == (0..self.buffer.len()) && self.buffer.len() < KEPT_BYTES
    }

    /// Reads once; returns the number of bytes, 0 at the end of the stream. The buffer grows with
    /// the received bytes, not with a message's stated length.
    pub(crate) fn fill(&mut self, source: &mut impl Read) -> io::Result<usize> {
        if self.used.end == self.buffer.len() {
            if self.used.start > 0 && self.buffer.len() >= KEPT_BYTES {
                self.buffer.copy_within(self.used.clone(), 0);
                let length = self.used.len();
                // The part that was used before is zero already.
                wipe(&mut self.buffer[length.max(self.used.start)..]);
                self.used = 0..length;
            } else {
                self.grow();
            }
        }
        let room = self.buffer.len() - self.used.end;
        let most = match self.expected {
            Some(length) if length > self.used.len() => room.min(length - self.used.len()),
            _ => room,
        };
        let free = self.used.end..self.used.end + most;
        let read = source.read(&mut self.buffer[free])?;
        self.used.end += read;
        self.filled = self.filled.max(self.used.end);
        Ok(read)
    }

    /// Doubles the buffer; growing in place could leave a copy behind in freed memory.
    fn grow(&mut self) {
        let mut larger = vec![0; (self.buffer.len() * 2).max(RESTING_BYTES)];
        larger[..self.buffer.len()].copy_from_slice(&self.buffer);
        wipe(&mut self.buffer);
        self.buffer = larger;
    }

    /// Wipes the first `count` bytes.
    pub(crate) fn consume(&mut self, count: usize) {
        let end = self.used.start + count.min(self.used.len());
        wipe(&mut self.buffer[self.used.start..end]);
        self.used.start = end;
        if self.used.is_empty() {
            self.used = 0..0;
            self.rest();
        }
    }

    /// Frees memory that messages like the latest do not need. All of it is zero already.
    fn rest(&mut self) {
        self.small_turns = match std::mem::take(&mut self.filled) {
            ..=RESTING_BYTES => self.small_turns.saturating_add(1),
            _ => 0,
        };
        let keep = match self.small_turns < SMALL_TURNS {
            true => KEPT_BYTES,
            false => RESTING_BYTES,
        };
        if self.buffer.len() > keep {
            self.buffer = vec![0; keep];
        }
    }
}

impl Drop for Inbound {
    fn drop(&mut self) {
        wipe(&mut self.buffer);
    }
}

/// The length of the frame at the beginning of `bytes`, its length field included; `None` until the
/// length field is complete.
///
/// # Errors
/// `negative_length`, `too_large`; `truncated` for a frame too small to hold a message.
pub(crate) fn frame_length(bytes: &[u8], limits: &Limits) -> Result<Option<usize>, AccelError> {
    let Some(head) = bytes.first_chunk::<4>() else {
        return Ok(None);
    };
    let length = i32::from_be_bytes(*head);
    let size = usize::try_from(length).map_err(|_| AccelError::NegativeLength {
        what: "frame length",
        at: 0,
        found: length.into(),
    })?;
    if size > limits.max_message_bytes {
        let limit = limits.max_message_bytes;
        return Err(AccelError::TooLarge {
            what: "bytes of the Thrift frame",
            size,
            limit,
        });
    }
    if size < LEAST_MESSAGE {
        return Err(AccelError::Truncated {
            what: "message header",
            at: 4,
            need: LEAST_MESSAGE,
            have: size,
        });
    }
    Ok(Some(head.len() + size))
}

/// The smallest message, in the compact protocol: two bytes of header, the sequence number, the
/// name's length, and the end of an empty struct.
const LEAST_MESSAGE: usize = 5;

/// The whole records at the beginning of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Records {
    /// The bytes of all whole records.
    pub(crate) bytes: usize,
    /// Whether the last of them has the maximum length, so that its message may go on.
    pub(crate) last_is_full: bool,
    /// The end of the first record that is not full. Most clients send a message as a run of full
    /// records and a last record that is not full.
    pub(crate) first_run: Option<usize>,
}

/// Looks for whole records at the beginning of `bytes`.
///
/// # Errors
/// The errors of [`tls::record_length`].
pub(crate) fn whole_records(bytes: &[u8]) -> Result<Records, AccelError> {
    let mut records = Records {
        bytes: 0,
        last_is_full: false,
        first_run: None,
    };
    while let Some((length, full)) = tls::record_length(&bytes[records.bytes..])? {
        if records.bytes + length > bytes.len() {
            break;
        }
        records.bytes += length;
        records.last_is_full = full;
        if !full {
            records.first_run.get_or_insert(records.bytes);
        }
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that gives so many bytes at a time.
    struct Trickle<'a>(&'a [u8], usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let chunk = self.1.min(into.len());
            self.0.read(&mut into[..chunk])
        }
    }

    #[test]
    fn used_bytes_leave_nothing_behind() {
        let secret: Vec<u8> = (0..100_000).map(|at| (at % 251) as u8 + 1).collect();
        let mut inbound = Inbound::new();
        let mut source = Trickle(&secret, 7_000);
        while inbound.fill(&mut source).expect("memory") > 0 {}
        assert_eq!(inbound.bytes(), secret);
        inbound.consume(60_000);
        assert!(inbound.buffer[..60_000].iter().all(|byte| *byte == 0));
        assert_eq!(inbound.bytes(), &secret[60_000..]);
        let mut source = Trickle(&secret, 40_000);
        while inbound.fill(&mut source).expect("memory") > 0 {}
        assert_eq!(&inbound.bytes()[40_000..], secret);
        inbound.consume(usize::MAX);
        assert_eq!(inbound.buffer, [0; KEPT_BYTES]);
        // Small messages give the memory back, in the end.
        for _ in 0..SMALL_TURNS {
            assert_eq!(inbound.buffer, [0; KEPT_BYTES]);
            let mut source = Trickle(&secret[..RESTING_BYTES], RESTING_BYTES);
            while inbound.fill(&mut source).expect("memory") > 0 {}
            inbound.consume(usize::MAX);
        }
        assert_eq!(inbound.buffer, [0; RESTING_BYTES]);
    }

    #[test]
    fn of_large_messages_one_is_read_at_once() {
        let (large, small) = (RESTING_BYTES + 1_000, 10);
        let bytes = vec![7; 3 * large + 5 * small];
        let mut source = Trickle(&bytes, usize::MAX);
        let mut inbound = Inbound::new();
        let mut read = |inbound: &mut Inbound| inbound.fill(&mut source).expect("memory");
        assert_eq!(read(&mut inbound), RESTING_BYTES);
        for turn in 0..3 {
            inbound.expect(large);
            while inbound.bytes().len() < large {
                read(&mut inbound);
            }
            assert_eq!(inbound.bytes().len(), large, "{turn}");
            inbound.consume(large);
        }
        // The rest is shorter than the expected message.
        inbound.expect(large);
        assert_eq!(read(&mut inbound), 5 * small);
        inbound.expect(small);
        assert_eq!(inbound.expected, None);
    }

    #[test]
    fn what_is_appended_is_there_in_order() {
        let mut inbound = Inbound::unused();
        let bytes: Vec<u8> = (0..50_000).map(|at| (at % 251) as u8).collect();
        for chunk in bytes.chunks(9_000) {
            inbound.append(chunk);
        }
        assert_eq!(inbound.bytes(), bytes);
        inbound.consume(49_999);
        inbound.append(b"more");
        assert_eq!(&inbound.bytes()[1..], b"more");
    }

    #[test]
    fn frames_are_measured_before_they_are_there() {
        let limits = Limits {
            max_message_bytes: 1_000,
            ..Limits::default()
        };
        let length = |value: i32| frame_length(&value.to_be_bytes(), &limits);
        assert_eq!(frame_length(&[0, 0, 1], &limits), Ok(None));
        assert_eq!(length(1_000), Ok(Some(1_004)));
        assert_eq!(
            length(1_001).map_err(|error| error.reason()),
            Err("too_large")
        );
        assert_eq!(
            length(-1).map_err(|error| error.reason()),
            Err("negative_length")
        );
        assert_eq!(length(4).map_err(|error| error.reason()), Err("truncated"));
    }

    #[test]
    fn records_are_counted_whole() {
        let mut bytes = vec![23, 3, 3, 0, 20];
        bytes.extend([0; 20]);
        bytes.extend([23, 3, 3, 0x40, 0x11]);
        let found = whole_records(&bytes).expect("headers are good");
        assert_eq!((found.bytes, found.last_is_full), (25, false));
        assert_eq!(found.first_run, Some(25));
        bytes.extend([0; 0x4011]);
        let found = whole_records(&bytes).expect("headers are good");
        assert_eq!((found.bytes, found.last_is_full), (bytes.len(), true));
        assert_eq!(found.first_run, Some(25));
        let found = whole_records(&bytes[25..]).expect("headers are good");
        assert_eq!((found.last_is_full, found.first_run), (true, None));
        bytes[0] = 22;
        assert!(whole_records(&bytes).is_err());
    }
}
