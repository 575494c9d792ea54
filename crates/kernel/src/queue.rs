//! The contract of every queue of pending events.

use accelflow_units::Time;

/// The rank of an event among those of the same time: lower is delivered first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(pub u8);

impl Priority {
    /// Delivered before every other event of the same time.
    pub const FIRST: Priority = Priority(0);
    /// The priority of events for which none is given.
    pub const NORMAL: Priority = Priority(128);
    /// Delivered after every other event of the same time.
    pub const LAST: Priority = Priority(255);
}

impl Default for Priority {
    fn default() -> Priority {
        Priority::NORMAL
    }
}

/// Pending events, delivered by time.
///
/// The contract of every implementation: `pop` never goes back in time, the order of simultaneous
/// events is a stated total order, and equal calls give equal results. The order differs:
/// [`crate::Calendar`] delivers events scheduled through this trait in the order of scheduling,
/// [`crate::SlotQueue`] in the order of slots.
///
/// A model that is generic over its queue can run on any of them.
pub trait EventQueue<E> {
    /// Schedules `event` for the time `at`, which must not be before [`EventQueue::now`].
    fn schedule(&mut self, at: Time, event: E);

    /// Removes the next event and moves `now` to its time.
    fn pop(&mut self) -> Option<(Time, E)>;

    /// The time of the next event.
    fn peek_time(&self) -> Option<Time>;

    /// The number of pending events.
    fn len(&self) -> usize;

    /// Whether nothing is pending.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The time of the last event popped; zero before the first.
    fn now(&self) -> Time;
}
