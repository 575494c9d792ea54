//! Reads HTTP/1.1 messages.

use super::call::HttpCall;
use super::head::{Body, Head};
use crate::codec::Codec;
use crate::error::AccelError;
use crate::limits::Limits;

/// A message that has been read.
pub(crate) struct Received {
    /// Its start line, and whether the connection ends with it.
    pub(crate) call: HttpCall,
    /// The compression of its body.
    pub(crate) codec: Option<Codec>,
    /// Where its body is.
    pub(crate) body: Body,
}

/// Reads bytes that are exactly one message, which is a request or response like `call`.
///
/// # Errors
/// `too_large`, `truncated`, `trailing_bytes`, `bad_http`, `unknown_codec`.
pub(crate) fn read(call: &HttpCall, bytes: &[u8], limits: &Limits) -> Result<Received, AccelError> {
    limits.check_size("bytes of the HTTP message", bytes.len())?;
    let (call, head) = Head::of_message(call, bytes)?;
    let head = head.ok_or(AccelError::Truncated {
        what: "HTTP head",
        at: bytes.len(),
        need: 1,
        have: 0,
    })?;
    let Some(body) = head.read_body(bytes, call.close, limits)? else {
        let at = head.end;
        let have = bytes.len() - at;
        let need = head.length().unwrap_or(have + 1);
        return Err(AccelError::Truncated {
            what: "HTTP body",
            at,
            need,
            have,
        });
    };
    if body.end < bytes.len() {
        let (at, extra) = (body.end, bytes.len() - body.end);
        return Err(AccelError::TrailingBytes {
            what: "HTTP body",
            at,
            extra,
        });
    }
    Ok(Received {
        call: HttpCall {
            close: head.close,
            ..call
        },
        codec: head.codec,
        body,
    })
}

/// Returns the length in bytes of the HTTP response at the start of `bytes`, the bytes received so
/// far. The length includes interim (1xx) responses before the final one. A length above that of
/// `bytes` means that the response is incomplete. `None` while the length is not known.
///
/// `to_head` states whether the request's method was HEAD, since the response then has no body.
/// `ended` states whether the server has closed the connection without an error, which ends a
/// response without a stated length.
///
/// # Errors
/// `bad_http`, `too_large`, `unknown_codec`.
pub fn response_length(
    bytes: &[u8],
    to_head: bool,
    ended: bool,
    limits: &Limits,
) -> Result<Option<usize>, AccelError> {
    limits.check_size("bytes of the HTTP message", bytes.len())?;
    let method = if to_head { "HEAD" } else { "GET" };
    let call = HttpCall::request(method, "", "").response(200);
    let (_, Some(head)) = Head::of_message(&call, bytes)? else {
        return Ok(None);
    };
    if let Some(length) = head.length() {
        let size = head.end.saturating_add(length);
        limits.check_size("bytes of the HTTP message", size)?;
        return Ok(Some(size));
    }
    let body = head.read_body(bytes, ended, limits)?;
    Ok(body.map(|body| body.end))
}
