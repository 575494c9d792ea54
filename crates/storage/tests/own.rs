//! Traces of a service's own for storage, and tenants that flood it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use accelflow_accel::thrift::Schema;
use accelflow_serve::{
    Carried, Config, Execution, HandlerError, PoolSettings, Request, Server, Terms, TraceLimit,
    with_carried, with_deadline,
};
use accelflow_storage::{Storage, StorageConfig, StorageError, StorageTraces};

use crate::common::shout::Shout;
use crate::common::taken::{self, source};
use crate::common::waits::{eventually, patient};
use crate::common::world;

const OWN: &str = "
    trace own_read:
        Ser Encr TCP
        tail own_cached
    trace own_cached:
        TCP Decr Dser
        branch out['hit'] == 1
          on true:
            LdB
          on false:
            Ser Encr TCP
            tail own_found
    trace own_found:
        TCP Decr Dser
        branch out['found'] == 0
          on true:
            tail own_notified
        LdB
    trace own_notified:
        LdB
";

fn traces(text: &str) -> StorageTraces {
    StorageTraces {
        source: source(text),
        read: Some("own_read".to_owned()),
        notified: Some("own_notified".to_owned()),
        ..StorageTraces::default()
    }
}

/// The traces that a read takes.
fn taken(storage: &Storage, key: &str) -> Vec<String> {
    taken::taken(|| storage.read("plain", key)).1
}

#[test]
fn traces_that_do_not_fit_storage_are_refused() {
    // No daemon is needed to refuse.
    let folder = tempfile::tempdir().expect("a folder");
    let roots = folder.path().join("cert.pem");
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a key");
    std::fs::write(&roots, made.cert.pem()).expect("a file");
    let storage = Storage::new(&StorageConfig {
        address: "127.0.0.1:1".parse().expect("an address"),
        server_name: "localhost".to_owned(),
        roots,
        connections: 1,
        timeout: Duration::from_secs(1),
        execution: Execution::Inline,
    });
    let storage = storage.expect("settings");
    storage.set_traces(Some(traces(OWN))).expect("they fit");
    for (from, to, why) in [
        (
            "Ser Encr TCP\n        tail own_cached",
            "Ser TCP\n        tail own_cached",
            "read = 'own_read': trace 'own_read': TCP: must be Encr at this place, since a message \
             leaves through Ser, Encr, TCP in this order",
        ),
        (
            "tail own_notified",
            "tail T6_error",
            "'T6_error' answers the service's caller",
        ),
        ("tail own_found", "notify", "the trace ends after sending"),
        (
            "\n    trace own_read:\n        Ser",
            "\nkind Shout yields shouted number\n    trace own_read:\n        Shout Ser",
            "accelerator = 'Shout': must have a body",
        ),
        (
            "trace own_read:",
            "trace own_raed:",
            "did you mean own_raed",
        ),
    ] {
        let refused = storage
            .set_traces(Some(traces(&OWN.replace(from, to))))
            .expect_err(why);
        assert!(refused.to_string().contains(why), "{refused}\n{why}");
    }
}

#[test]
fn storage_is_reached_with_own_traces() {
    let Some(world) = world() else { return };
    let storage = world.storage();
    storage.write("plain", "own", b"1").expect("written");
    storage.set_traces(Some(traces(OWN))).expect("they fit");
    assert_eq!(
        taken(&storage, "own"),
        ["own_read", "own_cached", "own_found"]
    );
    let missing = storage.read("plain", "nowhere").expect_err("absent");
    assert!(
        matches!(missing, StorageError::NotFound { .. }),
        "{missing}"
    );
    // A custom accelerator, with a body, works on what was found.
    let found = "        LdB\n    trace own_notified";
    let loud = OWN.replace(
        found,
        "        trans JSON>str\n        Shout LdB\n    trace own_notified",
    );
    let mut loud = traces(&["kind Shout yields shouted number\n", &loud].concat());
    loud.source = loud.source.with_bodies(Shout::bodies("quiet", "LOUD!"));
    storage.set_traces(Some(loud)).expect("it has a body");
    storage
        .write("plain", "loud", b"\"quiet\"")
        .expect("written");
    assert_eq!(storage.read("plain", "loud").expect("there"), b"\"LOUD!\"");
    storage.set_traces(None).expect("those of every client");
    // The own traces did not fill the cache; T6 and T7 do.
    assert_eq!(taken(&storage, "own"), ["T4", "T5", "T6", "T7"]);
}

