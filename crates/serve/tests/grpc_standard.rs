//! The standard services of gRPC servers beside their interface: health checks and reflection.

use accelflow_serve::Config;

use crate::common::grpc::{
    Client, Reply, connect, exchange, gzip, prefixed, request, server, start,
};
use crate::common::{LONG, verbose};

const CHECK: &str = "/grpc.health.v1.Health/Check";
const WATCH: &str = "/grpc.health.v1.Health/Watch";
const REFLECT: &str = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

const GZIP: &[(&str, &str)] = &[("grpc-encoding", "gzip")];

/// A health: a message that has the field 1, SERVING.
const SERVING: [u8; 7] = [0, 0, 0, 0, 2, 8, 1];

fn ask(client: &Client, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Reply {
    let reply = exchange(client.requests.clone(), request(path, headers), body);
    let reply = async { tokio::time::timeout(LONG, reply).await };
    let reply = client.runtime.block_on(reply).expect("it does not hang");
    reply.expect("a reply")
}

fn reflecting() -> Config {
    Config {
        reflection: true,
        ..verbose()
    }
}

#[test]
fn standard_methods_keep_deadlines() {
    let running = start(server(), verbose());
    let client = connect(running.address());
    let watch = |timeout| {
        ask(
            &client,
            WATCH,
            &[("grpc-timeout", timeout)],
            prefixed(0, &[]),
        )
    };
    let reply = watch("200m");
    assert_eq!(reply.body, SERVING);
    assert_eq!(
        (reply.code(), reply.why()),
        (4, "the deadline was exceeded")
    );
    assert_eq!(watch("soon").code(), 13);
}

#[test]
fn standard_methods_take_gzip() {
    let running = start(server(), reflecting());
    let client = connect(running.address());
    // A field that no version of the protocols has, in 4,096 bytes in all.
    let longest = [vec![0x7a, 0xfd, 0x1f], vec![b'x'; 4_093]].concat();
    for bytes in [&[][..], &longest] {
        let reply = ask(&client, CHECK, GZIP, prefixed(1, &gzip(bytes)));
        assert_eq!((&reply.body[..], reply.code()), (&SERVING[..], 0));
        assert_eq!(reply.headers["grpc-accept-encoding"], "identity,gzip");
        assert_eq!(reply.headers.get("grpc-encoding"), None);
    }
    // Compressed and other questions on one stream: all services.
    let services = b"\x3a\x00";
    let (packed, plain) = (prefixed(1, &gzip(services)), prefixed(0, services));
    let both = ask(&client, REFLECT, GZIP, [packed, plain.clone()].concat());
    let one = ask(&client, REFLECT, &[], plain);
    assert_eq!((both.code(), one.code()), (0, 0));
    assert_eq!(both.body, one.body.repeat(2));
}

#[test]
fn standard_methods_refuse_what_they_cannot_inflate() {
    let running = start(server(), reflecting());
    let client = connect(running.address());
    let deflate: &[_] = &[("grpc-encoding", "deflate")];
    let bomb = gzip(&[b' '; 4_097]);
    let mut corrupt = gzip(b"\x0a\x01x");
    corrupt[12] ^= 0xff;
    for (headers, flag, message, code, why) in [
        (GZIP, 1, bomb, 8, "must have at most 4096 bytes"),
        (GZIP, 1, vec![0; 4_097], 8, "the message = 4097 bytes"),
        (GZIP, 1, corrupt, 13, "gzip"),
        (GZIP, 2, Vec::new(), 13, "= 2: must be 0 or 1"),
        (&[], 1, gzip(b""), 13, "have no grpc-encoding"),
        (deflate, 1, gzip(b""), 12, "must be one of identity,gzip"),
    ] {
        for path in [CHECK, WATCH, REFLECT] {
            let reply = ask(&client, path, headers, prefixed(flag, &message));
            assert_eq!(reply.code(), code, "{path}: {reply:?}");
            assert!(reply.why().contains(why), "{path}: {reply:?}");
        }
    }
    // An unknown encoding that no message has does not matter.
    let reply = ask(&client, CHECK, deflate, prefixed(0, &[]));
    assert_eq!((&reply.body[..], reply.code()), (&SERVING[..], 0));
}
