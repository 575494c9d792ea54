//! The arms of T5, T6 and T7, each taken by what real daemons say.

use accelflow_runtime::trail::{self, TrailChain, TrailPhase};
use accelflow_storage::{Storage, StorageError};

use crate::common::world;

/// What `work` had traces do: the traces that were entered, and all accelerators.
fn followed<T>(work: impl FnOnce() -> T) -> (T, Vec<String>, Vec<String>) {
    let (done, trail) = trail::follow(true, work);
    let chains = trail.expect("wanted").phases.into_iter();
    let chains = chains.flat_map(|phase| match phase {
        TrailPhase::Cpu(_) => Vec::new(),
        TrailPhase::Chains(chains) => chains,
    });
    let chains: Vec<TrailChain> = chains.collect();
    let mut traces: Vec<String> = Vec::new();
    for step in chains.iter().flat_map(|chain| &chain.steps) {
        if traces.last() != Some(&step.trace) {
            traces.push(step.trace.clone());
        }
    }
    let steps = chains.iter().flat_map(|chain| &chain.steps);
    let steps = steps.map(|step| step.accel.name().to_owned()).collect();
    (done, traces, steps)
}

fn read(storage: &Storage, collection: &str, key: &str) -> (String, Vec<String>, Vec<String>) {
    let (data, traces, steps) = followed(|| storage.read(collection, key));
    let data = String::from_utf8(data.expect("is there")).expect("JSON");
    (data, traces, steps)
}

