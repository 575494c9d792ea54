//! Conditions as their users write them: what they mean, what is refused and how it is said.

#![allow(clippy::unwrap_used)]

use accelflow_trace::source::{branch, fork, join, seq};
use accelflow_trace::{
    CheckError, Condition, Field, Library, Node, Nodes, Operand, RegisterError, Walker, text,
};

#[test]
fn conditions_follow_pythons_precedence() {
    let holds = |text: &str, facts: &[(&str, i64)]| {
        let lookup = |field: Field<'_>| facts.iter().find(|f| f.0 == field.name).map(|f| f.1);
        Condition::parse(text).unwrap().holds(&lookup)
    };
    assert_eq!(
        holds("out['compressed'] == 1", &[("compressed", 1)]),
        Ok(true)
    );
    assert_eq!(
        holds("field1 & field2", &[("field1", 6), ("field2", 1)]),
        Ok(false)
    );
    assert_eq!(holds("a & 4 == 4", &[("a", 6)]), Ok(true));
    assert_eq!(
        holds("not a == 1 and b or c", &[("a", 1), ("b", 1), ("c", 0)]),
        Ok(false)
    );
    assert_eq!(holds("not (a and b)", &[("a", 1), ("b", 0)]), Ok(true));
    assert_eq!(holds("a | 8 ^ 1 >= 9", &[("a", 0)]), Ok(true));
    assert_eq!(holds("x < -3 or x > 0x10", &[("x", -4)]), Ok(true));
    assert_eq!(holds("a == True && !b", &[("a", 1), ("b", 0)]), Ok(true));
    assert_eq!(
        holds("a or missing", &[("a", 1)]),
        Err("missing".to_owned())
    );
}

#[test]
fn condition_errors_point_at_the_character() {
    let at = |text: &str| Condition::parse(text).unwrap_err().at;
    assert_eq!(at(""), 0);
    assert_eq!(at("a == "), 5);
    assert_eq!(at("a = 1"), 2);
    assert_eq!(at("a == 1 1"), 7);
    assert_eq!(at("out['hit' == 1"), 10);
    assert_eq!(at("out[hit] == 1"), 4);
    assert_eq!(at("a < b < c"), 6);
    assert_eq!(at("(a == 1) & 2"), 0);
    assert_eq!(at("2 & (a == 1)"), 4);
    assert_eq!(at("a < 'GET'"), 2);
    assert_eq!(at("'GET'"), 0);
    assert_eq!(at("not 'GET'"), 4);
    assert_eq!(at("a and 'GET'"), 2);
    assert_eq!(at("1 == 'GET'"), 2);
    assert_eq!(at("(a == 'x') & 1"), 0);
    assert_eq!(at("a == 99999999999999999999"), 5);
    assert_eq!(at("in['x'] == 1"), 2);
    let text = Condition::parse("a * 1 == 2").unwrap_err().to_string();
    assert!(
        text.contains("character 3") && text.ends_with("    a * 1 == 2\n      ^"),
        "{text}"
    );
    let deep = "(".repeat(200) + "a" + &")".repeat(200);
    assert!(Condition::parse(&deep).is_err());
    assert!(
        Condition::parse(&"a and ".repeat(100))
            .unwrap_err()
            .message
            .contains("at most")
    );
    let many = vec!["a"; 30].join("|");
    assert!(
        Condition::parse(&many)
            .unwrap_err()
            .message
            .contains("operations")
    );
}

#[test]
fn the_deepest_condition_can_be_printed_and_read_again() {
    let deepest = format!("{}hit", "not ".repeat(23));
    let condition = Condition::parse(&deepest).unwrap();
    assert_eq!(Condition::parse(&condition.to_string()), Ok(condition));
    let mut library = Library::new();
    let mut nodes = seq(&["TCP", "Dser"]).unwrap();
    nodes.push(branch(&deepest, seq(&["Dcmp"]).unwrap(), vec![]).unwrap());
    library.register("deep", nodes).unwrap();
    let image = library.link().unwrap();
    assert_eq!(
        accelflow_trace::Image::from_bytes(&image.to_bytes()),
        Ok(image)
    );
    assert!(Condition::parse(&format!("not {deepest}")).is_err());
}

