//! Messages, and the schemata by which Cerebros transforms them (sections 4.2, 4.3).
//!
//! A schema is split into two columns. The *type schema* is a column of types, which all messages
//! of a function share. The *address schema* is a column of pointers for each message. Sizes on the
//! wire are those of Thrift's compact protocol, which the paper uses.

use accelflow_units::Bytes;

use accelflow_parameters::Refusal;

/// The type of a field in a message's payload or header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// A boolean.
    Bool,
    /// A 32-bit integer or an enumeration value, of variable length on the wire.
    I32,
    /// A 64-bit integer, of variable length on the wire.
    I64,
    /// A floating-point number of 8 bytes.
    Double,
    /// A string or a sequence of bytes.
    Text,
    /// A list of any number of elements of this type.
    List(Box<Type>),
    /// A map of any number of pairs: the type of keys, and the type of values.
    Map(Box<Type>, Box<Type>),
    /// A nested structure with fields of these types.
    Struct(Vec<Type>),
}

impl Type {
    /// The type's name in error messages.
    fn name(&self) -> &'static str {
        match self {
            Type::Bool => "a bool",
            Type::I32 => "an i32",
            Type::I64 => "an i64",
            Type::Double => "a double",
            Type::Text => "a string",
            Type::List(_) => "a list",
            Type::Map(..) => "a map",
            Type::Struct(_) => "a struct",
        }
    }

    /// The number of rows of the type in a schema: the field's own row, and the rows of its
    /// contents.
    fn rows(&self) -> u64 {
        1 + match self {
            Type::List(element) => element.rows(),
            Type::Map(key, value) => key.rows() + value.rows(),
            Type::Struct(fields) => fields.iter().map(Type::rows).sum(),
            _ => 0,
        }
    }
}

/// The value of a field in a message. A string is represented only by its length.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A boolean.
    Bool(bool),
    /// A 32-bit integer.
    I32(i32),
    /// A 64-bit integer.
    I64(i64),
    /// A floating-point number.
    Double(f64),
    /// A string or a sequence of bytes with this length in bytes.
    Text(u64),
    /// A list: the type of its elements, and the elements.
    List(Type, Vec<Value>),
    /// A map: the type of keys, the type of values, and the pairs of a key and a value.
    Map(Type, Type, Vec<(Value, Value)>),
    /// A nested structure with these values of its fields.
    Struct(Vec<Value>),
}

impl Value {
    /// Returns the type of the value.
    pub fn kind(&self) -> Type {
        match self {
            Value::Bool(_) => Type::Bool,
            Value::I32(_) => Type::I32,
            Value::I64(_) => Type::I64,
            Value::Double(_) => Type::Double,
            Value::Text(_) => Type::Text,
            Value::List(element, _) => Type::List(Box::new(element.clone())),
            Value::Map(key, value, _) => Type::Map(Box::new(key.clone()), Box::new(value.clone())),
            Value::Struct(fields) => Type::Struct(fields.iter().map(Value::kind).collect()),
        }
    }

    /// The size of the value on the wire in bytes, without the field header.
    fn wire(&self) -> u64 {
        match self {
            // The value is in the field's header.
            Value::Bool(_) => 0,
            Value::I32(n) => varint(zigzag(i64::from(*n))),
            Value::I64(n) => varint(zigzag(*n)),
            Value::Double(_) => 8,
            Value::Text(length) => varint(*length) + length,
            Value::List(_, elements) => {
                let count = elements.len() as u64;
                let header = 1 + if count < 15 { 0 } else { varint(count) };
                header + elements.iter().map(Value::element_wire).sum::<u64>()
            }
            Value::Map(_, _, pairs) if pairs.is_empty() => 1,
            Value::Map(_, _, pairs) => {
                let each =
                    |(key, value): &(Value, Value)| key.element_wire() + value.element_wire();
                varint(pairs.len() as u64) + 1 + pairs.iter().map(each).sum::<u64>()
            }
            Value::Struct(fields) => wire_of_fields(fields),
        }
    }

    fn element_wire(&self) -> u64 {
        match self {
            Value::Bool(_) => 1,
            other => other.wire(),
        }
    }

    /// The size of the value's data in memory in bytes, without pointers, which are in the address
    /// schema.
    fn application(&self) -> u64 {
        match self {
            Value::Bool(_) => 1,
            Value::I32(_) => 4,
            Value::I64(_) | Value::Double(_) => 8,
            Value::Text(length) => *length,
            Value::List(_, elements) => elements.iter().map(Value::application).sum(),
            Value::Map(_, _, pairs) => {
                let each = |(key, value): &(Value, Value)| key.application() + value.application();
                pairs.iter().map(each).sum()
            }
            Value::Struct(fields) => fields.iter().map(Value::application).sum(),
        }
    }

