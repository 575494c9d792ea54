//! The places that connections have: for how many, for whom, for how long, and how they are left.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Mutex;
use std::sync::mpsc;
use std::time::Duration;

use accelflow_accel::rpc::MessageType;
use accelflow_accel::thrift::Protocol;
use accelflow_serve::{Config, Request, Running, Server};
use socket2::{Domain, Socket, Type};

use crate::common::*;

fn started(server: Server, config: Config) -> Running {
    let mut server = server;
    server.set_config(config);
    start(server)
}

fn is_well(client: &mut TcpStream) {
    let added = call(client, "add", Protocol::Binary, r#"{"a":1,"b":1}"#);
    assert_eq!(added, (MessageType::Reply, r#"{"success":2}"#.to_owned()));
}

/// A client with an address of its own.
fn connect_from(address: [u8; 4], running: &Running) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    let own = SocketAddr::from((address, 0));
    socket.bind(&own.into()).expect("all of 127/8 is loopback");
    socket
        .connect(&running.address().into())
        .expect("the server listens");
    patient(TcpStream::from(socket))
}

/// Waits until the server has ended the connection.
fn is_turned_away(mut client: TcpStream) {
    let mut nothing = Vec::new();
    let _ = client.read_to_end(&mut nothing);
    assert!(nothing.is_empty());
}

#[test]
fn a_client_that_has_left_makes_room_for_the_next_at_once() {
    let config = Config {
        max_connections: 1,
        ..Config::default()
    };
    let running = started(server(), config);
    for _ in 0..200 {
        // One that says nothing, one that goes within a message, and one that is served.
        drop(connect(&running));
        let mut half = connect(&running);
        half.write_all(&[0, 0, 0, 9, 1]).expect("it reads");
        drop(half);
        is_well(&mut connect(&running));
    }
    assert_eq!(
        counted(&running, r#"accelflow_connections_total{end="too_many"}"#),
        0
    );
    let mut stays = connect(&running);
    is_well(&mut stays);
    is_turned_away(connect(&running));
    is_well(&mut stays);
}

#[test]
fn a_client_of_grpc_that_has_left_makes_room_for_the_next_at_once() {
    let config = Config {
        max_connections: 1,
        ..Config::default()
    };
    let running = crate::common::grpc::start(crate::common::grpc::server(), config);
    for _ in 0..50 {
        let mut client = crate::common::grpc::connect(running.address());
        let reply = client.call("Echo", crate::common::grpc::text("x"));
        assert_eq!(reply.code(), 0);
    }
}

#[test]
fn one_address_does_not_take_the_connections_of_others() {
    let config = Config {
        max_connections: 8,
        max_connections_per_address: Some(2),
        ..Config::default()
    };
    let running = started(server(), config);
    let [mut one, mut two] = [(); 2].map(|()| connect_from([127, 0, 0, 2], &running));
    is_well(&mut one);
    is_well(&mut two);
    is_turned_away(connect_from([127, 0, 0, 2], &running));
    let series = r#"accelflow_connections_total{end="too_many_of_address"}"#;
    // The connection is counted after it was closed.
    await_count(&running, series, 1);
    assert_eq!(counted(&running, series), 1);
    is_well(&mut connect_from([127, 0, 0, 3], &running));
    drop(one);
    is_well(&mut connect_from([127, 0, 0, 2], &running));
    is_well(&mut two);
}

#[test]
fn by_default_this_machine_may_have_all_connections() {
    let config = Config {
        max_connections: 4,
        ..Config::default()
    };
    let running = started(server(), config);
    let mut all = [(); 4].map(|()| connect(&running));
    all.iter_mut().for_each(is_well);
}

#[test]
fn a_silent_client_loses_its_connection_and_a_pausing_one_does_not() {
    let config = Config {
        first_byte_timeout: Duration::from_millis(200),
        ..Config::default()
    };
    let running = started(server(), config);
    let mut pauses = connect(&running);
    is_well(&mut pauses);
    is_turned_away(connect(&running));
    let series = r#"accelflow_connections_total{end="silent"}"#;
    await_count(&running, series, 1);
    is_well(&mut pauses);
}

#[test]
fn answers_from_before_the_stop_arrive_whatever_else_was_sent() {
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
    let running = start(server);
    let mut client = connect(&running);
    let waits = frame("unhandled", Protocol::Binary, 1, "{}");
    client.write_all(&waits).expect("it reads");
    begins.recv_timeout(LONG).expect("the handler begins");
    // Nobody reads these while the handler runs.
    let more = frame("nothing", Protocol::Binary, 2, "{}").repeat(2_000);
    client.write_all(&more).expect("there is room on the way");
    let address = running.address();
    let stopping = std::thread::spawn(move || running.stop(Duration::from_secs(60)));
    eventually("the port is closed", || {
        TcpStream::connect(address).is_err()
    });
    drop(release);
    let (_, _, body) = read_reply(&receive(&mut client).expect("a reply"));
    assert_eq!(body, r#"{"success":"at last"}"#);
    // What is not answered any more ends with FIN, and not with a reset.
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).expect("no reset");
    client.write_all(&more).expect("nor for what comes later");
    drop(client);
    assert_eq!(stopping.join().expect("stops"), 0);
}
