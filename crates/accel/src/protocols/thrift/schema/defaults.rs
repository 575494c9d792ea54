//! Checks the constants and default values of a Thrift interface against their declared types, and
//! converts them to JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::names::{Meaning, Names};
use super::types::{FieldDefault, Schema, StructId, Ty};
use crate::json::elements;
use crate::protocols::thrift::idl::{Constant, ConstantValue, Fault, FieldDecl, File, Place};

/// Deepest nesting of values; each reference to a constant counts as a level.
const MAX_DEPTH: usize = 64;

/// Largest total size of the values of one interface, in bytes. A value counts wherever it is used,
/// since a few lines of nested constants could otherwise exhaust the memory.
const MAX_BYTES: usize = 1 << 20;

/// Sets the default values of all fields, and checks the constants.
pub(super) fn fill(
    files: &[File],
    names: &Names<'_>,
    schema: &mut Schema,
    declared: &[&[FieldDecl]],
) -> Result<(), Fault> {
    let mut defaults = Defaults {
        names,
        state: vec![State::Untouched; schema.structs.len()],
        schema,
        declared,
        left: MAX_BYTES,
    };
    for index in 0..declared.len() {
        defaults.structure(StructId(index), None, 0)?;
    }
    for constant in files.iter().flat_map(|file| &file.document.consts) {
        let ty = names.ty(&constant.ty)?;
        defaults.value(&ty, &constant.value, 0, &mut Vec::new())?;
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Untouched,
    Begun,
    Done,
}

struct Defaults<'d, 'f> {
    names: &'d Names<'f>,
    schema: &'d mut Schema,
    declared: &'d [&'f [FieldDecl]],
    state: Vec<State>,
    /// The number of bytes left.
    left: usize,
}

impl Defaults<'_, '_> {
    /// Sets the default values of a struct's fields; the constant at `user`, if any, needs them.
    fn structure(&mut self, id: StructId, user: Option<Place>, depth: usize) -> Result<(), Fault> {
        match (self.state[id.0], user) {
            (State::Done, _) | (State::Begun, None) => return Ok(()),
            (State::Begun, Some(user)) => {
                let name = &self.schema.get(id).name;
                return Err(user.error(format!("a default value of '{name}' contains itself")));
            }
            (State::Untouched, _) => self.state[id.0] = State::Begun,
        }
        let declared = self.declared[id.0];
        for (decl, value) in declared
            .iter()
            .filter_map(|decl| Some((decl, decl.default.as_ref()?)))
        {
            let structure = self.schema.get(id);
            if structure.is_union {
                let why = "default values of a union's fields are not supported";
                return Err(value.place.error(why));
            }
            let Some((place, field)) = structure.field_by_id(decl.id) else {
                continue;
            };
            let (ty, mut json) = (field.ty.clone(), Vec::new());
            let number = self.value(&ty, value, depth + 1, &mut json)?;
            let structure = &mut self.schema.structs[id.0];
            structure.defaults |= 1 << place;
            structure.fields[place].default = Some(FieldDefault {
                elements: 1 + elements(&json),
                json: json.into(),
                number,
            });
        }
        self.state[id.0] = State::Done;
        Ok(())
    }

