//! Tables of protobuf message types, in which a field is found by number or by name without walking
//! the descriptors of the library `prost-reflect`.

use std::collections::HashMap;
use std::sync::Arc;

use prost_reflect::{
    Cardinality, EnumDescriptor, ExtensionDescriptor, FieldDescriptor, Kind, MessageDescriptor,
    Value,
};

/// The message types and enums of an interface.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    messages: Vec<Shape>,
    enums: Vec<Names>,
    /// The largest [`Shape::always`], at least 1.
    most_always: usize,
    /// The message types that a `google.protobuf.Any` may hold, by name.
    within_any: HashMap<String, ShapeId>,
}

/// The index of a message type in [`Shapes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ShapeId(usize);

/// The index of an enum in [`Shapes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EnumId(usize);

/// The fields of a message type.
#[derive(Debug)]
pub(super) struct Shape {
    /// Fields in the order of their numbers, which is their order in JSON.
    pub(super) fields: Vec<Field>,
    /// The places of fields by name: the name in JSON, or else the name in the interface.
    names: HashMap<Box<str>, usize>,
    /// Whether its JSON is the object of its fields, without a special form.
    plain: bool,
    /// The number of fields without presence, which are in the JSON of every message.
    pub(super) always: usize,
    /// Whether other files may declare extensions.
    pub(super) extensible: bool,
    pub(super) is_any: bool,
    /// Whether it is a `google.protobuf.Any` or may contain one, at any depth.
    pub(super) may_hold_any: bool,
    /// The extensions of the message that the interface declares.
    extensions: Vec<Field>,
    /// Whether the message wraps a floating-point number: its JSON is the bare number.
    pub(super) wraps_float: bool,
    /// The number of oneofs.
    pub(super) oneofs: usize,
}

/// A field of a message type.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) number: u32,
    pub(super) name: Arc<str>,
    pub(super) json_name: Box<str>,
    pub(super) full_name: Box<str>,
    pub(super) ty: Ty,
    pub(super) holds: Holds,
    /// Whether an absent field differs from one with the default value.
    pub(super) presence: bool,
    pub(super) oneof: Option<usize>,
    /// The fact for an absent field.
    pub(super) default_fact: Option<i64>,
}

/// The messages that wrap a floating-point number.
const WRAPPED_FLOATS: [&str; 2] = ["google.protobuf.DoubleValue", "google.protobuf.FloatValue"];

/// The cardinality and form of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    One,
    /// A group, the obsolete wire form of messages.
    Group,
    List {
        packed: bool,
    },
    /// A list of groups.
    Groups,
    /// A map; the type of the field is that of its entries.
    Map,
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ty {
    Double,
    Float,
    Int32,
    Int64,
    Uint32,
    Uint64,
    Sint32,
    Sint64,
    Fixed32,
    Fixed64,
    Sfixed32,
    Sfixed64,
    Bool,
    String,
    Bytes,
    Enum(EnumId),
    Message(ShapeId),
}

/// The names of an enum's values.
#[derive(Debug)]
pub(super) struct Names {
    by_number: HashMap<i32, Box<str>>,
    by_name: HashMap<Box<str>, i32>,
    pub(super) default: i32,
    plain: bool,
}

impl Names {
    pub(super) fn name(&self, number: i32) -> Option<&str> {
        self.by_number.get(&number).map(|name| &**name)
    }

    pub(super) fn number(&self, name: &str) -> Option<i32> {
        self.by_name.get(name).copied()
    }
}

impl Shape {
    /// The field or the declared extension with a number.
    pub(super) fn field(&self, number: u32) -> Option<&Field> {
        let extension = || self.extensions.iter().find(|field| field.number == number);
        self.place(number)
            .map(|place| &self.fields[place])
            .or_else(extension)
    }

    /// The place of the field with a number.
    pub(super) fn place(&self, number: u32) -> Option<usize> {
        // Most messages number their fields from 1 on.
        let guess = (number as usize).wrapping_sub(1);
        match self.fields.get(guess) {
            Some(field) if field.number == number => Some(guess),
            _ => {
                let found = self
                    .fields
                    .binary_search_by_key(&number, |field| field.number);
                found.ok()
            }
        }
    }

    /// The field that a JSON member of this name sets.
    pub(super) fn named(&self, name: &str) -> Option<&Field> {
        self.names.get(name).map(|place| &self.fields[*place])
    }
}

impl Field {
    /// Whether the field is a fact: a single integer, enum or bool.
    pub(super) fn is_fact(&self) -> bool {
        let is_number = !matches!(
            self.ty,
            Ty::Message(_) | Ty::String | Ty::Bytes | Ty::Double | Ty::Float
        );
        is_number && self.holds == Holds::One
    }
}

