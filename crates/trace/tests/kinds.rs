//! Custom accelerators: declared, called, compiled, written and read again.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use accelflow_trace::source::{branch, fork, join, seq, tail};
use accelflow_trace::{
    Accel, CheckError, Directions, FactType, Field, Image, Instruction, Kind, KindError,
    KindsError, Library, LinkError, Node, Nodes, PositionMark, RegisterError, Visit, Walker,
    interpret, link, templates, text,
};
use proptest::prelude::*;

fn kind(name: &str, directions: Directions, yields: &[(&str, FactType)]) -> Arc<Kind> {
    let yields = yields.iter().map(|(fact, of)| ((*fact).to_owned(), *of));
    Arc::new(Kind::new(name, directions, yields.collect()).unwrap())
}

fn hash() -> Node {
    let yields = [("size", FactType::Number), ("digest", FactType::Text)];
    Node::Kind(kind("SHA256", Directions::Both, &yields))
}

fn edges() -> Node {
    Node::Kind(kind("Canny", Directions::Receives, &[]))
}

/// Receives, hashes, and looks for edges if the hash is a known one.
fn hashed() -> Nodes {
    let mut nodes = seq(&["TCP", "Decr"]).unwrap();
    nodes.push(hash());
    let known = branch("size > 9 and digest == 'cafe'", vec![edges()], vec![]).unwrap();
    nodes.extend([known, Node::Accel(Accel::Ldb)]);
    nodes
}

fn library(nodes: Nodes) -> Library {
    let mut library = Library::new();
    library.register("t", nodes).unwrap();
    library
}

#[test]
fn a_call_takes_three_nibbles_and_names_the_table() {
    let image = library(hashed()).link().unwrap();
    assert_eq!(image.words()[0].to_string(), "13bd0a0bbd190000");
    let names: Vec<&str> = image.kinds().iter().map(|kind| kind.name()).collect();
    assert_eq!(names, ["SHA256", "Canny"]);
    let own = [0, 1].map(|number| Accel::custom(number).unwrap());
    assert_eq!(
        own.map(|accel| image.accel_name(accel)),
        ["SHA256", "Canny"]
    );
    assert_eq!(image.accel_name(Accel::Dser), "Dser");
    assert_eq!(image.accelerators().count(), 11);
    let at = PositionMark::new(2).unwrap();
    let (call, after) = image.words()[0].decode(at).unwrap();
    assert_eq!((call, after.index()), (Instruction::Call(own[0]), 5));

    let mut walker = Walker::new(&image, "t").unwrap();
    let fact = |field: Field<'_>| Some(if field.name == "size" { 10 } else { 1 });
    let visits = std::iter::from_fn(|| walker.advance(&fact).unwrap());
    let called: Vec<Accel> = visits
        .filter_map(|visit| match visit {
            Visit::Call { accel, .. } => Some(accel),
            _ => None,
        })
        .collect();
    let expected = [Accel::Tcp, Accel::Decr, own[0], own[1], Accel::Ldb];
    assert_eq!(called, expected);
}

/// The bytes of an image without accelerators of its own are those of before there were any.
#[test]
fn images_of_the_nine_are_as_they_were() {
    let bytes = templates().unwrap().link().unwrap().to_bytes();
    assert_eq!(bytes[22..24], [0, 0]);
    assert_eq!(crc32fast::hash(&bytes), 0x0fb7_9422);
}

#[test]
fn files_texts_and_disassembly_keep_declarations() {
    let image = library(hashed()).link().unwrap();
    assert_eq!(Image::from_bytes(&image.to_bytes()).as_ref(), Ok(&image));
    let parts = image.disassemble().unwrap();
    assert_eq!(parts[0].nodes, hashed());
    assert_eq!(link(parts).unwrap(), image);

    let declared = text::declarations([hashed().as_slice()]).unwrap();
    assert_eq!(
        declared,
        "kind SHA256 yields size number, digest text\nkind Canny receives\n"
    );
    let printed = declared + &text::text("t", &hashed());
    assert_eq!(text::parse(&printed).unwrap(), [("t".to_owned(), hashed())]);
    let short = "kind Canny receives\ntrace t:\n  TCP canny LdB  # in any case\n";
    assert_eq!(text::parse(short).unwrap()[0].1[1], edges());
}

#[test]
fn a_damaged_table_is_refused() {
    let image = library(hashed()).link().unwrap();
    let good = image.to_bytes();
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        let body = bytes.len() - 4;
        let checksum = crc32fast::hash(&bytes[..body]);
        bytes[body..].copy_from_slice(&checksum.to_be_bytes());
        Image::from_bytes(&bytes).unwrap_err().to_string()
    };
    let canny = good.len() - 4 - 9;
    assert_eq!(good[canny..canny + 2], [0, 5]);
    assert!(
        with(23, 1).contains("bytes follow the last entry"),
        "one kind fewer"
    );
    assert!(
        with(23, 3).contains("bytes left for the entries = "),
        "one more"
    );
    assert!(with(canny + 2, b'1').contains("accelerator name = "));
    assert!(with(canny + 3, 0x1b).contains("accelerator name = 'C\\u{1b}nny'"));
    assert!(with(canny + 7, 3).contains("direction = 3: must be at most 2"));
    // The word calls number 2, of two.
    let word = good.len() - 4 - 9 - (2 + 6 + 2 + 2 + 4 + 1 + 2 + 6 + 1) - 3 - 8;
    assert_eq!(good[word..word + 2], [0x13, 0xbd]);
    assert!(with(word + 2, 0x2a).contains("custom accelerator = 2: must be the index"));
}

