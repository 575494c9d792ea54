//! Each component by itself.

#![allow(clippy::unwrap_used)]

use accelflow_cerebros::buffers::BufferManager;
use accelflow_cerebros::icache::InstructionCache;
use accelflow_cerebros::pipelines::Pipelines;
use accelflow_cerebros::platform::PARAMETERS;
use accelflow_cerebros::registration::{HeaderFormat, Registration};
use accelflow_cerebros::schema::{Type, TypeSchema, Value, header, header_wire};
use accelflow_cerebros::services::Service;
use accelflow_cerebros::steering::CoreSelector;
use accelflow_cerebros::{Message, Platform, Steering};
use accelflow_units::{Bytes, Time};
use proptest::collection;
use proptest::prelude::*;

fn message(fields: &[Value]) -> Message {
    Message::new(fields.to_vec())
}

#[test]
fn sizes_are_those_of_the_compact_protocol() {
    // Written out by hand: field header and value for each field, and a byte for the end.
    for (value, wire, application) in [
        (Value::Bool(true), 1, 1),
        (Value::I32(0), 1 + 1, 4),
        (Value::I32(-65), 1 + 2, 4),
        (Value::I64(63), 1 + 1, 8),
        (Value::I64(i64::MIN), 1 + 10, 8),
        (Value::Double(1.5), 1 + 8, 8),
        (Value::Text(0), 1 + 1, 0),
        (Value::Text(128), 1 + 2 + 128, 128),
        (
            Value::List(Type::I64, vec![Value::I64(1); 14]),
            1 + 1 + 14,
            112,
        ),
        (
            Value::List(Type::I64, vec![Value::I64(1); 15]),
            1 + 2 + 15,
            120,
        ),
        (
            Value::List(Type::Bool, vec![Value::Bool(true); 3]),
            1 + 1 + 3,
            3,
        ),
        (Value::Map(Type::Text, Type::I32, vec![]), 1 + 1, 0),
        (
            Value::Map(Type::Text, Type::I32, vec![(Value::Text(3), Value::I32(1))]),
            1 + 2 + 4 + 1,
            7,
        ),
        (Value::Struct(vec![Value::I32(1)]), 1 + 2 + 1, 4),
    ] {
        let message = message(std::slice::from_ref(&value));
        assert_eq!(message.wire(), Bytes(wire + 1), "{value:?}");
        assert_eq!(message.application(), Bytes(application), "{value:?}");
    }
    assert_eq!(header_wire("UploadUniqueId"), Bytes(2 + 2 + 1 + 14));
}

#[test]
fn four_times_the_message_is_not_enough_for_lists_of_small_integers() {
    let platform = Platform::default();
    let fits = |message: &Message| {
        let wire = message.wire();
        message.application().get() <= platform.reservation(wire).get() - wire.get()
    };
    // The paper's case: 8 bytes from a field header and one byte.
    assert!(fits(&message(&vec![Value::I64(1); 1_000])));
    // In a list there are no field headers: 8 bytes from one.
    let list = Value::List(Type::I64, vec![Value::I64(1); 1_000]);
    assert!(!fits(&message(&[list])));
}

#[test]
fn a_field_that_is_not_what_the_schema_says_is_named() {
    let good = message(&[
        Value::I64(1),
        Value::Struct(vec![
            Value::Text(3),
            Value::List(Type::I32, vec![Value::I32(1)]),
        ]),
    ]);
    let schema = TypeSchema::of(&good);
    schema.check(&good).unwrap();
    let longer = Value::List(Type::I32, vec![Value::I32(1), Value::I32(2)]);
    let also = message(&[Value::I64(7), Value::Struct(vec![Value::Text(9), longer])]);
    schema.check(&also).unwrap();
    let wrong = Value::List(Type::I32, vec![Value::I32(1), Value::Double(2.0)]);
    for (bad, said) in [
        (
            message(&[Value::I64(1)]),
            "message: number of fields = 1: must be 2, as in the schema",
        ),
        (
            message(&[Value::Text(1), good.fields[1].clone()]),
            "message.1 = a string: must be an i64, as in the schema",
        ),
        (
            message(&[Value::I64(1), Value::Struct(vec![Value::Text(3), wrong])]),
            "message.2.2[1] = a double: must be an i32, as in the schema",
        ),
        (
            message(&[Value::I64(1), Value::I64(2)]),
            "message.2 = an i64: must be a struct, as in the schema",
        ),
    ] {
        assert_eq!(schema.check(&bad).unwrap_err().to_string(), said);
    }
}