    /// The number of the value's addresses in the address schema: its own, and one for each string,
    /// structure and container inside it. The numbers of a container share one address.
    fn addresses(&self) -> u64 {
        let inside = |values: &[Value]| -> u64 {
            let pointed = values.iter().filter(|value| !value.is_number());
            pointed.map(Value::addresses).sum()
        };
        1 + match self {
            Value::List(_, elements) => inside(elements),
            Value::Map(_, _, pairs) => pairs
                .iter()
                .map(|(key, value)| {
                    inside(std::slice::from_ref(key)) + inside(std::slice::from_ref(value))
                })
                .sum(),
            Value::Struct(fields) => fields.iter().map(Value::addresses).sum(),
            _ => 0,
        }
    }

    fn is_number(&self) -> bool {
        matches!(
            self,
            Value::Bool(_) | Value::I32(_) | Value::I64(_) | Value::Double(_)
        )
    }

    /// Calls `visit` with the 8-byte words of data of this field and of everything inside it, in
    /// the order of the wire; `true` marks words of strings.
    fn subtasks(&self, visit: &mut impl FnMut(u64, bool)) {
        match self {
            Value::Bool(_) | Value::I32(_) | Value::I64(_) | Value::Double(_) => visit(1, false),
            Value::Text(length) => visit(length.div_ceil(8), true),
            Value::List(_, elements) | Value::Struct(elements) => {
                visit(0, false);
                elements.iter().for_each(|element| element.subtasks(visit));
            }
            Value::Map(_, _, pairs) => {
                visit(0, false);
                for (key, value) in pairs {
                    key.subtasks(visit);
                    value.subtasks(visit);
                }
            }
        }
    }

    fn check(&self, expected: &Type, place: &str) -> Result<(), Refusal> {
        let inside = |values: &[Value], kind: &Type| {
            let check = |(n, v): (usize, &Value)| v.check(kind, &format!("{place}[{n}]"));
            values.iter().enumerate().try_for_each(check)
        };
        match (self, expected) {
            (Value::Struct(fields), Type::Struct(types)) => check_fields(fields, types, place),
            (Value::List(_, elements), Type::List(kind)) => inside(elements, kind),
            (Value::Map(_, _, pairs), Type::Map(key, value)) => {
                pairs.iter().enumerate().try_for_each(|(n, (k, v))| {
                    k.check(key, &format!("{place}[{n}].key"))?;
                    v.check(value, &format!("{place}[{n}].value"))
                })
            }
            (value, kind) if value.kind() == *kind => Ok(()),
            (value, kind) => {
                let allowed = format!("must be {}, as in the schema", kind.name());
                Err(Refusal::new(place, value.kind().name(), allowed))
            }
        }
    }
}

fn check_fields(fields: &[Value], types: &[Type], place: &str) -> Result<(), Refusal> {
    if fields.len() != types.len() {
        let allowed = format!("must be {}, as in the schema", types.len());
        return Err(Refusal::new(
            format!("{place}: number of fields"),
            fields.len(),
            allowed,
        ));
    }
    for (n, (field, kind)) in fields.iter().zip(types).enumerate() {
        field.check(kind, &format!("{place}.{}", n + 1))?;
    }
    Ok(())
}

/// The size of a structure on the wire. A byte is the header of each field, and a byte ends the
/// structure.
fn wire_of_fields(fields: &[Value]) -> u64 {
    fields.iter().map(|field| 1 + field.wire()).sum::<u64>() + 1
}

fn zigzag(n: i64) -> u64 {
    ((n << 1) ^ (n >> 63)) as u64
}

fn varint(n: u64) -> u64 {
    u64::from((64 - n.leading_zeros()).div_ceil(7).max(1))
}

/// The amount of work to transform a payload: the number of its fields, and of the 8-byte words in
/// its strings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// The number of sub-tasks, which can run in parallel: one for each field, each container and
    /// each element.
    pub fields: u64,
    /// The number of 8-byte words in the payload's strings.
    pub text_words: u64,
}

/// The payload or header of a message: the values of its fields.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Message {
    /// The values of the message's fields, in the order of the field numbers.
    pub fields: Vec<Value>,
    /// The measured cycles that a core takes to transform the payload; `None` to calculate the
    /// cycles from the fields.
    pub software_cycles: Option<f64>,
}

