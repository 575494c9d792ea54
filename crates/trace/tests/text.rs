//! Traces as text: printing and reading return the same trace, and errors name their line.

#![allow(clippy::unwrap_used)]

use accelflow_trace::{TEMPLATES, source, templates, text};

#[test]
fn printed_traces_are_read_back_unchanged() {
    for template in TEMPLATES {
        let nodes = template.source().unwrap();
        let printed = text::text(template.name, &nodes);
        let read = text::parse(&printed).unwrap();
        assert_eq!(read, [(template.name.to_owned(), nodes)], "{printed}");
    }
    let arms = vec![
        source::seq(&["Ser"]).unwrap(),
        vec![source::fork(vec![source::seq(&["Cmp"]).unwrap(), vec![]])],
    ];
    let nodes = vec![source::accel("Dser").unwrap(), source::join(arms)];
    let printed = text::text("nested", &nodes);
    assert_eq!(
        text::parse(&printed).unwrap(),
        [("nested".to_owned(), nodes)]
    );
}

#[test]
fn the_parts_of_a_linked_memory_read_the_same() {
    let image = templates().unwrap().link().unwrap();
    for part in image.disassemble().unwrap() {
        let printed = text::text(&part.name, &part.nodes);
        assert_eq!(
            text::parse(&printed).unwrap(),
            [(part.name, part.nodes)],
            "{printed}"
        );
    }
}

#[test]
fn people_may_write_several_accelerators_a_line_and_comments() {
    let written = "
# Two traces.
trace front:
  TCP Decr RPC Dser   # what a message goes through
  branch out['compressed'] == 1 (expected: true)
     on true:
        trans JSON > str
        Dcmp
  LdB

trace back:
\tSer RPC Encr TCP
\ttail front
";
    let read = text::parse(written).unwrap();
    let names: Vec<&str> = read.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["front", "back"]);
    assert_eq!(read[0].1.len(), 6);
    assert_eq!(read[1].1.last(), Some(&source::tail("front")));
}

#[test]
fn errors_name_the_line() {
    let said = |written: &str| text::parse(written).unwrap_err().to_string();
    assert_eq!(
        said("TCP\n"),
        "line 1: statement = 'TCP': must be 'trace NAME:', 'kind NAME', or indented below the line \
         'trace NAME:' of its trace"
    );
    assert!(said("trace a:\n  TPC\n").starts_with("line 2: "));
    assert!(said("trace a:\n  TPC\n").contains("TPC"));
    let indented = said("trace a:\n  TCP\n    Decr\n");
    assert!(
        indented.starts_with("line 3: statement = 'Decr': must be indented like the statement"),
        "{indented}"
    );
    for (written, expected) in [
        (
            "trace a:\n  TCP (2)\n",
            "line 2: statement = 'TCP (2)': must be accelerators, 'branch CONDITION'",
        ),
        (
            "trace a:\n  branch out['hit'] == 1 (expected: maybe)\n    on true:\n      Cmp\n",
            "line 2: statement = 'branch out['hit'] == 1 (expected: maybe)': must end with (expected: true)",
        ),
        (
            "trace a:\n  branch out['hit'] == 1\n    Cmp\n",
            "line 3: statement = 'Cmp': must be 'on true:' or 'on false:'",
        ),
        (
            "trace a:\n  fork\n    arm 1:\n      Cmp\n    arm 3:\n      Ser\n",
            "line 5: statement = 'arm 3:': must be 'arm 2:', the next arm of the fork",
        ),
    ] {
        assert!(said(written).starts_with(expected), "{}", said(written));
    }
    let bare = said("trace a:\n  TCP\n  branch out['hit'] == 1\n  Decr\n");
    assert_eq!(
        bare,
        "line 3: statement = branch: must have arms below it, indented more"
    );
    assert!(
        said("trace a:\n  branch out['hit'] ==\n    on true:\n      Cmp\n").starts_with("line 2: ")
    );
    assert!(said("trace a:\n  trans JSON>JSON\n").contains("the two formats must differ"));
    let twice =
        "trace a:\n  branch out['hit'] == 1\n    on true:\n      Cmp\n    on true:\n      Cmp\n";
    assert!(said(twice).starts_with(
        "line 5: statement = 'on true:': must be 'on true:' or 'on false:', each once"
    ));
    let mut deep = "trace a:\n".to_owned();
    for depth in 1..200 {
        let pad = " ".repeat(depth * 2);
        deep += &format!("{pad}fork\n{pad} arm 1:\n");
    }
    assert!(said(&deep).contains("must nest at most 64 levels deep"));
}

#[test]
fn words_may_be_separated_by_tabs_and_a_file_may_begin_with_a_byte_order_mark() {
    let spaced = "kind Seal yields size number\ntrace a:\n  TCP Seal\n  tail b\ntrace b:\n  TCP\n";
    let tabbed = "\u{feff}kind\tSeal yields size number\ntrace\ta:\n\tTCP\tSeal\n\ttail\tb\ntrace b:\n\tTCP\n";
    assert_eq!(text::parse(tabbed), text::parse(spaced));
    assert!(text::parse(spaced).is_ok());
}

#[test]
fn messages_show_the_beginning_of_long_lines() {
    let said = text::parse(&"x".repeat(1_000_000)).unwrap_err().to_string();
    assert!(said.contains("xxx...': must be 'trace NAME:'") && said.len() < 300);
}