#[test]
fn a_split_schema_halves_storage() {
    let ten = message(&vec![Value::I64(1); 10]);
    let schema = TypeSchema::of(&ten);
    assert_eq!(schema.type_bytes(), Bytes(80));
    assert_eq!(schema.storage(&ten, 1), (Bytes(160), Bytes(160)));
    assert_eq!(schema.storage(&ten, 99), (Bytes(100 * 80), Bytes(99 * 160)));
    // A list of strings: two types, and an address for each string beside the list's own.
    let list = message(&[Value::List(Type::Text, vec![Value::Text(8); 7])]);
    let (split, whole) = TypeSchema::of(&list).storage(&list, 10);
    assert_eq!((split, whole), (Bytes(16 + 10 * 64), Bytes(2 * 10 * 64)));
}

#[test]
fn field_units_work_in_parallel() {
    let text = |n| Value::Text(n);
    let payload = message(&[Value::I64(1), text(13), Value::I32(1), text(64)]);
    // 2, 3, 2 and 9 cycles in this order, each to the unit that is free first.
    assert_eq!(payload.pipeline_cycles(1), 16);
    assert_eq!(payload.pipeline_cycles(2), 12);
    assert_eq!(payload.pipeline_cycles(3), 11);
    assert_eq!(payload.pipeline_cycles(4), 9);
    assert_eq!(payload.pipeline_cycles(0), 16);
    assert_eq!(header("UploadUniqueId").pipeline_cycles(1), 2 + 2 + 3);
    assert_eq!(Message::default().pipeline_cycles(1), 0);
}

#[test]
fn pipelines_take_tasks_in_order_when_free() {
    let ns = Time::from_ns;
    let mut two = Pipelines::new(2);
    let mut offer = |now, long| {
        let slot = two.offer(ns(now), ns(long));
        (slot.start, slot.end)
    };
    assert_eq!(offer(0, 10), (ns(0), ns(10)));
    assert_eq!(offer(0, 4), (ns(0), ns(4)));
    assert_eq!(offer(1, 5), (ns(4), ns(9)));
    assert_eq!(offer(20, 5), (ns(20), ns(25)));
    assert_eq!(two.tasks(), 4);
    assert_eq!(two.utilisation(ns(24)), 0.5);
}

#[test]
fn buffers_are_all_or_nothing() {
    let mut buffers = BufferManager::new(Bytes(100), 1);
    let first = buffers.reserve(Bytes(60)).unwrap();
    assert!(buffers.reserve(Bytes(41)).is_none());
    assert_eq!(buffers.used(), Bytes(60));
    assert!(buffers.reserve(Bytes(40)).is_some());
    assert!(buffers.reserve(Bytes(1)).is_none());
    buffers.release(first);
    assert_eq!((buffers.used(), buffers.peak()), (Bytes(40), Bytes(100)));
    assert_eq!(Platform::default().reservation(Bytes(50)), Bytes(250));
}

#[test]
fn a_message_lies_in_one_arena() {
    // 34, 33 and 33 bytes.
    let mut buffers = BufferManager::new(Bytes(100), 3);
    assert!(buffers.reserve(Bytes(35)).is_none());
    let first = buffers.reserve(Bytes(34)).unwrap();
    assert!(buffers.reserve(Bytes(34)).is_none());
    assert!(buffers.reserve(Bytes(20)).is_some() && buffers.reserve(Bytes(20)).is_some());
    assert!(buffers.reserve(Bytes(14)).is_none());
    buffers.release(first);
    assert!(buffers.reserve(Bytes(14)).is_some());
    assert_eq!((buffers.used(), buffers.peak()), (Bytes(54), Bytes(74)));
}

#[test]
fn a_marker_is_at_a_field_that_can_name_a_function() {
    let call = header("UploadUniqueId");
    assert_eq!(HeaderFormat::new(&call, 2).unwrap().marked(), 2);
    let text = message(&[Value::Double(1.0), Value::Text(3)]);
    let refused = |marker| HeaderFormat::new(&text, marker).unwrap_err().to_string();
    assert!(
        refused(0).starts_with(
            "header: index of the field that names the function = 0: must be the index of a"
        ),
        "{}",
        refused(0)
    );
    assert!(
        refused(2)
            .starts_with("header: index of the field that names the function = 2: must be below"),
        "{}",
        refused(2)
    );
}

