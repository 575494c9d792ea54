//! Watches the frames that a peer sends: finds incomplete frames, and floods of frames that cause
//! work but carry no part of a request, such as PING.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// The client's connection preface (RFC 9113, section 3.4).
const PREFACE: usize = 24;
const HEADER: usize = 9;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;

/// The most bytes of padding in a frame, its length field included (RFC 9113, section 6.1).
const MOST_PADDING: usize = 256;

/// The number of frames without a part of a request that a client may send at once (assumed). The
/// allowance grows with each second and each answered request. A client that measures the
/// connection's delay sends a PING for each message that it receives, and a client that gives up
/// sends a RST_STREAM for each request.
const BURST: f64 = 1_000.0;
const PER_SECOND: f64 = 20.0;
const PER_ANSWER: f64 = 8.0;

/// The number of bytes sent to a client per WINDOW_UPDATE that the client may send. Go's library
/// sends one for the stream and one for the connection for every 4 KiB; others send fewer.
const BYTES_PER_UPDATE: f64 = 1_024.0;

/// The number of frames of one kind that the peer may still send.
#[derive(Debug)]
struct Allowance {
    left: f64,
    counted_at: Instant,
}

impl Allowance {
    fn new(now: Instant) -> Allowance {
        Allowance {
            left: BURST,
            counted_at: now,
        }
    }

    /// Takes one frame; returns whether it was allowed.
    fn spend(&mut self, now: Instant) -> bool {
        let passed: Duration = now.saturating_duration_since(self.counted_at);
        self.counted_at = now;
        self.earn(passed.as_secs_f64() * PER_SECOND);
        self.left -= 1.0;
        self.left >= 0.0
    }

    /// Adds to the allowance, up to a burst.
    fn earn(&mut self, more: f64) {
        self.left = (self.left + more).min(self.left.max(BURST));
    }
}

/// The state of a connection's incoming frames.
#[derive(Debug)]
pub(crate) struct Frames {
    /// The bytes of the preface that are still to come.
    preface: usize,
    header: [u8; HEADER],
    header_bytes: usize,
    payload_left: usize,
    /// Whether a header block continues in the next frame.
    in_headers: bool,
    /// The time when the incomplete frame, header block or preface began.
    begun: Option<Instant>,
    useless: Allowance,
    updates: Allowance,
    flooded: bool,
}

impl Frames {
    pub(crate) fn new(now: Instant) -> Frames {
        Frames {
            preface: PREFACE,
            header: [0; HEADER],
            header_bytes: 0,
            payload_left: 0,
            in_headers: false,
            begun: Some(now),
            useless: Allowance::new(now),
            updates: Allowance::new(now),
            flooded: false,
        }
    }

    /// Frames of a service, which sends no preface.
    pub(crate) fn of_service(now: Instant) -> Frames {
        Frames {
            preface: 0,
            begun: None,
            ..Frames::new(now)
        }
    }

    /// Examines received bytes.
    pub(crate) fn see(&mut self, mut bytes: &[u8], now: Instant) {
        let skip = self.preface.min(bytes.len());
        self.preface -= skip;
        bytes = &bytes[skip..];
        loop {
            // Checked here and not only at the end, since a continuous stream may never pause at
            // the end of a frame.
            if self.is_between_frames() {
                self.begun = None;
            }
            if bytes.is_empty() {
                break;
            }
            if self.payload_left > 0 {
                let skip = self.payload_left.min(bytes.len());
                self.payload_left -= skip;
                bytes = &bytes[skip..];
            } else {
                let part = (HEADER - self.header_bytes).min(bytes.len());
                let place = self.header_bytes..self.header_bytes + part;
                self.header[place].copy_from_slice(&bytes[..part]);
                self.header_bytes += part;
                bytes = &bytes[part..];
                if self.header_bytes == HEADER {
                    self.frame(now);
                }
            }
        }
        if !self.is_between_frames() {
            self.begun.get_or_insert(now);
        }
    }

    /// Whether no frame and no header block is incomplete.
    fn is_between_frames(&self) -> bool {
        self.preface == 0 && self.header_bytes == 0 && self.payload_left == 0 && !self.in_headers
    }

    /// Handles the header of a frame.
    fn frame(&mut self, now: Instant) {
        let [a, b, c, kind, flags, ..] = self.header;
        self.header_bytes = 0;
        self.payload_left = u32::from_be_bytes([0, a, b, c]) as usize;
        let ends = flags & END_STREAM != 0;
        let padded = flags & PADDED != 0 && self.payload_left <= MOST_PADDING;
        let within = match kind {
            HEADERS | CONTINUATION => {
                self.in_headers = flags & END_HEADERS == 0;
                true
            }
            DATA if ends || !(padded || self.payload_left == 0) => true,
            WINDOW_UPDATE => self.updates.spend(now),
            // Empty DATA, PING, SETTINGS, their ACKs, and unknown frames cause work and carry no
            // part of a request.
            _ => self.useless.spend(now),
        };
        self.flooded |= !within;
    }

    /// Notes that a request was answered.
    pub(crate) fn answered(&mut self) {
        self.useless.earn(PER_ANSWER);
        self.updates.earn(PER_ANSWER);
    }

