//! Writing to a socket within a time limit.

use std::io::{self, Write};
use std::net::TcpStream;
use std::time::Instant;

use super::close::Close;

pub(crate) fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

/// Writes everything, or fails at `deadline`, even if the client reads a byte now and then.
pub(crate) fn write_all(
    mut stream: &TcpStream,
    mut bytes: &[u8],
    deadline: Instant,
    what: &'static str,
) -> Result<(), Close> {
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(0) => return Err(Close::Cut),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if is_timeout(&error) => return Err(Close::Slow(what)),
            Err(error) => return Err(Close::Io(error)),
        }
        if !bytes.is_empty() && Instant::now() >= deadline {
            return Err(Close::Slow(what));
        }
    }
    Ok(())
}