    /// Writes a value. Returns it if it is an integer or bool.
    fn value(
        &mut self,
        ty: &Ty,
        constant: &Constant,
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<Option<i64>, Fault> {
        let place = constant.place;
        if depth > MAX_DEPTH {
            let why = format!(
                "constants and default values: must be nested at most {MAX_DEPTH} levels deep, and must not refer to themselves"
            );
            return Err(place.error(why));
        }
        self.take(1, place)?;
        let number = match (ty, &constant.value) {
            (Ty::Bool, ConstantValue::Name(name)) if name == "true" => 1,
            (Ty::Bool, ConstantValue::Name(name)) if name == "false" => 0,
            (_, ConstantValue::Name(name)) => match self.names.constant(name, place) {
                Some(Meaning::Constant(other)) => {
                    return self.value(ty, &other.value, depth + 1, out);
                }
                Some(Meaning::EnumValue(number)) => number.into(),
                None => return Err(place.error(format!("constant '{name}' is not declared"))),
            },
            (_, ConstantValue::Integer(number)) => *number,
            _ => return self.other_value(ty, constant, depth, out).map(|()| None),
        };
        let (least, most) = match ty {
            Ty::Bool => (0, 1),
            Ty::I8 => (i8::MIN.into(), i8::MAX.into()),
            Ty::I16 => (i16::MIN.into(), i16::MAX.into()),
            Ty::I32 => (i32::MIN.into(), i32::MAX.into()),
            Ty::I64 => (i64::MIN, i64::MAX),
            Ty::Double => {
                self.write(out, format!("{:?}", number as f64).as_bytes(), place)?;
                return Ok(None);
            }
            _ => {
                return Err(place.error(format!("value = {number}: must be of type {}", ty.name())));
            }
        };
        if !(least..=most).contains(&number) {
            let why = format!(
                "value = {number}: must be of type {}, {least} to {most}",
                ty.name()
            );
            return Err(place.error(why));
        }
        let text = match (ty, number) {
            (Ty::Bool, 0) => "false".to_owned(),
            (Ty::Bool, _) => "true".to_owned(),
            _ => number.to_string(),
        };
        self.write(out, text.as_bytes(), place)?;
        Ok(Some(number))
    }

    fn other_value(
        &mut self,
        ty: &Ty,
        constant: &Constant,
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let place = constant.place;
        match (ty, &constant.value) {
            (Ty::Double, ConstantValue::Double(value)) => {
                self.write(out, format!("{value:?}").as_bytes(), place)
            }
            (Ty::String, ConstantValue::Text(text)) => {
                self.write(out, quoted(text).as_bytes(), place)
            }
            (Ty::Binary, ConstantValue::Text(text)) => {
                self.write(out, quoted(&STANDARD.encode(text)).as_bytes(), place)
            }
            (Ty::List(element) | Ty::Set(element), ConstantValue::List(items)) => {
                for (index, item) in items.iter().enumerate() {
                    out.push(if index == 0 { b'[' } else { b',' });
                    self.value(element, item, depth + 1, out)?;
                }
                out.extend_from_slice(if items.is_empty() { b"[]" } else { b"]" });
                Ok(())
            }
            // Apache Thrift accepts empty brackets of either kind for any container.
            (Ty::List(_) | Ty::Set(_), ConstantValue::Map(entries)) if entries.is_empty() => {
                self.write(out, b"[]", place)
            }
            (Ty::Map(types), ConstantValue::List(items)) if items.is_empty() => {
                let empty = if types.0 == Ty::String { b"{}" } else { b"[]" };
                self.write(out, empty, place)
            }
            (Ty::Map(types), ConstantValue::Map(members)) => {
                self.map(types, members, depth + 1, out)
            }
            (Ty::Struct(id), ConstantValue::Map(members)) => {
                self.members(*id, constant, members, depth + 1, out)
            }
            (_, value) => Err(place.error(format!(
                "value = {}: must be of type {}",
                kind(value),
                ty.name()
            ))),
        }
    }

    fn map(
        &mut self,
        types: &(Ty, Ty),
        members: &[(Constant, Constant)],
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let object = types.0 == Ty::String;
        let mut keys = std::collections::HashSet::new();
        out.push(if object { b'{' } else { b'[' });
        for (index, (key, value)) in members.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            let mut text = Vec::new();
            self.value(&types.0, key, depth, &mut text)?;
            if !object {
                out.push(b'[');
            }
            out.extend_from_slice(&text);
            if !keys.insert(text) {
                return Err(key.place.error("duplicate key"));
            }
            out.push(if object { b':' } else { b',' });
            self.value(&types.1, value, depth, out)?;
            if !object {
                out.push(b']');
            }
        }
        out.push(if object { b'}' } else { b']' });
        Ok(())
    }

    /// Writes a struct: the given fields, and the default values of others.
    fn members(
        &mut self,
        id: StructId,
        constant: &Constant,
        members: &[(Constant, Constant)],
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        self.structure(id, Some(constant.place), depth)?;
        let mut seen = 0u128;
        out.push(b'{');
        for (key, value) in members {
            let ConstantValue::Text(name) = &key.value else {
                return Err(key.place.error("expected a field name in quotes"));
            };
            let structure = self.schema.get(id);
            let Some((place, field)) = structure.field_by_name(name) else {
                let why = format!("field = '{name}': must be a field of '{}'", structure.name);
                return Err(key.place.error(why));
            };
            if seen >> place & 1 == 1 {
                return Err(key.place.error(format!("duplicate field '{name}'")));
            }
            if seen != 0 {
                out.push(b',');
            }
            seen |= 1 << place;
            out.extend_from_slice(&field.json_key);
            let ty = field.ty.clone();
            self.value(&ty, value, depth, out)?;
        }
        let structure = self.schema.get(id);
        if let Err(refused) = structure.check_presence(seen | structure.defaults) {
            return Err(constant.place.error(refused));
        }
        let given = out.len();
        structure.write_defaults(seen, |json| out.extend_from_slice(json));
        let more = out.len() - given;
        out.push(b'}');
        self.take(more, constant.place)
    }

    fn write(&mut self, out: &mut Vec<u8>, text: &[u8], place: Place) -> Result<(), Fault> {
        self.take(text.len(), place)?;
        out.extend_from_slice(text);
        Ok(())
    }

    fn take(&mut self, bytes: usize, place: Place) -> Result<(), Fault> {
        let left = self.left.checked_sub(bytes);
        self.left = left.ok_or_else(|| {
            let why = format!(
                "constants and default values are too large: must have at most {MAX_BYTES} bytes"
            );
            place.error(why)
        })?;
        Ok(())
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn kind(value: &ConstantValue) -> &'static str {
    match value {
        ConstantValue::Integer(_) => "an integer",
        ConstantValue::Double(_) => "a number with a fraction",
        ConstantValue::Text(_) => "a string",
        ConstantValue::Name(_) => "a name",
        ConstantValue::List(_) => "a list",
        ConstantValue::Map(_) => "a map",
    }
}
