//! Writes HTTP/1.1 messages.

use super::call::HttpCall;
use crate::codec::Codec;
use crate::error::AccelError;
use crate::limits::Limits;
use crate::role::Role;

/// Writes head and body; `codec` is the compression of the body. `call` must have passed
/// [`HttpCall::check`].
///
/// # Errors
/// `too_large`.
pub(crate) fn write(
    call: &HttpCall,
    body: &[u8],
    codec: Option<Codec>,
    limits: &Limits,
) -> Result<Vec<u8>, AccelError> {
    let mut out = match call.role {
        Role::Request => {
            format!(
                "{} {} HTTP/1.1\r\nhost: {}\r\n",
                call.method, call.target, call.host
            )
        }
        Role::Response => format!("HTTP/1.1 {} {}\r\n", call.status, phrase(call.status)),
    };
    for (name, value) in call.headers.iter() {
        out.push_str(&format!("{name}: {value}\r\n"));
    }
    if call.close {
        out.push_str("connection: close\r\n");
    }
    if !body.is_empty() {
        out.push_str("content-type: application/json\r\n");
    }
    if let Some(codec) = codec {
        out.push_str(&format!("content-encoding: {}\r\n", codec.name()));
    }
    out.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
    let mut out = out.into_bytes();
    out.extend_from_slice(body);
    limits.check_size("bytes of the HTTP message", out.len())?;
    Ok(out)
}

fn phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        400 => "Bad Request",
        404 => "Not Found",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        // The phrase may be empty (RFC 9112, section 4).
        _ => "",
    }
}
