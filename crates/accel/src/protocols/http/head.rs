//! The head of a received HTTP message, and where the body begins and ends (RFC 9112, sections 6
//! and 7).

use std::ops::Range;

use super::call::HttpCall;
use crate::codec::Codec;
use crate::error::AccelError;
use crate::limits::Limits;
use crate::role::Role;

/// Most header lines of a message.
const MAX_HEADERS: usize = 64;

/// Longest head of a message, preceding interim responses included: 64 KiB.
const MAX_HEAD: usize = 64 * 1024;

/// The head of a message: the properties of its body.
pub(super) struct Head {
    /// The offset of the head's end.
    pub(super) end: usize,
    framing: Framing,
    pub(super) codec: Option<Codec>,
    /// Whether the connection ends with the message.
    pub(super) close: bool,
}

#[derive(Clone, Copy)]
enum Framing {
    Length(usize),
    Chunked,
    ToEnd,
}

/// The pieces of a body that has been received completely.
pub(crate) struct Body {
    pieces: Vec<Range<usize>>,
    /// The offset of the message's end.
    pub(super) end: usize,
}

impl Body {
    /// Reduces the bytes of the message to its body.
    pub(crate) fn put_into(self, bytes: &mut Vec<u8>) {
        let mut length = 0;
        for piece in self.pieces {
            let size = piece.len();
            bytes.copy_within(piece, length);
            length += size;
        }
        bytes.truncate(length);
    }
}

fn bad<T>(at: usize, why: String) -> Result<T, AccelError> {
    Err(AccelError::BadHttp { at: Some(at), why })
}

impl Head {
    /// Reads the head of a message, which is a request or response like `call`. Returns the head,
    /// or `None` if it is not complete, and its call.
    pub(super) fn of_message(
        call: &HttpCall,
        bytes: &[u8],
    ) -> Result<(HttpCall, Option<Head>), AccelError> {
        let mut read = call.clone();
        let mut start = 0;
        loop {
            let Some(head) = Head::read(&mut read, bytes, start)? else {
                if bytes.len() > MAX_HEAD {
                    let (what, size, limit) = ("bytes of the HTTP head", bytes.len(), MAX_HEAD);
                    return Err(AccelError::TooLarge { what, size, limit });
                }
                return Ok((read, None));
            };
            let interim = call.role == Role::Response && (100..200).contains(&read.status);
            if !interim {
                return Ok((read, Some(head)));
            }
            if read.status == 101 {
                return bad(
                    start,
                    "status = 101: must be another status, since no upgrade was requested"
                        .to_owned(),
                );
            }
            if head.end > MAX_HEAD {
                let (what, size, limit) = ("bytes of the HTTP head", head.end, MAX_HEAD);
                return Err(AccelError::TooLarge { what, size, limit });
            }
            start = head.end;
        }
    }

    fn read(call: &mut HttpCall, bytes: &[u8], start: usize) -> Result<Option<Head>, AccelError> {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let rest = &bytes[start..];
        let (status, version, headers) = match call.role {
            Role::Request => {
                let mut request = httparse::Request::new(&mut headers);
                let status = request.parse(rest);
                call.method = request.method.unwrap_or_default().into();
                call.target = request.path.unwrap_or_default().into();
                (status, request.version, &*request.headers)
            }
            Role::Response => {
                let mut response = httparse::Response::new(&mut headers);
                let status = response.parse(rest);
                call.status = response.code.unwrap_or_default();
                (status, response.version, &*response.headers)
            }
        };
        match status {
            Ok(httparse::Status::Complete(length)) => {
                // The parser is more lenient than RFC 9112, section 3.2, about request lines.
                call.check()?;
                let fields = Fields::read(headers, start)?;
                fields
                    .head(call, start + length, version == Some(0))
                    .map(Some)
            }
            Ok(httparse::Status::Partial) => Ok(None),
            Err(error) => bad(start, error.to_string()),
        }
    }

    /// The length of the body in bytes, if the head gives it.
    pub(super) fn length(&self) -> Option<usize> {
        match self.framing {
            Framing::Length(length) => Some(length),
            Framing::Chunked | Framing::ToEnd => None,
        }
    }

    /// Finds the body; `None` if it is not complete.
    pub(super) fn read_body(
        &self,
        bytes: &[u8],
        ended: bool,
        limits: &Limits,
    ) -> Result<Option<Body>, AccelError> {
        let start = self.end;
        let single = |end: usize| Body {
            pieces: std::iter::once(start..end).collect(),
            end,
        };
        match self.framing {
            Framing::Length(length) => {
                let end = start.saturating_add(length);
                Ok((end <= bytes.len()).then(|| single(end)))
            }
            Framing::ToEnd => Ok(ended.then(|| single(bytes.len()))),
            Framing::Chunked => read_chunks(bytes, start, limits),
        }
    }
}

/// The header lines that determine the body's framing and the connection's end.
#[derive(Default)]
struct Fields {
    length: Option<usize>,
    chunked: bool,
    codec: Option<Codec>,
    close: bool,
    keep_alive: bool,
}

