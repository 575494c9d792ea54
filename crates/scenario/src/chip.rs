//! Chip files: the parameters of a simulated server as TOML, in sections named after the first part
//! of the parameters' keys.

use std::collections::BTreeMap;
use std::fmt;

use accelflow_parameters::{Kind, Parameter, Refusal, number_text, quoted, syntax_text};
use accelflow_sim::config::PARAMETERS;
use toml_edit::{Document, Item, Key, TableLike, Value};

use crate::limits::check_chip_name;

/// The value of `schema` in a chip file: the name and version of the file format.
pub const CHIP_SCHEMA: &str = "accelflow.chip/1";

/// The parameters of a simulated server (a chip), read from a TOML file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChipFile {
    /// The chip's name in results; `None` means the file's name.
    pub name: Option<String>,
    /// A description of the chip for readers, if the file has one.
    pub description: Option<String>,
    /// The server parameters that the file sets, as numbers in the parameters' units, by key. All
    /// other parameters have their defaults.
    pub config: BTreeMap<String, f64>,
}

/// The error of a text that is not a valid chip file, with the position of the error in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChipError {
    /// The line of the error, counted from 1.
    pub line: usize,
    /// The column of the error, in characters, counted from 1.
    pub column: usize,
    /// The description of the error: the key, its value and what is allowed.
    pub message: String,
}

impl fmt::Display for ChipError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ChipError {}

impl ChipFile {
    /// Reads a chip from `text`, the contents of a chip file in TOML. The first part of a
    /// parameter's key is the name of its section: `accelerator.pes` is `pes = 4` in
    /// `[accelerator]`. A parameter that is set for one accelerator only is in the section of this
    /// accelerator, such as `pes = 16` in `[accelerator.TCP]`.
    ///
    /// # Errors
    /// [`ChipError`] for text that is not TOML, another schema, an unknown key, and a value that is
    /// not allowed or is set twice.
    pub fn from_toml(text: &str) -> Result<ChipFile, ChipError> {
        let document = Document::parse(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            at(text, offset, syntax_text(error.message()))
        })?;
        let mut reader = Reader {
            text,
            chip: ChipFile::default(),
            spelt: BTreeMap::new(),
        };
        reader.root(document.as_table())?;
        Ok(reader.chip)
    }
}

struct Reader<'t> {
    text: &'t str,
    chip: ChipFile,
    /// By key in the spelling of results: the spelling of the file.
    spelt: BTreeMap<&'static str, String>,
}

