//! The check of the parsed contents of a file (a tree of values) against their JSON Schema, with
//! readable messages.
//!
//! The check supports only the keywords of JSON Schema that [`super::schema`] writes.

use std::sync::LazyLock;

use accelflow_parameters::{Refusal, any_of, number_text, quoted};
use serde_json::{Map, Value};

use super::schema;
use super::tree::Workload;

static SCHEMA: LazyLock<Value> = LazyLock::new(schema::schema_of::<Workload>);

/// A value that is not allowed.
#[derive(Debug)]
pub(super) struct Problem {
    /// The path of the value, or of the key.
    pub(super) path: String,
    /// Whether the key is wrong rather than its value.
    pub(super) at_key: bool,
    /// What is allowed.
    pub(super) refusal: Refusal,
}

/// Refuses the first value of `tree` that the schema does not allow.
pub(super) fn check(tree: &Value) -> Result<(), Box<Problem>> {
    value(&SCHEMA, tree, "")
}

fn value(schema: &Value, found: &Value, path: &str) -> Result<(), Box<Problem>> {
    let schema = resolved(schema);
    if let Some(kinds) = alternatives(schema) {
        let kind = choose(&kinds, found, path)?;
        return value(kind, found, path);
    }
    if let Some(names) = names(schema) {
        return match found.as_str() {
            Some(name) if names.contains(&name) => Ok(()),
            Some(name) => refuse(path, Refusal::unknown(path, name, names)),
            None => refuse_value(path, found, &any_of(names)),
        };
    }
    if let Some(only) = schema.get("const") {
        return match found == only {
            true => Ok(()),
            false => refuse_value(path, found, &shown(only)),
        };
    }
    match kind(schema, found) {
        Some("object") => object(schema, found, path),
        Some("array") => array(schema, found, path),
        Some("integer" | "number") => number(schema, found, path),
        Some("null") if found.is_null() => Ok(()),
        Some("string") if found.is_string() => Ok(()),
        Some("boolean") if found.is_boolean() => Ok(()),
        Some(kind) => refuse_value(path, found, in_words(kind)),
        None => Ok(()),
    }
}

/// The schema that `schema` refers to.
fn resolved(schema: &Value) -> &Value {
    let name = schema.get("$ref").and_then(Value::as_str);
    let definition = name.and_then(|name| SCHEMA.pointer(name.trim_start_matches('#')));
    definition.unwrap_or(schema)
}

/// The kinds of value of which one must fit.
fn alternatives(schema: &Value) -> Option<Vec<&Value>> {
    let listed = schema.get("anyOf").or_else(|| schema.get("oneOf"))?;
    let mut kinds = Vec::new();
    for kind in listed.as_array()? {
        let kind = resolved(kind);
        match alternatives(kind) {
            Some(inner) => kinds.extend(inner),
            None => kinds.push(kind),
        }
    }
    // A list of names with descriptions counts as one kind of value.
    let all_names = kinds.iter().all(|kind| names(kind).is_some());
    (!all_names).then_some(kinds)
}

/// The names that a text may be.
fn names(schema: &Value) -> Option<Vec<&str>> {
    if let Some(only) = schema.get("const") {
        return only.as_str().map(|name| vec![name]);
    }
    if let Some(names) = schema.get("enum").and_then(Value::as_array) {
        return names.iter().map(Value::as_str).collect();
    }
    let each = schema.get("oneOf").and_then(Value::as_array)?;
    let each = each.iter().map(|kind| names(resolved(kind)));
    Some(each.collect::<Option<Vec<_>>>()?.concat())
}

/// The kind that `found` is meant to be.
fn choose<'s>(kinds: &[&'s Value], found: &Value, path: &str) -> Result<&'s Value, Box<Problem>> {
    let Some(fields) = found.as_object() else {
        let fits = kinds
            .iter()
            .copied()
            .find(|fitting| kind(fitting, found).is_some_and(|kind| is(kind, found)));
        return fits.map_or_else(|| refuse_value(path, found, &kinds_in_words(kinds)), Ok);
    };
    let objects: Vec<&Value> = kinds
        .iter()
        .copied()
        .filter(|kind| is_object(kind))
        .collect();
    if let Some(tag) = tag(&objects) {
        let of_tag = |kind: &&Value| {
            property(kind, tag)
                .and_then(|property| property.get("const"))
                .cloned()
        };
        let tags: Vec<Value> = objects.iter().filter_map(of_tag).collect();
        let place = join(path, tag);
        let said = fields.get(tag).unwrap_or(&Value::Null);
        if let Some(index) = tags.iter().position(|tag| tag == said) {
            return Ok(objects[index]);
        }
        let known = tags.iter().filter_map(Value::as_str);
        return match said.as_str() {
            Some(name) => refuse(&place, Refusal::unknown(&place, name, known)),
            None => refuse_value(&place, said, &any_of(known)),
        };
    }
    let complete = |kind: &&&Value| required(kind).all(|key| fields.contains_key(key));
    // A kind without a later key is the one that is meant: the refusal names the missing key.
    let begun = |kind: &&&Value| {
        required(kind)
            .next()
            .is_some_and(|head| fields.contains_key(head))
    };
    let mut known = objects.iter();
    if let Some(kind) = known.find(complete).or_else(|| objects.iter().find(begun)) {
        return Ok(kind);
    }
    let heads: Vec<&str> = objects
        .iter()
        .filter_map(|kind| required(kind).next())
        .collect();
    let allowed = match heads.is_empty() {
        true => kinds_in_words(kinds),
        false => format!("a table with {}", any_of(&heads)),
    };
    let refusal = Refusal::new(path, shown(found), format!("must be {allowed}"));
    let meant = fields.keys().find_map(|key| {
        let near = refusal.clone().proposing(key, heads.iter().copied());
        (!near.similar.is_empty()).then_some(near)
    });
    refuse(path, meant.unwrap_or(refusal))
}

