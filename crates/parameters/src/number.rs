//! Numbers as short texts, for files and messages.

/// Returns a short text of `value`, such as `0.5`, `65536` or `1e12`. Reading the text gives
/// exactly `value` again.
///
/// The text has an exponent if that saves at least five characters: from `1e7` on for powers of
/// ten.
pub fn number_text(value: f64) -> String {
    let plain = value.to_string();
    let short = format!("{value:e}");
    if short.len() + 5 <= plain.len() {
        short
    } else {
        plain
    }
}
