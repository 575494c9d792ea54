//! The contract of every queue of pending events.

use accelflow_units::Time;

/// The rank of an event among the events of the same time: the lowest number is delivered first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(pub u8);

impl Priority {
    /// The lowest rank, 0, whose events are delivered before all others of the same time.
    pub const FIRST: Priority = Priority(0);
    /// The default rank of events, 128.
    pub const NORMAL: Priority = Priority(128);
    /// The highest rank, 255, whose events are delivered after all others of the same time.
    pub const LAST: Priority = Priority(255);
}

impl Default for Priority {
    fn default() -> Priority {
        Priority::NORMAL
    }
}

/// A queue of pending events of a discrete-event simulation, delivered by time.
///
/// Every implementation guarantees three things: successive calls of `pop` never go back in time,
/// simultaneous events have a documented total order, and the same calls give the same results.
/// This trait has no priorities. Implementations differ in the order of simultaneous events:
/// [`crate::Calendar`] and [`crate::Wheel`] deliver them in the order of scheduling,
/// [`crate::SlotQueue`] in the order of slots.
///
/// A model that is generic over its queue can run on any implementation.
pub trait EventQueue<E> {
    /// Adds `event`, to be delivered at the time `at`, which must not be before
    /// [`EventQueue::now`].
    fn schedule(&mut self, at: Time, event: E);

    /// Removes the next event, and returns its time and the event. [`EventQueue::now`] moves to
    /// this time. `None` if no event is pending.
    fn pop(&mut self) -> Option<(Time, E)>;

    /// Returns the time of the next event, which stays pending; `None` if no event is pending.
    fn peek_time(&self) -> Option<Time>;

    /// Returns the number of pending events.
    fn len(&self) -> usize;

    /// Returns whether no event is pending.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the current simulated time: the time of the last event popped, or zero before the
    /// first event. [`crate::Wheel::advance`] also moves it.
    fn now(&self) -> Time;
}
