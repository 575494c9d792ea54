//! The trace language as its users meet it: what is accepted, what is refused and how it is said.

#![allow(clippy::unwrap_used)]

use accelflow_trace::source::{accel, branch, fork, join, seq, tail, trans};
use accelflow_trace::{
    Accel, CheckError, Field, Image, Library, LinkError, Node, Nodes, RegisterError, Visit, Walker,
    Warning, Word, is_part_name, source, templates,
};

fn visits(name: &str, facts: &[(&str, i64)]) -> Vec<String> {
    let library = templates().unwrap();
    let image = library.link().unwrap();
    let mut walker = Walker::new(&image, name).unwrap();
    let lookup = |field: Field<'_>| facts.iter().find(|f| f.0 == field.name).map(|f| f.1);
    let mut seen = Vec::new();
    while let Some(visit) = walker.advance(&lookup).unwrap() {
        if let Visit::Call { accel, .. } = visit {
            seen.push(accel.to_string());
        }
    }
    seen
}

fn refused(nodes: Nodes) -> CheckError {
    match Library::new().register("t", nodes) {
        Err(RegisterError::Check { error, .. }) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn templates_visit_the_papers_accelerators() {
    let receive = ["TCP", "Decr", "RPC", "Dser"];
    assert_eq!(visits("T1", &[("compressed", 0)])[..4], receive);
    assert_eq!(visits("T1", &[("compressed", 0)])[4..], ["LdB"]);
    assert_eq!(visits("T1", &[("compressed", 1)])[4..], ["Dcmp", "LdB"]);
    assert_eq!(visits("T2", &[]), ["Ser", "RPC", "Encr", "TCP"]);
    assert_eq!(visits("T3", &[]), ["Cmp", "Ser", "RPC", "Encr", "TCP"]);
    let hit = [("hit", 1), ("compressed", 1)];
    assert_eq!(visits("T5", &hit), ["TCP", "Decr", "Dser", "Dcmp", "LdB"]);
    assert_eq!(visits("T4", &hit)[..3], ["Ser", "Encr", "TCP"]);
}

#[test]
fn t6_notifies_a_core_and_writes_the_cache_in_parallel() {
    let facts = [
        ("found", 1),
        ("compressed", 1),
        ("c_compressed", 1),
        ("exception", 0),
    ];
    let expected = [
        "TCP", "Decr", "Dser", "Dcmp", "LdB", // the core's copy
        "Cmp", "Ser", "Encr", "TCP", // the write to the DB cache
        "TCP", "Decr", "Dser", "LdB", // T7
    ];
    assert_eq!(visits("T6", &facts), expected);
}

#[test]
fn errors_run_the_four_accelerators_that_tell_the_caller() {
    let error_reply = ["Ser", "RPC", "Encr", "TCP"];
    assert_eq!(visits("T6", &[("found", 0)])[3..], error_reply);
    assert_eq!(visits("T7", &[("exception", 1)])[3..], error_reply);
    assert_eq!(
        visits("T10", &[("exception", 1), ("compressed", 0)])[4..],
        error_reply
    );
}

#[test]
fn t1_fits_one_word_and_t6_is_split_through_the_trace_memory() {
    let library = templates().unwrap();
    assert_eq!(library.get("T1").unwrap().parts.len(), 1);
    assert!(library.get("T6").unwrap().parts.len() > 1);
    for trace in library.traces() {
        assert_eq!(trace.parts[0].name, trace.name);
    }
}

#[test]
fn only_t6_leaves_table_1() {
    for trace in templates().unwrap().traces() {
        let expected: &[Warning] = match trace.name.as_str() {
            "T6" => &[Warning::Pair(Accel::Dcmp, Accel::Cmp)],
            _ => &[],
        };
        assert_eq!(trace.warnings, expected, "{}", trace.name);
    }
}

#[test]
fn a_pair_outside_table_1_is_a_warning() {
    let mut library = Library::new();
    let warnings = library
        .register("odd", seq(&["Encr", "Dser"]).unwrap())
        .unwrap();
    let expected = [
        Warning::Pair(Accel::Encr, Accel::Dser),
        Warning::Start(Accel::Encr),
    ];
    assert_eq!(warnings, expected);
}

#[test]
fn the_impossible_is_an_error() {
    let accels = |names: &[&str]| seq(names).unwrap();
    let with = |before: &[&str], node: Node| {
        let mut nodes = accels(before);
        nodes.push(node);
        nodes
    };
    let hit = |t: &[&str], f: &[&str]| branch("hit", accels(t), accels(f)).unwrap();
    assert_eq!(refused(vec![]), CheckError::Empty);
    assert!(matches!(
        refused(vec![hit(&["Cmp"], &[])]),
        CheckError::Start(_)
    ));
    assert!(matches!(
        refused(vec![trans("json", "bson").unwrap()]),
        CheckError::Start(_)
    ));
    assert!(matches!(
        refused(accels(&["Ser", "LdB", "TCP"])),
        CheckError::AfterLdb(_)
    ));
    assert!(matches!(
        refused(with(&["Ser", "LdB"], tail("x"))),
        CheckError::AfterLdb(_)
    ));
    assert!(matches!(
        refused(accels(&["Ser", "TCP", "Decr"])),
        CheckError::AfterSend(_)
    ));
    assert!(matches!(
        refused(with(&["Ser", "TCP"], hit(&["Decr"], &[]))),
        CheckError::AfterSend(_)
    ));
    let mut unreachable = with(&["Ser"], Node::Notify);
    unreachable.extend(accels(&["TCP"]));
    assert!(matches!(refused(unreachable), CheckError::Unreachable(_)));
    let mut after_fork = with(
        &["Ser"],
        Node::Fork(vec![accels(&["Cmp"]), accels(&["Encr"])]),
    );
    after_fork.extend(accels(&["TCP"]));
    assert!(matches!(refused(after_fork), CheckError::AfterFork(_)));
    assert!(matches!(
        refused(with(&["Dser"], hit(&[], &[]))),
        CheckError::EmptyBranch(_)
    ));
    let fork_of_one = fork(vec![accels(&["LdB"])]);
    assert_eq!(refused(with(&["Dser"], fork_of_one)), CheckError::EmptyFork);
    let dangling = with(&["Dser"], trans("str", "json").unwrap());
    assert!(matches!(
        refused(dangling),
        CheckError::DanglingTransform(_)
    ));
    let mut mismatch = with(&["Dser"], trans("str", "json").unwrap());
    mismatch.push(trans("bson", "str").unwrap());
    mismatch.extend(accels(&["Dcmp"]));
    assert!(matches!(
        refused(mismatch),
        CheckError::TransformMismatch(..)
    ));
    assert!(Library::new().register("9lives", accels(&["Ser"])).is_err());
}

/// Ser, a join of such arms, and what follows it.
fn joined(arms: &[&[&str]], after: &[&str]) -> Nodes {
    let mut nodes = seq(&["Ser"]).unwrap();
    nodes.push(join(arms.iter().map(|arm| seq(arm).unwrap()).collect()));
    nodes.extend(seq(after).unwrap());
    nodes
}

#[test]
fn a_join_is_a_scatter_arms_with_jumps_and_the_place_where_they_meet() {
    let mut library = Library::new();
    let two = joined(&[&["Cmp"], &["Encr", "Cmp"]], &["Encr", "TCP"]);
    let three = joined(&[&["Cmp"], &["Encr"], &["Dcmp"]], &["Encr"]);
    library.register("two", two).unwrap();
    library.register("three", three).unwrap();
    let image = library.link().unwrap();
    let words: Vec<String> = image.words().iter().map(Word::to_string).collect();
    // Ser; scatter to 7; Cmp, go to 9; 7: Encr Cmp; 9: join Encr TCP.
    // Ser; scatter to 7; Cmp, go to 13; 7: fork to 12; Encr, go to 13; 12: Dcmp; 13: join Encr.
    assert_eq!(words, ["5bc77e927bf21000", "5bc77edcc2ed8bf2"]);

    let mut walker = Walker::new(&image, "three").unwrap();
    let mut text = Vec::new();
    while let Some(visit) = walker.advance(&|_: Field<'_>| None).unwrap() {
        text.push(match visit {
            Visit::Call { accel, .. } => accel.to_string(),
            other => format!("{other:?}").to_lowercase(),
        });
    }
    assert_eq!(
        text[1..].join(" "),
        "Ser scatter Cmp wait fork Encr wait Dcmp join Encr notify"
    );
}

#[test]
fn a_join_that_does_not_fit_a_word_meets_in_a_part_of_its_own() {
    let long = ["Cmp", "Dcmp", "Cmp", "Dcmp", "Cmp", "Dcmp", "Cmp"];
    let nodes = joined(&[&long, &long, &["Encr"]], &["Encr", "TCP"]);
    let mut library = Library::new();
    library.register("long", nodes).unwrap();
    let image = library.link().unwrap();
    let meets = image.words().iter().filter(|word| word.0 >> 56 == 0xBF);
    assert_eq!(meets.count(), 1, "{:?}", image.words());
    assert_eq!(Image::from_bytes(&image.to_bytes()), Ok(image));
}

#[test]
fn errors_of_trace_files_point_at_the_wrong_bytes() {
    let mut library = Library::new();
    library
        .register("one", seq(&["Ser", "TCP"]).unwrap())
        .unwrap();
    let mut bytes = library.link().unwrap().to_bytes();
    bytes[11] = 8;
    let error = Image::from_bytes(&bytes).unwrap_err().to_string();
    let expected = "malformed trace file at byte 10: reserved field = 8: must be 0";
    assert_eq!(error, expected);
}

#[test]
fn joins_that_cannot_be_are_errors() {
    let arms = |arms: &[&[&str]]| refused(joined(arms, &["Encr"]));
    assert_eq!(arms(&[&["Cmp"]]), CheckError::EmptyJoin);
    assert_eq!(arms(&[&["Cmp"], &[]]), CheckError::EmptyJoin);
    assert!(matches!(
        arms(&[&["Cmp"], &["LdB"]]),
        CheckError::AfterLdb(_)
    ));
    assert!(matches!(
        arms(&[&["TCP"], &["Cmp"]]),
        CheckError::AfterSend(_)
    ));

    let ending = |end: Node| {
        let mut arm = seq(&["Cmp"]).unwrap();
        arm.push(end);
        let mut nodes = seq(&["Ser"]).unwrap();
        nodes.push(join(vec![seq(&["Encr"]).unwrap(), arm]));
        nodes.extend(seq(&["Encr"]).unwrap());
        refused(nodes)
    };
    let fork = fork(vec![seq(&["LdB"]).unwrap(), seq(&["Cmp"]).unwrap()]);
    let sometimes = branch("hit", vec![tail("x")], vec![]).unwrap();
    for end in [tail("x"), Node::Notify, fork, sometimes] {
        assert_eq!(ending(end), CheckError::ArmEnds(2));
    }
    let all_end = vec![join(vec![vec![Node::Notify], vec![tail("x")]])];
    let mut nodes = seq(&["Ser"]).unwrap();
    nodes.extend(all_end);
    assert_eq!(refused(nodes), CheckError::ArmEnds(1));

    let after = |node: Option<Node>| {
        let mut nodes = joined(&[&["Cmp"], &["Encr"]], &[]);
        nodes.extend(node);
        matches!(refused(nodes), CheckError::AfterJoin(_))
    };
    let change = trans("str", "json").unwrap();
    let again = join(vec![seq(&["Cmp"]).unwrap(), seq(&["Encr"]).unwrap()]);
    let branches = branch("hit", seq(&["Cmp"]).unwrap(), vec![]).unwrap();
    for node in [change, again, branches, tail("x"), Node::Notify] {
        assert!(after(Some(node.clone())), "{node:?}");
    }
    assert!(after(None), "the end");
    let error = refused(joined(&[&["Cmp"], &["Encr"]], &[])).to_string();
    assert_eq!(
        error,
        "step after a join = the end: must be an accelerator, since the arms of the join meet in its input queue"
    );
    let meet = vec![accel("Ser").unwrap(), Node::Meet, accel("Encr").unwrap()];
    assert_eq!(refused(meet), CheckError::Meet);
}

#[test]
fn names_of_further_words_have_a_number_without_sign_and_leading_zeros() {
    for name in ["T5.1", "T5.10", "T9+Cmp.65535"] {
        assert!(is_part_name(name), "{name}");
    }
    for name in [
        "T5", "T5.", "T5.0", "T5.+1", "T5.01", "T5.65536", "T5.1.1", ".1", "5.1",
    ] {
        assert!(!is_part_name(name), "{name}");
    }
}

#[test]
fn the_executions_of_arms_end_at_the_join() {
    let arm = ["Cmp"].as_slice();
    let mut nodes = joined(&[arm; 40], &["Encr"]);
    nodes.push(join(vec![seq(arm).unwrap(); 40]));
    nodes.extend(seq(&["Encr"]).unwrap());
    let mut library = Library::new();
    library.register("t", nodes).unwrap();
    assert!(library.link().is_ok(), "40 at a time");
    let mut library = Library::new();
    library
        .register("t", joined(&[arm; 65], &["Encr"]))
        .unwrap();
    let error = library.link().unwrap_err();
    assert!(matches!(
        error,
        LinkError::TooManyExecutions { executions: 65, .. }
    ));
}

#[test]
fn a_tail_names_what_can_be_registered() {
    // A part of another trace has an address too, but only its own trace may enter it.
    for name in ["", "a b", "T6.1", "9lives", &"x".repeat(49)] {
        let mut nodes = seq(&["Ser", "Encr", "TCP"]).unwrap();
        nodes.push(tail(name));
        assert_eq!(refused(nodes), CheckError::TailName(name.to_owned()));
    }
}

#[test]
fn links_are_checked_when_all_traces_are_known() {
    let mut library = Library::new();
    let to = |name: &str| {
        let mut nodes = seq(&["Ser", "TCP"]).unwrap();
        nodes.push(tail(name));
        nodes
    };
    library.register("a", to("b")).unwrap();
    let missing = library.link().unwrap_err();
    assert_eq!(
        missing.to_string(),
        "trace 'a': tail = 'b': must be a registered trace, such as a"
    );
    // The tail of a longer trace is in a further word, which has no name that users know.
    let mut long = Library::new();
    let mut nodes = seq(&["Ser", "Dser"].repeat(20)).unwrap();
    nodes.extend(to("b"));
    long.register("long", nodes).unwrap();
    assert!(
        long.link()
            .unwrap_err()
            .to_string()
            .starts_with("trace 'long': tail = 'b'")
    );
    library.register("b", to("a")).unwrap();
    assert_eq!(
        library.link(),
        Err(LinkError::NeverEnds("a -> b -> a".to_owned()))
    );
    assert_eq!(
        library.register("b", to("c")),
        Err(RegisterError::Duplicate("b".to_owned()))
    );
    assert!(
        library.register("b", to("a")).is_ok(),
        "the same source again is harmless"
    );
}

#[test]
fn unknown_names_say_what_is_known() {
    let error = accel("Gzip").unwrap_err().to_string();
    assert!(
        error.contains("'Gzip'") && error.contains("Dser (or Deser)"),
        "{error}"
    );
    assert!(
        trans("xml", "str")
            .unwrap_err()
            .to_string()
            .contains("JSON or BSON")
    );
    assert!(trans("str", "string").is_err());
}

#[test]
fn a_full_predicate_table_is_reported_with_the_trace() {
    let mut library = Library::new();
    for i in 0..17 {
        let mut nodes = seq(&["TCP", "Dser"]).unwrap();
        nodes.push(branch(&format!("x == {i}"), seq(&["Dcmp"]).unwrap(), vec![]).unwrap());
        library.register(&format!("t{i}"), nodes).unwrap();
    }
    let error = library.link().unwrap_err().to_string();
    assert!(
        error.contains("'t16'")
            && error.contains(
                "different conditions of all traces in the trace memory: must be at most 16"
            ),
        "{error}"
    );
}

#[test]
fn a_missing_fact_is_a_fault_and_the_walk_stays() {
    let image = templates().unwrap().link().unwrap();
    let mut walker = Walker::new(&image, "T7").unwrap();
    let none = |_: Field<'_>| None;
    for _ in 0..4 {
        walker.advance(&none).unwrap();
    }
    assert!(
        walker
            .advance(&none)
            .unwrap_err()
            .to_string()
            .contains("'exception'")
    );
    let some = |_: Field<'_>| Some(0);
    let next = walker.advance(&some).unwrap();
    assert_eq!(
        next,
        Some(Visit::Call {
            accel: Accel::Ldb,
            receives: false
        })
    );
}

#[test]
fn listings_read_like_the_source() {
    let library = templates().unwrap();
    let text = source::listing(&library.get("T6").unwrap().source);
    assert!(
        text.contains(
            "branch out['found'] == 0   (expected: false)\n  on true:\n    tail T6_error"
        )
    );
    assert!(text.contains("fork\n  arm 1:\n    LdB\n  arm 2:\n"));
    let text = source::listing(&joined(&[&["Cmp"], &["Encr"]], &["TCP"]));
    assert_eq!(
        text,
        "Ser\njoin\n  arm 1:\n    Cmp\n  arm 2:\n    Encr\nTCP\n"
    );
}

#[test]
fn forks_that_multiply_along_tails_are_refused() {
    let mut library = Library::new();
    let chain = |next: Option<String>| {
        let arm = || {
            let mut nodes = seq(&["Ser", "TCP"]).unwrap();
            nodes.extend(next.as_deref().map(tail));
            nodes
        };
        let mut nodes = seq(&["TCP", "Dser"]).unwrap();
        nodes.push(fork(vec![arm(), arm()]));
        nodes
    };
    for i in 0..6 {
        let next = (i > 0).then(|| format!("t{}", i - 1));
        library.register(&format!("t{i}"), chain(next)).unwrap();
    }
    assert!(library.link().is_ok(), "64 executions are the most");
    library
        .register("t6", chain(Some("t5".to_owned())))
        .unwrap();
    let error = library.link().unwrap_err().to_string();
    assert_eq!(
        error,
        "trace 't6': parallel executions = 128: must be at most 64"
    );
}

#[test]
fn a_trace_is_linked_with_what_it_reaches_and_nothing_else() {
    let mut library = templates().unwrap();
    let mut broken = seq(&["Ser", "TCP"]).unwrap();
    broken.push(tail("nowhere"));
    library.register("broken", broken).unwrap();
    assert!(library.link().is_err());
    let image = library.link_from("T4").unwrap();
    let entries: Vec<&str> = image
        .names()
        .iter()
        .map(String::as_str)
        .filter(|n| !n.contains('.'))
        .collect();
    assert_eq!(entries, ["T4", "T5", "T6", "T6_error", "T7", "T7_error"]);
    assert!(library.link_from("broken").is_err());
}

/// Ends of paths have two spellings, a notification and the end of the word or of an arm.
#[test]
fn disassembly_is_exact_wherever_paths_end() {
    let either = |on_true, on_false| branch("compressed", on_true, on_false).unwrap();
    let dser = || accel("Dser").unwrap();
    let to_core = || vec![accel("LdB").unwrap()];
    let encrypted = || either(vec![], vec![accel("Encr").unwrap()]);
    let notifying = || vec![encrypted(), Node::Notify];
    let shared = || vec![either(to_core(), vec![Node::Notify])];
    for nodes in [
        vec![dser(), fork(vec![to_core(), notifying()])],
        vec![dser(), fork(vec![shared(), to_core()])],
        vec![dser(), either(to_core(), notifying())],
        vec![dser(), either(shared(), vec![encrypted()])],
    ] {
        let mut library = Library::new();
        library.register("t", nodes.clone()).unwrap();
        let image = library.link().unwrap();
        let again = accelflow_trace::link(image.disassemble().unwrap()).unwrap();
        assert_eq!(again, image, "{nodes:#?}");
    }
}

#[test]
fn a_trace_belongs_to_the_service_that_registers_it() {
    let nodes = |names: &[&str]| seq(names).expect("names");
    let mut library = Library::new();
    library
        .register("shared", nodes(&["Ser", "TCP"]))
        .expect("free");
    let own = nodes(&["Ser", "RPC", "TCP"]);
    library
        .register_for(Some("shop"), "own", own.clone())
        .expect("free");
    // The same again is harmless, but another service could not run it.
    library
        .register_for(Some("shop"), "own", own.clone())
        .expect("equal");
    let shared = nodes(&["Ser", "TCP"]);
    library
        .register_for(Some("billing"), "shared", shared)
        .expect("for all services");
    for nodes in [own, nodes(&["Cmp", "Ser", "TCP"])] {
        let refused = library
            .register_for(Some("billing"), "own", nodes)
            .expect_err("another's");
        assert_eq!(
            refused.to_string(),
            "trace 'own' belongs to the service 'shop': no other service can replace or remove it"
        );
    }
    let refused = library
        .remove_for(Some("shop"), "shared")
        .expect_err("everybody's");
    assert!(refused.to_string().contains("has no owner"), "{refused}");
    assert!(library.remove_for(Some("billing"), "own").is_err());
    let names = |service| library.link_for(service).expect("links").names().to_vec();
    assert_eq!(names(Some("shop")), ["shared", "own"]);
    assert_eq!(names(Some("billing")), ["shared"]);
    assert_eq!(names(None), ["shared", "own"]);
    assert!(
        library
            .link_for_from(Some("billing"), "own")
            .expect("links")
            .names()
            .is_empty()
    );
    assert_eq!(library.remove_for(Some("shop"), "own"), Ok(true));
    assert_eq!(library.remove_for(Some("shop"), "own"), Ok(false));
}