#[test]
fn the_most_popular_functions_are_registered_and_share_their_types() {
    let usr = Service::named("USR").unwrap();
    let mut platform = Platform::default();
    platform.set("schema_map_entries", 4.0).unwrap();
    let some = Registration::new(&platform, &usr).unwrap();
    assert_eq!(some.occupancy(), (4, 4));
    let known = [0, 1, 2, 3, 4, 5].map(|function| some.knows(function));
    assert_eq!(known, [false, false, true, true, true, true]);
    let all = Registration::new(&Platform::default(), &usr).unwrap();
    assert_eq!(all.occupancy(), (6, 64));
    assert!(some.type_bytes() < all.type_bytes());
    // One column for all messages and one for each, instead of two for each: about a half.
    for messages in [16, 1_000] {
        let (split, whole) = all.storage(messages);
        let ratio = split.get() as f64 / whole.get() as f64;
        assert!(
            ratio > 0.5 && ratio < 0.5 + 1.0 / messages as f64,
            "{ratio}"
        );
    }
}

#[test]
fn numbers_in_a_list_share_an_address_and_strings_have_one_each() {
    let numbers = Value::List(Type::I32, vec![Value::I32(1); 9]);
    let strings = Value::List(Type::Text, vec![Value::Text(8); 3]);
    let nested = Value::Struct(vec![Value::I64(1), Value::Text(4)]);
    let of = |fields: &[Value]| message(fields).address_schema();
    assert_eq!(of(&[]), Bytes(0));
    assert_eq!(of(std::slice::from_ref(&numbers)), Bytes(8));
    assert_eq!(of(&[strings]), Bytes(8 * 4));
    assert_eq!(of(&[numbers, nested]), Bytes(8 * 4));
}

#[test]
fn the_least_recently_used_block_of_a_set_goes() {
    let mut platform = Platform::default();
    platform.set("l1i_bytes", 1_024.0).unwrap();
    // Four sets of four ways: blocks 0, 4, 8, 12 and 16 are of one set.
    let mut cache = InstructionCache::new(&platform);
    assert_eq!(cache.sweep(0..16), 16);
    assert_eq!(cache.sweep(0..16), 0);
    assert!(!cache.fetch(0));
    assert!(cache.fetch(16));
    assert!(!cache.fetch(0));
    assert!(cache.fetch(4));
    // A loop larger than the cache never hits; one of its size always does.
    let mut cache = InstructionCache::new(&platform);
    let misses: Vec<u64> = (0..3).map(|_| cache.sweep(0..20)).collect();
    assert_eq!(misses, [20, 20, 20]);
}

proptest! {
    #[test]
    fn caches_hold_the_blocks_of_a_set_fetched_last(
        ways in 1_usize..6,
        sets in 1_usize..40,
        sweeps in collection::vec((0_u32..200, 0_u32..60), 1..40),
    ) {
        let mut platform = Platform::default();
        platform.set("l1i_ways", ways as f64).unwrap();
        let bytes = (sets * ways) as f64 * platform.l1i_block_bytes;
        platform.set("l1i_bytes", bytes).unwrap();
        let mut cache = InstructionCache::new(&platform);
        // The blocks of each set, the latest first.
        let mut model: Vec<Vec<u32>> = vec![Vec::new(); sets];
        for (from, count) in sweeps {
            let mut misses = 0;
            for block in from..from + count {
                let set = &mut model[block as usize % sets];
                let before = set.len();
                set.retain(|&held| held != block);
                misses += u64::from(set.len() == before);
                set.insert(0, block);
                set.truncate(ways);
            }
            prop_assert_eq!(cache.sweep(from..from + count), misses);
        }
    }
}

#[test]
fn a_core_is_chosen_by_function_then_by_load_then_in_turn() {
    let core =
        |s: &mut CoreSelector, steering, f| s.select(steering, f).map(|c| (c.core, c.affine));
    let mut cores = CoreSelector::new(3, 2, 1);
    let affinity = Steering::Affinity;
    assert_eq!(core(&mut cores, affinity, 7), Some((0, false)));
    assert_eq!(
        core(&mut cores, affinity, 7),
        Some((0, true)),
        "affinity before load"
    );
    assert_eq!(
        core(&mut cores, affinity, 7),
        Some((1, false)),
        "core 0 is full"
    );
    assert_eq!(
        core(&mut cores, affinity, 8),
        Some((2, false)),
        "fewest requests"
    );
    cores.complete(0);
    cores.complete(0);
    assert_eq!(
        core(&mut cores, affinity, 7),
        Some((0, true)),
        "fewest of the affine"
    );
    let mut cores = CoreSelector::new(2, 1, 1);
    assert_eq!(core(&mut cores, Steering::LeastLoaded, 1), Some((0, false)));
    cores.complete(0);
    assert_eq!(
        core(&mut cores, Steering::LeastLoaded, 1),
        Some((1, false)),
        "in turn"
    );
    assert_eq!(core(&mut cores, Steering::LeastLoaded, 1), Some((0, true)));
    assert_eq!(core(&mut cores, Steering::LeastLoaded, 1), None);
}

