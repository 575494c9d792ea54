//! What a request's headers say.

use std::time::Duration;

use accelflow_accel::Codec;
use accelflow_accel::protobuf::{Method, MethodId, Schema};
use http::{HeaderMap, Method as Verb, StatusCode, header, request::Parts};

use super::status::{Code, Status};
use crate::metadata::Metadata;
use crate::otel::TraceParent;

/// What a server of this project understands, as `grpc-accept-encoding`.
pub(crate) const ENCODINGS: &str = "identity,gzip";

/// The headers of a request that can be served.
#[derive(Debug)]
pub(crate) struct Head {
    /// `/package.Service/Method`.
    pub(crate) path: String,
    /// Which method that is.
    pub(crate) method: MethodId,
    /// `package.Service.Method`, for metrics.
    pub(crate) function: String,
    /// What the request's message may be compressed with.
    pub(crate) codec: Option<Codec>,
    /// Whether the response may be compressed with gzip.
    pub(crate) takes_gzip: bool,
    /// How long the client waits.
    pub(crate) timeout: Option<Duration>,
    /// What it says of its caller's trace.
    pub(crate) parent: Option<TraceParent>,
    /// What else it says.
    pub(crate) metadata: Metadata,
}

/// Why a request is not served.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is no gRPC.
    Http(StatusCode, &'static str),
    /// It is.
    Grpc(Status),
}

impl From<Status> for Refusal {
    fn from(status: Status) -> Refusal {
        Refusal::Grpc(status)
    }
}

impl Head {
    pub(crate) fn read(schema: &Schema, parts: &Parts) -> Result<Head, Refusal> {
        if parts.method != Verb::POST {
            let status = StatusCode::METHOD_NOT_ALLOWED;
            return Err(Refusal::Http(status, "http_method"));
        }
        if !is_grpc(&parts.headers) {
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            return Err(Refusal::Http(status, "content_type"));
        }
        let path = parts.uri.path();
        let (id, method) = find(schema, path)?;
        let codec = encoding(&parts.headers)?;
        let timeout = match text(&parts.headers, "grpc-timeout") {
            None => None,
            Some(value) => Some(read_timeout(value).ok_or_else(|| {
                let why = format!(
                    "grpc-timeout '{}': must be 1 to 8 digits and H, M, S, m, u or n",
                    value.escape_default()
                );
                Status::new(Code::Internal, "bad_timeout", why)
            })?),
        };
        let metadata = Metadata::of(&parts.headers);
        let metadata =
            metadata.map_err(|error| Status::new(Code::Internal, "bad_metadata", error))?;
        let accepted = text(&parts.headers, "grpc-accept-encoding").unwrap_or_default();
        Ok(Head {
            path: path.to_owned(),
            method: id,
            function: format!("{}.{}", method.service, method.name),
            codec,
            takes_gzip: accepted.split(',').any(|it| it.trim() == "gzip"),
            timeout,
            parent: TraceParent::read(
                text(&parts.headers, "traceparent"),
                text(&parts.headers, "tracestate"),
            ),
            metadata,
        })
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    // What is no ASCII is no value of these.
    headers
        .get(name)
        .map(|value| value.to_str().unwrap_or("\u{fffd}"))
}

/// `application/grpc`, alone or as `+proto`, with or without parameters.
pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    let value = text(headers, header::CONTENT_TYPE.as_str()).unwrap_or_default();
    let kind = value.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/grpc")
        || kind.eq_ignore_ascii_case("application/grpc+proto")
}

fn find<'s>(schema: &'s Schema, path: &str) -> Result<(MethodId, &'s Method), Status> {
    let unknown = |why: String| Status::private(Code::Unimplemented, "unknown_method", why);
    let found = schema.find_path(path);
    let id = found.map_err(|error| unknown(error.to_string()))?;
    let method = schema.method(id);
    let method = method.ok_or_else(|| unknown("no such method".to_owned()))?;
    match method.unary {
        true => Ok((id, method)),
        false => Err(Status::new(
            Code::Unimplemented,
            "streaming",
            format!("{path} has streams; only unary methods are served"),
        )),
    }
}

fn encoding(headers: &HeaderMap) -> Result<Option<Codec>, Status> {
    match text(headers, "grpc-encoding") {
        None | Some("identity") => Ok(None),
        Some("gzip") => Ok(Some(Codec::Gzip)),
        Some(other) => Err(Status::new(
            Code::Unimplemented,
            "unknown_codec",
            format!(
                "grpc-encoding '{}': allowed are {ENCODINGS}",
                other.escape_default()
            ),
        )),
    }
}

/// The value of `grpc-timeout`.
fn read_timeout(value: &str) -> Option<Duration> {
    let (digits, unit) = value.split_at_checked(value.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|it| it.is_ascii_digit()) {
        return None;
    }
    let count: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(count * 3_600),
        "M" => Duration::from_secs(count * 60),
        "S" => Duration::from_secs(count),
        "m" => Duration::from_millis(count),
        "u" => Duration::from_micros(count),
        "n" => Duration::from_nanos(count),
        _ => return None,
    })
}

/// The value of `grpc-timeout` that says `left`, rounded up: the service's patience does not end
/// before the caller's.
pub(crate) fn write_timeout(left: Duration) -> String {
    const MOST: u128 = 99_999_999;
    let nanoseconds = left.as_nanos();
    let units = [
        ("n", 1),
        ("u", 1_000),
        ("m", 1_000_000),
        ("S", 1_000_000_000),
    ];
    for (unit, length) in units {
        let count = nanoseconds.div_ceil(length);
        if count <= MOST {
            return format!("{count}{unit}");
        }
    }
    let hours = nanoseconds.div_ceil(3_600_000_000_000).min(MOST);
    format!("{hours}H")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_written_as_they_are_read_and_never_shorter() {
        for left in [0, 1, 99_999_999, 100_000_000, 99_999_999_001, u64::MAX] {
            let left = Duration::from_nanos(left);
            let written = write_timeout(left);
            let read = read_timeout(&written).expect("it has the form");
            assert!(read >= left, "{written}");
            assert!(read <= left + left / 1_000, "{written}");
        }
        assert_eq!(write_timeout(Duration::from_secs(10)), "10000000u");
        assert_eq!(write_timeout(Duration::MAX), "99999999H");
    }

    #[test]
    fn timeouts_are_read_as_the_specification_has_them() {
        assert_eq!(read_timeout("1H"), Some(Duration::from_secs(3_600)));
        assert_eq!(read_timeout("20M"), Some(Duration::from_secs(1_200)));
        assert_eq!(read_timeout("7S"), Some(Duration::from_secs(7)));
        assert_eq!(read_timeout("00000042m"), Some(Duration::from_millis(42)));
        assert_eq!(read_timeout("9u"), Some(Duration::from_micros(9)));
        assert_eq!(read_timeout("0n"), Some(Duration::ZERO));
        for bad in [
            "",
            "S",
            "1",
            "1s",
            "-1S",
            "1.5S",
            "123456789S",
            " 1S",
            "ü",
            "1ü",
        ] {
            assert_eq!(read_timeout(bad), None, "{bad}");
        }
    }
}