impl Shapes {
    pub(super) fn message(&self, ShapeId(place): ShapeId) -> &Shape {
        &self.messages[place]
    }

    /// The most elements that one byte on the wire can represent. An empty message counts as all
    /// its fields without presence.
    pub(super) fn most_always(&self) -> usize {
        self.most_always
    }

    /// The message type of this name, if an `Any` may hold it.
    pub(super) fn named(&self, name: &str) -> Option<ShapeId> {
        self.within_any.get(name).copied()
    }

    pub(super) fn names(&self, EnumId(place): EnumId) -> &Names {
        &self.enums[place]
    }

    /// The key field and the value field of a map's entries.
    pub(super) fn entry(&self, ty: Ty) -> Option<(&Field, &Field)> {
        let Ty::Message(id) = ty else {
            return None;
        };
        match self.message(id).fields.as_slice() {
            [key, value] => Some((key, value)),
            _ => None,
        }
    }

    /// Whether the JSON of such messages follows only from their fields. True if no message type
    /// within has a special form in ProtoJSON, extensions or groups.
    pub(super) fn is_plain(&self, root: ShapeId) -> bool {
        let mut seen = vec![false; self.messages.len()];
        let mut left = vec![root];
        while let Some(id) = left.pop() {
            if std::mem::replace(&mut seen[id.0], true) {
                continue;
            }
            let shape = self.message(id);
            if !shape.plain {
                return false;
            }
            for field in &shape.fields {
                match field.ty {
                    Ty::Message(inner) => left.push(inner),
                    Ty::Enum(id) if !self.names(id).plain => return false,
                    _ => {}
                }
            }
        }
        true
    }
}

/// Builds [`Shapes`] from descriptors.
#[derive(Default)]
pub(super) struct Builder {
    shapes: Shapes,
    known: HashMap<String, ShapeId>,
    enums: HashMap<String, EnumId>,
    /// The types with a place whose shape is not built yet.
    left: Vec<MessageDescriptor>,
}

impl Builder {
    /// The place of a type; adds it and all types within.
    pub(super) fn add(&mut self, kind: &MessageDescriptor) -> ShapeId {
        let root = self.place(kind);
        // In the order of their places.
        while !self.left.is_empty() {
            for kind in std::mem::take(&mut self.left) {
                let shape = self.shape(&kind);
                if shape.is_any {
                    for other in kind.parent_pool().all_messages() {
                        let id = self.place(&other);
                        let name = other.full_name().to_owned();
                        self.shapes.within_any.insert(name, id);
                    }
                }
                self.shapes.messages.push(shape);
            }
        }
        root
    }

    /// The shapes, and their places by name.
    pub(super) fn finish(mut self) -> (Arc<Shapes>, HashMap<String, ShapeId>) {
        let always = self.shapes.messages.iter().map(|shape| shape.always);
        self.shapes.most_always = always.max().unwrap_or_default().max(1);
        mark_holders_of_any(&mut self.shapes.messages);
        (Arc::new(self.shapes), self.known)
    }

    fn place(&mut self, kind: &MessageDescriptor) -> ShapeId {
        if let Some(id) = self.known.get(kind.full_name()) {
            return *id;
        }
        let id = ShapeId(self.known.len());
        self.known.insert(kind.full_name().to_owned(), id);
        self.left.push(kind.clone());
        id
    }

    fn shape(&mut self, kind: &MessageDescriptor) -> Shape {
        let name = kind.full_name();
        let fields: Vec<Field> = kind.fields().map(|field| self.field(&field)).collect();
        let mut names = HashMap::new();
        for (place, field) in fields.iter().enumerate() {
            names.insert((&*field.name).into(), place);
        }
        for (place, field) in fields.iter().enumerate() {
            names.insert(field.json_name.clone(), place);
        }
        let groups = |field: &Field| matches!(field.holds, Holds::Group | Holds::Groups);
        let is_known = name.starts_with("google.protobuf.") && name != "google.protobuf.Empty";
        Shape {
            plain: !is_known && kind.extension_ranges().len() == 0 && !fields.iter().any(groups),
            always: fields.iter().filter(|field| !field.presence).count(),
            extensible: kind.extension_ranges().len() > 0,
            is_any: name == "google.protobuf.Any",
            may_hold_any: name == "google.protobuf.Any",
            wraps_float: WRAPPED_FLOATS.contains(&name),
            oneofs: kind.oneofs().len(),
            extensions: kind
                .extensions()
                .map(|field| self.extension(&field))
                .collect(),
            names,
            fields,
        }
    }

