//! The parts of [`super::write`] that have parts: lists, maps and structs.

use serde::ser::{
    Error as _, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple,
    SerializeTupleStruct,
};
use serde_json::Value as Json;

use super::schema::{Struct, Ty};
use super::to_json::check_presence;
use super::wire::{WireType, Writer};
use super::write::{Done, Sink, Value};
use crate::error::{AccelError, ValueError};
use crate::values::{elements, members};

/// A list, a set, or a map whose keys are no strings and whose entries are pairs.
pub(super) struct Array<'v, 'c, 't, W> {
    sink: &'v mut Sink<'c, W>,
    ty: &'t Ty,
    name: &'t str,
    mark: usize,
    count: usize,
    depth: usize,
}

impl<'v, 'c, 't, W: Writer> Array<'v, 'c, 't, W> {
    /// `ty` is a list, a set or a map.
    pub(super) fn begin(
        sink: &'v mut Sink<'c, W>,
        ty: &'t Ty,
        name: &'t str,
        depth: usize,
    ) -> Array<'v, 'c, 't, W> {
        let mark = match ty {
            Ty::Map(types) => {
                let (key, value) = (WireType::of(&types.0), WireType::of(&types.1));
                sink.writer.map_begin(key, value)
            }
            Ty::List(element) | Ty::Set(element) => sink.writer.list_begin(WireType::of(element)),
            _ => sink.writer.len(),
        };
        Array {
            sink,
            ty,
            name,
            mark,
            count: 0,
            depth,
        }
    }

    fn part<T: Serialize + ?Sized>(&mut self, ty: &Ty, value: &T) -> Result<(), ValueError> {
        let there = value.serialize(Value {
            sink: self.sink,
            ty,
            name: self.name,
            field: None,
            depth: self.depth,
        });
        there.map(drop)
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ValueError> {
        let mut elements = 1;
        match self.ty {
            Ty::List(element) | Ty::Set(element) => self.part(element, value)?,
            Ty::Map(types) => {
                elements = 2;
                // Pairs of any type; such maps are rare.
                match serde_json::to_value(value).map_err(ValueError::custom)? {
                    Json::Array(pair) if pair.len() == 2 => {
                        self.part(&types.0, &pair[0])?;
                        self.part(&types.1, &pair[1])?;
                    }
                    _ => return Err(ValueError::custom("an entry that is no [key, value] pair")),
                }
            }
            _ => {}
        }
        self.count += 1;
        self.sink.count(elements)
    }

    fn finish(self) -> Done {
        let (writer, count) = (&mut *self.sink.writer, self.count);
        match self.ty {
            Ty::List(element) | Ty::Set(element) => {
                writer.list_end(self.mark, WireType::of(element), count);
            }
            Ty::Map(types) => {
                let (key, value) = (WireType::of(&types.0), WireType::of(&types.1));
                writer.map_end(self.mark, key, value, count);
            }
            _ => {}
        }
        Ok(true)
    }
}

/// The object of a struct's members, or of a map's whose keys are strings.
pub(super) struct Object<'v, 'c, 't, W> {
    sink: &'v mut Sink<'c, W>,
    body: Body<'c, 't>,
    /// A key whose value comes next.
    key: Option<String>,
    depth: usize,
}

enum Body<'c, 't> {
    Struct(Members<'c>),
    Map {
        value: &'t Ty,
        name: &'t str,
        mark: usize,
        count: usize,
    },
}

struct Members<'c> {
    structure: &'c Struct,
    outer: i16,
    seen: u128,
    present: u128,
    /// The place where the next member is looked for first.
    next: usize,
}

