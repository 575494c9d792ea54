//! Reading of the text of a workload file.

use accelflow_parameters::{Refusal, syntax_text};
use serde_json::{Map, Number, Value};
use toml_edit::{Item, Key, TableLike};

use super::document::Document;
use super::error::{Cause, FileError};
use super::places::{Lines, Places, Position};
use super::shape;

/// The largest size of the text of a workload file, in bytes.
pub const MAX_TEXT_BYTES: usize = 256 << 20;

/// Reads a workload from `text`, the contents of a workload file: JSON if the text begins with a
/// brace, else TOML. `name` is the file's name, for error messages.
///
/// # Errors
/// [`FileError`] for text longer than [`MAX_TEXT_BYTES`], text that is neither JSON nor TOML, an
/// unknown or missing field, or an invalid value. [`Document::check`] checks the consistency of
/// values.
pub fn read(text: &str, name: &str) -> Result<Document, FileError> {
    if text.len() > MAX_TEXT_BYTES {
        let (bytes, most) = (text.len(), MAX_TEXT_BYTES);
        let allowed = format!("must be at most {most}");
        let refusal = Refusal::new("bytes of the workload's text", bytes, allowed);
        return Err(fail(name, None, refusal.into()));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (mut tree, places) = match text.trim_start().starts_with('{') {
        true => (from_json(text, name)?, Places::default()),
        false => from_toml(text, name)?,
    };
    if let Some(fields) = tree.as_object_mut() {
        fields.remove("$schema");
    }
    if let Err(problem) = shape::check(&tree) {
        let at = match problem.at_key {
            true => places.of_key(&problem.path),
            false => places.of(&problem.path),
        };
        return Err(fail(name, at, problem.refusal.into()));
    }
    let workload = serde_json::from_value(tree).map_err(|error| {
        let message = error.to_string();
        fail(name, None, syntax("a workload", message))
    })?;
    Ok(Document::new(workload, name.to_owned(), places))
}

fn fail(name: &str, at: Option<Position>, cause: Cause) -> FileError {
    let file = name.to_owned();
    FileError { file, at, cause }
}

fn syntax(format: &'static str, message: String) -> Cause {
    Cause::Syntax { format, message }
}

fn from_json(text: &str, name: &str) -> Result<Value, FileError> {
    serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let at = (line > 0).then_some(Position { line, column });
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or(&message);
        fail(name, at, syntax("JSON", syntax_text(message)))
    })
}

fn from_toml(text: &str, name: &str) -> Result<(Value, Places), FileError> {
    let lines = Lines::of(text);
    let document = toml_edit::Document::parse(text).map_err(|error| {
        let at = error.span().map(|span| lines.position(span.start));
        fail(name, at, syntax("TOML", syntax_text(error.message())))
    })?;
    let mut reader = Reader {
        lines,
        name,
        places: Places::default(),
    };
    let tree = reader.table(document.as_table(), "")?;
    Ok((tree, reader.places))
}

/// Converts TOML to values, and records their positions.
struct Reader<'t> {
    lines: Lines<'t>,
    name: &'t str,
    places: Places,
}

impl Reader<'_> {
    fn table(&mut self, table: &dyn TableLike, path: &str) -> Result<Value, FileError> {
        let mut fields = Map::new();
        for (key, item) in table.iter() {
            let place = match path.is_empty() {
                true => key.to_owned(),
                false => format!("{path}.{key}"),
            };
            if let Some(span) = table.key(key).and_then(Key::span) {
                self.places.key(&place, self.lines.position(span.start));
            }
            fields.insert(key.to_owned(), self.item(item, &place)?);
        }
        Ok(Value::Object(fields))
    }

    fn item(&mut self, item: &Item, path: &str) -> Result<Value, FileError> {
        if let Some(span) = item.span() {
            let at = self.lines.position(span.start);
            self.places.value(path, at);
        }
        match item {
            Item::None => Ok(Value::Null),
            Item::Value(value) => self.value(value, path),
            Item::Table(table) => self.table(table, path),
            Item::ArrayOfTables(tables) => {
                let mut items = Vec::with_capacity(tables.len());
                for (index, table) in tables.iter().enumerate() {
                    let place = format!("{path}[{index}]");
                    if let Some(span) = table.span() {
                        let at = self.lines.position(span.start);
                        self.places.value(&place, at);
                    }
                    items.push(self.table(table, &place)?);
                }
                Ok(Value::Array(items))
            }
        }
    }

    fn value(&mut self, value: &toml_edit::Value, path: &str) -> Result<Value, FileError> {
        use toml_edit::Value as Toml;
        Ok(match value {
            Toml::String(text) => Value::String(text.value().clone()),
            Toml::Integer(number) => Value::Number((*number.value()).into()),
            Toml::Boolean(flag) => Value::Bool(*flag.value()),
            Toml::Float(number) => {
                let number = *number.value();
                let finite = Number::from_f64(number).ok_or_else(|| {
                    self.refuse(path, &number.to_string(), "must be a finite number")
                })?;
                Value::Number(finite)
            }
            Toml::Datetime(date) => {
                let allowed = "must be a string, a number, true or false, not a date";
                return Err(self.refuse(path, &date.value().to_string(), allowed));
            }
            Toml::Array(array) => {
                let mut items = Vec::with_capacity(array.len());
                // Long arrays hold numbers, which get the position of the array.
                let noted = array.len() <= MAX_NOTED;
                for (index, value) in array.iter().enumerate() {
                    let place = format!("{path}[{index}]");
                    if let Some(span) = value.span().filter(|_| noted) {
                        let at = self.lines.position(span.start);
                        self.places.value(&place, at);
                    }
                    items.push(self.value(value, &place)?);
                }
                Value::Array(items)
            }
            Toml::InlineTable(table) => self.table(table, path)?,
        })
    }

    fn refuse(&self, path: &str, value: &str, allowed: &str) -> FileError {
        let refusal = Refusal::new(path, value, allowed);
        fail(self.name, self.places.of(path), refusal.into())
    }
}

/// The longest array for which the position of each value is recorded.
const MAX_NOTED: usize = 1_000;