#[test]
fn a_tenant_that_floods_storage_leaves_it_to_others() {
    let Some(world) = world() else { return };
    let config = StorageConfig {
        connections: 2,
        execution: Execution::Ensemble(PoolSettings::default()),
        ..world.storage_config()
    };
    let storage = Storage::new(&config).expect("a certificate");
    storage.write("plain", "a", b"1").expect("written");
    let of = |tenant| {
        let terms = Terms {
            tenant,
            ..Terms::default()
        };
        Carried::new(terms, Some(TraceLimit::new(1)))
    };
    let (greedy, modest) = (of(0), of(1));
    // A stalled database blocks every writer.
    world.postgres.freeze();
    std::thread::scope(|scope| {
        let limit = greedy.limit.clone().expect("set");
        let first =
            scope.spawn(|| with_carried(Some(&greedy), || storage.write("plain", "a", b"2")));
        eventually("the write is under way", || limit.running() > 0);
        for _ in 0..3 {
            let soon = Instant::now() + Duration::from_millis(20);
            let write = || with_deadline(soon, || storage.write("plain", "b", b"3"));
            let refused = with_carried(Some(&greedy), write).expect_err("it has one under way");
            assert!(matches!(refused, StorageError::TenantBusy(_)), "{refused}");
        }
        // The other connection is the other tenant's: it gets as far as the cache says.
        let cached = with_carried(Some(&modest), || storage.cache("plain", "c", b"4"));
        cached.expect("the cache is well");
        let read = with_carried(Some(&modest), || storage.read("plain", "c"));
        assert_eq!(read.expect("it is in the cache"), b"4");
        world.postgres.thaw();
        // Whether the store gave up meanwhile or not: the access ends, and the next may begin.
        let _ = first.join().expect("no panic");
        assert_eq!((limit.running(), limit.peak()), (0, 1));
    });
    let again = with_carried(Some(&greedy), || storage.write("plain", "b", b"5"));
    again.expect("it has none under way");
}

/// What a stock client of `service Shop { string get(1: string key) }` is told.
fn asked(address: SocketAddr, key: &str) -> Vec<u8> {
    let mut call = [
        &[0x80, 1, 0, 1, 0, 0, 0, 3][..],
        b"get",
        &[0, 0, 0, 7, 11, 0, 1],
    ]
    .concat();
    call.extend((key.len() as u32).to_be_bytes());
    call.extend(key.as_bytes());
    call.push(0);
    let mut stream = patient(TcpStream::connect(address).expect("it listens"));
    stream
        .write_all(&(call.len() as u32).to_be_bytes())
        .expect("it reads");
    stream.write_all(&call).expect("it reads");
    let mut length = [0; 4];
    stream.read_exact(&mut length).expect("a reply");
    let mut reply = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut reply).expect("a reply");
    reply
}

#[test]
fn clients_are_told_by_a_trace_that_there_is_no_such_document() {
    let Some(world) = world() else { return };
    let storage = world.storage();
    storage.write("plain", "there", b"1").expect("written");
    let schema = Schema::parse("service Shop { string get(1: string key) }").expect("a constant");
    let mut server = Server::new(schema.into());
    server.set_config(Config {
        errors_to_caller: true,
        ..Config::default()
    });
    let get = move |request: &Request<'_>| {
        let key = std::str::from_utf8(request.arguments).expect("JSON");
        let key = key
            .trim_start_matches("{\"key\":\"")
            .trim_end_matches("\"}");
        match storage.read("plain", key) {
            Ok(_) => Ok(b"\"found\"".to_vec()),
            Err(error) => {
                assert!(matches!(error, StorageError::Answered { .. }), "{error}");
                Err(HandlerError::Internal("the handler's own".to_owned()))
            }
        }
    };
    server.handle("get", get).expect("known");
    let running = server
        .start("127.0.0.1:0".parse().expect("an address"))
        .expect("a port");
    let told = |key: &str| String::from_utf8_lossy(&asked(running.address(), key)).into_owned();
    assert!(told("there").contains("found"));
    let missing = told("nowhere");
    assert!(missing.contains("plain/nowhere was not found"), "{missing}");
    assert!(!missing.contains("the handler's own"), "{missing}");
}