#[test]
fn every_arm_of_a_read() {
    let Some(world) = world() else { return };
    let storage = world.storage();
    let document = format!(r#"{{"text":"{}"}}"#, "abc".repeat(300));
    // T8: uncompressed and compressed, both committed before T7 says so.
    let (done, traces, steps) = followed(|| storage.write("plain", "a", document.as_bytes()));
    done.expect("written");
    assert_eq!(traces, ["T8", "T7"]);
    assert_eq!(steps, ["Ser", "Encr", "TCP", "TCP", "Decr", "Dser", "LdB"]);
    let write = || storage.write_compressed("packed", "a", document.as_bytes());
    let (done, traces, steps) = followed(write);
    done.expect("written");
    assert_eq!(traces, ["T8+Cmp", "T7"]);
    assert_eq!(steps[..2], ["Cmp", "Ser"]);
    // Misses: T5 asks the database, T6 tells the core and fills the cache, T7 receives that.
    let (data, traces, steps) = read(&storage, "plain", "a");
    assert_eq!((data.as_str(), traces.len()), (document.as_str(), 4));
    assert_eq!(traces, ["T4", "T5", "T6", "T7"]);
    assert_eq!(steps.iter().filter(|step| *step == "Cmp").count(), 0);
    // The document in the database is compressed (Dcmp), and so is the cache (C-compressed: Cmp).
    let (data, traces, steps) = read(&storage, "packed", "a");
    assert_eq!((data.as_str(), traces.len()), (document.as_str(), 4));
    let of = |name: &str| steps.iter().filter(|step| *step == name).count();
    assert_eq!((of("Dcmp"), of("Cmp")), (1, 1));
    // Hits, plain and compressed.
    let (data, traces, steps) = read(&storage, "plain", "a");
    assert_eq!((data.as_str(), steps.len()), (document.as_str(), 7));
    assert_eq!(traces, ["T4", "T5"]);
    let (data, traces, steps) = read(&storage, "packed", "a");
    assert_eq!((data.as_str(), traces.len()), (document.as_str(), 2));
    assert!(steps.iter().any(|step| step == "Dcmp"));
    // Not found.
    let (missing, traces, _) = followed(|| storage.read("plain", "nobody"));
    assert!(
        matches!(missing, Err(StorageError::NotFound { .. })),
        "{missing:?}"
    );
    assert_eq!(traces, ["T4", "T5", "T6", "storage_notified"]);
    // The exception of T7: the database refuses a second document under a unique key.
    storage.write("once", "k", b"1").expect("the first");
    let (refused, traces, _) = followed(|| storage.write("once", "k", b"2"));
    let text = refused.expect_err("the second").to_string();
    assert_eq!(text, "once/k: once/k already exists");
    assert_eq!(traces, ["T8", "T7", "storage_notified"]);
    assert_eq!(storage.read("once", "k").expect("the first"), b"1");
}

#[test]
fn a_write_is_seen_by_the_next_read() {
    let Some(world) = world() else { return };
    let storage = world.storage();
    for version in ["1", "2", "3"] {
        storage
            .write("plain", "k", version.as_bytes())
            .expect("written");
        // Once from the database, once from the cache.
        for _ in 0..2 {
            let read = storage.read("plain", "k").expect("is there");
            assert_eq!(read, version.as_bytes());
        }
    }
    // The cache alone.
    storage.cache("plain", "k", b"4").expect("cached");
    assert_eq!(storage.read("plain", "k").expect("is there"), b"4");
}

#[test]
fn several_documents_are_read_at_once() {
    let Some(world) = world() else { return };
    let storage = world.storage();
    for key in ["1", "2", "3"] {
        let document = format!(r#"{{"id":{key}}}"#);
        storage
            .write_compressed("packed", key, document.as_bytes())
            .expect("written");
    }
    let expected = r#"[{"id":3},{"id":1}]"#;
    for traces in [&["T4", "T5", "T6", "T7"][..], &["T4", "T5"]] {
        let (data, taken, _) = read(&storage, "packed", "3,1");
        assert_eq!(data, expected);
        assert_eq!(taken, traces);
    }
    // What was read together is there alone, too.
    let (data, traces, _) = read(&storage, "packed", "3");
    assert_eq!((data.as_str(), traces.len()), (r#"{"id":3}"#, 2));
    let missing = storage.read("packed", "1,9");
    assert!(
        matches!(missing, Err(StorageError::NotFound { .. })),
        "{missing:?}"
    );
}

#[test]
fn lists_have_the_newest_first_in_database_and_cache() {
    let Some(world) = world() else { return };
    let storage = world.storage();
    let list = |key: &str| String::from_utf8(storage.read("list", key).expect("a list"));
    assert_eq!(list("u").expect("JSON"), r#"{"items":[]}"#);
    // "u" is cached now and "v" is not; both get the item, and a second time changes nothing.
    for item in ["7", "8", "7"] {
        storage
            .write("list", "u,v", item.as_bytes())
            .expect("added");
    }
    for key in ["u", "v", "u", "v"] {
        assert_eq!(list(key).expect("JSON"), r#"{"items":[8,7]}"#);
    }
    for number in 0..250 {
        let item = format!(r#"{{"n":{number}}}"#);
        storage
            .write_compressed("list", "u", item.as_bytes())
            .expect("added");
    }
    let text = list("u").expect("JSON");
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let items = value["items"].as_array().expect("a list");
    assert_eq!((items.len(), items[0]["n"].as_u64()), (200, Some(249)));
    let refused = storage.write("list", "u", b"no JSON").expect_err("refused");
    assert!(
        refused.to_string().contains("malformed JSON of the value"),
        "{refused}"
    );
    let large = format!("\"{}\"", "x".repeat(1_100));
    let refused = storage
        .write("list", "u", large.as_bytes())
        .expect_err("refused");
    assert!(
        refused
            .to_string()
            .contains("size of the list item = 1102 bytes"),
        "{refused}"
    );
}

#[test]
fn messages_of_any_size_end_where_they_end() {
    let Some(world) = world() else { return };
    let storage = world.storage();
    // Around whole records of 16,384 bytes, and of several.
    for size in [1, 16_000, 16_384, 40_000, 500_000]
        .into_iter()
        .chain(16_300..16_400)
    {
        let document = format!("\"{}\"", "x".repeat(size));
        storage
            .cache("plain", "k", document.as_bytes())
            .expect("cached");
        let read = storage.read("plain", "k").expect("is there");
        assert!(read == document.as_bytes(), "{size}");
    }
}

#[test]
fn unknown_collections_and_empty_keys_are_named() {
    let Some(world) = world() else { return };
    let storage = world.storage();
    let refused = storage.write("other", "k", b"1").expect_err("refused");
    let expected = "other/k: collection = 'other': must be one of list, once, packed, plain";
    assert_eq!(refused.to_string(), expected);
    let refused = storage.write("plain", "a,b", b"1").expect_err("refused");
    let expected = "plain/a,b: collection plain: number of keys in the request = 2: must be at \
                    most 1 (commas separate keys)";
    assert_eq!(refused.to_string(), expected);
    // A read goes on from the cache's refusal to the database's.
    let refused = storage.read("list", "a,b").expect_err("refused");
    assert!(
        refused.to_string().ends_with(
            "number of keys in the request = 2: must be at most 1 (commas separate keys)"
        ),
        "{refused}"
    );
}
