//! For random programs and random payloads, source, words and disassembly mean the same, and
//! every program that the compiler accepts ends.

#![allow(clippy::unwrap_used)]

use accelflow_trace::{
    Accel, Binary, Condition, Expr, Field, Format, Image, Library, LinkError, Node, Nodes,
    Transform, Visit, Walker, interpret, link,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// Fields, bytes and comparisons of texts.
const OPERANDS: [&str; 10] = [
    "compressed",
    "hit",
    "found",
    "exception",
    "out[0]",
    "out[2:6]",
    "out[1][7]",
    "hit[0]",
    "method == 'Login'",
    "out[0:4] == \"it's\"",
];

fn expr() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        prop::sample::select(&OPERANDS[..]).prop_map(|f| Expr::Field(f.to_owned())),
        (-3_i64..4).prop_map(Expr::Const),
    ];
    leaf.prop_recursive(3, 8, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|e| Expr::Not(Box::new(e))),
            (prop::sample::select(&Binary::ALL[..]), inner.clone(), inner)
                .prop_map(|(op, l, r)| Expr::Binary(op, Box::new(l), Box::new(r))),
        ]
    })
}

/// Only well-typed trees survive.
fn condition() -> impl Strategy<Value = Condition> {
    expr().prop_filter_map("ill-typed", |e| Condition::from_expr(e).ok())
}

/// Accelerators after which anything may follow.
fn inner_accel() -> impl Strategy<Value = Node> {
    let inner: Vec<Accel> = Accel::ALL
        .into_iter()
        .filter(|a| !matches!(*a, Accel::Tcp | Accel::Ldb))
        .collect();
    prop::sample::select(inner).prop_map(Node::Accel)
}

fn transformed() -> impl Strategy<Value = Nodes> {
    let pairs = prop_oneof![
        Just((Format::Json, Format::Str)),
        Just((Format::Str, Format::Bson)),
        Just((Format::Bson, Format::Json)),
    ];
    (pairs, inner_accel())
        .prop_map(|((src, dst), next)| vec![Node::Transform(Transform { src, dst }), next])
}

/// Ends of a path; `next` is the only trace a tail may name, so that no cycle arises.
fn ending(next: Option<String>) -> BoxedStrategy<Nodes> {
    let send = vec![Node::Accel(Accel::Tcp)];
    let mut tailed = send.clone();
    tailed.extend(next.map(Node::Tail));
    prop_oneof![
        Just(vec![]),
        Just(vec![Node::Notify]),
        Just(vec![Node::Accel(Accel::Ldb)]),
        Just(send),
        Just(tailed),
    ]
    .boxed()
}

/// A join of arms that may have joins and branches of their own, and what follows it.
fn joined(depth: u32) -> BoxedStrategy<Nodes> {
    let plain = vec(inner_accel(), 1..4).boxed();
    let branched = (
        condition(),
        vec(inner_accel(), 1..4),
        vec(inner_accel(), 0..3),
    )
        .prop_map(|(condition, on_true, on_false)| {
            vec![Node::Branch {
                condition,
                on_true,
                on_false,
                likely: None,
            }]
        });
    let arm = if depth == 0 {
        prop_oneof![2 => plain, 1 => branched].boxed()
    } else {
        prop_oneof![3 => plain, 2 => branched, 1 => joined(depth - 1)].boxed()
    };
    (vec(arm, 2..5), inner_accel())
        .prop_map(|(arms, next)| vec![Node::Join(arms), next])
        .boxed()
}

/// A branch whose arms meet again.
fn rejoin() -> impl Strategy<Value = Nodes> {
    let through = vec(inner_accel(), 1..5).boxed();
    (
        condition(),
        through.clone(),
        prop::option::of(through),
        any::<bool>(),
    )
        .prop_map(|(condition, on_true, on_false, swap)| {
            let (t, f) = (on_true, on_false.unwrap_or_default());
            let (on_true, on_false) = if swap { (f, t) } else { (t, f) };
            vec![Node::Branch {
                condition,
                on_true,
                on_false,
                likely: None,
            }]
        })
}

