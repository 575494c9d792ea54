//! Readings of the busy times of a server's hardware during a run, in bounded memory.

use accelflow_units::Time;

use super::window::Busy;

/// The time between the first readings; it doubles when there are too many.
const FIRST_WIDTH: Time = Time::from_us(10);

/// Readings of busy times, at least a certain time apart.
pub(crate) struct Usage {
    /// The largest number of intervals between readings, an even number.
    most: usize,
    width: Time,
    due: Time,
    readings: Vec<(Time, Busy)>,
}

impl Usage {
    /// Makes an empty set of readings with at most `most` intervals (rounded down to an even
    /// number); `None` if `most` is less than two.
    pub(crate) fn new(most: usize) -> Option<Box<Usage>> {
        let usage = Usage {
            most: most / 2 * 2,
            width: FIRST_WIDTH,
            due: Time::ZERO,
            readings: Vec::new(),
        };
        (usage.most > 0).then(|| Box::new(usage))
    }

    /// Whether it is time for the next reading.
    pub(crate) fn is_due(&self, now: Time) -> bool {
        now >= self.due
    }

    /// Keeps a reading. If there is no room, every second reading is dropped and the distance
    /// between readings doubles; this reading may then be too early to keep.
    pub(crate) fn keep(&mut self, now: Time, busy: Busy) {
        if self.readings.len() > self.most {
            let mut odd = true;
            self.readings.retain(|_| {
                odd = !odd;
                !odd
            });
            self.width = self.width * 2;
            if let Some((last, _)) = self.readings.last() {
                self.due = *last + self.width;
            }
        }
        if !self.is_due(now) {
            return;
        }
        self.readings.push((now, busy));
        self.due = now + self.width;
    }

    /// The readings, in the order of time.
    pub(crate) fn readings(&self) -> &[(Time, Busy)] {
        &self.readings
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use accelflow_trace::Accel;

    use super::*;
    use crate::hardware::Carried;
    use crate::server::parts::Queues;

    fn busy(cores: Time) -> Busy {
        Busy {
            cores,
            manager: Time::ZERO,
            dma: Time::ZERO,
            links: Carried::default(),
            accelerators: [(Time::ZERO, Time::ZERO); Accel::MOST],
            dispatchers: [Time::ZERO; Accel::MOST],
            queues: Queues::default(),
        }
    }

    #[test]
    fn readings_stay_bounded_in_order_and_evenly_spaced() {
        let mut usage = Usage::new(8).unwrap();
        for us in 0..100_000 {
            let now = Time::from_us(us);
            if usage.is_due(now) {
                usage.keep(now, busy(now));
            }
            assert!(usage.readings().len() <= 9);
        }
        let times: Vec<Time> = usage.readings().iter().map(|(at, _)| *at).collect();
        assert!(times.len() >= 5);
        assert_eq!(times[0], Time::ZERO);
        let width = times[1] - times[0];
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] == width));
        assert!(width > Time::from_us(10_000));
        assert!(usage.readings().iter().all(|(at, busy)| busy.cores == *at));
    }

    #[test]
    fn without_room_for_an_interval_there_are_no_readings() {
        assert!(Usage::new(0).is_none());
        assert!(Usage::new(1).is_none());
    }
}