impl Reader<'_> {
    fn root(&mut self, root: &dyn TableLike) -> Result<(), ChipError> {
        for (name, item) in root.iter() {
            let offset = offset(root.key(name), item);
            match name {
                "schema" if item.as_str() == Some(CHIP_SCHEMA) => {}
                "schema" => {
                    let allowed = format!("must be '{CHIP_SCHEMA}'");
                    return Err(self.refused(offset, Refusal::new(name, shown(item), allowed)));
                }
                "name" => self.chip.name = Some(self.name(item, offset)?),
                "description" => self.chip.description = Some(self.words(name, item, offset)?),
                _ => self.item(name, item, offset)?,
            }
        }
        Ok(())
    }

    fn name(&self, item: &Item, offset: usize) -> Result<String, ChipError> {
        let name = item.as_str().map(str::trim);
        check_chip_name(name).map_err(|allowed| {
            let refusal = Refusal::new("name", shown(item), allowed);
            self.refused(offset, refusal)
        })?;
        Ok(name.unwrap_or_default().to_owned())
    }

    /// Reads a text that is not empty.
    fn words(&self, name: &str, item: &Item, offset: usize) -> Result<String, ChipError> {
        let words = item.as_str().map(str::trim).filter(|text| !text.is_empty());
        let refusal = || Refusal::new(name, shown(item), "must be a string that is not empty");
        let words = words.ok_or_else(|| self.refused(offset, refusal()))?;
        Ok(words.to_owned())
    }

    /// Reads a section, or the parameter called `name`.
    fn item(&mut self, name: &str, item: &Item, at: usize) -> Result<(), ChipError> {
        let Some(section) = item.as_table_like() else {
            return self.parameter(name, item, at);
        };
        if section.is_empty() && !is_section(name) {
            let refusal = match PARAMETERS.parameter(name) {
                Ok(parameter) => Refusal {
                    place: name.to_owned(),
                    ..parameter.refusal(shown(item))
                },
                Err(unknown) => unknown,
            };
            return Err(self.refused(at, refusal));
        }
        for (key, item) in section.iter() {
            let offset = offset(section.key(key), item);
            self.item(&format!("{name}.{key}"), item, offset)?;
        }
        Ok(())
    }

    fn parameter(&mut self, name: &str, item: &Item, at: usize) -> Result<(), ChipError> {
        let refused = |refusal| self.refused(at, refusal);
        let parameter = PARAMETERS.parameter(name).map_err(refused)?;
        let number = number(parameter, item).map_err(|refusal| {
            let place = name.to_owned();
            self.refused(at, Refusal { place, ..refusal })
        })?;
        if let Some(other) = self.spelt.insert(parameter.key, name.to_owned()) {
            let allowed = format!("must not be set again: {other} sets the same parameter");
            return Err(self.refused(at, Refusal::new(name, shown(item), allowed)));
        }
        self.chip.config.insert(parameter.key.to_owned(), number);
        Ok(())
    }

    fn refused(&self, offset: usize, refusal: Refusal) -> ChipError {
        at(self.text, offset, refusal.to_string())
    }
}

/// Whether some parameter is in the section called `name`.
fn is_section(name: &str) -> bool {
    let begins = |key: &str| {
        key.strip_prefix(name)
            .is_some_and(|rest| rest.starts_with('.'))
    };
    let mut known = PARAMETERS.parameters();
    known.any(|parameter| {
        begins(parameter.key)
            || PARAMETERS
                .by_member(parameter.key)
                .is_some_and(|key| begins(&key))
    })
}

/// The number in `item` for `parameter`: the number itself, or that of a named choice.
fn number(parameter: &Parameter, item: &Item) -> Result<f64, Refusal> {
    let number = match item.as_value() {
        Some(Value::String(name)) => return parameter.number_of(name.value()),
        Some(Value::Integer(number)) => *number.value() as f64,
        Some(Value::Float(number)) => *number.value(),
        Some(Value::Boolean(on)) if parameter.kind == Kind::Switch => {
            f64::from(u8::from(*on.value()))
        }
        _ => return Err(parameter.refusal(shown(item))),
    };
    parameter.check(number)?;
    Ok(number)
}

/// The value of `item` as messages show it.
fn shown(item: &Item) -> String {
    match item {
        Item::Value(Value::String(text)) => quoted(text.value()),
        Item::Value(Value::Integer(number)) => number.value().to_string(),
        Item::Value(Value::Float(number)) => number_text(*number.value()),
        Item::Value(Value::Boolean(on)) => on.value().to_string(),
        Item::Value(Value::Datetime(_)) => "a date".to_owned(),
        Item::Value(Value::Array(_)) | Item::ArrayOfTables(_) => "a list".to_owned(),
        Item::Value(Value::InlineTable(_)) | Item::Table(_) => "a table".to_owned(),
        Item::None => "nothing".to_owned(),
    }
}

/// Where `item` begins: at its key, if it has one.
fn offset(key: Option<&Key>, item: &Item) -> usize {
    let span = key.and_then(Key::span).or_else(|| item.span());
    span.map_or(0, |span| span.start)
}

/// The error at the byte `offset` of `text`.
fn at(text: &str, offset: usize, message: String) -> ChipError {
    let before = text.get(..offset.min(text.len())).unwrap_or(text);
    let line_before = before.rsplit('\n').next().unwrap_or("");
    ChipError {
        line: 1 + before.matches('\n').count(),
        column: 1 + line_before.chars().count(),
        message,
    }
}