/// The condition with the values that a payload of `bytes` with `method` and `n` gives.
fn holds_on(text: &str, bytes: &[u8], method: &str, n: i64) -> Result<bool, String> {
    use accelflow_trace::Source;
    let facts = |field: Field<'_>| match field.operand() {
        Operand::Field("n") => Some(n),
        Operand::Field(_) => None,
        Operand::Bytes(span) => span.integer(bytes),
        Operand::Bit { of, bit } => match of {
            Source::Field(_) => Some(n >> bit & 1),
            Source::Bytes(span) => Some(span.integer(bytes)? >> bit & 1),
        },
        Operand::Text { of, is } => match of {
            Source::Field("method") => Some(i64::from(method == is)),
            Source::Field(_) => None,
            Source::Bytes(span) => Some(i64::from(span.of(bytes)? == is.as_bytes())),
        },
    };
    Condition::parse(text).unwrap().holds(&facts)
}

#[test]
fn arithmetic_is_pythons_on_64_bits_that_wrap() {
    let holds = |text: &str, n: i64| holds_on(text, b"", "", n).unwrap();
    assert!(holds("n + 1 << 2 == 28", 6), "+ binds tighter than <<");
    assert!(holds("n & 1 << 3", 8), "<< binds tighter than &");
    assert!(holds("n - 3 - 2 == -4", 1), "from left to right");
    assert!(holds("n -1 == 1 - -1", 3));
    assert!(holds("n + 1 < n", i64::MAX));
    assert!(holds("n >> 1 == -2", -3), "the sign stays");
    assert!(holds("n << 64 == n", 5), "the lowest six bits of a count");
    assert!(holds("n << -1 < 0", 1));
}

#[test]
fn the_least_integer_is_a_literal() {
    for text in [
        "n == -9223372036854775808",
        "n == -0x8000000000000000",
        "-9223372036854775808 == n",
    ] {
        let condition = Condition::parse(text).unwrap();
        assert!(
            condition.to_string().contains("-9223372036854775808"),
            "{text}"
        );
        assert_eq!(Condition::parse(&condition.to_string()).unwrap(), condition);
        assert_eq!(holds_on(text, b"", "", i64::MIN), Ok(true));
        assert_eq!(holds_on(text, b"", "", i64::MAX), Ok(false));
        let nodes = trace(&["TCP", "RPC", "Dser"], text);
        let mut library = Library::new();
        library.register("t", nodes.clone()).unwrap();
        let image = library.link().unwrap();
        let read = accelflow_trace::Image::from_bytes(&image.to_bytes()).unwrap();
        assert_eq!(read.disassemble().unwrap()[0].nodes, nodes);
    }
    for text in ["n == 9223372036854775808", "n == -9223372036854775809"] {
        let error = Condition::parse(text).unwrap_err().to_string();
        assert!(error.contains("must be a 64-bit integer"), "{error}");
    }
}

#[test]
fn bytes_bits_and_texts_are_read_from_the_payload() {
    let payload = b"RIFF\x80\x00\x01\xff\xff\xff\xff\xff\xff\xff\xfe";
    let holds = |text: &str| holds_on(text, payload, "Login", 5);
    assert_eq!(holds("out[4] == 0x80"), Ok(true));
    assert_eq!(holds("out[4:7] == 0x800001"), Ok(true));
    assert_eq!(holds("out[7:15] == -2"), Ok(true), "two's complement");
    assert_eq!(holds("out[4][7] == 1 and out[4][6] == 0"), Ok(true));
    assert_eq!(holds("out['n'][0] and not out['n'][1]"), Ok(true));
    assert_eq!(holds("n[0] and not n[1] and n[2] == 1"), Ok(true));
    assert_eq!(holds("out[0:4] == 'RIFF'"), Ok(true));
    assert_eq!(holds("'RIFX' != out[0:4]"), Ok(true));
    assert_eq!(holds("out['method'] == 'Login'"), Ok(true));
    assert_eq!(holds("method != 'Login' or n == 5"), Ok(true));
    assert_eq!(holds("out[15] == 0"), Err("out[15]".to_owned()));
    assert_eq!(holds("host == 'a'"), Err("host == 'a'".to_owned()));
}

