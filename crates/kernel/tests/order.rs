//! The order of delivery, against a sorted vector and at the edges.

use accelflow_kernel::{Calendar, EventQueue, Priority, SlotQueue, TooManySlots, Wheel};
use accelflow_units::Time;
use proptest::prelude::*;

#[test]
fn ties_go_by_priority_then_by_sequence() {
    let mut calendar = Calendar::new();
    let at = Time::from_ns(7);
    calendar.schedule(at, Priority::NORMAL, "normal, first");
    calendar.schedule(at, Priority::LAST, "last");
    calendar.schedule(at, Priority(127), "just before normal");
    calendar.schedule(at, Priority::NORMAL, "normal, second");
    calendar.schedule(at, Priority::FIRST, "first");
    let order: Vec<_> = std::iter::from_fn(|| calendar.pop()).collect();
    let names = [
        "first",
        "just before normal",
        "normal, first",
        "normal, second",
        "last",
    ];
    assert_eq!(order, names.map(|name| (at, name)));
}

#[test]
fn a_picosecond_outweighs_every_priority() {
    let mut calendar = Calendar::new();
    calendar.schedule(Time::from_ps(11), Priority::FIRST, 'b');
    calendar.schedule(Time::from_ps(10), Priority::LAST, 'a');
    calendar.schedule(Time::MAX, Priority::FIRST, 'c');
    assert_eq!(calendar.peek_time(), Some(Time::from_ps(10)));
    assert_eq!(calendar.pop(), Some((Time::from_ps(10), 'a')));
    assert_eq!(calendar.now(), Time::from_ps(10));
    assert_eq!(calendar.peek_time(), Some(Time::from_ps(11)));
    assert_eq!(calendar.pop(), Some((Time::from_ps(11), 'b')));
    assert_eq!(calendar.pop(), Some((Time::MAX, 'c')));
    assert_eq!((calendar.pop(), calendar.peek_time()), (None, None));
}

#[test]
fn an_event_may_be_scheduled_at_now_and_follows_those_that_wait() {
    let mut calendar = Calendar::new();
    calendar.schedule(Time::from_ps(5), Priority::NORMAL, 1);
    calendar.schedule(Time::from_ps(5), Priority::NORMAL, 2);
    assert_eq!(calendar.pop(), Some((Time::from_ps(5), 1)));
    calendar.schedule(Time::from_ps(5), Priority::NORMAL, 3);
    calendar.schedule(Time::from_ps(5), Priority::FIRST, 4);
    let rest: Vec<_> = std::iter::from_fn(|| calendar.pop())
        .map(|(_, event)| event)
        .collect();
    assert_eq!(rest, [4, 2, 3]);
}

#[test]
fn simultaneous_slots_go_lowest_first() {
    let mut queue = SlotQueue::new(SlotQueue::MAX_SLOTS).unwrap();
    for slot in [16_383, 0, 200, 199] {
        queue.schedule(Time::from_ns(1), slot);
    }
    let order: Vec<_> = std::iter::from_fn(|| queue.pop())
        .map(|(_, slot)| slot)
        .collect();
    assert_eq!(order, [0, 199, 200, 16_383]);
}

#[test]
fn a_slot_queue_refuses_what_its_keys_cannot_hold() {
    let error = SlotQueue::new(16_385).unwrap_err();
    assert_eq!(error, TooManySlots(16_385));
    assert_eq!(error.to_string(), "slots = 16385: must be at most 16384");
    let last = Time::from_ps(SlotQueue::HORIZON.as_ps() - 1);
    let mut queue = SlotQueue::new(SlotQueue::MAX_SLOTS).unwrap();
    queue.schedule(last, 16_383);
    assert_eq!(queue.pop(), Some((last, 16_383)));
    assert_eq!(SlotQueue::HORIZON.as_s_f64().floor(), 1125.0);
}

#[test]
#[should_panic(expected = "the horizon of a slot queue")]
fn the_horizon_itself_is_too_far() {
    SlotQueue::new(1).unwrap().schedule(SlotQueue::HORIZON, 0);
}

#[test]
#[should_panic(expected = "slot = 3: must be below 3")]
fn a_slot_that_does_not_exist_is_refused() {
    SlotQueue::new(3).unwrap().schedule(Time::ZERO, 3);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "the current time")]
fn the_past_is_a_bug_of_the_model() {
    let mut calendar = Calendar::new();
    calendar.schedule(Time::from_ns(2), Priority::NORMAL, ());
    calendar.pop();
    calendar.schedule(Time::from_ns(1), Priority::NORMAL, ());
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "without a pending event")]
fn a_second_event_of_a_slot_is_a_bug_of_the_model() {
    let mut queue = SlotQueue::new(1).unwrap();
    queue.schedule(Time::from_ns(1), 0);
    queue.schedule(Time::from_ns(2), 0);
}

/// One call on a queue; a schedule is relative to the current time.
#[derive(Clone, Copy, Debug)]
enum Call {
    Schedule { delay: u64, rank: u8 },
    Pop,
}

