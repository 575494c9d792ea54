//! Idle connections make room for new ones: which of them, after how long, and how they end.

mod common;

use std::io::Read;
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::mpsc;
use std::time::Duration;

use accelflow_accel::rpc::MessageType;
use accelflow_accel::thrift::Protocol;
use accelflow_serve::{Config, Request, Running, Server, Tenant};

use common::grpc::{Client, SETTINGS, farewell, raw, read_frame, text};
use common::*;

const EVICTED: &str = r#"accelflow_connections_total{end="evicted"}"#;

/// Room for `most` connections, which may be evicted as soon as they are idle.
fn at_once(most: usize) -> Config {
    Config {
        max_connections: most,
        evict_after: Duration::from_nanos(1),
        ..Config::default()
    }
}

fn started(mut server: Server, config: Config) -> Running {
    server.set_config(config);
    start(server)
}

/// Waits until so many connections are idle. A client may have its answer before that.
fn await_idle(running: &Running, least: u64) {
    await_count(running, "accelflow_connections_idle", least);
}

fn is_well(client: &mut TcpStream) {
    let added = call(client, "add", Protocol::Binary, r#"{"a":1,"b":1}"#);
    assert_eq!(added, (MessageType::Reply, r#"{"success":2}"#.to_owned()));
}

/// The server has ended the connection in an orderly way.
fn has_ended(mut client: TcpStream) {
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).expect("no reset");
    assert!(rest.is_empty());
}

/// The server has turned the connection away.
fn is_turned_away(mut client: TcpStream) {
    let mut rest = Vec::new();
    let _ = client.read_to_end(&mut rest);
    assert!(rest.is_empty());
}

#[test]
fn the_connection_that_was_idle_longest_makes_room() {
    let running = started(server(), at_once(3));
    let [mut first, mut second, mut third] = [(); 3].map(|()| connect(&running));
    for (client, idle) in [(&mut first, 1), (&mut second, 2), (&mut third, 3)] {
        is_well(client);
        // Otherwise the next one may be idle before it.
        await_idle(&running, idle);
    }
    // The first speaks again, so that the second has been idle for longer.
    is_well(&mut first);
    await_idle(&running, 3);
    let mut new = connect(&running);
    is_well(&mut new);
    has_ended(second);
    [&mut first, &mut third, &mut new]
        .into_iter()
        .for_each(is_well);
    await_count(&running, EVICTED, 1);
    // Connections that spoke once lock nobody out.
    let mut kept = Vec::new();
    for _ in 0..50 {
        await_idle(&running, 3);
        let mut client = connect(&running);
        is_well(&mut client);
        kept.push(client);
    }
    await_count(&running, EVICTED, 51);
    let refused = r#"accelflow_connections_total{end="too_many"}"#;
    assert_eq!(counted(&running, refused), 0);
}

#[test]
fn an_idle_connection_keeps_its_place_for_the_least_time() {
    // 10 seconds by default.
    let config = Config {
        max_connections: 2,
        ..Config::default()
    };
    let running = started(server(), config);
    let [mut one, mut two] = [(); 2].map(|()| connect(&running));
    is_well(&mut one);
    is_well(&mut two);
    is_turned_away(connect(&running));
    is_well(&mut one);
    is_well(&mut two);
    assert_eq!(counted(&running, EVICTED), 0);
}

#[test]
fn a_connection_with_a_request_or_without_a_first_one_is_not_idle() {
    let (begun, begins) = mpsc::channel::<()>();
    let (release, gate) = mpsc::channel::<()>();
    let gate = Mutex::new((begun, gate));
    let mut server = server();
    let wait = move |_: &Request<'_>| {
        let gate = gate.lock().expect("nobody panics");
        let _ = gate.0.send(());
        let _ = gate.1.recv_timeout(LONG);
        Ok(b"\"at last\"".to_vec())
    };
    server.handle("unhandled", wait).expect("declared");
    let running = started(server, at_once(2));
    let mut works = connect(&running);
    is_well(&mut works);
    let silent = connect(&running);
    let answer = std::thread::spawn(move || {
        let (_, body) = call(&mut works, "unhandled", Protocol::Binary, "{}");
        (works, body)
    });
    begins.recv_timeout(LONG).expect("the handler begins");
    is_turned_away(connect(&running));
    drop(release);
    let (works, body) = answer.join().expect("no panic");
    assert_eq!(body, r#"{"success":"at last"}"#);
    await_idle(&running, 1);
    is_well(&mut connect(&running));
    has_ended(works);
    drop(silent);
    await_count(&running, EVICTED, 1);
}

#[test]
fn an_address_and_a_tenant_replace_their_own_connections() {
    let config = Config {
        max_connections_per_address: Some(2),
        ..at_once(8)
    };
    let running = started(server(), config);
    let mut other = connect_from(&running, from(3));
    is_well(&mut other);
    let [mut one, mut two, mut new] = [(); 3].map(|()| None::<TcpStream>);
    for (client, idle) in [(&mut one, 2), (&mut two, 3), (&mut new, 3)] {
        is_well(client.insert(connect_from(&running, from(2))));
        await_idle(&running, idle);
    }
    has_ended(one.take().expect("connected"));
    is_well(&mut other);

    let mut limited = Tenant::new("limited", vec![from(2).into()]);
    limited.max_connections = 1;
    let mut server = server();
    server.set_tenants(vec![limited]).expect("one tenant");
    let running = started(server, at_once(8));
    let mut other = connect_from(&running, from(3));
    is_well(&mut other);
    let mut first = connect_from(&running, from(2));
    is_well(&mut first);
    await_idle(&running, 2);
    is_well(&mut connect_from(&running, from(2)));
    has_ended(first);
    is_well(&mut other);
    await_count(&running, EVICTED, 1);
}

#[test]
fn tls_ends_with_a_goodbye() {
    let certificate = Certificate::new("evicted");
    let mut server = server();
    server.set_tls(certificate.identity());
    let running = started(server, at_once(1));
    let open = || {
        let versions = [&rustls::version::TLS13];
        certificate.client_over(connect(&running), &versions, &[])
    };
    let mut first = open();
    let added = call(&mut first, "add", Protocol::Binary, r#"{"a":1,"b":1}"#);
    assert_eq!(added.0, MessageType::Reply);
    await_idle(&running, 1);
    let mut second = open();
    let added = call(&mut second, "add", Protocol::Binary, r#"{"a":1,"b":1}"#);
    assert_eq!(added.0, MessageType::Reply);
    // Without a close_notify, reading would end with an error.
    assert_eq!(first.read(&mut [0; 1]).expect("close_notify"), 0);
}

fn echoes(client: &mut Client) {
    let reply = client.call("Echo", text("x"));
    assert_eq!(reply.json("test.Text")["text"], "x");
}

#[test]
fn an_idle_client_of_grpc_is_told_and_makes_room() {
    let running = common::grpc::start(common::grpc::server(), at_once(1));
    // It has only greeted the server.
    let mut idle = raw(&running);
    while read_frame(&mut idle).expect("it greets").0 != SETTINGS {}
    await_idle(&running, 1);
    let mut client = common::grpc::connect(running.address());
    echoes(&mut client);
    // GOAWAY with NO_ERROR.
    assert_eq!(farewell(&mut idle), Some(0));
    await_count(&running, EVICTED, 1);
    let mut kept = Vec::new();
    for done in 2..5 {
        await_idle(&running, 1);
        let mut next = common::grpc::connect(running.address());
        echoes(&mut next);
        await_count(&running, EVICTED, done);
        kept.push(next);
    }
}

#[test]
fn a_stream_of_grpc_that_is_open_keeps_its_connection() {
    let running = common::grpc::start(common::grpc::server(), at_once(1));
    let mut busy = common::grpc::connect(running.address());
    echoes(&mut busy);
    // A request whose message has not ended.
    let open = busy.runtime.block_on(async {
        let mut requests = busy.requests.clone().ready().await.expect("room");
        let asked = common::grpc::request("/test.Calculator/Echo", &[]);
        let (response, mut body) = requests.send_request(asked, false).expect("room");
        body.send_data(text("x")[..3].to_vec().into(), false)
            .expect("room");
        // The answer to another request shows that the server has seen this one.
        let other = common::grpc::request("/test.Calculator/Echo", &[]);
        let other = common::grpc::exchange(busy.requests.clone(), other, text("y"));
        assert_eq!(other.await.expect("a reply").code(), 0);
        (response, body)
    });
    is_turned_away(connect(&running));
    let (response, mut body) = open;
    busy.runtime.block_on(async {
        body.send_data(text("x")[3..].to_vec().into(), true)
            .expect("room");
        response.await.expect("an answer");
    });
    assert_eq!(counted(&running, EVICTED), 0);
}