fn body(depth: u32, next: Option<String>) -> BoxedStrategy<Nodes> {
    let plain = vec(inner_accel(), 0..6).boxed();
    if depth == 0 {
        return (plain, ending(next))
            .prop_map(|(mut n, e)| {
                n.extend(e);
                n
            })
            .boxed();
    }
    let arm = body(depth - 1, next.clone());
    let early = (condition(), arm.clone(), any::<Option<bool>>()).prop_map(
        |(condition, mut on_true, likely)| {
            if on_true.is_empty() {
                on_true.push(Node::Notify);
            }
            vec![Node::Branch {
                condition,
                on_true,
                on_false: vec![],
                likely,
            }]
        },
    );
    let both = (condition(), arm.clone(), arm.clone(), any::<Option<bool>>()).prop_map(
        |(condition, on_true, on_false, likely)| {
            vec![Node::Branch {
                condition,
                on_true,
                on_false,
                likely,
            }]
        },
    );
    let fork = vec(arm.clone(), 2..4).prop_map(|mut arms| {
        for arm in &mut arms {
            if arm.is_empty() {
                arm.push(Node::Accel(Accel::Ldb));
            }
        }
        vec![Node::Fork(arms)]
    });
    let middle = prop_oneof![
        3 => plain.clone(),
        2 => rejoin(),
        2 => early,
        1 => transformed(),
        2 => joined(1),
    ];
    let last = prop_oneof![3 => arm, 1 => both, 1 => fork];
    (plain, vec(middle, 0..4), last)
        .prop_map(|(mut nodes, middle, last)| {
            nodes.extend(middle.into_iter().flatten());
            nodes.extend(last);
            nodes
        })
        .boxed()
}

/// Three traces, each with tails only to the one after it; impossible ones are discarded.
fn library() -> impl Strategy<Value = Library> {
    let trace = |next: Option<&str>| {
        let next = next.map(str::to_owned);
        (
            prop::sample::select(vec![Accel::Tcp, Accel::Ser, Accel::Dser]),
            body(2, next),
        )
            .prop_map(|(first, body)| {
                // After Dser a branch may test any field.
                let mut nodes = vec![Node::Accel(first), Node::Accel(Accel::Dser)];
                nodes.extend(body);
                nodes
            })
    };
    (trace(Some("b")), trace(Some("c")), trace(None)).prop_filter_map(
        "an impossible combination",
        |(a, b, c)| {
            let mut library = Library::new();
            for (name, nodes) in [("a", a), ("b", b), ("c", c)] {
                library.register(name, nodes).ok()?;
            }
            match library.link() {
                Err(LinkError::PartTooLong(_)) => panic!("{library:#?}"),
                linked => linked.ok().map(|_| library),
            }
        },
    )
}

/// Fields differ from trace to trace, as payloads do.
fn fact(seed: u64, trace: &str, field: &str) -> i64 {
    let text = trace.bytes().chain(field.bytes());
    let hash = text.fold(seed | 1, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01B3)
    });
    (hash >> 40) as i64 % 4 - 1
}

