//! The file descriptors that connections of a server take. A test program of its own, since it
//! counts those of the whole process.

mod common;

use std::fs::read_dir;

use accelflow_serve::Config;
use common::grpc::{SETTINGS, raw, read_frame};
use common::*;

/// Connections that are open at once.
const CONNECTIONS: usize = 20;

fn descriptors() -> usize {
    read_dir("/proc/self/fd").expect("Linux").count()
}

#[test]
fn a_connection_takes_one_descriptor_at_each_end() {
    let thrift = start(server());
    let grpc = common::grpc::start(common::grpc::server(), Config::default());
    let before = descriptors();
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut client = connect(&thrift);
        call(
            &mut client,
            "nothing",
            accelflow_accel::thrift::Protocol::Binary,
            "{}",
        );
        clients.push(client);
    }
    assert_eq!(descriptors() - before, 2 * CONNECTIONS);
    clients.clear();
    eventually("all connections have ended", || descriptors() == before);
    for _ in 0..CONNECTIONS {
        let mut client = raw(&grpc);
        while read_frame(&mut client).expect("it greets").0 != SETTINGS {}
        clients.push(client);
    }
    assert_eq!(descriptors() - before, 2 * CONNECTIONS);
}
