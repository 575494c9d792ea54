//! The headers of gRPC that servers and clients read or write.

use std::time::Duration;

use http::{HeaderMap, header};

/// The codecs of clients and servers here, as in `grpc-accept-encoding`.
pub(crate) const ENCODINGS: &str = "identity,gzip";

pub(crate) fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    // Values that are not ASCII are never valid.
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

/// The value of `grpc-timeout`.
pub(crate) fn read_timeout(value: &str) -> Option<Duration> {
    let (digits, unit) = value.split_at_checked(value.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|digit| digit.is_ascii_digit())
    {
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

/// The value of `grpc-timeout` for `left`, rounded up so that the service does not give up before
/// the caller.
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
