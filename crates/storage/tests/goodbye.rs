//! Gateways that close a connection right after an answer, with close_notify behind it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use accelflow_accel::Limits;
use accelflow_accel::storage::{Operation, StorageResponse, read_request};
use accelflow_serve::Execution;
use accelflow_storage::{Storage, StorageConfig};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection};

use crate::common::waits::accept;

/// Answers one request per connection. `cut` bytes of the records that end the connection follow
/// only after the rest has been sent.
fn serve(listener: &TcpListener, config: &Arc<ServerConfig>, cuts: &[usize]) {
    for cut in cuts {
        let mut stream = accept(listener);
        stream.set_nodelay(true).expect("a socket");
        let mut tls = ServerConnection::new(config.clone()).expect("a configuration");
        while tls.is_handshaking() {
            tls.complete_io(&mut stream).expect("a handshake");
        }
        let request = receive(&mut tls, &mut stream);
        let asked = read_request(&request, &Limits::default()).expect("a request");
        assert_eq!(asked.operation, Operation::DbInsert);
        let done = StorageResponse::done(asked.operation);
        let answer = done.encode(&Limits::default()).expect("small");
        tls.writer().write_all(&answer).expect("memory");
        tls.send_close_notify();
        let mut records = Vec::new();
        while tls.wants_write() {
            tls.write_tls(&mut records).expect("memory");
        }
        let (now, later) = records.split_at(records.len() - cut);
        stream.write_all(now).expect("the client reads");
        if !later.is_empty() {
            std::thread::sleep(Duration::from_millis(50));
            // The client may have left by now.
            let _ = stream.write_all(later);
        }
    }
}

fn receive(tls: &mut ServerConnection, stream: &mut TcpStream) -> Vec<u8> {
    let mut request = Vec::new();
    loop {
        // The request may have come with the end of the handshake. Reading fails at the end of what
        // has arrived.
        let _ = tls.reader().read_to_end(&mut request);
        if let Some(head) = request.first_chunk::<4>()
            && request.len() >= 4 + u32::from_be_bytes(*head) as usize
        {
            return request;
        }
        tls.read_tls(stream).expect("the client sends");
        tls.process_new_packets().expect("records");
    }
}

fn gateway(cuts: Vec<usize>) -> (SocketAddr, tempfile::NamedTempFile, JoinHandle<()>) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a key");
    let roots = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(roots.path(), made.cert.pem()).expect("a file");
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
    let config = ServerConfig::builder_with_protocol_versions(&[&rustls::version::TLS13])
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key);
    let mut config = config.expect("a certificate");
    config.send_tls13_tickets = 0;
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = listener.local_addr().expect("bound");
    let config = Arc::new(config);
    let served = std::thread::spawn(move || serve(&listener, &config, &cuts));
    (address, roots, served)
}

#[test]
fn an_answer_is_valid_if_the_end_of_the_connection_comes_with_it() {
    // Without a cut, in the header of the last record, and in its content.
    let (address, roots, served) = gateway(vec![0, 22, 9, 0]);
    let storage = Storage::new(&StorageConfig {
        address,
        server_name: "localhost".to_owned(),
        roots: roots.path().to_owned(),
        connections: 1,
        timeout: Duration::from_secs(60),
        execution: Execution::Inline,
    });
    let storage = storage.expect("a certificate");
    for number in 0..4 {
        let written = storage.write("plain", &format!("key-{number}"), b"1");
        written.unwrap_or_else(|error| panic!("write {number}: {error}"));
    }
    served.join().expect("every connection had one request");
}
