//! The server with tonic that `benches/server_grpc.py` compares with: generated code, tokio's
//! runtime of several threads as `#[tokio::main]` makes it.
//!
//!     accelflow-bench-tonic [CERTIFICATE KEY]
//!
//! Prints its port, and serves until its standard input ends.

use std::error::Error;
use std::io::Read;

use generated::Item;
use generated::bench_server::{Bench, BenchServer};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status};

mod generated {
    tonic::include_proto!("bench");
}

struct Echo;

#[tonic::async_trait]
impl Bench for Echo {
    async fn echo(&self, request: Request<Item>) -> Result<Response<Item>, Status> {
        Ok(Response::new(request.into_inner()))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut server = Server::builder();
    match arguments.as_slice() {
        [] => {}
        [certificate, key] => {
            let identity = Identity::from_pem(std::fs::read(certificate)?, std::fs::read(key)?);
            server = server.tls_config(ServerTlsConfig::new().identity(identity))?;
        }
        _ => return Err("usage: accelflow-bench-tonic [CERTIFICATE KEY]".into()),
    }
    let incoming = TcpIncoming::bind(([127, 0, 0, 1], 0).into())?.with_nodelay(Some(true));
    println!("{}", incoming.local_addr()?.port());
    let ended = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    let service = BenchServer::new(Echo);
    server
        .add_service(service)
        .serve_with_incoming_shutdown(incoming, async {
            let _ = ended.await;
        })
        .await?;
    Ok(())
}