#[test]
fn unreadable_fields_of_payloads_are_refused() {
    let said = |text: &str| Condition::parse(text).unwrap_err().message;
    for text in ["out[65535]", "out[5:5]", "out[6:5]", "out[70000:70001]"] {
        assert!(said(text).contains("offsets up to 65534"), "{text}");
    }
    assert!(said("out[0:9] == 1").contains("an integer must have at most 8"));
    assert!(said("out[0:9]").contains("an integer must have at most 8"));
    assert!(said("out[4][8]").contains("0 (the lowest) to 7"));
    assert!(said("out['n'][64]").contains("0 (the lowest) to 63"));
    assert!(said("n[64]").contains("0 (the lowest) to 63"));
    assert!(said("n['m']").contains("only 'out' has named values, as in out['hit']"));
    assert!(said("(n + 1)[0]").contains("an index of a bit, [N], must follow a field or bytes"));
    assert!(said("out[0:4] == 'RIF'").contains("has 3 bytes: must have 4 bytes, as out[0:4]"));
    assert!(said(&format!("n == '{}'", "x".repeat(65))).contains("at most 64 bytes"));
    assert!(said("n == 'a\u{7}'").contains("control characters"));
    assert!(said("n > 'a'").contains("== or !="));
    assert!(said("n == 1 == 'a'").contains("must not follow another"));
}

#[test]
fn conditions_are_printed_as_they_are_written() {
    for text in [
        "out[4][7] == 1",
        "out['method'] != 'Login'",
        "out['method'] == \"it's\"",
        "(out[0:14] == 'a # (expected:') and (out['n'] == ((out[4] << 8) + out[5]))",
        "not (out['method'] != 'x')",
    ] {
        let condition = Condition::parse(text).unwrap();
        assert_eq!(condition.to_string(), text);
        for name in condition.fields() {
            assert_eq!(Operand::parse(name).unwrap().to_string(), name);
        }
    }
    for name in [
        "",
        "out[07]",
        "n[64]",
        "n[-1]",
        "n[01]",
        "out[0][8]",
        "out[0:9][0]",
        "out[1:2]",
        "out[0:9]",
        "a  == 'b'",
        "a == 'b",
        "out[x]",
    ] {
        assert_eq!(Operand::parse(name), None, "{name}");
    }
}

/// A trace that begins with `before` and branches on `condition`.
fn trace(before: &[&str], condition: &str) -> Nodes {
    let mut nodes = seq(before).unwrap();
    nodes.push(branch(condition, seq(&["Dcmp"]).unwrap(), vec![]).unwrap());
    nodes
}

