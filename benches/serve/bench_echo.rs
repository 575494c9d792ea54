//! The server that `benches/server_thrift.py` compares with Apache Thrift's, and
//! `benches/server_grpc.py` with tonic: a handler in Rust, which gets its argument as a value of
//! its own type and returns such a value.
//!
//!     bench_echo INTERFACE [CERTIFICATE KEY]
//!
//! In the environment, BENCH_HANDLER_THREADS sets the number of threads for gRPC's handlers, and
//! BENCH_STREAMS the largest number of streams. Prints its port, and serves until its standard
//! input ends.

use std::borrow::Cow;
use std::error::Error;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use accelflow_serve::{Config, HandlerError, Request, Returned, Server, TlsIdentity};
use serde::{Deserialize, Deserializer, Serialize};

#[derive(Deserialize, Serialize)]
struct Item<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
    numbers: Vec<i64>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    value: Item<'a>,
}

fn echo(request: &Request<'_>) -> Result<Returned, HandlerError> {
    let arguments: Arguments<'_> = request.read()?;
    Ok(request.returns(&arguments.value))
}

/// The item in ProtoJSON, whose 64-bit integers are strings. Results may have numbers, too.
#[derive(Deserialize, Serialize)]
struct ProtoItem<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
    #[serde(deserialize_with = "numbers")]
    numbers: Vec<i64>,
}

fn numbers<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<i64>, D::Error> {
    let texts: Vec<Cow<'de, str>> = Vec::deserialize(from)?;
    let numbers = texts.iter().map(|text| text.parse());
    numbers
        .collect::<Result<_, _>>()
        .map_err(serde::de::Error::custom)
}

fn echo_grpc(request: &Request<'_>) -> Result<Returned, HandlerError> {
    let item: ProtoItem<'_> = request.read()?;
    Ok(request.returns(&item))
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (interface, identity) = match arguments.as_slice() {
        [interface] => (interface, None),
        [interface, certificate, key] => {
            let read = TlsIdentity::from_pem_files(Path::new(certificate), Path::new(key));
            (interface, Some(read?))
        }
        _ => return Err("usage: bench_echo INTERFACE [CERTIFICATE KEY]".into()),
    };
    let mut server = Server::from_interface(Path::new(interface), &[])?;
    let mut config = Config::default();
    if let Ok(threads) = std::env::var("BENCH_HANDLER_THREADS") {
        config.handler_threads = threads.parse()?;
    }
    if let Ok(streams) = std::env::var("BENCH_STREAMS") {
        config.max_concurrent_streams = streams.parse()?;
    }
    server.set_config(config);
    if let Some(identity) = identity {
        server.set_tls(identity);
    }
    match interface.ends_with(".proto") {
        true => server.handle_values("bench.Bench.Echo", echo_grpc)?,
        false => server.handle_values("Bench.echo", echo)?,
    }
    let running = server.start(([127, 0, 0, 1], 0).into())?;
    println!("{}", running.address().port());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    running.stop(Duration::from_secs(1));
    Ok(())
}
