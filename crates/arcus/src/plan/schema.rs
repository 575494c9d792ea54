//! The JSON Schema of plan files, and the check of a document against it.

use accelflow_parameters::{Refusal, any_of};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::error::{Key, PlanError};
use super::file::PlanFile;

/// The JSON Schema (draft 2020-12) of a plan file, as indented text.
pub fn plan_schema() -> String {
    let text = serde_json::to_string_pretty(&schema()).unwrap_or_default();
    text + "\n"
}

/// The schema of a plan file as a value. Types do not include null, since a field without a value
/// is left out.
fn schema() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<PlanFile>().to_value();
    without_null(&mut schema);
    schema
}

fn without_null(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::Array(types)) = fields.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [only] = &types[..] {
                    let only = only.clone();
                    fields.insert("type".to_owned(), only);
                }
            }
            if fields.get("default").is_some_and(Value::is_null) {
                fields.remove("default");
            }
            fields.remove("format");
            fields.values_mut().for_each(without_null);
        }
        Value::Array(items) => items.iter_mut().for_each(without_null),
        _ => {}
    }
}

/// Reads a plan from a JSON object, whose fields must have the names, types and ranges of the
/// schema.
///
/// # Errors
/// [`PlanError`] for the first field that is not as the schema describes it.
pub(super) fn read(value: &Value) -> Result<PlanFile, PlanError> {
    check(value, &schema(), &Place::plan())?;
    // The schema describes exactly what is read here.
    serde_json::from_value(value.clone())
        .map_err(|error| PlanError::of(Vec::new(), format!("plan: {error}")))
}

/// The place of a value: the table as messages name it, the field, and the keys that lead there.
#[derive(Clone)]
struct Place {
    table: String,
    field: Option<String>,
    keys: Vec<Key>,
}

impl Place {
    fn plan() -> Place {
        Place {
            table: "plan".to_owned(),
            field: None,
            keys: Vec::new(),
        }
    }

    /// The place in messages.
    fn text(&self) -> String {
        match &self.field {
            Some(field) => format!("{}: {field}", self.table),
            None => self.table.clone(),
        }
    }

    /// The field `name` of the table at this place, whose value is `value`.
    fn field(&self, name: &str, value: &Value) -> Place {
        let keys = [&self.keys[..], &[Key::Name(name.to_owned())]].concat();
        let (table, field) = match value {
            Value::Object(_) => (name.to_owned(), None),
            _ => (self.table.clone(), Some(name.to_owned())),
        };
        Place { table, field, keys }
    }

    /// An item of the list at this place. Tables are named by their name.
    fn item(&self, number: usize, value: &Value, tables: bool) -> Place {
        if !tables {
            return self.clone();
        }
        let kind = self.field.as_deref().unwrap_or(&self.table);
        let table = match value.get("name").and_then(Value::as_str) {
            Some(name) => format!("{kind} '{name}'"),
            None => format!("{kind} {number}"),
        };
        Place {
            table,
            field: None,
            keys: [&self.keys[..], &[Key::Index(number)]].concat(),
        }
    }

    fn refuse(&self, value: &Value, allowed: impl Into<String>) -> PlanError {
        let refusal = Refusal::new(self.text(), shown(value), allowed);
        PlanError::of(self.keys.clone(), refusal)
    }
}

/// A value as messages show it.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => accelflow_parameters::quoted(text),
        other => other.to_string(),
    }
}

/// Checks `value` against `schema`, which uses only what plan files need: types, ranges, lengths,
/// names, lists, pairs and objects.
fn check(value: &Value, schema: &Value, place: &Place) -> Result<(), PlanError> {
    if let Some(names) = names(schema) {
        return check_name(value, &names, place);
    }
    match (schema["type"].as_str().unwrap_or(""), value) {
        ("object", Value::Object(given)) => check_object(given, schema, place),
        ("object", _) => Err(place.refuse(value, "must be a table")),
        ("array", Value::Array(items)) => check_list(items, schema, place),
        ("array", _) => Err(place.refuse(value, format!("must be a list{}", of_items(schema)))),
        ("string", Value::String(_)) => Ok(()),
        ("string", _) => Err(place.refuse(value, "must be text")),
        ("integer", Value::Number(number)) if number.is_u64() || number.is_i64() => {
            check_range(value, number.as_f64().unwrap_or(f64::NAN), schema, place)
        }
        ("integer", _) => Err(place.refuse(value, "must be a whole number")),
        ("number", Value::Number(number)) => {
            check_range(value, number.as_f64().unwrap_or(f64::NAN), schema, place)
        }
        ("number", _) => Err(place.refuse(value, "must be a number")),
        _ => Ok(()),
    }
}