    fn extension(&mut self, field: &ExtensionDescriptor) -> Field {
        Field {
            number: field.number(),
            name: field.name().into(),
            json_name: field.json_name().into(),
            full_name: field.full_name().into(),
            ty: self.ty(&field.kind()),
            holds: holds(field.cardinality(), field.is_group(), field.is_packed()),
            presence: true,
            oneof: None,
            default_fact: None,
        }
    }

    fn field(&mut self, field: &FieldDescriptor) -> Field {
        let holds = match field.is_map() {
            true => Holds::Map,
            false => holds(field.cardinality(), field.is_group(), field.is_packed()),
        };
        // A oneof of one field, such as that of an optional field, unsets nothing.
        let oneof = (field.containing_oneof()).filter(|oneof| oneof.fields().len() > 1);
        let mut oneofs = field.parent_message().oneofs();
        let oneof = oneof.and_then(|oneof| oneofs.position(|other| other == oneof));
        Field {
            number: field.number(),
            name: field.name().into(),
            json_name: field.json_name().into(),
            full_name: field.full_name().into(),
            ty: self.ty(&field.kind()),
            holds,
            presence: field.supports_presence(),
            oneof,
            default_fact: number(&Value::default_value_for_field(field)),
        }
    }

    fn ty(&mut self, kind: &Kind) -> Ty {
        match kind {
            Kind::Double => Ty::Double,
            Kind::Float => Ty::Float,
            Kind::Int32 => Ty::Int32,
            Kind::Int64 => Ty::Int64,
            Kind::Uint32 => Ty::Uint32,
            Kind::Uint64 => Ty::Uint64,
            Kind::Sint32 => Ty::Sint32,
            Kind::Sint64 => Ty::Sint64,
            Kind::Fixed32 => Ty::Fixed32,
            Kind::Fixed64 => Ty::Fixed64,
            Kind::Sfixed32 => Ty::Sfixed32,
            Kind::Sfixed64 => Ty::Sfixed64,
            Kind::Bool => Ty::Bool,
            Kind::String => Ty::String,
            Kind::Bytes => Ty::Bytes,
            Kind::Enum(kind) => Ty::Enum(self.enumeration(kind)),
            Kind::Message(kind) => Ty::Message(self.place(kind)),
        }
    }

    fn enumeration(&mut self, kind: &EnumDescriptor) -> EnumId {
        if let Some(id) = self.enums.get(kind.full_name()) {
            return *id;
        }
        let id = EnumId(self.shapes.enums.len());
        self.enums.insert(kind.full_name().to_owned(), id);
        let mut names = Names {
            by_number: HashMap::new(),
            by_name: HashMap::new(),
            default: kind.default_value().number(),
            plain: kind.full_name() != "google.protobuf.NullValue",
        };
        for value in kind.values() {
            let number = value.number();
            // A number may have several names: the library chooses.
            if let Some(first) = kind.get_value(number) {
                names.by_number.insert(number, first.name().into());
            }
            names.by_name.insert(value.name().into(), number);
        }
        self.shapes.enums.push(names);
        id
    }
}

/// Sets [`Shape::may_hold_any`] of the messages that contain a message for which it is set.
fn mark_holders_of_any(messages: &mut [Shape]) {
    loop {
        let holds = |field: &Field| match field.ty {
            Ty::Message(ShapeId(inner)) => messages[inner].may_hold_any,
            _ => false,
        };
        let is_new = |shape: &Shape| {
            let mut fields = shape.fields.iter().chain(&shape.extensions);
            !shape.may_hold_any && fields.any(holds)
        };
        let places = 0..messages.len();
        let found: Vec<usize> = places.filter(|place| is_new(&messages[*place])).collect();
        if found.is_empty() {
            return;
        }
        for place in found {
            messages[place].may_hold_any = true;
        }
    }
}

/// The cardinality and form of a field that is no map.
fn holds(cardinality: Cardinality, is_group: bool, packed: bool) -> Holds {
    match (cardinality == Cardinality::Repeated, is_group) {
        (true, true) => Holds::Groups,
        (true, false) => Holds::List { packed },
        (false, true) => Holds::Group,
        (false, false) => Holds::One,
    }
}

fn number(value: &Value) -> Option<i64> {
    Some(match value {
        Value::Bool(value) => (*value).into(),
        Value::I32(value) | Value::EnumNumber(value) => (*value).into(),
        Value::U32(value) => (*value).into(),
        Value::I64(value) => *value,
        Value::U64(value) => i64::try_from(*value).ok()?,
        _ => return None,
    })
}