#[test]
fn a_deeper_function_map_remembers_older_functions() {
    for (depth, remembered) in [(1, false), (2, true)] {
        let mut cores = CoreSelector::new(1, 1, depth);
        for function in [1, 2] {
            cores.select(Steering::Affinity, function).unwrap();
            cores.complete(0);
        }
        let chosen = cores.select(Steering::Affinity, 1).unwrap();
        assert_eq!(chosen.affine, remembered, "depth {depth}");
    }
}

#[test]
fn every_parameter_has_an_origin_and_its_default_passes() {
    Platform::default().check().unwrap();
    assert_eq!(PARAMETERS.faults(Platform::default), Vec::<String>::new());
}

#[test]
fn the_services_are_the_papers() {
    let [uid, usr, url, sg, cp] = Service::all();
    let functions = [&uid, &usr, &url, &sg, &cp].map(|s| s.functions.len());
    assert_eq!(functions, [1, 6, 1, 7, 6], "section 5");
    let most = |s: &Service| s.functions.iter().map(|f| f.nested.len()).max();
    assert_eq!(
        [most(&uid), most(&sg), most(&cp)],
        [Some(1), Some(5), Some(13)]
    );
    // Section 6.2: payloads of UID below 50 B; its function of roughly 43 KB.
    for call in std::iter::once(&uid.functions[0].call).chain(&uid.functions[0].nested) {
        assert!(call.request.wire() < Bytes(50), "{}", call.request.wire());
    }
    assert_eq!(uid.working_sets_kb(), (69.0, 43.0));
    // Section 6.3: 140 KB, two functions above 90 KB, F3 to F5 between 20 and 25 KB and with 70 %
    // of the requests; Fig. 8a: up to three caches.
    assert_eq!(usr.working_sets_kb(), (192.0, 140.0));
    let kb = |n: usize| {
        let blocks = usr.functions[n].footprint.iter().map(|r| r.len());
        blocks.sum::<usize>() as f64 / 16.0
    };
    assert!(kb(0) > 90.0 && kb(1) > 90.0 && kb(2) < 64.0);
    assert!((3..6).all(|n| (20.0..=25.0).contains(&kb(n))));
    let popular: f64 = usr.functions[3..].iter().map(|f| f.popularity).sum();
    assert!((popular - 0.7).abs() < 1e-9);
    // Fig. 8a: offloading takes 27 to 68 % off, more than 60 % for SG and CP.
    for service in [&uid, &usr, &url, &sg, &cp] {
        let (with, without) = service.working_sets_kb();
        let less = 1.0 - without / with;
        let range = if ["SG", "CP"].contains(&&*service.name) {
            0.6..=0.685
        } else {
            0.27..=0.685
        };
        assert!(range.contains(&less), "{}: {less}", service.name);
    }
}

proptest! {
    #[test]
    fn buffers_never_exceed_their_capacity(sizes in prop::collection::vec(0_u64..200, 0..100)) {
        let mut buffers = BufferManager::new(Bytes(500), 1);
        let mut held = Vec::new();
        for size in sizes {
            let sum = |held: &[(_, u64)]| held.iter().map(|(_, size)| size).sum::<u64>();
            if let Some(reserved) = buffers.reserve(Bytes(size)) {
                held.push((reserved, size));
            } else {
                prop_assert!(sum(&held) + size > 500);
                if let Some((oldest, _)) = (!held.is_empty()).then(|| held.remove(0)) {
                    buffers.release(oldest);
                }
            }
            prop_assert_eq!(buffers.used(), Bytes(sum(&held)));
            prop_assert!(buffers.peak() <= Bytes(500));
        }
    }

    #[test]
    fn more_units_never_slow_a_payload_below_its_longest_field(
        lengths in prop::collection::vec(0_u64..100, 1..20), units in 1_usize..8,
    ) {
        let fields: Vec<Value> = lengths.iter().map(|&n| Value::Text(n)).collect();
        let payload = Message::new(fields);
        let cycles = payload.pipeline_cycles(units);
        let longest = lengths.iter().map(|n| 1 + n.div_ceil(8)).max().unwrap();
        prop_assert!(cycles >= longest);
        prop_assert!(cycles * units as u64 >= payload.pipeline_cycles(1));
        prop_assert!(cycles <= payload.pipeline_cycles(1));
    }
}
