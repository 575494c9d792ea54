//! What a client seems to speak that sends no framed Thrift: one line in the operators' log, since
//! the client sees no more than the end of its connection.

use accelflow_accel::AccelError;

use super::connection::Connection;
use crate::transport::close::Close;

/// The bytes in which [`guess`] looks for a protocol: lengths, and the longest name with its type.
const LOOKED_AT: usize = 140;

/// What a connection's first bytes look like.
const BEGINNINGS: [(&[u8], &str); 15] = [
    (
        b"\x80\x01\x00",
        "Thrift without frames, in the binary protocol",
    ),
    (
        b"\x82\x21",
        "Thrift without frames, in the compact protocol",
    ),
    (
        b"\x82\x81",
        "Thrift without frames, in the compact protocol",
    ),
    (b"[1,\"", "Thrift without frames, in the JSON protocol"),
    (b"PRI ", "HTTP/2, as gRPC does"),
    (b"GET ", HTTP),
    (b"PUT ", HTTP),
    (b"POST", HTTP),
    (b"HEAD", HTTP),
    (b"OPTI", HTTP),
    (b"DELE", HTTP),
    (b"PATC", HTTP),
    (b"CONN", HTTP),
    (b"TRAC", HTTP),
    (b"SSH-", "SSH"),
];

const HTTP: &str = "HTTP/1";

/// The protocol of a client that begins with `bytes`, as far as they show one. `is_within_tls`:
/// they come from records of TLS.
fn guess(bytes: &[u8], is_within_tls: bool) -> Option<&'static str> {
    if bytes.starts_with(b"\x16\x03") {
        return Some(match is_within_tls {
            true => "TLS within TLS",
            false => "TLS, and this port has none",
        });
    }
    let begins = |(start, _): &&(&[u8], &str)| bytes.starts_with(start);
    if let Some((_, protocol)) = BEGINNINGS.iter().find(begins) {
        return Some(protocol);
    }
    if is_named_call(bytes) {
        return Some("Thrift without frames, in the binary protocol without a version");
    }
    let framed = bytes.get(4..)?;
    match framed {
        [0x0f, 0xff, ..] => Some("Thrift with the transport THeader"),
        [b'[', b'1', b',', ..] => Some("framed Thrift in the JSON protocol"),
        _ if is_named_call(framed) => {
            Some("framed Thrift in the binary protocol without a version")
        }
        _ => None,
    }
}

/// Whether bytes begin with the length of a name, the name, and a message's type: a call in the
/// binary protocol without a version.
fn is_named_call(bytes: &[u8]) -> bool {
    const LONGEST: usize = 128;
    let Some((length, rest)) = bytes.split_first_chunk::<4>() else {
        return false;
    };
    let length = u32::from_be_bytes(*length) as usize;
    let name = rest.get(..length.min(LONGEST)).unwrap_or_default();
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.:".contains(byte);
    (1..=LONGEST).contains(&length)
        && name.len() == length
        && name.iter().all(is_name)
        && matches!(rest.get(length), Some(1 | 4))
}

impl Connection<'_> {
    /// Logs the end of a connection whose bytes are no frame. Records of TLS may end it, too: then
    /// the log has nothing, unless what they held is another protocol.
    pub(super) fn report_malformed(&mut self, close: &Close) {
        let Close::Malformed(error) = close else {
            return;
        };
        let bytes = match self.control {
            Some(_) => self.opened.bytes(),
            None => self.inbound.bytes(),
        };
        let is_message = !bytes.is_empty() && self.control.is_none();
        if !self.is_foreign && (is_message || guess(bytes, self.control.is_some()).is_some()) {
            let bytes = bytes[..bytes.len().min(LOOKED_AT)].to_vec();
            self.report_foreign(&bytes, error);
        }
    }

    /// Logs that the connection ends since `bytes` are no message, and what they seem to be.
    pub(super) fn report_foreign(&mut self, bytes: &[u8], error: &AccelError) {
        self.is_foreign = true;
        let seems = match guess(bytes, self.control.is_some()) {
            Some(protocol) => format!("the client seems to speak {protocol}: "),
            None => String::new(),
        };
        let why =
            format!("{seems}must be framed Thrift in the binary or compact protocol: {error}");
        let (reports, peer) = (&self.shared.observers.reports, self.peer.peer.address);
        reports.report(error.reason(), "", peer, &why);
    }
}