/// The field whose value distinguishes `kinds`.
fn tag<'s>(kinds: &[&'s Value]) -> Option<&'s str> {
    let first = kinds.first()?.get("properties")?.as_object()?;
    let tells = |kind: &&Value, key: &str| {
        let only = property(kind, key).and_then(|property| property.get("const"));
        only.is_some_and(Value::is_string)
    };
    let mut keys = first.keys();
    let found = keys.find(|key| kinds.iter().all(|kind| tells(kind, key)))?;
    (kinds.len() > 1).then_some(found.as_str())
}

fn is_object(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "object")
}

fn property<'s>(schema: &'s Value, key: &str) -> Option<&'s Value> {
    schema.get("properties")?.get(key)
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    let keys = schema.get("required").and_then(Value::as_array);
    keys.into_iter().flatten().filter_map(Value::as_str)
}

fn object(schema: &Value, found: &Value, path: &str) -> Result<(), Box<Problem>> {
    let Some(fields) = found.as_object() else {
        return refuse_value(path, found, in_words("object"));
    };
    let empty = Map::new();
    let known = schema.get("properties").and_then(Value::as_object);
    let known = known.unwrap_or(&empty);
    let others = schema.get("additionalProperties");
    for (key, member) in fields {
        let place = join(path, key);
        match (known.get(key), others) {
            (Some(schema), _) => value(schema, member, &place)?,
            (None, Some(Value::Bool(false))) => {
                let known = known
                    .keys()
                    .map(String::as_str)
                    .filter(|key| *key != "$schema");
                let refusal = Refusal::unknown(join(path, "field"), key, known);
                return Err(Box::new(Problem {
                    path: place,
                    at_key: true,
                    refusal,
                }));
            }
            (None, Some(schema)) if schema.is_object() => value(schema, member, &place)?,
            (None, _) => {}
        }
    }
    if let Some(missing) = required(schema).find(|key| !fields.contains_key(*key)) {
        let place = join(path, missing);
        let allowed = property(schema, missing).map(allowed).unwrap_or_default();
        let refusal = Refusal::left_out(&place, format!("must be {allowed}"));
        return refuse(&place, refusal);
    }
    Ok(())
}

fn array(schema: &Value, found: &Value, path: &str) -> Result<(), Box<Problem>> {
    let Some(items) = found.as_array() else {
        return refuse_value(path, found, &allowed(schema));
    };
    let bound = |word: &str| schema.get(word).and_then(Value::as_u64);
    let count = items.len() as u64;
    let (least, most) = (bound("minItems"), bound("maxItems"));
    if least.is_some_and(|least| count < least) || most.is_some_and(|most| count > most) {
        let text = format!("a list of {count}");
        return refuse(
            path,
            Refusal::new(path, text, format!("must be {}", allowed(schema))),
        );
    }
    let each = schema.get("prefixItems").and_then(Value::as_array);
    for (index, item) in items.iter().enumerate() {
        let of_place = each.and_then(|each| each.get(index));
        if let Some(schema) = of_place.or_else(|| schema.get("items")) {
            value(schema, item, &format!("{path}[{index}]"))?;
        }
    }
    Ok(())
}

fn number(schema: &Value, found: &Value, path: &str) -> Result<(), Box<Problem>> {
    let whole = schema.get("type").is_some_and(|kind| has(kind, "integer"));
    let bound = |word: &str| schema.get(word).and_then(Value::as_f64);
    let fits = found.as_f64().is_some_and(|number| {
        bound("minimum").is_none_or(|least| number >= least)
            && bound("maximum").is_none_or(|most| number <= most)
            && bound("exclusiveMinimum").is_none_or(|below| number > below)
    });
    let held = found.is_i64() || (found.is_u64() && !is_signed(schema));
    match fits && (!whole || held) {
        true => Ok(()),
        false => refuse_value(path, found, &allowed(schema)),
    }
}

/// Whether `schema` allows the whole numbers of 64 bits with a sign.
fn is_signed(schema: &Value) -> bool {
    schema.get("format").is_some_and(|format| format == "int64")
}