impl Fields {
    fn read(headers: &[httparse::Header<'_>], at: usize) -> Result<Fields, AccelError> {
        let mut fields = Fields::default();
        for header in headers {
            let value = String::from_utf8_lossy(header.value);
            let value = value.trim();
            let is = |name: &str| header.name.eq_ignore_ascii_case(name);
            if is("content-length") {
                // Digits alone: Rust's parser would accept a sign.
                let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
                if !digits {
                    return bad(at, format!("content-length = '{value}': must be digits"));
                }
                let Ok(parsed) = value.parse::<usize>() else {
                    let most = usize::MAX;
                    return bad(
                        at,
                        format!("content-length = {value}: must be at most {most}"),
                    );
                };
                if fields.length.is_some_and(|known| known != parsed) {
                    return bad(
                        at,
                        "content-length occurs with different values: must have one value"
                            .to_owned(),
                    );
                }
                fields.length = Some(parsed);
            } else if is("transfer-encoding") {
                if fields.chunked || !value.eq_ignore_ascii_case("chunked") {
                    let why =
                        format!("transfer-encoding = '{value}': must be chunked, and occur once");
                    return bad(at, why);
                }
                fields.chunked = true;
            } else if is("content-encoding") && !value.eq_ignore_ascii_case("identity") {
                let name = value.to_ascii_lowercase();
                // RFC 9110, section 8.4.1.3.
                let name = if name == "x-gzip" { "gzip" } else { &name };
                if fields.codec.is_some() {
                    return bad(
                        at,
                        "content-encoding occurs more than once: must occur at most once"
                            .to_owned(),
                    );
                }
                fields.codec = Some(Codec::from_name(name)?);
            } else if is("connection") {
                let has = |option: &str| {
                    let mut options = value.split(',').map(str::trim);
                    options.any(|listed| listed.eq_ignore_ascii_case(option))
                };
                fields.close |= has("close");
                fields.keep_alive |= has("keep-alive");
            }
        }
        Ok(fields)
    }

    fn head(self, call: &HttpCall, end: usize, old: bool) -> Result<Head, AccelError> {
        if self.chunked && (self.length.is_some() || old) {
            let why = "transfer-encoding: must only occur in HTTP/1.1, and without content-length";
            return bad(0, why.to_owned());
        }
        let empty = call.role == Role::Response
            && (matches!(call.status, 100..=199 | 204 | 304) || &*call.method == "HEAD");
        let framing = match (empty, self.chunked, self.length) {
            (true, ..) => Framing::Length(0),
            (false, true, _) => Framing::Chunked,
            (false, false, Some(length)) => Framing::Length(length),
            (false, false, None) if call.role == Role::Response => Framing::ToEnd,
            (false, false, None) => Framing::Length(0),
        };
        let to_end = matches!(framing, Framing::ToEnd);
        Ok(Head {
            end,
            framing,
            // An absent body is not compressed.
            codec: self.codec.filter(|_| !empty),
            close: self.close || to_end || (old && !self.keep_alive),
        })
    }
}

/// The most characters of a chunk's wrong size that a message shows.
const MAX_SHOWN: usize = 40;

/// Finds the chunks and the end of the trailer, whose header lines are ignored.
fn read_chunks(bytes: &[u8], start: usize, limits: &Limits) -> Result<Option<Body>, AccelError> {
    let mut pieces = Vec::new();
    let mut at = start;
    loop {
        let (header, size) = match httparse::parse_chunk_size(&bytes[at..]) {
            Ok(httparse::Status::Complete(found)) => found,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(_) => {
                let word = bytes[at..]
                    .split(|byte| !byte.is_ascii_alphanumeric())
                    .next();
                let word = word.unwrap_or_default();
                let shown = String::from_utf8_lossy(&word[..word.len().min(MAX_SHOWN)]);
                return bad(
                    at,
                    format!(
                        "size of a chunk = '{shown}': must be a hexadecimal number of at most 16 digits"
                    ),
                );
            }
        };
        at += header;
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        limits.check_size("bytes of the HTTP chunk", size)?;
        if size == 0 {
            break;
        }
        let end = at.saturating_add(size);
        match bytes.get(end..end.saturating_add(2)) {
            None => return Ok(None),
            Some(b"\r\n") => pieces.push(at..end),
            Some(_) => {
                return bad(
                    end,
                    "a chunk has more bytes than its size states".to_owned(),
                );
            }
        }
        at = end + 2;
    }
    let mut trailer = [httparse::EMPTY_HEADER; MAX_HEADERS];
    match httparse::parse_headers(&bytes[at..], &mut trailer) {
        Ok(httparse::Status::Complete((length, _))) => Ok(Some(Body {
            pieces,
            end: at + length,
        })),
        Ok(httparse::Status::Partial) => Ok(None),
        Err(error) => bad(at, format!("trailer: {error}")),
    }
}
