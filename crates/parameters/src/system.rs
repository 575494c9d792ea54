//! Texts of errors of the operating system, as users read them.

use std::fmt;

const BEFORE: &str = " (os error ";

/// Returns the text of a system error without the error number that Rust adds: `No such file or
/// directory` instead of `No such file or directory (os error 2)`.
pub fn system_text(error: &impl fmt::Display) -> String {
    let text = error.to_string();
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find(BEFORE) {
        let number = &rest[at + BEFORE.len()..];
        let end = number.find(|letter: char| !letter.is_ascii_digit() && letter != '-');
        let is_number = end.is_some_and(|end| end > 0 && number[end..].starts_with(')'));
        let next = match (is_number, end) {
            (true, Some(end)) => {
                kept.push_str(&rest[..at]);
                at + BEFORE.len() + end + 1
            }
            _ => {
                kept.push_str(&rest[..at + BEFORE.len()]);
                at + BEFORE.len()
            }
        };
        rest = &rest[next..];
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_errors_are_left_out_and_nothing_else() {
        let missing = std::io::Error::from_raw_os_error(2);
        assert_eq!(system_text(&missing), "No such file or directory");
        for (given, text) in [
            (
                "x.pem: I/O error: gone (os error 2)",
                "x.pem: I/O error: gone",
            ),
            ("a (os error 2): b (os error -13).", "a: b."),
            (
                "a (os error ) b (os error x)",
                "a (os error ) b (os error x)",
            ),
            ("a (os error 2", "a (os error 2"),
            ("", ""),
        ] {
            assert_eq!(system_text(&given), text);
        }
    }
}
