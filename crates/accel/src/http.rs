//! HTTP/1.1 messages (traces T11 and T12): a head and a body of known length.
//!
//! Bodies are JSON, or compressed JSON under `content-encoding: zstd`, `gzip` (or `snappy`, which is not
//! a registered coding). Chunked transfer coding is refused by name.

use std::sync::Arc;

use accelflow_trace::Format;

use crate::compress::Codec;
use crate::error::AccelError;
use crate::job::{Call, Job, Packed};
use crate::limits::Limits;
use crate::storage::Role;
use crate::transform::payload;

/// Most header lines of a message.
const MAX_HEADERS: usize = 64;

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
}

impl HttpCall {
    /// A POST request.
    pub fn post(host: &str, target: &str) -> HttpCall {
        let (method, target, host) = ("POST".into(), target.into(), host.into());
        HttpCall {
            role: Role::Request,
            method,
            target,
            host,
            status: 200,
        }
    }

    /// The response to this request: what a server writes, and what a client reads.
    pub fn response(&self, status: u16) -> HttpCall {
        HttpCall {
            role: Role::Response,
            status,
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
    out.push_str("content-type: application/json\r\n");
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
    let (call, head, fields) = read_head(call, &job.bytes)?;
    let have = job.bytes.len() - head;
    if have < fields.length {
        let (what, need) = ("HTTP body", fields.length);
        return Err(AccelError::Truncated {
            what,
            at: head,
            need,
            have,
        });
    }
    if have > fields.length {
        let (at, extra) = (head + fields.length, have - fields.length);
        return Err(AccelError::TrailingBytes {
            what: "HTTP body",
            at,
            extra,
        });
    }
    job.bytes.drain(..head);
    job.packed = fields.codec.map(|codec| Packed {
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

#[derive(Default)]
struct BodyFields {
    length: usize,
    codec: Option<Codec>,
}

fn read_head(call: &HttpCall, bytes: &[u8]) -> Result<(HttpCall, usize, BodyFields), AccelError> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut read = call.clone();
    let (status, headers) = match call.role {
        Role::Request => {
            let mut request = httparse::Request::new(&mut headers);
            let status = request.parse(bytes);
            read.method = request.method.unwrap_or_default().into();
            read.target = request.path.unwrap_or_default().into();
            (status, &*request.headers)
        }
        Role::Response => {
            let mut response = httparse::Response::new(&mut headers);
            let status = response.parse(bytes);
            read.status = response.code.unwrap_or_default();
            (status, &*response.headers)
        }
    };
    match status {
        Ok(httparse::Status::Complete(head)) => {
            // The parser lets some through that no request line may have (RFC 9112, section 3.2).
            check_call(&read)?;
            Ok((read, head, body_fields(headers)?))
        }
        Ok(httparse::Status::Partial) => {
            let (at, have) = (bytes.len(), 0);
            Err(AccelError::Truncated {
                what: "HTTP head",
                at,
                need: 1,
                have,
            })
        }
        Err(error) => Err(AccelError::BadHttp {
            at: 0,
            why: error.to_string(),
        }),
    }
}

fn body_fields(headers: &[httparse::Header<'_>]) -> Result<BodyFields, AccelError> {
    let bad = |why: String| Err(AccelError::BadHttp { at: 0, why });
    let mut fields = BodyFields::default();
    let mut length = None;
    for header in headers {
        let value = String::from_utf8_lossy(header.value);
        let value = value.trim();
        if header.name.eq_ignore_ascii_case("content-length") {
            // Digits alone: Rust's parser would let a sign through.
            let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
            let Some(parsed) = value.parse::<usize>().ok().filter(|_| digits) else {
                return bad(format!("content-length '{value}' is no number"));
            };
            if length.is_some_and(|known| known != parsed) {
                return bad("two different content-length headers".to_owned());
            }
            length = Some(parsed);
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            return bad(format!(
                "transfer-encoding '{value}' is not supported; content-length is"
            ));
        } else if header.name.eq_ignore_ascii_case("content-encoding") && value != "identity" {
            fields.codec = Some(Codec::from_name(&value.to_ascii_lowercase())?);
        }
    }
    fields.length = length.unwrap_or(0);
    Ok(fields)
}

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
