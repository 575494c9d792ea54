//! Daemons that die or stop, gateways that go away, and who must not be trusted.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use accelflow_accel::storage::Operation;
use accelflow_serve::with_deadline;
use accelflow_storage::{Gateway, GatewayConfig, Storage, StorageConfig, StorageError};

use crate::common::waits::eventually;
use crate::common::world;

#[test]
fn nothing_acknowledged_is_lost_when_the_database_dies() {
    let Some(mut world) = world() else { return };
    let storage = world.storage();
    let (stop, acknowledged) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU64::new(0)),
    );
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (storage, stop, count) = (storage.clone(), stop.clone(), acknowledged.clone());
            std::thread::spawn(move || {
                let (mut written, mut refused) = (Vec::new(), 0);
                for number in 0.. {
                    let key = format!("{writer}-{number}");
                    match storage.write("once", &key, key.as_bytes()) {
                        Ok(()) => {
                            written.push(key);
                            count.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(StorageError::Exception { .. }) => refused += 1,
                        Err(other) => panic!("neither done nor refused: {other}"),
                    }
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                }
                (written, refused)
            })
        })
        .collect();
    let await_writes = |more: u64| {
        let goal = acknowledged.load(Ordering::Relaxed) + more;
        eventually("writes are acknowledged", || {
            acknowledged.load(Ordering::Relaxed) >= goal
        });
    };
    await_writes(50);
    world.postgres.kill();
    std::thread::sleep(Duration::from_millis(50));
    world.postgres.resume().expect("recovers");
    await_writes(50);
    stop.store(true, Ordering::Relaxed);
    let mut refusals = 0;
    for writer in writers {
        let (written, refused) = writer.join().expect("no other error");
        refusals += refused;
        for key in written {
            let read = storage.read("once", &key).expect("was acknowledged");
            assert_eq!(read, key.as_bytes());
        }
    }
    // While it was dead, writers were told so.
    assert!(refusals > 0);
}

#[test]
fn a_database_that_never_answers_is_an_exception_in_time() {
    let Some(world) = world() else { return };
    let storage = world.storage();
    storage.write("plain", "a", b"1").expect("written");
    storage.cache("plain", "b", b"2").expect("cached");
    world.postgres.freeze();
    let refused = storage
        .write("plain", "a", b"3")
        .expect_err("nobody answers");
    let text = refused.to_string();
    assert_eq!(text, "plain/a: the database did not answer in time");
    let refused = storage.read("plain", "nobody").expect_err("nobody answers");
    assert!(
        matches!(refused, StorageError::Exception { .. }),
        "{refused}"
    );
    // What is in the cache does not need the database.
    assert_eq!(storage.read("plain", "b").expect("cached"), b"2");
    world.postgres.thaw();
    let written = (0..20).any(|_| storage.write("plain", "a", b"4").is_ok());
    assert!(written, "the database is back");
    assert_eq!(storage.read("plain", "a").expect("written"), b"4");
}

#[test]
fn a_cache_that_dies_costs_hits_and_no_data() {
    let Some(mut world) = world() else { return };
    let storage = world.storage();
    storage.write("packed", "a", b"{\"x\":1}").expect("written");
    assert_eq!(storage.read("packed", "a").expect("filled"), b"{\"x\":1}");
    assert_eq!(world.counts.failures(), 0);
    world.redis.kill();
    // Every read is a miss, and the write to the cache behind it an exception that only the
    // gateway counts; writes are committed.
    assert_eq!(storage.read("packed", "a").expect("found"), b"{\"x\":1}");
    storage
        .write("packed", "a", b"{\"x\":2}")
        .expect("committed");
    assert_eq!(storage.read("packed", "a").expect("found"), b"{\"x\":2}");
    let refused = storage.cache("packed", "a", b"{}").expect_err("no cache");
    assert!(
        matches!(refused, StorageError::Exception { .. }),
        "{refused}"
    );
    assert!(world.counts.failures() >= 1);
    let hits = world.counts.hits();
    world.redis.resume().expect("starts");
    let cached = (0..50).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        storage.cache("packed", "a", b"{\"x\":3}").is_ok()
    });
    assert!(cached, "the cache is back");
    assert_eq!(storage.read("packed", "a").expect("cached"), b"{\"x\":3}");
    assert_eq!(world.counts.hits(), hits + 1);
}