/// The type of `schema`, of several, that `found` is meant to have.
fn kind<'s>(schema: &'s Value, found: &Value) -> Option<&'s str> {
    match schema.get("type")? {
        Value::String(kind) => Some(kind),
        Value::Array(kinds) => {
            let mut kinds = kinds.iter().filter_map(Value::as_str);
            let first = kinds.next();
            match found.is_null() {
                true => kinds.find(|kind| *kind == "null").or(first),
                false => first,
            }
        }
        _ => None,
    }
}

fn has(kinds: &Value, kind: &str) -> bool {
    match kinds {
        Value::Array(kinds) => kinds.iter().any(|name| name == kind),
        name => name == kind,
    }
}

fn is(kind: &str, found: &Value) -> bool {
    match kind {
        "null" => found.is_null(),
        "string" => found.is_string(),
        "boolean" => found.is_boolean(),
        "array" => found.is_array(),
        "object" => found.is_object(),
        "integer" | "number" => found.is_number(),
        _ => false,
    }
}

/// A description of the allowed values, to follow "must be".
fn allowed(schema: &Value) -> String {
    let schema = resolved(schema);
    if let Some(names) = names(schema) {
        return any_of(names);
    }
    if let Some(kinds) = alternatives(schema) {
        return kinds_in_words(&kinds);
    }
    let bound = |word: &str| schema.get(word).and_then(Value::as_f64);
    let kinds = schema.get("type").unwrap_or(&Value::Null);
    let number = match (has(kinds, "integer"), has(kinds, "number")) {
        (true, _) => "a whole number",
        (_, true) => "a number",
        _ => "",
    };
    if !number.is_empty() {
        let most = bound("maximum").map(number_text);
        return match (bound("minimum"), bound("exclusiveMinimum"), most) {
            (Some(least), _, Some(most)) => {
                format!("{number} from {} to {most}", number_text(least))
            }
            (Some(least), _, None) => format!("{number}, at least {}", number_text(least)),
            (None, Some(least), Some(most)) => {
                format!("{number} above {}, at most {most}", number_text(least))
            }
            (None, _, Some(most)) => format!("{number}, at most {most}"),
            (None, Some(least), None) => format!("{number} above {}", number_text(least)),
            (None, None, None) if is_signed(schema) => {
                format!("{number} from {} to {}", i64::MIN, i64::MAX)
            }
            (None, None, None) => number.to_owned(),
        };
    }
    if has(kinds, "array") {
        let count = |word: &str| schema.get(word).and_then(Value::as_u64);
        return match (count("minItems"), count("maxItems")) {
            (Some(least), Some(most)) if least == most => format!("a list of {least} values"),
            (Some(least), Some(most)) => format!("a list of {least} to {most} values"),
            _ => "a list".to_owned(),
        };
    }
    let kinds = ["string", "boolean", "object"];
    let found = kinds
        .into_iter()
        .find(|kind| has(schema.get("type").unwrap_or(&Value::Null), kind));
    found.map_or("something else", in_words).to_owned()
}

fn kinds_in_words(kinds: &[&Value]) -> String {
    let heads: Vec<&str> = kinds
        .iter()
        .filter_map(|kind| required(kind).next())
        .collect();
    let mut words: Vec<String> = Vec::new();
    if !heads.is_empty() {
        let tag = tag(&kinds
            .iter()
            .copied()
            .filter(|kind| is_object(kind))
            .collect::<Vec<_>>());
        let keys = tag.map_or_else(|| any_of(&heads), str::to_owned);
        words.push(format!("a table with {keys}"));
    }
    for kind in kinds.iter().filter(|kind| !is_object(kind)) {
        if !kind.get("type").is_some_and(|kind| kind == "null") {
            words.push(allowed(kind));
        }
    }
    any_of(words)
}

fn in_words(kind: &str) -> &'static str {
    match kind {
        "object" => "a table",
        "array" => "a list",
        "string" => "a string",
        "boolean" => "true or false",
        "integer" => "a whole number",
        "number" => "a number",
        _ => "left out",
    }
}

/// The longest value that messages show whole.
const MAX_SHOWN: usize = 60;

/// `value` as messages show it.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::String(text) => quoted(text),
        Value::Null => "left out".to_owned(),
        other => other.to_string(),
    };
    if text.chars().count() <= MAX_SHOWN {
        return text;
    }
    let start: String = text.chars().take(MAX_SHOWN).collect();
    format!("{start}...")
}

fn join(path: &str, key: &str) -> String {
    match path.is_empty() {
        true => key.to_owned(),
        false => format!("{path}.{key}"),
    }
}

fn refuse<T>(path: &str, refusal: Refusal) -> Result<T, Box<Problem>> {
    Err(Box::new(Problem {
        path: path.to_owned(),
        at_key: false,
        refusal,
    }))
}

fn refuse_value<T>(path: &str, found: &Value, allowed: &str) -> Result<T, Box<Problem>> {
    let place = if path.is_empty() { "workload" } else { path };
    let refusal = Refusal::new(place, shown(found), format!("must be {allowed}"));
    refuse(path, refusal)
}
