//! The position of a value in a TOML text, for error messages about files that Python has read.

use toml_edit::{Array, ArrayOfTables, Document, Item, TableLike, Value};

/// One step of a path to a value in a TOML document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TomlKey {
    /// A field of a table. Holds the name of the field.
    Name(String),
    /// An element of a list. Holds the index of the element, counted from 0.
    Number(usize),
}

/// A value and how to look inside it.
enum Node<'a> {
    Table(&'a dyn TableLike),
    Tables(&'a ArrayOfTables),
    List(&'a Array),
    Leaf,
}

/// Returns the position of the value at the path `keys` in the TOML text `text`: the line, and the
/// column in characters, both counted from 1. For a field of a table, this is the position of the
/// field's name. If only the first keys of the path exist in the text, returns the position of the
/// value to which these keys lead. `None` if there are no keys, if even the first key is missing,
/// or if the text is not TOML.
pub fn toml_place(text: &str, keys: &[TomlKey]) -> Option<(usize, usize)> {
    let document = Document::parse(text).ok()?;
    let mut node = Node::Table(document.as_table());
    let mut offset = None;
    for key in keys {
        let Some((inner, span)) = step(&node, key) else {
            break;
        };
        offset = span.or(offset);
        node = inner;
    }
    let before = text.get(..offset?)?;
    let line = before.rsplit('\n').next().unwrap_or("");
    Some((1 + before.matches('\n').count(), 1 + line.chars().count()))
}

/// The value that a key leads to, and where it begins: a field at its name.
fn step<'a>(node: &Node<'a>, key: &TomlKey) -> Option<(Node<'a>, Option<usize>)> {
    match (node, key) {
        (Node::Table(table), TomlKey::Name(name)) => {
            let (key, item) = table.get_key_value(name)?;
            // A list of tables has no one place, its tables have.
            let span = key.span().or_else(|| item.span());
            Some((of_item(item), span.map(|span| span.start)))
        }
        (Node::Tables(tables), TomlKey::Number(number)) => {
            let table = tables.get(*number)?;
            Some((Node::Table(table), table.span().map(|span| span.start)))
        }
        (Node::List(list), TomlKey::Number(number)) => {
            let value = list.get(*number)?;
            Some((of_value(value), value.span().map(|span| span.start)))
        }
        _ => None,
    }
}

fn of_item(item: &Item) -> Node<'_> {
    match item {
        Item::Table(table) => Node::Table(table),
        Item::ArrayOfTables(tables) => Node::Tables(tables),
        Item::Value(value) => of_value(value),
        Item::None => Node::Leaf,
    }
}

fn of_value(value: &Value) -> Node<'_> {
    match value {
        Value::InlineTable(table) => Node::Table(table),
        Value::Array(list) => Node::List(list),
        _ => Node::Leaf,
    }
}

#[cfg(test)]
mod tests {
    use super::{TomlKey, toml_place};

    fn place(text: &str, keys: &[&str]) -> Option<(usize, usize)> {
        let key = |key: &&str| match key.parse() {
            Ok(number) => TomlKey::Number(number),
            Err(_) => TomlKey::Name((*key).to_owned()),
        };
        toml_place(text, &keys.iter().map(key).collect::<Vec<TomlKey>>())
    }

    #[test]
    fn values_are_where_their_names_begin() {
        let text = "seed = 1\n\n[[flow]]\nname = 'a'\n[[flow]]\n  sizes = [[1, 2], [3, 4]]\n";
        assert_eq!(place(text, &["seed"]), Some((1, 1)));
        assert_eq!(place(text, &["flow", "0", "name"]), Some((4, 1)));
        assert_eq!(place(text, &["flow", "1", "sizes"]), Some((6, 3)));
        assert_eq!(place(text, &["flow", "1", "sizes", "1"]), Some((6, 20)));
    }

    #[test]
    fn what_is_missing_is_where_it_should_be() {
        let text = "seed = 1\n[[flow]]\nname = 'a'\nother = { 'ä' = 1, b = 2 }\n";
        assert_eq!(place(text, &["flow", "0", "path"]), Some((2, 1)));
        assert_eq!(place(text, &["flow", "0", "other", "b"]), Some((4, 20)));
        assert_eq!(place(text, &["no"]), None);
        assert_eq!(place("seed =", &["seed"]), None);
    }
}
