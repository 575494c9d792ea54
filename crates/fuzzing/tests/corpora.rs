//! Every target holds for each input of its corpus, and for inputs near those.
//!
//! libFuzzer looks further, guided by the branches that inputs take: `scripts/fuzz`.

use std::fs;
use std::path::Path;

use accelflow_fuzzing::targets::trace_file;
use accelflow_fuzzing::{TARGETS, for_each_target};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::panics;

/// Inputs that are tried for each target, beside its corpus.
const CASES: u32 = 8_192;
/// Every input of these passes through sockets.
const SLOW_CASES: u32 = 512;
const SLOW: [&str; 6] = [
    "admin",
    "client_http",
    "client_thrift",
    "server_grpc",
    "server_thrift",
    "server_tls",
];

macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            try_target(stringify!($name));
        })*
    };
}

for_each_target!(tests);

#[test]
fn every_corpus_belongs_to_a_target() {
    for folder in fs::read_dir(corpora()).expect("the corpora") {
        let name = folder.expect("a folder").file_name();
        assert!(TARGETS.iter().any(|target| name == target.name), "{name:?}");
    }
}

fn try_target(name: &str) {
    panics::watch();
    let target = TARGETS
        .iter()
        .find(|target| target.name == name)
        .expect("a target");
    let corpus = corpus(name);
    for input in &corpus {
        (target.check)(input);
        panics::check();
    }
    let cases = if SLOW.contains(&name) {
        SLOW_CASES
    } else {
        CASES
    };
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let near = (any::<prop::sample::Index>(), vec(edit(), 1..6)).prop_map(|(start, edits)| {
        let mut bytes = corpus[start.index(corpus.len())].clone();
        for edit in edits {
            edit.apply(&mut bytes);
        }
        if name == "trace_file" {
            repaired(bytes)
        } else {
            bytes
        }
    });
    let outcome = TestRunner::new(config).run(&near, |input| {
        (target.check)(&input);
        panics::check();
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

fn corpora() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus"))
}

/// The inputs of a target's corpus, by name, or an empty one if it has no corpus.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = corpora().join(name);
    if !folder.exists() {
        return vec![Vec::new()];
    }
    let files = fs::read_dir(folder).expect("the corpus");
    let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    files.sort();
    files
        .iter()
        .map(|file| fs::read(file).expect("a file"))
        .collect()
}

fn repaired(bytes: Vec<u8>) -> Vec<u8> {
    // Room for a file of the templates, which takes the place of what is too short.
    let mut room = bytes.clone();
    room.resize(bytes.len().max(1 << 16), 0);
    let size = trace_file::repair(&mut room, bytes.len());
    room.truncate(size);
    room
}

/// A change of an input, at a place given as a share of its length.
#[derive(Clone, Debug)]
enum Edit {
    Flip(prop::sample::Index, u8),
    Set(prop::sample::Index, u8),
    Insert(prop::sample::Index, Vec<u8>),
    Remove(prop::sample::Index, usize),
    Repeat(prop::sample::Index, usize),
    End(prop::sample::Index),
}

fn edit() -> impl Strategy<Value = Edit> {
    let place = any::<prop::sample::Index>;
    prop_oneof![
        (place(), 0_u8..8).prop_map(|(at, bit)| Edit::Flip(at, bit)),
        (place(), any::<u8>()).prop_map(|(at, byte)| Edit::Set(at, byte)),
        (
            place(),
            prop_oneof![Just(0), Just(0x7F), Just(0x80), Just(0xFF)]
        )
            .prop_map(|(at, byte)| Edit::Set(at, byte)),
        (place(), vec(any::<u8>(), 1..16)).prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
        (place(), 1_usize..16).prop_map(|(at, length)| Edit::Remove(at, length)),
        (place(), 1_usize..64).prop_map(|(at, length)| Edit::Repeat(at, length)),
        place().prop_map(Edit::End),
    ]
}

impl Edit {
    fn apply(self, bytes: &mut Vec<u8>) {
        let length = bytes.len();
        let until = |start: usize, count: usize| (start + count).min(length);
        match self {
            Edit::Insert(at, inserted) => {
                let at = at.index(length + 1);
                bytes.splice(at..at, inserted);
            }
            _ if bytes.is_empty() => {}
            Edit::Flip(at, bit) => bytes[at.index(length)] ^= 1 << bit,
            Edit::Set(at, byte) => bytes[at.index(length)] = byte,
            Edit::Remove(at, count) => {
                let at = at.index(length);
                bytes.drain(at..until(at, count));
            }
            Edit::Repeat(at, count) => {
                let at = at.index(length);
                let copied = bytes[at..until(at, count)].to_vec();
                bytes.splice(at..at, copied);
            }
            Edit::End(at) => bytes.truncate(at.index(length)),
        }
    }
}