#[test]
fn a_connection_that_was_closed_is_not_used() {
    let Some(mut world) = world() else { return };
    let storage = world.storage();
    storage.write("plain", "a", b"1").expect("written");
    world.restart_gateway();
    // The first call after that is no error: the dead connection is seen before it is used.
    assert_eq!(storage.read("plain", "a").expect("is there"), b"1");
}

#[test]
fn all_connections_in_use_is_an_error_in_time() {
    let Some(world) = world() else { return };
    let config = StorageConfig {
        connections: 1,
        ..world.storage_config()
    };
    let storage = Storage::new(&config).expect("a certificate");
    storage.write("plain", "a", b"1").expect("written");
    world.postgres.freeze();
    let other = storage.clone();
    let first = std::thread::spawn(move || other.write("plain", "a", b"2"));
    // Well before the gateway gives up on the database, the connection is still in use.
    std::thread::sleep(Duration::from_millis(300));
    let soon = Instant::now() + Duration::from_millis(200);
    let impatient = with_deadline(soon, || storage.read("plain", "a"));
    assert!(
        matches!(impatient, Err(StorageError::Exhausted(1))),
        "{impatient:?}"
    );
    let first = first.join().expect("no panic");
    assert!(
        matches!(first, Err(StorageError::Exception { .. })),
        "{first:?}"
    );
    world.postgres.thaw();
}

#[test]
fn a_gateway_that_does_not_answer_ends_a_call_at_its_deadline() {
    let Some(world) = world() else { return };
    let storage = world.storage();
    storage.write("plain", "a", b"1").expect("written");
    world.postgres.freeze();
    let soon = Instant::now() + Duration::from_millis(300);
    let late = with_deadline(soon, || storage.write("plain", "a", b"2"));
    let Err(StorageError::Trace(failure)) = late else {
        panic!("{late:?}");
    };
    assert_eq!(failure.error.reason, "peer_timeout");
    world.postgres.thaw();
    // The connection, on which an answer may still come, is not used again.
    let read = storage.read("plain", "a").expect("is there");
    assert!([&b"1"[..], b"2"].contains(&&read[..]), "{read:?}");
}

#[test]
fn an_impostor_is_not_taken_for_the_gateway() {
    let Some(world) = world() else { return };
    let (roots, name) = (world.other_certificate(), "elsewhere".to_owned());
    let strangers = [
        StorageConfig {
            roots,
            ..world.storage_config()
        },
        StorageConfig {
            server_name: name,
            ..world.storage_config()
        },
    ];
    for config in strangers {
        let storage = Storage::new(&config).expect("a certificate");
        let refused = storage.read("plain", "a").expect_err("another");
        assert!(matches!(refused, StorageError::Connect(_)), "{refused}");
        assert!(refused.to_string().contains("certificate"), "{refused}");
    }
}

#[test]
fn a_gateway_that_stops_answers_the_requests_that_have_begun() {
    let Some(world) = world() else { return };
    let config = GatewayConfig {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        // The database does not answer until the test has seen the gateway stop.
        store_timeout_ms: 60_000,
        ..world.config.clone()
    };
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    let gateway = runtime.block_on(Gateway::bind(&config)).expect("binds");
    let (address, counts) = (gateway.address().expect("listens"), gateway.counts());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = runtime.spawn(gateway.serve_until(async move { drop(stopped.await) }));
    let storage = Storage::new(&StorageConfig {
        address,
        ..world.storage_config()
    });
    let storage = storage.expect("a certificate");
    storage.write("plain", "a", b"1").expect("written");
    world.postgres.freeze();
    std::thread::scope(|threads| {
        let writing = threads.spawn(|| storage.write("plain", "a", b"2"));
        let begun = || counts.requests(Operation::DbInsert) == 2;
        eventually("the request has come", begun);
        stop.send(()).expect("it serves");
        let connect = || TcpStream::connect(address);
        eventually("the port is closed", || connect().is_err());
        world.postgres.thaw();
        let written = writing.join().expect("no panic");
        written.expect("the gateway answers");
    });
    // The client's connections are open, and have no request.
    runtime.block_on(serving).expect("it has stopped");
}
