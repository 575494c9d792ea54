//! HTTP/1.1 messages (traces T11 and T12): a head and a body.
//!
//! Bodies are JSON, or compressed JSON under `content-encoding` zstd or gzip (or `snappy`, which is
//! not a registered coding). What is written has a `content-length`. What is read has that, or
//! chunked transfer coding, or, of responses, ends with its connection (RFC 9112, section 6.3).
//! A message whose end two parties could see in different places is refused.

mod body;

use std::sync::Arc;

use accelflow_trace::Format;

use crate::error::AccelError;
use crate::job::{Call, Job, Packed};
use crate::limits::Limits;
use crate::storage::Role;
use crate::transform::payload;
use body::Head;

/// Most header lines of a message.
const MAX_HEADERS: usize = 64;

/// Longest head of a message, those of interim responses before it included: 64 KiB.
const MAX_HEAD: usize = 64 * 1024;

/// What HTTP message a job is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpCall {
    /// What Ser writes and Dser reads: a request or a response.
    pub role: Role,
    /// The request's method.
    pub method: Arc<str>,
    /// The request's target, such as `/wrk2-api/post/compose`.
    pub target: Arc<str>,
    /// The value of the `host` header.
    pub host: Arc<str>,
    /// The response's status.
    pub status: u16,
    /// Further header lines that are written, in order. Those that say where a message ends are
    /// not allowed.
    pub headers: Arc<[(Arc<str>, Arc<str>)]>,
    /// Whether the connection ends with this message. Of a response that is to be read: whether the
    /// connection has ended, which is the end of a response that does not tell its length.
    pub close: bool,
}

impl HttpCall {
    /// A POST request.
    pub fn post(host: &str, target: &str) -> HttpCall {
        HttpCall::request("POST", host, target)
    }

    /// A request.
    pub fn request(method: &str, host: &str, target: &str) -> HttpCall {
        HttpCall {
            role: Role::Request,
            method: method.into(),
            target: target.into(),
            host: host.into(),
            status: 200,
            headers: Arc::default(),
            close: false,
        }
    }

    /// The response to this request: what a server writes, and what a client reads.
    pub fn response(&self, status: u16) -> HttpCall {
        HttpCall {
            role: Role::Response,
            status,
            headers: Arc::default(),
            close: false,
            ..self.clone()
        }
    }
}

/// Serializes head and body.
pub(crate) fn serialize(
    call: &HttpCall,
    job: &Job,
    limits: &Limits,
) -> Result<Vec<u8>, AccelError> {
    check_call(call)?;
    let (body, _) = payload(job)?;
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
    if let Some(packed) = job.packed {
        out.push_str(&format!("content-encoding: {}\r\n", packed.codec.name()));
    }
    out.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
    let mut out = out.into_bytes();
    out.extend_from_slice(&body);
    AccelError::check_size("HTTP message", out.len(), limits)?;
    Ok(out)
}

/// Reads head and body; sets the facts `status` and `compressed` and the text `method`.
pub(crate) fn deserialize(
    call: &HttpCall,
    job: &mut Job,
    limits: &Limits,
) -> Result<(), AccelError> {
    AccelError::check_size("HTTP message", job.bytes.len(), limits)?;
    let (call, head) = Head::of_message(call, &job.bytes)?;
    let head = head.ok_or(AccelError::Truncated {
        what: "HTTP head",
        at: job.bytes.len(),
        need: 1,
        have: 0,
    })?;
    let Some(body) = head.read_body(&job.bytes, call.close, limits)? else {
        let at = head.end;
        let have = job.bytes.len() - at;
        let need = head.length().unwrap_or(have + 1);
        return Err(AccelError::Truncated {
            what: "HTTP body",
            at,
            need,
            have,
        });
    };
    if body.end < job.bytes.len() {
        let (at, extra) = (body.end, job.bytes.len() - body.end);
        return Err(AccelError::TrailingBytes {
            what: "HTTP body",
            at,
            extra,
        });
    }
    let call = HttpCall {
        close: head.close,
        ..call
    };
    let codec = head.codec;
    body.put_into(&mut job.bytes);
    job.packed = codec.map(|codec| Packed {
        codec,
        format: Format::Json,
    });
    job.format = if job.packed.is_some() {
        Format::Str
    } else {
        Format::Json
    };
    job.envelope = None;
    job.facts.set("compressed", job.packed.is_some().into());
    match call.role {
        Role::Response => job.facts.set("status", call.status.into()),
        Role::Request => job.facts.set_text("method", call.method.clone()),
    }
    job.call = Call::Http(call);
    Ok(())
}

/// The length of the response at the beginning of `bytes`, interim responses before it included,
/// as soon as that is known; it may be more than what has come. `to_head` says that the request's
/// method was HEAD, `ended` that the connection has ended in order.
///
/// # Errors
/// `bad_http`, `too_large`, `unknown_codec`.
pub fn response_length(
    bytes: &[u8],
    to_head: bool,
    ended: bool,
    limits: &Limits,
) -> Result<Option<usize>, AccelError> {
    AccelError::check_size("HTTP message", bytes.len(), limits)?;
    let method = if to_head { "HEAD" } else { "GET" };
    let call = HttpCall::request(method, "", "").response(200);
    let (_, Some(head)) = Head::of_message(&call, bytes)? else {
        return Ok(None);
    };
    if let Some(length) = head.length() {
        let size = head.end.saturating_add(length);
        AccelError::check_size("HTTP message", size, limits)?;
        return Ok(Some(size));
    }
    let body = head.read_body(bytes, ended, limits)?;
    Ok(body.map(|body| body.end))
}

/// What follows from the message, and is not for callers to say.
const OWN_HEADERS: [&str; 7] = [
    "host",
    "connection",
    "content-type",
    "content-encoding",
    "content-length",
    "transfer-encoding",
    "upgrade",
];

/// Refuses parts that would break the head apart.
fn check_call(call: &HttpCall) -> Result<(), AccelError> {
    let parts = [
        ("method", &call.method),
        ("target", &call.target),
        ("host", &call.host),
    ];
    for (name, part) in parts {
        let legal = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_graphic());
        if !legal && call.role == Role::Request {
            let why = format!(
                "the {name} '{}' is empty or has spaces or control bytes",
                part.escape_default()
            );
            return Err(AccelError::BadHttp { at: 0, why });
        }
    }
    for (name, value) in call.headers.iter() {
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let named = !name.is_empty() && name.bytes().all(token);
        let clean = value.bytes().all(|byte| byte >= 0x20 && byte != 0x7f);
        let own = OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own));
        if !named || !clean || own {
            let header = format!("{name}: {value}");
            let why = format!(
                "the header '{}' is malformed, or one that Ser writes itself",
                header.escape_debug()
            );
            return Err(AccelError::BadHttp { at: 0, why });
        }
    }
    if !(100..=999).contains(&call.status) {
        let why = format!("status {}; allowed are 100 to 999", call.status);
        return Err(AccelError::BadHttp { at: 0, why });
    }
    Ok(())
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
