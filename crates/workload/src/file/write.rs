//! Canonical TOML of a workload.

use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value};

use super::tree::Workload;

/// Returns `workload` as TOML text in canonical form: fields in the order of the format, each phase
/// and each parallel chain on a line of its own. [`super::read()`] reads the same workload from
/// this text.
///
/// # Errors
/// An error if a whole number is too large for TOML, which is impossible in a workload read from
/// TOML.
pub fn write(workload: &Workload) -> Result<String, toml_edit::ser::Error> {
    let mut document = toml_edit::ser::to_document(workload)?;
    for key in ["printed", "origin", "defaults", "rates"] {
        into_table(&mut document, key);
    }
    for key in ["traces", "services"] {
        into_tables(&mut document, key);
    }
    Ok(document.to_string())
}

fn into_table(document: &mut DocumentMut, key: &str) {
    if let Some(item) = document.get_mut(key)
        && let Item::Value(Value::InlineTable(inline)) = item
    {
        let mut table = std::mem::take(inline).into_table();
        if key == "rates" {
            table.set_implicit(true);
            for (_, rates) in table.iter_mut() {
                if let Item::Value(Value::InlineTable(inline)) = rates {
                    *rates = Item::Table(std::mem::take(inline).into_table());
                }
            }
        }
        *item = Item::Table(table);
    }
}

fn into_tables(document: &mut DocumentMut, key: &str) {
    let Some(item) = document.get_mut(key) else {
        return;
    };
    let Item::Value(Value::Array(array)) = item else {
        return;
    };
    let mut tables = ArrayOfTables::new();
    for value in std::mem::take(array) {
        if let Value::InlineTable(inline) = value {
            tables.push(service(inline));
        }
    }
    *item = Item::ArrayOfTables(tables);
}

fn service(inline: InlineTable) -> Table {
    let mut table = inline.into_table();
    if let Some(Item::Value(Value::Array(path))) = table.get_mut("path") {
        one_a_line(path, 1);
    }
    table
}

/// The indentation of one level.
const INDENT: &str = "    ";

/// Lays out the members of `array` one a line, `depth` levels deep, and the chains of parallel
/// phases below.
fn one_a_line(array: &mut Array, depth: usize) {
    let before = format!("\n{}", INDENT.repeat(depth));
    for value in array.iter_mut() {
        if let Value::InlineTable(phase) = value
            && let Some(Value::Array(chains)) = phase.get_mut("parallel")
        {
            one_a_line(chains, depth + 1);
        }
        value.decor_mut().set_prefix(&before);
        value.decor_mut().set_suffix("");
    }
    array.set_trailing_comma(true);
    array.set_trailing(format!("\n{}", INDENT.repeat(depth - 1)));
}
