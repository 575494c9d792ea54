//! Texts of errors of the parsers of TOML and JSON, as users read them.

/// Returns the text of a parser's error in one line. What the parsers say of their own recursion
/// becomes what is wrong in the file: too deep nesting.
pub fn syntax_text(message: &str) -> String {
    let message = message.trim().replace('\n', ", ");
    match message.as_str() {
        "cannot recurse further; max recursion depth met" | "recursion limit" => {
            "tables and lists are nested more than 80 deep".to_owned()
        }
        "recursion limit exceeded" => "objects and lists are nested more than 127 deep".to_owned(),
        _ => message,
    }
}
