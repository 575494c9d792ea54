//! The server that `benches/server_thrift.py` compares with Apache Thrift's: a handler in Rust,
//! which gets its argument as a value of its own type and returns such a value.
//!
//!     bench_echo INTERFACE [CERTIFICATE KEY]
//!
//! Prints its port, and serves until its standard input ends.

use std::borrow::Cow;
use std::error::Error;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use accelflow_serve::{HandlerError, HandlerResult, Request, Server, TlsIdentity};
use serde::{Deserialize, Serialize};

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

fn echo(request: &Request<'_>) -> HandlerResult {
    let internal = |error: serde_json::Error| HandlerError::Internal(error.to_string());
    let arguments: Arguments<'_> = serde_json::from_slice(request.arguments).map_err(internal)?;
    serde_json::to_vec(&arguments.value).map_err(internal)
}

fn main() -> Result<(), Box<dyn Error>> {
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
    if let Some(identity) = identity {
        server.set_tls(identity);
    }
    server.handle("Bench.echo", echo)?;
    let running = server.start(([127, 0, 0, 1], 0).into())?;
    println!("{}", running.address().port());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    running.stop(Duration::from_secs(1));
    Ok(())
}
