use super::*;

const ME: Owner = Owner {
    tenant: 1,
    service: 1,
};

fn at(ns: u64) -> Time {
    Time::from_ns(ns)
}

fn station<T: Copy + PartialEq>(
    elements: usize,
    input: usize,
    overflow: usize,
    output: usize,
) -> Station<T> {
    let sizes = Sizes {
        elements,
        input,
        overflow,
        output,
    };
    Station::new(sizes, DispatchPolicy::Fifo)
}

fn of<T>(item: T, owner: Owner) -> Entry<T> {
    Entry {
        item,
        owner,
        priority: 0,
        due: Time::MAX,
        work: Time::ZERO,
    }
}

fn first<T>(_: &InputQueue<T>) -> usize {
    0
}

impl Station<char> {
    fn is_ready(&mut self, item: char) {
        self.ready(of(item, ME), at(0));
    }

    fn spills(&mut self, item: char) -> Option<char> {
        self.spilled(of(item, ME), at(0), first)
    }

    fn next(&mut self, now: Time) -> Option<char> {
        self.start(now, first).map(|started| started.0)
    }
}

#[test]
fn an_input_entry_is_taken_from_its_reservation_to_the_load() {
    let mut station = station(1, 2, 0, 1);
    assert!(station.reserve_input() && station.reserve_input());
    assert!(!station.reserve_input());
    station.is_ready('a');
    assert_eq!(station.next(at(1)), Some('a'));
    assert!(station.reserve_input());
    assert!(!station.reserve_input());
    assert_eq!(station.peak_input, 2);
}

#[test]
fn entries_start_in_the_order_in_which_they_are_ready() {
    let mut station = station(2, 3, 0, 2);
    for entry in ['a', 'b', 'c'] {
        assert!(station.reserve_input());
        station.is_ready(entry);
    }
    assert_eq!(station.next(at(0)), Some('a'));
    assert_eq!(station.next(at(0)), Some('b'));
    assert_eq!(station.next(at(0)), None, "both elements are busy");
    assert_eq!(station.backlog(), 1);
    assert!(station.deposit('b', ME, at(5)));
    assert_eq!(station.next(at(5)), Some('c'));
}

#[test]
fn overflow_entries_move_up_in_order_when_an_input_entry_is_free() {
    let mut station = station(1, 1, 2, 1);
    assert!(station.reserve_input());
    assert!(station.reserve_overflow() && station.reserve_overflow());
    assert!(!station.reserve_overflow());
    assert_eq!(station.spills('b'), None);
    assert_eq!(station.spills('c'), None);
    station.is_ready('a');
    assert_eq!(station.refill(first), None, "the input queue is full");
    assert_eq!(station.next(at(0)), Some('a'));
    assert_eq!(station.refill(first), Some('b'));
    assert!(!station.reserve_input(), "the entry is b's");
    assert!(station.reserve_overflow(), "b's place is free");
    assert_eq!(station.refill(first), None);
}

#[test]
fn an_entry_that_spills_into_a_queue_with_room_moves_up_at_once() {
    let mut station = station(1, 1, 1, 1);
    assert!(station.reserve_overflow());
    assert_eq!(station.spills('a'), Some('a'));
    station.is_ready('a');
    assert_eq!(station.next(at(0)), Some('a'));
    assert!(station.deposit('a', ME, at(1)));
    assert_eq!(station.withdraw(at(2)), None);
    assert!(station.is_idle());
}

#[test]
fn a_result_without_an_output_entry_keeps_its_element() {
    let mut station = station(2, 2, 0, 1);
    for entry in ['a', 'b'] {
        assert!(station.reserve_input());
        station.is_ready(entry);
        assert_eq!(station.next(at(0)), Some(entry));
    }
    assert!(station.deposit('a', ME, at(10)));
    assert!(!station.deposit('b', ME, at(10)));
    assert_eq!(station.busy.busy(), 1);
    // The entry passes from a to b, and b's element is free.
    assert_eq!(station.withdraw(at(15)), Some('b'));
    assert_eq!(station.busy.busy(), 0);
    assert!(!station.is_idle());
    assert_eq!(station.withdraw(at(20)), None);
    assert!(station.is_idle());
    assert_eq!(station.busy.total_at(at(20)), at(10 + 15));
    assert_eq!(station.any.total_at(at(20)), at(15));
    assert_eq!(station.operations, 2);
}

#[test]
fn an_entry_given_up_goes_to_the_oldest_in_the_overflow_area() {
    let mut station = station(1, 1, 2, 1);
    assert!(station.reserve_input() && station.reserve_overflow());
    assert_eq!(station.spills('b'), None);
    assert!(station.reserve_overflow());
    assert_eq!(station.release_input(first), Some('b'));
    assert!(!station.reserve_input());
    station.release_overflow();
    station.is_ready('b');
    assert_eq!(station.next(at(0)), Some('b'));
    assert_eq!(station.load(), 1);
}

