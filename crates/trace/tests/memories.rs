//! Trace memories that no compiler has made: what is refused, and in which words.

use std::sync::Arc;

use accelflow_trace::{
    Condition, Directions, Image, Kind, LinkError, Part, PredicateTable, Word, link, source,
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
        "part 'long': must fit an 8-byte word, which has 16 nibbles, but is longer"
    );
}
