//! The thread that accepts a server's connections, and the start of a thread for each of them.

use std::io::{ErrorKind, Read};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use socket2::SockRef;

use super::greeting::greet;
use super::grpc;
use super::peer::PeerAdmission;
use super::places::Place;
use super::protocol::Endpoint;
use super::shared::Shared;
use super::thrift::connection::Connection;
use crate::memory::wipe::wipe_stack;
use crate::transport::close::Close;
use crate::transport::shared_socket::SharedSocket;
use crate::transport::socket::is_timeout;

/// The stack size of a connection's thread, in bytes. The deepest allowed message needs a tenth of
/// it.
const STACK_BYTES: usize = 512 * 1024;

/// The time that the server waits for a client to close a connection that the server has shut down.
const FAREWELL: Duration = Duration::from_millis(500);

/// The interval at which the server checks whether the client has closed it.
const LOOKS_EVERY: Duration = Duration::from_millis(5);

/// Accepts connections until the server stops.
pub(crate) fn accept(shared: &Arc<Shared>, listener: &TcpListener) {
    for number in 0.. {
        let accepted = listener.accept();
        if shared.admission.stopping.load(Ordering::Acquire) {
            return;
        }
        match accepted {
            Ok((stream, peer)) => admit(shared, number, stream, peer),
            // No descriptors are left, or the connection is already gone. The next one may succeed.
            Err(error) => {
                shared.observers.metrics.connection_ended("accept_failed");
                if error.kind() != ErrorKind::ConnectionAborted {
                    thread::sleep(Duration::from_millis(10));
                }
            }
        }
    }
}

fn admit(shared: &Arc<Shared>, number: u64, stream: TcpStream, peer: SocketAddr) {
    let admission = &shared.admission;
    let taken = admission
        .places
        .take(number, stream, peer, &admission.stopping);
    let place = match taken {
        Ok(place) => place,
        Err(why) => return shared.observers.metrics.connection_ended(why.reason()),
    };
    let open = admission.places.count();
    shared.observers.metrics.open.set(open as i64);
    let (for_thread, its_place) = (shared.clone(), place.clone());
    let spawned = thread::Builder::new()
        .name(format!("accelflow-{number}"))
        .stack_size(STACK_BYTES)
        .spawn(move || {
            // Frees the connection's place in all cases.
            let mut ended = Ended(&for_thread, &its_place, "panic");
            (for_thread.admission.thread_scope)(&mut || {
                let close = serve(&for_thread, &its_place);
                report_handshake(&for_thread, &its_place, &close);
                wipe_stack();
                ended.2 = close.reason();
                await_close(&its_place.socket, &close);
            });
        });
    if spawned.is_err() {
        shared.ended(&place, "no_thread");
    }
}

/// Reports a failed handshake to the operators' log. Its client sees no more than a TLS alert.
fn report_handshake(shared: &Shared, place: &Place, close: &Close) {
    if matches!(close, Close::Handshake(_)) {
        let reports = &shared.observers.reports;
        reports.report(close.reason(), "", place.address, &close.to_string());
    }
}

/// Serves one connection. Returns the reason of its end.
fn serve(shared: &Arc<Shared>, place: &Arc<Place>) -> Close {
    let admission = &shared.admission;
    let mut peer = PeerAdmission::unidentified(admission, place);
    // A peer without a certificate is admitted by its address, before it sends data.
    if !admission.asks_clients()
        && let Err(close) = peer.admit(Vec::new())
    {
        return close;
    }
    let stream = match place.socket.blocking() {
        Ok(stream) => stream,
        Err(error) => return Close::Io(error),
    };
    let greeted = match greet(&shared.config, admission, &stream, &mut peer) {
        Ok(greeted) => greeted,
        Err(close) => return close,
    };
    match &shared.endpoint {
        Endpoint::Thrift(schema) => {
            Connection::new(shared, schema, (place, stream), peer, greeted).run()
        }
        Endpoint::Grpc(gateway) => {
            // The runtime of the connection takes the socket over.
            drop(stream);
            grpc::connection::serve(shared, gateway, place, &peer.peer, greeted)
        }
    }
}

/// Shuts a connection down for writing, and discards what the client still sends until it closes
/// its end. Closing a socket with unread data resets the connection (RFC 9293, section 3.6.1), and
/// the client might lose the last reply.
fn await_close(socket: &SharedSocket, close: &Close) {
    if !close.leaves_unread() {
        return;
    }
    let Some(held) = socket.now() else { return };
    let stream = SockRef::from(&held);
    if stream.shutdown(Shutdown::Write).is_err() {
        return;
    }
    let end = Instant::now() + FAREWELL;
    let mut unread = [0; 4096];
    if stream.set_read_timeout(Some(LOOKS_EVERY)).is_err() {
        return;
    }
    // A socket without a peer has been closed by both ends.
    while Instant::now() < end && stream.peer_addr().is_ok() {
        match (&*stream).read(&mut unread) {
            Ok(1..) => {}
            // A stopping server has shut down its own end for reading, so this is not the client's
            // end.
            Ok(0) => thread::sleep(LOOKS_EVERY),
            Err(error) if is_timeout(&error) => thread::sleep(LOOKS_EVERY),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

struct Ended<'s>(&'s Shared, &'s Place, &'static str);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.ended(self.1, self.2);
    }
}