#[test]
fn names_and_facts_are_checked() {
    let refused = |name: &str| Kind::new(name, Directions::Both, vec![]).unwrap_err();
    for name in [
        "",
        "1st",
        "a b",
        "a-b",
        "x23456789012345678",
        "Fork",
        "kind",
        "größe",
    ] {
        assert_eq!(refused(name), KindError::Name(name.to_owned()));
    }
    assert_eq!(refused("deser"), KindError::Taken("deser".to_owned()));
    // Results have shares of these parts beside those of accelerators.
    for name in ["core", "Cores", "MANAGER"] {
        assert_eq!(refused(name), KindError::Part(name.to_owned()));
    }
    let facts = |names: &[&str]| {
        let facts = names
            .iter()
            .map(|name| ((*name).to_owned(), FactType::Text));
        Kind::new("Hash", Directions::Both, facts.collect())
    };
    assert_eq!(facts(&["a", "a"]), Err(KindError::Fact("a".to_owned())));
    assert_eq!(
        facts(&["out[0]"]),
        Err(KindError::Fact("out[0]".to_owned()))
    );
    assert_eq!(facts(&["a"; 17]), Err(KindError::TooManyFacts(17)));
}

#[test]
fn declarations_that_differ_are_refused() {
    let mut library = library(hashed());
    let other = Node::Kind(kind("SHA256", Directions::Sends, &[]));
    let error = library.register("u", vec![other.clone()]).unwrap_err();
    let RegisterError::Kinds { trace, error } = error else {
        panic!("{error}");
    };
    assert_eq!(trace, "u");
    assert_eq!(
        error.to_string(),
        "accelerator 'SHA256': must have one declaration, but has 'kind SHA256 yields size number, digest text' \
         and 'kind SHA256 sends'"
    );
    assert_eq!(library.traces().len(), 1);
    assert!(text::declarations([hashed().as_slice(), &[other]]).is_err());

    let many = (0..17).map(|i| Node::Kind(kind(&format!("K{i}"), Directions::Both, &[])));
    let parts = many.enumerate().map(|(index, node)| accelflow_trace::Part {
        name: format!("t{index}"),
        nodes: vec![node],
    });
    let error = link(parts.collect()).unwrap_err();
    assert_eq!(
        error,
        LinkError::Kinds(KindsError::TooMany("K16".to_owned()))
    );
}

#[test]
fn branches_and_directions_keep_to_the_declaration() {
    let refused = |nodes: Nodes| match Library::new().register("t", nodes) {
        Err(RegisterError::Check { error, .. }) => error,
        other => panic!("{other:?}"),
    };
    let test = |condition: &str| branch(condition, seq(&["LdB"]).unwrap(), vec![]).unwrap();
    let said = refused(vec![hash(), test("width == 1")]).to_string();
    assert!(
        said.contains("yield only the text 'digest', the number 'size'; "),
        "{said}"
    );
    let mut after_dser = seq(&["TCP", "Dser"]).unwrap();
    after_dser.extend([hash(), test("size == 'a'")]);
    let said = refused(after_dser).to_string();
    assert!(
        said.contains(
            "yield the text 'digest', the number 'size', and the fields of the message with other \
             names; "
        ),
        "{said}"
    );
    let said = refused(vec![hash(), test("digest == 1")]).to_string();
    assert!(said.contains("the number 'digest'"), "{said}");

    let mut sent = seq(&["TCP", "Ser"]).unwrap();
    sent.push(edges());
    let said = refused(sent);
    assert!(
        matches!(&said, CheckError::Direction { name, .. } if name == "Canny"),
        "{said}"
    );
    let sends = Node::Kind(kind("Watermark", Directions::Sends, &[]));
    assert!(matches!(
        refused(vec![Node::Accel(Accel::Tcp), sends.clone()]),
        CheckError::Direction { .. }
    ));
    library(vec![Node::Accel(Accel::Ser), sends]);
    assert!(matches!(
        refused(vec![Node::Accel(Accel::Ldb), hash()]),
        CheckError::AfterLdb(_)
    ));
}