/// Short delays and few priorities make ties common; bursts of each call make the queue both
/// grow and run empty.
fn calls() -> impl Strategy<Value = Vec<Call>> {
    let schedule = (
        prop_oneof![0..4_u64, 0..1_000_u64, 0..(1_u64 << 27), 0..(1_u64 << 40)],
        prop_oneof![0..3_u8, any::<u8>()],
    )
        .prop_map(|(delay, rank)| Call::Schedule { delay, rank });
    let burst = prop_oneof![
        prop::collection::vec(schedule, 1..30),
        (1..30_usize).prop_map(|pops| vec![Call::Pop; pops]),
    ];
    prop::collection::vec(burst, 0..40).prop_map(|bursts| bursts.concat())
}

/// The obvious queue: everything in a vector, searched at each pop.
#[derive(Default)]
struct Sorted {
    events: Vec<(Time, u8, u64)>,
    scheduled: u64,
}

impl Sorted {
    fn schedule(&mut self, at: Time, rank: u8) -> u64 {
        self.scheduled += 1;
        self.events.push((at, rank, self.scheduled));
        self.scheduled
    }

    fn pop(&mut self) -> Option<(Time, u8, u64)> {
        let (place, _) = self
            .events
            .iter()
            .enumerate()
            .min_by_key(|(_, event)| **event)?;
        Some(self.events.swap_remove(place))
    }

    fn peek_time(&self) -> Option<Time> {
        self.events.iter().min().map(|event| event.0)
    }
}

proptest! {
    #[test]
    fn a_calendar_delivers_like_a_sorted_vector(calls in calls()) {
        let mut calendar = Calendar::new();
        let mut sorted = Sorted::default();
        for call in calls {
            match call {
                Call::Schedule { delay, rank } => {
                    let at = calendar.now() + Time::from_ps(delay);
                    let number = sorted.schedule(at, rank);
                    calendar.schedule(at, Priority(rank), number);
                }
                Call::Pop => {
                    let expected = sorted.pop().map(|(at, _, number)| (at, number));
                    prop_assert_eq!(calendar.pop(), expected);
                }
            }
            prop_assert_eq!(calendar.peek_time(), sorted.peek_time());
            prop_assert_eq!(calendar.len(), sorted.events.len());
            prop_assert_eq!(calendar.is_empty(), sorted.events.is_empty());
        }
    }

    #[test]
    fn a_wheel_delivers_like_a_sorted_vector(calls in calls()) {
        let mut wheel = Wheel::new();
        let mut sorted = Sorted::default();
        for call in calls {
            match call {
                Call::Schedule { delay, rank } => {
                    let at = wheel.now() + Time::from_ps(delay);
                    let number = sorted.schedule(at, rank);
                    wheel.schedule(at, Priority(rank), number);
                }
                Call::Pop => {
                    let expected = sorted.pop().map(|(at, _, number)| (at, number));
                    prop_assert_eq!(wheel.pop(), expected);
                }
            }
            prop_assert_eq!(wheel.peek_time(), sorted.peek_time());
            prop_assert_eq!(wheel.len(), sorted.events.len());
            prop_assert_eq!(wheel.is_empty(), sorted.events.is_empty());
        }
    }

    #[test]
    fn a_slot_queue_and_a_calendar_agree_when_priority_is_the_slot(calls in calls()) {
        let mut slots = SlotQueue::new(256).unwrap();
        let mut calendar = Calendar::new();
        let mut sorted = Sorted::default();
        let mut pending = [false; 256];
        for call in calls {
            match call {
                Call::Schedule { delay, rank } => {
                    if std::mem::replace(&mut pending[usize::from(rank)], true) {
                        continue;
                    }
                    let at = slots.now() + Time::from_ps(delay);
                    slots.schedule(at, u16::from(rank));
                    calendar.schedule(at, Priority(rank), u16::from(rank));
                    sorted.schedule(at, rank);
                }
                Call::Pop => {
                    let expected = sorted.pop().map(|(at, slot, _)| (at, u16::from(slot)));
                    prop_assert_eq!(slots.pop(), expected);
                    prop_assert_eq!(calendar.pop(), expected);
                    if let Some((_, slot)) = expected {
                        pending[usize::from(slot)] = false;
                    }
                }
            }
            prop_assert_eq!(slots.peek_time(), sorted.peek_time());
            prop_assert_eq!(slots.len(), sorted.events.len());
            prop_assert_eq!(slots.now(), calendar.now());
        }
    }

    /// Without ties, a model that is generic over its queue cannot tell the two apart.
    #[test]
    fn through_the_trait_both_deliver_by_time(times in prop::collection::hash_set(0..1_u64 << 49, 0..200)) {
        fn drain(mut queue: impl EventQueue<u16>, times: &[u64]) -> Vec<(Time, u16)> {
            for (slot, &ps) in (0..).zip(times) {
                queue.schedule(Time::from_ps(ps), slot);
            }
            assert_eq!(queue.len(), times.len());
            let order = std::iter::from_fn(|| queue.pop()).collect();
            assert!(queue.is_empty());
            order
        }
        let times: Vec<u64> = times.into_iter().collect();
        let order = drain(SlotQueue::new(times.len()).unwrap(), &times);
        prop_assert!(order.is_sorted());
        prop_assert_eq!(&order, &drain(Calendar::new(), &times));
    }
}