fn registers(nodes: Nodes) -> Result<(), CheckError> {
    match Library::new().register("t", nodes) {
        Ok(_) => Ok(()),
        Err(RegisterError::Check { error, .. }) => Err(error),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_branch_may_test_what_the_accelerators_before_it_yield() {
    for (before, condition) in [
        (&["TCP"][..], "out[0] == 1"),
        (
            &["TCP", "Decr", "RPC"],
            "seqid + 1 > 2 and method == 'Login'",
        ),
        (&["TCP", "Dser"], "anything == 1 and other == 'x'"),
        (&["TCP", "RPC", "Dser", "Dcmp"], "anything == 1"),
    ] {
        assert_eq!(registers(trace(before, condition)), Ok(()), "{condition}");
    }
}

#[test]
fn a_branch_on_what_nothing_before_it_yields_is_refused() {
    let said = |nodes: Nodes| registers(nodes).unwrap_err().to_string();
    assert_eq!(
        said(trace(&["TCP", "Decr"], "hit == 1")),
        "branch out['hit'] == 1: fact = the number 'hit': must be a value that an accelerator \
         before the branch yields on every path (of a join, in its first arm); these yield no fields; \
         Dser yields the fields of the message, and every accelerator yields bytes such as \
         out[0]"
    );
    let rpc = said(trace(&["TCP", "RPC"], "hit == 1"));
    assert!(
        rpc.contains("yield only the number 'compressed', ") && rpc.contains("the text 'service'"),
        "{rpc}"
    );
    assert!(said(trace(&["TCP", "RPC"], "method == 1")).contains("the number 'method'"));
    assert!(said(trace(&["TCP", "RPC"], "seqid == 'a'")).contains("the text 'seqid'"));

    // One arm has a Dser, the other has none.
    let mut rejoined = seq(&["TCP"]).unwrap();
    rejoined.push(branch("out[0] == 1", seq(&["Dser"]).unwrap(), vec![]).unwrap());
    rejoined.extend(trace(&[], "hit == 1"));
    assert!(said(rejoined).contains("'hit'"));
    // The other arm ends.
    let mut ended = seq(&["TCP"]).unwrap();
    let missing = vec![Node::Notify];
    ended.push(branch("out[0] == 1", seq(&["Dser"]).unwrap(), missing).unwrap());
    ended.extend(trace(&[], "hit == 1"));
    assert_eq!(registers(ended), Ok(()));
    // A join keeps the facts of its first arm.
    let joined = |arms: [&str; 2]| {
        let mut nodes = seq(&["TCP"]).unwrap();
        nodes.push(join(arms.map(|arm| seq(&[arm]).unwrap()).to_vec()));
        nodes.extend(trace(&["Ser"], "hit == 1"));
        nodes
    };
    assert_eq!(registers(joined(["Dser", "Cmp"])), Ok(()));
    assert!(said(joined(["Cmp", "Dser"])).contains("'hit'"));
    let mut forked = seq(&["TCP"]).unwrap();
    forked.push(fork(vec![
        seq(&["LdB"]).unwrap(),
        trace(&["Decr"], "hit == 1"),
    ]));
    assert!(said(forked).contains("'hit'"));
}

/// A simulation needs no accelerator that extracts a fact: its workload states it.
#[test]
fn a_workloads_traces_may_test_what_the_workload_states() {
    let nodes = trace(&["TCP", "Decr"], "hit == 1");
    let mut library = Library::new();
    assert!(library.register_for_stated_facts("t", nodes).is_ok());
    assert!(
        library
            .register_for_stated_facts("u", seq(&["LdB", "TCP"]).unwrap())
            .is_err()
    );
    let texts = "kind Mark sends yields hit number\ntrace v:\n    TCP Mark\n";
    let nodes = accelflow_trace::text::parse(texts).unwrap().remove(0).1;
    let refused = library.register_for_stated_facts("v", nodes).unwrap_err();
    assert!(refused.to_string().contains("Mark"), "{refused}");
}

/// An image that was made before traces were checked for it is still read.
#[test]
fn an_image_is_read_whatever_its_branches_test() {
    let nodes = trace(&["TCP", "Decr"], "hit == 1");
    let name = "t".to_owned();
    let image = accelflow_trace::link(vec![accelflow_trace::Part { name, nodes }]).unwrap();
    let bytes = image.to_bytes();
    assert_eq!(accelflow_trace::Image::from_bytes(&bytes), Ok(image));
}

#[test]
fn conditions_on_payloads_survive_files_texts_and_disassembly() {
    let condition = "out[0:4] == 'a #b' and method != \"it's\" and (out[4] << 8) + 1 - n > 7";
    let nodes = trace(&["TCP", "RPC", "Dser"], condition);
    let mut library = Library::new();
    library.register("t", nodes.clone()).unwrap();
    let image = library.link().unwrap();
    assert_eq!(
        accelflow_trace::Image::from_bytes(&image.to_bytes()).as_ref(),
        Ok(&image)
    );
    assert_eq!(image.disassemble().unwrap()[0].nodes, nodes);
    let printed = text::text("t", &nodes);
    assert_eq!(text::parse(&printed).unwrap(), [("t".to_owned(), nodes)]);
    let facts = image.predicates().fields();
    assert_eq!(
        facts,
        ["out[0:4] == 'a #b'", "method == \"it's\"", "out[4]", "n"]
    );

    let mut walker = Walker::new(&image, "t").unwrap();
    let fact = |field: Field<'_>| Some([1, 0, 1, 200][field.index]);
    let visits = std::iter::from_fn(|| walker.advance(&fact).unwrap()).count();
    assert_eq!(visits, 6, "256 + 1 - 200 > 7: with Dcmp");
}