/// The allowed values of a schema of choices.
fn names(schema: &Value) -> Option<Vec<Value>> {
    if let Some(Value::Array(values)) = schema.get("enum") {
        return Some(values.clone());
    }
    let Value::Array(choices) = schema.get("oneOf")? else {
        return None;
    };
    let mut all = Vec::new();
    for choice in choices {
        match (choice.get("const"), choice.get("enum")) {
            (Some(name), _) => all.push(name.clone()),
            (None, Some(Value::Array(names))) => all.extend(names.clone()),
            _ => return None,
        }
    }
    Some(all)
}

fn check_name(value: &Value, names: &[Value], place: &Place) -> Result<(), PlanError> {
    if names.contains(value) {
        return Ok(());
    }
    let texts: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
    if let (Value::String(name), true) = (value, texts.len() == names.len()) {
        let refusal = Refusal::unknown(place.text(), name, texts);
        return Err(PlanError::of(place.keys.clone(), refusal));
    }
    let shown = names.iter().map(|name| match name {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    let shown: Vec<String> = shown.collect();
    Err(place.refuse(value, format!("must be {}", any_of(&shown))))
}

fn check_object(
    given: &Map<String, Value>,
    schema: &Value,
    place: &Place,
) -> Result<(), PlanError> {
    let Some(Value::Object(known)) = schema.get("properties") else {
        return Ok(());
    };
    for key in given.keys() {
        if !known.contains_key(key) {
            let names = known.keys().map(String::as_str);
            let refusal = Refusal::unknown(format!("{}: field", place.table), key, names);
            let keys = [&place.keys[..], &[Key::Name(key.clone())]].concat();
            return Err(PlanError::of(keys, refusal));
        }
    }
    for (key, value) in given {
        check(value, &known[key], &place.field(key, value))?;
    }
    let required = schema.get("required").and_then(Value::as_array);
    for key in required.into_iter().flatten().filter_map(Value::as_str) {
        if !given.contains_key(key) {
            let place_of_key = format!("{}: {key}", place.table);
            let missing = Refusal::left_out(place_of_key, "must be given");
            return Err(PlanError::of(place.keys.clone(), missing));
        }
    }
    Ok(())
}

fn check_list(items: &[Value], schema: &Value, place: &Place) -> Result<(), PlanError> {
    if let Some(Value::Array(parts)) = schema.get("prefixItems") {
        let whole = Value::Array(items.to_vec());
        if items.len() != parts.len() {
            return Err(place.refuse(
                &whole,
                "must be two numbers above 0: in sizes, [size in bytes, weight]; in points, [size \
                 in bytes, time in ns]",
            ));
        }
        for (item, part) in items.iter().zip(parts) {
            check(item, part, place)?;
        }
        return Ok(());
    }
    let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0);
    if (items.len() as u64) < least {
        let whole = Value::Array(items.to_vec());
        let noun = if least == 1 { "item" } else { "items" };
        return Err(place.refuse(&whole, format!("must have at least {least} {noun}")));
    }
    let item_schema = &schema["items"];
    let tables = item_schema["type"] == "object";
    for (number, item) in items.iter().enumerate() {
        check(item, item_schema, &place.item(number, item, tables))?;
    }
    Ok(())
}

/// What the items of a list are, for messages.
fn of_items(schema: &Value) -> &'static str {
    let items = &schema["items"];
    match items["type"].as_str() {
        _ if items.get("enum").is_some() || items.get("oneOf").is_some() => " of strings",
        Some("string") => " of strings",
        Some("number" | "integer") => " of numbers",
        Some("array") => " of pairs, each of bytes and a number above 0",
        Some("object") => " of tables",
        _ => "",
    }
}

fn check_range(value: &Value, number: f64, schema: &Value, place: &Place) -> Result<(), PlanError> {
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    let (least, above) = (bound("minimum"), bound("exclusiveMinimum"));
    let most = bound("maximum");
    let good = number.is_finite()
        && least.is_none_or(|least| number >= least)
        && above.is_none_or(|above| number > above)
        && most.is_none_or(|most| number <= most);
    if good {
        return Ok(());
    }
    let allowed = match (above, least, most) {
        (Some(above), _, Some(most)) => {
            format!(
                "must be above {}, at most {}",
                grouped(above),
                grouped(most)
            )
        }
        (Some(above), _, None) => format!("must be above {}", grouped(above)),
        (None, Some(least), Some(most)) => {
            format!("must be from {} to {}", grouped(least), grouped(most))
        }
        (None, Some(least), None) => format!("must be at least {}", grouped(least)),
        (None, None, Some(most)) => format!("must be at most {}", grouped(most)),
        (None, None, None) => "must be a finite number".to_owned(),
    };
    Err(place.refuse(value, allowed))
}

/// A number with commas between thousands.
fn grouped(number: f64) -> String {
    if number.fract() != 0.0 || number.abs() >= 1e15 {
        return accelflow_parameters::number_text(number);
    }
    let digits = format!("{:.0}", number.abs());
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if number < 0.0 {
        text.insert(0, '-');
    }
    text
}