#[test]
fn whoever_picks_finds_the_queues_as_they_are() {
    let mut station = station(1, 2, 2, 1);
    let items = |queue: &InputQueue<char>| queue.iter().map(|e| e.item).collect::<String>();
    for entry in ['a', 'b'] {
        assert!(station.reserve_input());
        station.is_ready(entry);
    }
    for entry in ['c', 'd'] {
        assert!(station.reserve_overflow());
        assert_eq!(station.spills(entry), None);
    }
    let last = |expected: &'static str| {
        move |queue: &InputQueue<char>| {
            assert_eq!(items(queue), expected);
            queue.len() - 1
        }
    };
    let started = station.start(at(0), last("ab")).map(|started| started.0);
    assert_eq!(started, Some('b'));
    assert_eq!(station.refill(last("cd")), Some('d'));
    let never = |_: &InputQueue<char>| unreachable!("no entry can leave");
    assert_eq!(station.start(at(0), never), None, "the element is busy");
    assert_eq!(station.refill(never), None, "the input queue is full");
}

#[test]
fn nobody_gets_past_what_waits_in_the_overflow_area() {
    let mut station = station(1, 2, 3, 1);
    assert!(station.reserve_input() && station.reserve_input());
    for entry in ['c', 'd', 'e'] {
        assert!(station.reserve_overflow());
        assert_eq!(station.spills(entry), None);
    }
    station.is_ready('a');
    station.is_ready('b');
    for (running, refilled) in [('a', 'c'), ('b', 'd'), ('c', 'e')] {
        assert_eq!(station.next(at(0)), Some(running));
        assert_eq!(station.refill(first), Some(refilled));
        assert!(!station.reserve_input(), "{refilled} has the entry");
        station.is_ready(refilled);
        assert!(station.deposit(running, ME, at(1)));
        assert_eq!(station.withdraw(at(1)), None);
    }
}

#[test]
fn the_overflow_area_drains_in_the_order_of_the_policy() {
    let sizes = Sizes {
        elements: 1,
        input: 1,
        overflow: 3,
        output: 1,
    };
    // One operation runs until 50 ns and one of 10 ns is ready. a and b, at 30 ns, are then to
    // take from 60 to 70 and to 80 ns.
    let drained = |policy, entries: [(char, u8, u64); 3]| -> String {
        let mut station = Station::new(sizes, policy);
        let work = at(10);
        let entry = |item, priority, due_ns| Entry {
            priority,
            due: at(due_ns),
            work,
            ..of(item, ME)
        };
        for running in [true, false] {
            assert!(station.reserve_input());
            station.ready(entry('-', 9, 1_000), at(0));
            if running {
                assert_eq!(station.next(at(0)), Some('-'));
                station.runs_until(at(50));
            }
        }
        for (item, priority, due_ns) in entries {
            assert!(station.reserve_overflow());
            assert_eq!(
                station.spilled(entry(item, priority, due_ns), at(30), first),
                None
            );
        }
        let mut order = String::new();
        while station.input_used > 0 {
            station.input_used -= 1;
            order.extend(station.refill(first));
        }
        order
    };
    let priorities = [('a', 1, 1_000), ('b', 2, 1_000), ('c', 1, 1_000)];
    assert_eq!(drained(DispatchPolicy::Fifo, priorities), "abc");
    assert_eq!(drained(DispatchPolicy::Priority, priorities), "bac");
    let due = |last| [('a', 0, 1_000), ('b', 0, 1_000), ('c', 0, last)];
    assert_eq!(drained(DispatchPolicy::Deadline, due(90)), "abc");
    assert_eq!(drained(DispatchPolicy::Deadline, due(89)), "acb");
    assert_eq!(drained(DispatchPolicy::Deadline, due(79)), "cba");
    assert_eq!(
        drained(DispatchPolicy::Deadline, due(69)),
        "abc",
        "late anywhere"
    );
}

#[test]
fn an_element_knows_whose_state_it_holds() {
    let other_service = Owner { service: 2, ..ME };
    let other_tenant = Owner { tenant: 2, ..ME };
    let mut station = station(1, 1, 0, 1);
    let mut begin = |owner| {
        assert!(station.reserve_input());
        station.ready(of('a', owner), at(0));
        let started = station
            .start(at(0), first)
            .map(|s| (s.1.wipes, s.1.reloads));
        assert!(station.deposit('a', owner, at(0)));
        assert_eq!(station.withdraw(at(0)), None);
        started
    };
    // Nobody's state needs no wiping, but the service's is to be loaded.
    assert_eq!(begin(ME), Some((false, true)));
    assert_eq!(begin(ME), Some((false, false)));
    assert_eq!(begin(other_service), Some((false, true)));
    assert_eq!(begin(other_tenant), Some((true, true)));
    assert_eq!(begin(other_tenant), Some((false, false)));
}

#[test]
fn what_remains_of_running_operations_counts_for_deadlines() {
    let sizes = Sizes {
        elements: 1,
        input: 3,
        overflow: 0,
        output: 3,
    };
    let due = |item, due_ns| Entry {
        due: at(due_ns),
        work: at(10),
        ..of(item, ME)
    };
    // One operation runs until 50 ns; at 30 ns the next one starts 20 ns later.
    for (deadline, placed) in [(60, Placed::InOrder), (59, Placed::Late)] {
        let mut station = Station::new(sizes, DispatchPolicy::Deadline);
        assert!(station.reserve_input() && station.reserve_input());
        assert_eq!(station.ready(due('a', 0), at(0)), Placed::InOrder);
        assert_eq!(station.next(at(0)), Some('a'));
        station.runs_until(at(50));
        assert_eq!(station.ready(due('b', deadline), at(30)), placed);
    }
}
