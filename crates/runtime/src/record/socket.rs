//! Measures the costs of sending and receiving over a real TCP socket.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// The number of bytes in flight. It is smaller than every default socket buffer, so that one
/// thread can write and then read without blocking.
const PIECE: usize = 64 * 1024;

/// Nothing on loopback takes this long.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Both ends of a connection over 127.0.0.1, used by one thread.
#[derive(Debug)]
pub(super) struct SocketPair {
    local: TcpStream,
    remote: TcpStream,
    buffer: Vec<u8>,
}

impl SocketPair {
    pub(super) fn connect() -> io::Result<SocketPair> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let local = TcpStream::connect(listener.local_addr()?)?;
        let (remote, _) = listener.accept()?;
        for end in [&local, &remote] {
            end.set_nodelay(true)?;
            end.set_read_timeout(Some(TIMEOUT))?;
            end.set_write_timeout(Some(TIMEOUT))?;
        }
        let buffer = vec![0x5a; PIECE];
        Ok(SocketPair {
            local,
            remote,
            buffer,
        })
    }

    /// Measures the time of `send` for a message of `bytes` bytes. On loopback the kernel does the
    /// receiver's protocol work within the sender's call.
    pub(super) fn send(&mut self, bytes: usize) -> io::Result<Duration> {
        let mut spent = Duration::ZERO;
        for piece in pieces(bytes) {
            let piece = &mut self.buffer[..piece];
            let start = Instant::now();
            self.local.write_all(piece)?;
            spent += start.elapsed();
            self.remote.read_exact(piece)?;
        }
        Ok(spent)
    }

    /// Measures the time of `recv` for a message of `bytes` bytes that has already arrived.
    pub(super) fn receive(&mut self, bytes: usize) -> io::Result<Duration> {
        let mut spent = Duration::ZERO;
        for piece in pieces(bytes) {
            let piece = &mut self.buffer[..piece];
            self.remote.write_all(piece)?;
            // Waits until data has arrived, without reading it.
            self.local.peek(&mut [0])?;
            let start = Instant::now();
            self.local.read_exact(piece)?;
            spent += start.elapsed();
        }
        Ok(spent)
    }
}

fn pieces(bytes: usize) -> impl Iterator<Item = usize> {
    (0..bytes.div_ceil(PIECE)).map(move |index| PIECE.min(bytes - index * PIECE))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn pieces_add_up() {
        for bytes in [0, 1, PIECE - 1, PIECE, PIECE + 1, 16 << 20] {
            assert_eq!(pieces(bytes).sum::<usize>(), bytes);
            assert!(pieces(bytes).all(|piece| (1..=PIECE).contains(&piece)));
        }
    }

    #[test]
    fn messages_larger_than_any_buffer_pass() {
        let mut pair = SocketPair::connect().unwrap();
        for bytes in [1, 1_000, 16 << 20] {
            assert!(pair.send(bytes).unwrap() > Duration::ZERO);
            assert!(pair.receive(bytes).unwrap() > Duration::ZERO);
        }
    }
}
