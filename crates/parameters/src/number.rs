//! Numbers as texts.

/// Returns the shortest text that reads back as `value`: `0.5`, `65536`, `1e12`.
///
/// Powers of ten are written with an exponent from 1e7 on, other numbers only where that saves five
/// digits or more.
pub fn number_text(value: f64) -> String {
    let plain = value.to_string();
    let short = format!("{value:e}");
    if short.len() + 5 <= plain.len() {
        short
    } else {
        plain
    }
}