#[test]
fn errors_of_declarations_name_the_line() {
    let said = |written: &str| text::parse(written).unwrap_err().to_string();
    for declared in [
        "yields",
        "Hash both sends",
        "Hash up",
        "Hash yields",
        "Hash yields size",
    ] {
        let error = said(&format!("\nkind {declared}\n"));
        assert!(
            error.starts_with("line 2: ") && error.contains("must be "),
            "{error}"
        );
    }
    assert!(said("kind TCP\n").contains("line 1: accelerator name = 'TCP': must differ"));
    assert!(text::parse("kind Ab sends\nkind Ab sends\n").is_ok());
    for (written, other) in [
        ("kind Ab yields dup number\n\nkind Ab\n", "kind Ab"),
        (
            "kind Ab yields dup number\n\nkind aB yields dup number\n",
            "kind aB yields dup number",
        ),
    ] {
        let twice = said(written);
        let differs = "must have one declaration, but has 'kind Ab yields dup number' and";
        assert!(twice.starts_with("line 3: accelerator '"), "{twice}");
        assert!(twice.contains(&format!("{differs} '{other}'")), "{twice}");
    }
    let unknown = said("kind Hash\ntrace t:\n  TCP Hsah\n");
    assert_eq!(
        unknown,
        "line 3: accelerator = 'Hsah': must be TCP, Encr, Decr, RPC, Ser, Dser (or Deser), Cmp, \
         Dcmp or LdB, or be declared before as 'kind Hsah'; declared: Hash"
    );
    let first = said("trace t:\n  TCP Hash\n");
    assert!(
        first.ends_with("Dcmp or LdB, or be declared before as 'kind Hash'"),
        "{first}"
    );
}

fn steps(depth: u32) -> BoxedStrategy<Nodes> {
    let call = prop::sample::select(vec![
        hash(),
        Node::Kind(kind("CRC32", Directions::Both, &[])),
        Node::Kind(kind("Canny2", Directions::Both, &[])),
        Node::Accel(Accel::Cmp),
    ]);
    let plain = prop::collection::vec(call, 1..7).boxed();
    if depth == 0 {
        return plain;
    }
    let inner = steps(depth - 1);
    let rejoined = (inner.clone(), inner.clone())
        .prop_map(|(on_true, on_false)| vec![branch("out[3][1] == 1", on_true, on_false).unwrap()]);
    let joined = (inner.clone(), inner, plain.clone())
        .prop_map(|(one, other, after)| [vec![join(vec![one, other])], after].concat());
    let middle = prop_oneof![2 => plain.clone(), 1 => rejoined, 1 => joined];
    (plain, prop::collection::vec(middle, 0..4))
        .prop_map(|(first, rest)| [first, rest.concat()].concat())
        .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Source, words and disassembly mean the same, and files and texts keep them.
    #[test]
    fn calls_beside_the_nine_are_calls(first in steps(2), second in steps(1), fact in 0_i64..2) {
        let mut library = Library::new();
        let forked = fork(vec![vec![hash()], vec![tail("b")]]);
        library.register("a", [first, vec![forked]].concat()).unwrap();
        library.register("b", second).unwrap();
        let image = library.link().unwrap();
        let reference = interpret(&library, "a", &|_, _| Some(fact)).unwrap();
        let walk = |image: &Image| {
            let mut walker = Walker::new(image, "a").unwrap();
            let visits = std::iter::from_fn(|| walker.advance(&|_: Field<'_>| Some(fact)).unwrap());
            visits.collect::<Vec<_>>()
        };
        prop_assert_eq!(&walk(&image), &reference);
        let again = link(image.disassemble().unwrap()).unwrap();
        prop_assert_eq!(&again, &image);
        prop_assert_eq!(&Image::from_bytes(&image.to_bytes()).unwrap(), &image);
        let sources = library.traces().iter().map(|trace| trace.source.as_slice());
        let mut printed = text::declarations(sources).unwrap();
        for trace in library.traces() {
            printed += &text::text(&trace.name, &trace.source);
        }
        let mut read = Library::new();
        for (name, nodes) in text::parse(&printed).unwrap() {
            read.register(&name, nodes).unwrap();
        }
        prop_assert_eq!(read.link().unwrap(), image);
    }
}

#[test]
fn parts_of_one_name_are_refused() {
    let part = |name: &str, nodes: &[Accel]| accelflow_trace::Part {
        name: name.to_owned(),
        nodes: nodes.iter().copied().map(Node::Accel).collect(),
    };
    let tail = accelflow_trace::Part {
        name: "a".to_owned(),
        nodes: vec![Node::Accel(Accel::Tcp), Node::Tail("b".to_owned())],
    };
    let one = [tail, part("b", &[Accel::Decr])];
    assert!(link(one.to_vec()).is_ok());
    // Whether they differ or not: the tail must lead to one of them.
    for twice in [part("b", &[Accel::Decr]), part("b", &[Accel::Encr])] {
        let error = link([&one[..], &[twice]].concat()).unwrap_err();
        assert_eq!(error, LinkError::SameName("b".to_owned()));
        let text = "name of a part = 'b': must be that of one part only";
        assert_eq!(error.to_string(), text);
    }
}
