//! Trace memories that no compiler has made: what is refused, and in which words.

use std::sync::Arc;

use accelflow_trace::{
    Condition, Directions, Image, Kind, Library, LinkError, Part, PredicateTable, Word, link,
    source,
};

fn raw(words: &[u64], names: &[&str]) -> Result<Image, LinkError> {
    let words = words.iter().copied().map(Word).collect();
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    Image::from_raw(words, PredicateTable::default(), names, vec![])
}

#[test]
fn a_memory_has_a_name_for_each_word() {
    let words = [0x5000_0000_0000_0000; 3];
    for names in [&["a", "b"][..], &["a", "b", "c", "d"], &[]] {
        let error = raw(&words, names).unwrap_err().to_string();
        let count = names.len();
        let expected =
            format!("names of the trace memory = {count}: must be one for each of its words, 3");
        assert_eq!(error, expected);
    }
    assert!(raw(&words, &["a", "b", "c"]).is_ok());
}

#[test]
fn a_memory_whose_arms_do_not_meet_is_refused() {
    let parts = ["t", "t.1", "t.2"];
    // Ser; scatter to 8; continue at 1; 8: continue at 1 or 2. There: join Encr.
    let (meets, meet) = (0x5bc8_f001_f001_0000, 0xbf20_0000_0000_0000);
    assert!(raw(&[meets, meet, meet], &parts).is_ok());
    for (words, why) in [
        (
            [0x5bc8_f001_f002_0000, meet, meet],
            "the arms of a join do not all meet",
        ),
        (
            [0x5bc8_f001_f002_0000, meet, 0x2000_0000_0000_0000],
            "the arms of a join do not all meet",
        ),
        (
            [0x5f00_1000_0000_0000, meet, meet],
            "the trace reaches a join whose arms no scatter instruction has started",
        ),
    ] {
        let error = raw(&words, &parts).unwrap_err().to_string();
        assert_eq!(error, format!("word 't': {why}"));
    }
    // Neither a trace nor an arm can begin with it.
    assert!(raw(&[meet], &["t"]).is_err());
    assert!(raw(&[0x5bc6_bf2f_0010_0000, meet, meet], &parts).is_err());
}

#[test]
fn a_table_with_entries_that_no_word_needs_is_refused_by_its_name() {
    let table = |conditions: &[&str]| {
        let mut table = PredicateTable::default();
        for text in conditions {
            table.intern(&Condition::parse(text).unwrap()).unwrap();
        }
        table
    };
    let kind = |name: &str| Arc::new(Kind::new(name, Directions::Both, vec![]).unwrap());
    let linked = |word: u64, table: PredicateTable, kinds: &[Arc<Kind>]| {
        let (words, names) = (vec![Word(word)], vec!["t".to_owned()]);
        let image = Image::from_raw(words, table, names, kinds.to_vec());
        image.map_err(|error| error.to_string())
    };
    // Dser; if predicate 0 holds, Cmp.
    let (branches, calls) = (0x4a05_9000_0000_0000, 0x4bd0_0000_0000_0000);
    assert!(linked(branches, table(&["hit"]), &[]).is_ok());
    assert_eq!(
        linked(branches, table(&["hit", "found"]), &[]).unwrap_err(),
        "branch conditions of the trace memory: must be those that its words test, as the \
         compiler writes them, without further ones"
    );
    assert!(linked(calls, table(&[]), &[kind("One")]).is_ok());
    assert_eq!(
        linked(calls, table(&[]), &[kind("One"), kind("Two")]).unwrap_err(),
        "custom accelerators of the trace memory: must be those that its words call, as the \
         compiler writes them, without further ones"
    );
    // The compiler gives number 0 to the accelerator that is called first.
    let second = 0x4bd1_bd00_0000_0000;
    assert_eq!(
        linked(second, table(&[]), &[kind("One"), kind("Two")]).unwrap_err(),
        "word 't': is 4bd1bd0000000000: must be 4bd0bd1000000000, which the compiler makes of the \
         same source"
    );
}