impl<'c> Members<'c> {
    /// The place of the member `name`, which was not there before.
    fn find(&mut self, name: &str) -> Result<usize, ValueError> {
        let structure = self.structure;
        // Types mostly have their members in the order of the interface.
        let guess = structure.fields.get(self.next);
        let found = match guess.filter(|field| *field.name == *name) {
            Some(_) => Some(self.next),
            None => structure.field_by_name(name).map(|(place, _)| place),
        };
        let Some(place) = found else {
            let container = structure.name.to_string();
            let (field, known) = (name.to_owned(), structure.field_names());
            let error = AccelError::UnknownField {
                container,
                field,
                known,
            };
            return Err(error.into());
        };
        self.next = place + 1;
        if self.seen >> place & 1 == 1 {
            let (container, field) = (structure.name.to_string(), name.to_owned());
            return Err(AccelError::DuplicateField { container, field }.into());
        }
        self.seen |= 1 << place;
        Ok(place)
    }
}

impl<'v, 'c, 't, W: Writer> Object<'v, 'c, 't, W> {
    /// `ty` is a struct, or a map whose keys are strings.
    pub(super) fn begin(
        sink: &'v mut Sink<'c, W>,
        ty: &'t Ty,
        name: &'t str,
        depth: usize,
    ) -> Object<'v, 'c, 't, W> {
        let body = match ty {
            Ty::Struct(id) => Body::Struct(Members {
                structure: sink.schema.get(*id),
                outer: sink.writer.struct_begin(),
                seen: 0,
                present: 0,
                next: 0,
            }),
            Ty::Map(types) => Body::Map {
                value: &types.1,
                name,
                mark: (sink.writer).map_begin(WireType::Bytes, WireType::of(&types.1)),
                count: 0,
            },
            other => Body::Map {
                value: other,
                name,
                mark: sink.writer.len(),
                count: 0,
            },
        };
        Object {
            sink,
            body,
            key: None,
            depth,
        }
    }

    fn member<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), ValueError> {
        let depth = self.depth;
        let sink = &mut *self.sink;
        match &mut self.body {
            Body::Struct(members) => {
                let place = members.find(name)?;
                let field = &members.structure.fields[place];
                let there = value.serialize(Value {
                    sink,
                    ty: &field.ty,
                    name: &field.name,
                    field: Some(field.id),
                    depth,
                })?;
                members.present |= u128::from(there) << place;
                self.sink.count(there.into())
            }
            Body::Map {
                value: ty,
                name: called,
                count,
                ..
            } => {
                sink.writer.bytes(name.as_bytes());
                value.serialize(Value {
                    sink,
                    ty,
                    name: called,
                    field: None,
                    depth,
                })?;
                *count += 1;
                self.sink.count(2)
            }
        }
    }

    fn finish(self) -> Done {
        let (sink, depth) = (self.sink, self.depth);
        match self.body {
            Body::Struct(mut members) => {
                for (place, field, default) in members.structure.absent_defaults(members.seen) {
                    let value: Json =
                        serde_json::from_slice(&default.json).map_err(AccelError::from_json)?;
                    let there = value.serialize(Value {
                        sink,
                        ty: &field.ty,
                        name: &field.name,
                        field: Some(field.id),
                        depth,
                    })?;
                    members.present |= u128::from(there) << place;
                    sink.count(1)?;
                }
                check_presence(members.structure, members.present)?;
                sink.writer.struct_end(members.outer);
                sink.count(0)?;
            }
            Body::Map {
                value, mark, count, ..
            } => {
                let (key, value) = (WireType::Bytes, WireType::of(value));
                sink.writer.map_end(mark, key, value, count);
            }
        }
        Ok(true)
    }
}

elements!([W: Writer] Array<'_, '_, '_, W>);

members!([W: Writer] Object<'_, '_, '_, W>);

impl<W: Writer> SerializeMap for Object<'_, '_, '_, W> {
    type Ok = bool;
    type Error = ValueError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), ValueError> {
        match serde_json::to_value(key) {
            Ok(Json::String(name)) => self.key = Some(name),
            _ => return Err(ValueError::custom("a key that is no text")),
        }
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ValueError> {
        match self.key.take() {
            Some(name) => self.member(&name, value),
            None => Err(ValueError::custom("a value without a key")),
        }
    }

    fn end(self) -> Done {
        self.finish()
    }
}
