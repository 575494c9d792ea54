//! TCP over IPv4: packets without options.

mod checksum;
mod packets;
mod session;

pub use packets::{MSS, receive, send};
pub use session::TcpSession;