    /// Records that bytes were sent, for which the peer may send WINDOW_UPDATEs at any later time.
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.updates.left += bytes as f64 / BYTES_PER_UPDATE;
    }

    /// Whether the peer floods.
    pub(crate) fn flooded(&self) -> bool {
        self.flooded
    }

    /// When the incomplete frame, header block or preface began, if there is one.
    pub(crate) fn incomplete_since(&self) -> Option<Instant> {
        self.begun
    }
}

/// The activity of a connection's requests, all on one thread.
#[derive(Debug)]
pub(crate) struct Activity {
    /// The number of requests that are being received, answered or sent.
    pub(crate) active: Cell<usize>,
    /// When the last of them began or ended.
    pub(crate) last: Cell<Instant>,
}

impl Activity {
    pub(crate) fn new(now: Instant) -> Activity {
        Activity {
            active: Cell::new(0),
            last: Cell::new(now),
        }
    }

    pub(crate) fn begin(&self) {
        self.active.set(self.active.get() + 1);
        self.last.set(Instant::now());
    }

    pub(crate) fn end(&self) {
        self.active.set(self.active.get().saturating_sub(1));
        self.last.set(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRIORITY: u8 = 2;
    const RST_STREAM: u8 = 3;
    const SETTINGS: u8 = 4;
    const PING: u8 = 6;
    const UNKNOWN: u8 = 77;
    const ACK: u8 = 1;

    fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let length = (payload.len() as u32).to_be_bytes();
        let mut bytes = length[1..].to_vec();
        bytes.extend([kind, flags, 0, 0, 0, 1]);
        bytes.extend_from_slice(payload);
        bytes
    }

    fn after_preface(now: Instant) -> Frames {
        let mut frames = Frames::new(now);
        frames.see(&[0; PREFACE], now);
        frames
    }

    #[test]
    fn incomplete_frames_are_noticed_however_they_are_cut() {
        let now = Instant::now();
        let bytes = [
            frame(HEADERS, 0, b"abc"),
            frame(CONTINUATION, END_HEADERS, b""),
            frame(DATA, END_STREAM, b"body"),
        ]
        .concat();
        for cut in 0..=bytes.len() {
            let mut frames = after_preface(now);
            frames.see(&bytes[..cut], now);
            let whole = cut == 0 || cut == 21 || cut == bytes.len();
            assert_eq!(frames.incomplete_since().is_none(), whole, "{cut}");
            frames.see(&bytes[cut..], now);
            assert_eq!(frames.incomplete_since(), None);
        }
        let mut frames = Frames::new(now);
        frames.see(&[0; PREFACE - 1], now + Duration::from_secs(5));
        assert_eq!(frames.incomplete_since(), Some(now));
    }

    #[test]
    fn frames_that_follow_each_other_are_not_taken_for_one() {
        let begun = Instant::now();
        let one = frame(DATA, END_STREAM, b"body");
        let mut frames = after_preface(begun);
        frames.see(&one[..5], begun);
        // Each piece ends one frame and begins the next.
        let piece = [&one[5..], &one[..5]].concat();
        for second in 1..100 {
            let now = begun + Duration::from_secs(second);
            frames.see(&piece, now);
            assert_eq!(frames.incomplete_since(), Some(now));
        }
    }

    #[test]
    fn floods_are_told_from_requests() {
        let now = Instant::now();
        for useless in [
            frame(PING, 0, &[0; 8]),
            frame(PING, ACK, &[0; 8]),
            frame(SETTINGS, 0, b""),
            frame(SETTINGS, ACK, b""),
            frame(RST_STREAM, 0, &[0; 4]),
            frame(PRIORITY, 0, &[0; 5]),
            frame(WINDOW_UPDATE, 0, &[0, 0, 0, 1]),
            frame(UNKNOWN, 0, &[0; 100]),
            frame(DATA, 0, b""),
            frame(DATA, PADDED, &[9; 10]),
        ] {
            let mut frames = after_preface(now);
            frames.see(&useless.repeat(1_000), now);
            assert!(!frames.flooded());
            frames.see(&useless, now);
            assert!(frames.flooded());
        }
        let fair = [
            frame(HEADERS, END_HEADERS, b"x"),
            frame(DATA, END_STREAM, b"y"),
            frame(PING, 0, &[0; 8]),
            frame(PING, ACK, &[0; 8]),
            frame(RST_STREAM, 0, &[0; 4]),
        ];
        let mut frames = after_preface(now);
        for _ in 0..100_000 {
            frames.see(&fair.concat(), now);
            frames.answered();
        }
        assert!(!frames.flooded());
        // Two updates for every 4 KiB, which may come long after these were sent.
        let mut frames = after_preface(now);
        frames.sent(256 << 20);
        let update = frame(WINDOW_UPDATE, 0, &[0, 0, 16, 0]);
        frames.see(&update.repeat(2 * (256 << 20) / 4_096), now);
        assert!(!frames.flooded());
        // A PING now and then, for ever.
        let mut frames = after_preface(now);
        for second in 0..100_000 {
            frames.see(&frame(PING, 0, &[0; 8]), now + Duration::from_secs(second));
        }
        assert!(!frames.flooded());
    }
}