#[test]
fn forks_that_multiply_in_a_forged_memory_are_refused_in_their_words() {
    // Ser; fork to 7; both arms end with a tail to the next word.
    let next = |to: u64| 0x5c7d_000d_0000_0000 | to << 36 | to << 20;
    let mut words: Vec<u64> = (1..8).map(next).collect();
    words.push(0x5000_0000_0000_0000);
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    assert!(raw(&words[1..], &names[1..]).is_err(),);
    assert_eq!(
        raw(&words, &names).unwrap_err().to_string(),
        "trace 'a': parallel executions = 128: must be at most 64"
    );
}

#[test]
fn a_part_made_by_hand_that_is_longer_than_a_word_is_refused_by_its_name() {
    let part = |name: &str, calls: usize| Part {
        name: name.to_owned(),
        nodes: source::seq(&vec!["Cmp"; calls]).unwrap(),
    };
    assert!(link(vec![part("short", 16)]).is_ok());
    let error = link(vec![part("short", 16), part("long", 17)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "size of part 'long': must be at most 16 nibbles, an 8-byte word"
    );
}

#[test]
fn links_lead_to_a_trace_or_to_the_same_trace() {
    // Ser; tail to word 1, or continue with it.
    let (tail, continues, ser) = (
        0x5d00_1000_0000_0000,
        0x5f00_1000_0000_0000,
        0x5000_0000_0000_0000,
    );
    let said = |word: u64, names: [&str; 2]| raw(&[word, ser], &names).unwrap_err().to_string();
    assert!(raw(&[tail, ser], &["a", "b"]).is_ok());
    assert_eq!(
        said(tail, ["a", "a.1"]),
        "word 'a': tail = 0x001, 'a.1': must lead to the beginning of a trace"
    );
    assert!(raw(&[continues, ser], &["a", "a.1"]).is_ok());
    for other in ["b", "b.1"] {
        assert_eq!(
            said(continues, ["a", other]),
            format!(
                "word 'a': continuation = 0x001, '{other}': must lead to a further word of the \
                 same trace"
            )
        );
    }
    assert_eq!(
        said(tail, ["b", "b"]),
        "word 'b': the name must be that of one word only"
    );
}

#[test]
fn names_of_words_in_a_damaged_file_are_shown_on_one_line() {
    let long = "x\u{1b}\n".repeat(40);
    let error = raw(&[0x5000_0000_0000_0000], &[&long]).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with(r"word 'x\u{1b}\nx\u{1b}\n"), "{text}");
    assert!(
        text.contains("...': must be a trace's name, or NAME.1"),
        "{text}"
    );
}

#[test]
fn a_damaged_condition_of_a_file_is_refused_with_its_place() {
    let mut library = Library::new();
    let mut nodes = source::seq(&["Ser", "Dser"]).unwrap();
    nodes.push(source::branch("hit == 1", source::seq(&["Cmp"]).unwrap(), vec![]).unwrap());
    library.register("t", nodes).unwrap();
    let good = library.link().unwrap().to_bytes();
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        let body = bytes.len() - 4;
        let checksum = crc32fast::hash(&bytes[..body]);
        bytes[body..].copy_from_slice(&checksum.to_be_bytes());
        Image::from_bytes(&bytes).unwrap_err().to_string()
    };
    // The field 'hit', then a condition of three operations: field 0, const 1, ==.
    assert_eq!(good[24..32], [0, 3, b'h', b'i', b't', 3, 0, 0]);
    assert_eq!(
        with(31, 9),
        "trace file at byte 29: malformed branch condition: an operation refers to a field that \
         is not in the table of fields"
    );
    assert_eq!(
        with(30, 7),
        "malformed trace file at byte 30: operation of a branch condition = 7: must be 0, 1, 2, or \
         16 to 30"
    );
    assert_eq!(
        with(26, b' '),
        "word 't': branch condition 0 of the trace memory: must be what the compiler makes of a \
         condition, with the names of payload values"
    );
}