impl Message {
    /// Creates a message with the field values `fields`. The cycles to transform it are calculated
    /// from the fields, since no measured cycles are given.
    pub fn new(fields: Vec<Value>) -> Message {
        Message {
            fields,
            software_cycles: None,
        }
    }

    /// The size of the payload on the wire in Thrift's compact protocol, without the header of the
    /// call.
    pub fn wire(&self) -> Bytes {
        Bytes(wire_of_fields(&self.fields))
    }

    /// The size of the payload's data in memory after deserialization, without pointers.
    pub fn application(&self) -> Bytes {
        Bytes(self.fields.iter().map(Value::application).sum())
    }

    /// The size of the payload's address schema: the memory addresses of its fields, in 8-byte
    /// words. The address schema is part of the memory reserved for the deserialized payload
    /// (section 4.3).
    pub fn address_schema(&self) -> Bytes {
        Bytes(8 * self.fields.iter().map(Value::addresses).sum::<u64>())
    }

    /// Returns the amount of work to transform the payload: its fields, and the words of its
    /// strings.
    pub fn work(&self) -> Work {
        let mut work = Work::default();
        self.subtasks(|words, text| {
            work.fields += 1;
            work.text_words += if text { words } else { 0 };
        });
        work
    }

    /// The number of strings in the payload.
    pub(crate) fn texts(&self) -> u64 {
        let mut texts = 0;
        self.subtasks(|_, text| texts += u64::from(text));
        texts
    }

    /// The cycles that a pipeline with `units` parallel units needs to transform the payload. Each
    /// field, container and element is a sub-task ([`Work::fields`]). A sub-task takes one cycle
    /// for its type and one for each 8-byte word of its data, on the unit that is free first. Zero
    /// units count as one.
    pub fn pipeline_cycles(&self, units: usize) -> u64 {
        let mut free = vec![0_u64; units.max(1)];
        self.subtasks(|words, _| {
            if let Some(unit) = free.iter_mut().min() {
                *unit += 1 + words;
            }
        });
        free.into_iter().max().unwrap_or(0)
    }

    fn subtasks(&self, mut visit: impl FnMut(u64, bool)) {
        self.fields
            .iter()
            .for_each(|field| field.subtasks(&mut visit));
    }
}

/// The type schema of a message: the types of its fields, which all messages of one function share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeSchema {
    types: Vec<Type>,
}

impl TypeSchema {
    /// Creates the type schema of `message` from the types of its fields.
    pub fn of(message: &Message) -> TypeSchema {
        TypeSchema {
            types: message.fields.iter().map(Value::kind).collect(),
        }
    }

    /// Checks that the fields of `message` have the types of this schema.
    ///
    /// # Errors
    /// [`Refusal`] if `message` has more or fewer fields than the schema, and for its first field
    /// whose type differs from the schema.
    pub fn check(&self, message: &Message) -> Result<(), Refusal> {
        check_fields(&message.fields, &self.types, "message")
    }

    /// The size of the type schema, in words of 8 bytes. Each field has a word, also the fields of
    /// nested types. So has each type of the elements, keys or values of a container: a list of
    /// integers has 2 words.
    pub fn type_bytes(&self) -> Bytes {
        Bytes(8 * self.types.iter().map(Type::rows).sum::<u64>())
    }

    /// Returns the size of the schemata for `messages` concurrent messages like `message`, stored
    /// in two ways. A whole schema has rows of one type and one address, a word each (Fig. 5b). A
    /// split schema stores the types once for all messages, and only the addresses for each
    /// message.
    ///
    /// The first value is the size with a split schema; the second is the size with a whole schema
    /// for each message. According to section 4.3, the split "roughly halves" the size.
    pub fn storage(&self, message: &Message, messages: u64) -> (Bytes, Bytes) {
        let addresses = message.address_schema().get() * messages;
        (
            Bytes(self.type_bytes().get() + addresses),
            Bytes(2 * addresses),
        )
    }
}

/// Creates the header of a call to the function `name`. The header has three fields: one for
/// protocol version and message type, one for the sequence number, and one for the function's name.
pub fn header(name: &str) -> Message {
    Message::new(vec![
        Value::I32(0),
        Value::I32(1_000),
        Value::Text(name.len() as u64),
    ])
}

/// The size on the wire of the header of a call to the function `name`: one byte for the protocol,
/// one for its version and the message type, the sequence number, and the name with its length.
pub fn header_wire(name: &str) -> Bytes {
    let length = name.len() as u64;
    Bytes(2 + varint(zigzag(1_000)) + varint(length) + length)
}