fn walk(image: &Image, seed: u64) -> Vec<Visit> {
    let mut walker = Walker::new(image, "a").expect("registered");
    let mut visits = Vec::new();
    loop {
        let trace = walker.trace().unwrap_or_default();
        let facts = |field: Field<'_>| Some(fact(seed, trace, field.name));
        match walker
            .advance(&facts)
            .expect("no faults with all facts there")
        {
            Some(visit) => visits.push(visit),
            None => return visits,
        }
        assert!(visits.len() < 100_000, "the program does not end");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_local_rejects: 10_000_000, max_global_rejects: 10_000_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn source_words_and_disassembly_visit_the_same(library in library(), seed in any::<u64>()) {
        let image = library.link().unwrap();
        let facts = |trace: &str, field: &str| Some(fact(seed, trace, field));
        let reference = interpret(&library, "a", &facts).unwrap();
        prop_assert_eq!(&walk(&image, seed), &reference);

        let again = link(image.disassemble().unwrap()).unwrap();
        prop_assert_eq!(&walk(&again, seed), &reference);
        prop_assert_eq!(&again, &image, "disassembly is exact");
    }

    /// For each scatter, as many executions wait as it has started and one more goes on, so a join
    /// fires once, after all of its arms.
    #[test]
    fn every_execution_of_a_scatter_comes_to_its_join(library in library(), seed in any::<u64>()) {
        let image = library.link().unwrap();
        let visits = walk(&image, seed);
        let count = |wanted: &Visit| visits.iter().filter(|visit| *visit == wanted).count();
        let [forks, scatters] = [&Visit::Fork, &Visit::Scatter].map(count);
        let [waits, joins, ends] = [&Visit::Wait, &Visit::Join, &Visit::Notify].map(count);
        prop_assert_eq!(joins, scatters);
        prop_assert_eq!(waits + ends, 1 + forks + scatters, "every execution ends once");
        let mut open = 0_i64;
        for visit in &visits {
            open += match visit {
                Visit::Scatter => 1,
                Visit::Join => -1,
                _ => 0,
            };
            prop_assert!(open >= 0);
        }
    }

    #[test]
    fn files_round_trip_and_any_changed_byte_is_refused(
        library in library(),
        at in any::<prop::sample::Index>(),
        flip in 1_u8..,
    ) {
        let image = library.link().unwrap();
        let bytes = image.to_bytes();
        prop_assert_eq!(&Image::from_bytes(&bytes).unwrap(), &image);
        let mut changed = bytes.clone();
        let at = at.index(changed.len());
        changed[at] ^= flip;
        prop_assert!(Image::from_bytes(&changed).is_err());
        prop_assert!(Image::from_bytes(&bytes[..at]).is_err());
    }

    /// Even with a right checksum, whatever loads obeys the rules: it ends for any payload.
    #[test]
    fn forged_files_are_refused_or_end(
        library in library(),
        at in any::<prop::sample::Index>(),
        flip in 1_u8..,
        seed in any::<u64>(),
    ) {
        let mut bytes = library.link().unwrap().to_bytes();
        let body = bytes.len() - 4;
        bytes[16 + at.index(body - 16)] ^= flip;
        let checksum = crc32fast::hash(&bytes[..body]);
        bytes[body..].copy_from_slice(&checksum.to_be_bytes());
        if let Ok(image) = Image::from_bytes(&bytes) {
            let again = link(image.disassemble().unwrap()).unwrap();
            if image.entry("a").is_some() {
                prop_assert_eq!(walk(&image, seed), walk(&again, seed));
            }
        }
    }

    #[test]
    fn conditions_print_and_compile_to_what_they_say(
        condition in condition(),
        values in prop::array::uniform10(prop_oneof![-2_i64..3, any::<i64>()]),
    ) {
        let facts = |field: Field<'_>| {
            OPERANDS.iter().position(|f| *f == field.name).map(|i| values[i])
        };
        prop_assert_eq!(&Condition::parse(&condition.to_string()).unwrap(), &condition);
        let mut table = accelflow_trace::PredicateTable::default();
        let nibble = table.intern(&condition).unwrap();
        let compiled = table.get(nibble).unwrap().holds(table.fields(), &facts);
        prop_assert_eq!(compiled.unwrap(), condition.holds(&facts).unwrap());
        prop_assert_eq!(table.condition(nibble).unwrap(), condition);
    }

    #[test]
    fn any_text_is_a_condition_or_an_error_inside_it(text in "\\PC{0,60}") {
        if let Err(error) = Condition::parse(&text) {
            prop_assert!(error.at <= text.chars().count());
        }
    }
}
