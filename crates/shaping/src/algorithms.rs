//! The rate-limiting algorithms that ARCUS compares (section 4.2): token bucket, leaky bucket,
//! fixed window, sliding log. The implementations in this module work in continuous time, for
//! comparison. [`crate::TokenBucket`] models ARCUS's token bucket cycle by cycle.

use std::collections::VecDeque;

use accelflow_units::{Bandwidth, Bytes, Time};

/// An algorithm that limits the rate of a flow of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Tokens accrue at the allowed rate, up to the burst size. A message passes once there is a
    /// token for each of its bytes.
    TokenBucket,
    /// Messages leave one after the other, at the allowed rate and without bursts.
    LeakyBucket,
    /// The bytes of each window of fixed length are counted; a message that would exceed the burst
    /// size waits for the next window.
    FixedWindow,
    /// The sizes and times of recent messages are logged, so that no window of fixed length,
    /// wherever it begins, has more bytes than the burst size.
    SlidingLog,
}

impl Algorithm {
    /// All algorithms, in the order in which comparisons list them.
    pub const ALL: [Algorithm; 4] = [
        Algorithm::TokenBucket,
        Algorithm::LeakyBucket,
        Algorithm::FixedWindow,
        Algorithm::SlidingLog,
    ];

    /// Returns the name by which results refer to the algorithm, such as `token_bucket`.
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::TokenBucket => "token_bucket",
            Algorithm::LeakyBucket => "leaky_bucket",
            Algorithm::FixedWindow => "fixed_window",
            Algorithm::SlidingLog => "sliding_log",
        }
    }
}

/// The size of a counter or a time in hardware, in bytes.
const WORD: usize = 8;

/// A rate limiter for one flow of messages, which uses an [`Algorithm`]. Token bucket, fixed window
/// and sliding log allow bursts; the leaky bucket does not. Fixed window and sliding log count
/// bytes in a window of time, whose length is the size of a burst divided by the allowed rate.
#[derive(Clone, Debug)]
pub struct Limiter {
    algorithm: Algorithm,
    rate: Bandwidth,
    burst: Bytes,
    window: Time,
    /// The time when the last message passed.
    last: Time,
    /// Token bucket: the time when it is full. Leaky bucket: the time when it is free.
    due: Time,
    /// Fixed window: its start, and the bytes that have passed in it.
    counted: (Time, Bytes),
    log: VecDeque<(Time, Bytes)>,
    most_logged: usize,
}

impl Limiter {
    /// Creates a limiter that lets messages pass at the rate `rate`, with bursts of at most `burst`
    /// bytes. It begins in the state that it has after a long idle time, for example with a full
    /// token bucket.
    pub fn new(algorithm: Algorithm, rate: Bandwidth, burst: Bytes) -> Limiter {
        Limiter {
            algorithm,
            rate,
            burst,
            window: rate.transfer(burst),
            last: Time::ZERO,
            due: Time::ZERO,
            counted: (Time::ZERO, Bytes(0)),
            log: VecDeque::new(),
            most_logged: 0,
        }
    }

    /// Adds a message of `size` bytes that arrives at the time `at`, and returns the time at which
    /// the message passes. Messages pass in the order of the calls. A message larger than the burst
    /// passes when the bucket is full or the window is empty.
    pub fn release(&mut self, at: Time, size: Bytes) -> Time {
        let at = at.max(self.last);
        let passed = match self.algorithm {
            Algorithm::TokenBucket => self.by_tokens(at, size),
            Algorithm::LeakyBucket => {
                let begun = at.max(self.due);
                self.due = begun + self.rate.transfer(size);
                begun
            }
            Algorithm::FixedWindow => self.by_window(at, size),
            Algorithm::SlidingLog => self.by_log(at, size),
        };
        self.last = passed;
        passed
    }

    /// Returns the largest memory, in bytes, that hardware would have needed for the limiter's
    /// state so far.
    pub fn state_bytes(&self) -> usize {
        match self.algorithm {
            // Tokens and a timer.
            Algorithm::TokenBucket | Algorithm::FixedWindow => 2 * WORD,
            Algorithm::LeakyBucket => WORD,
            Algorithm::SlidingLog => 2 * WORD * self.most_logged,
        }
    }

    /// The token bucket. It is full at `due`; the tokens that it lacks now are those that accrue
    /// until then.
    fn by_tokens(&mut self, at: Time, size: Bytes) -> Time {
        let needed = self.rate.transfer(size.min(self.burst));
        let passed = (self.due + needed).saturating_sub(self.window).max(at);
        self.due = self.due.max(passed) + self.rate.transfer(size);
        passed
    }

    fn by_window(&mut self, at: Time, size: Bytes) -> Time {
        let mut passed = at;
        let window = self.window.as_ps().max(1);
        let start = |time: Time| Time::from_ps(time.as_ps() / window * window);
        loop {
            if start(passed) > self.counted.0 {
                self.counted = (start(passed), Bytes(0));
            }
            if self.counted.1 == Bytes(0) || self.counted.1 + size <= self.burst {
                self.counted.1 += size;
                return passed;
            }
            passed = self.counted.0 + Time::from_ps(window);
        }
    }

    fn by_log(&mut self, at: Time, size: Bytes) -> Time {
        let mut passed = at;
        loop {
            while let Some((gone, _)) = self.log.front()
                && *gone + self.window <= passed
            {
                self.log.pop_front();
            }
            let logged: u64 = self.log.iter().map(|entry| entry.1.get()).sum();
            match self.log.front() {
                Some((first, _)) if Bytes(logged) + size > self.burst => {
                    passed = *first + self.window;
                }
                _ => break,
            }
        }
        self.log.push_back((passed, size));
        self.most_logged = self.most_logged.max(self.log.len());
        passed
    }
}
