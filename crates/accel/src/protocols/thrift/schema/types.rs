//! The types, structs and functions of a Thrift schema.

use std::collections::HashMap;
use std::sync::Arc;

use crate::budget::Budget;
use crate::error::AccelError;

/// A Thrift type, of a field or of an element of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ty {
    /// Thrift's `bool`.
    Bool,
    /// Thrift's `byte` or `i8`: an 8-bit integer.
    I8,
    /// Thrift's `i16`: a 16-bit integer.
    I16,
    /// Thrift's `i32`, a 32-bit integer, and every enum.
    I32,
    /// Thrift's `i64`: a 64-bit integer.
    I64,
    /// Thrift's `double`: a 64-bit floating-point number.
    Double,
    /// Thrift's `string`: UTF-8 text.
    String,
    /// Thrift's `binary`: any bytes.
    Binary,
    /// Thrift's `list<T>`, with the type of its elements.
    List(Box<Ty>),
    /// Thrift's `set<T>`, with the type of its elements.
    Set(Box<Ty>),
    /// Thrift's `map<K, V>`, with the types of keys and values.
    Map(Box<(Ty, Ty)>),
    /// A struct, union or exception, by its index in the schema.
    Struct(StructId),
}

impl Ty {
    /// Returns the type's name, without the types of elements, keys and values.
    pub fn name(&self) -> &'static str {
        match self {
            Ty::Bool => "bool",
            Ty::I8 => "i8",
            Ty::I16 => "i16",
            Ty::I32 => "i32",
            Ty::I64 => "i64",
            Ty::Double => "double",
            Ty::String => "string",
            Ty::Binary => "binary",
            Ty::List(_) => "list",
            Ty::Set(_) => "set",
            Ty::Map(_) => "map",
            Ty::Struct(_) => "struct",
        }
    }
}

/// The index of a struct in its [`Schema`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StructId(pub(super) usize);

/// The index of a function in its [`Schema`], which is also the index of the function's handler in
/// a server. Indices are dense, from 0, in the order of declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FunctionId(pub usize);

/// A field of a Thrift struct.
#[derive(Clone, Debug)]
pub struct Field {
    /// The field's number on the wire.
    pub id: i16,
    /// The field's name, in the interface and in JSON.
    pub name: Arc<str>,
    /// The field's type.
    pub ty: Ty,
    /// Whether the interface declares the field as `required`, so that it must be present. False
    /// for all fields of a union.
    pub required: bool,
    /// The value of the field if it is absent from a message; `None` if the interface declares no
    /// default value.
    pub default: Option<FieldDefault>,
    /// `"name":` as bytes of JSON.
    pub(crate) json_key: Box<[u8]>,
}

/// The default value of a field: the value that an absent field has, as in structs that Apache
/// Thrift generates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldDefault {
    /// The value as JSON text, including the default values of fields of structs within the value.
    pub json: Box<[u8]>,
    /// The value as a fact for branches; `None` unless it is an integer, an enum or a bool.
    pub number: Option<i64>,
    /// The number of fields and elements of the value, including the field itself.
    pub(super) elements: usize,
}

/// A Thrift struct, union or exception, or the arguments or the result of a function.
#[derive(Clone, Debug)]
pub struct Struct {
    /// The name of the struct in the interface. For a function's arguments it is `<function>_args`,
    /// and for a function's result `<function>_result`.
    pub name: Arc<str>,
    /// Whether the struct is a union, in which exactly one field must be set.
    pub is_union: bool,
    /// The fields of the struct, in the order of their numbers.
    pub fields: Vec<Field>,
    /// The fields with a default value, as bits by place.
    pub(super) defaults: u128,
}

impl Struct {
    /// Returns the index in [`Struct::fields`] of the field with the number `id`, and the field.
    /// `None` if the struct has no such field.
    pub fn field_by_id(&self, id: i16) -> Option<(usize, &Field)> {
        // Numbers are nearly always 1, 2, 3 ...: try that place before searching.
        let guess = usize::try_from(id).ok().and_then(|id| id.checked_sub(1));
        if let Some((place, field)) = guess.and_then(|place| Some((place, self.fields.get(place)?)))
            && field.id == id
        {
            return Some((place, field));
        }
        let place = self
            .fields
            .binary_search_by_key(&id, |field| field.id)
            .ok()?;
        Some((place, &self.fields[place]))
    }

    /// Returns the index in [`Struct::fields`] of the field called `name`, and the field. `None` if
    /// the struct has no such field.
    pub fn field_by_name(&self, name: &str) -> Option<(usize, &Field)> {
        self.fields
            .iter()
            .enumerate()
            .find(|(_, field)| &*field.name == name)
    }

    /// Writes the default values of the fields that are not in `seen`, as further members of a JSON
    /// object that has the fields in `seen`.
    pub(crate) fn write_defaults(&self, seen: u128, mut put: impl FnMut(&[u8])) {
        for (index, (_, field, default)) in self.absent_defaults(seen).enumerate() {
            if seen != 0 || index > 0 {
                put(b",");
            }
            put(&field.json_key);
            put(&default.json);
        }
    }

    /// The fields with a default value that are not in `seen`, with their places.
    pub(crate) fn absent_defaults(
        &self,
        seen: u128,
    ) -> impl Iterator<Item = (usize, &Field, &FieldDefault)> {
        let absent = self.defaults & !seen;
        // Nearly all messages have none: skip the loop.
        let fields = if absent == 0 { &[][..] } else { &self.fields };
        fields
            .iter()
            .enumerate()
            .filter(move |(place, _)| absent >> place & 1 == 1)
            .filter_map(|(place, field)| Some((place, field, field.default.as_ref()?)))
    }

    /// Charges the default values of the fields that are not in `seen`.
    pub(crate) fn charge_defaults(
        &self,
        seen: u128,
        budget: &mut Budget,
    ) -> Result<(), AccelError> {
        self.absent_defaults(seen).try_for_each(|(.., default)| {
            budget.elements(default.elements)?;
            budget.bytes(default.json.len())
        })
    }

    /// Checks which fields are present, as bits by place: all required ones, and exactly one of a
    /// union.
    ///
    /// # Errors
    /// `missing_field`, `bad_union`.
    pub(crate) fn check_presence(&self, seen: u128) -> Result<(), AccelError> {
        let absent = |(place, field): &(usize, &Field)| field.required && seen >> place & 1 == 0;
        if let Some((_, field)) = self.fields.iter().enumerate().find(absent) {
            let (container, field) = (self.name.to_string(), field.name.to_string());
            return Err(AccelError::MissingField { container, field });
        }
        let found = seen.count_ones() as usize;
        if self.is_union && found != 1 {
            return Err(AccelError::BadUnion {
                container: self.name.to_string(),
                found,
            });
        }
        Ok(())
    }

    /// The names of the struct's fields, in the words of a refusal of another name.
    pub(crate) fn field_names(&self) -> String {
        let names = self.fields.iter().map(|field| &*field.name);
        one_of(names, "left out: the struct has no fields")
    }
}

/// A function of a Thrift service.
#[derive(Clone, Debug)]
pub struct Function {
    /// The name of the service that declares the function.
    pub service: Arc<str>,
    /// The function's name.
    pub name: Arc<str>,
    /// The index of the struct of the function's arguments.
    pub arguments: StructId,
    /// The index of the struct of the function's result. The struct's fields are `success` (number
    /// 0), unless the function is void, and the declared exceptions.
    pub result: StructId,
    /// Whether the function is `oneway`, so that no reply is sent.
    pub oneway: bool,
}

/// The structs and functions of a Thrift interface.
#[derive(Debug, Default)]
pub struct Schema {
    pub(super) structs: Vec<Struct>,
    pub(super) functions: Vec<Function>,
    /// Services with all their functions, including inherited ones.
    pub(super) services: Vec<(Arc<str>, Vec<FunctionId>)>,
    pub(super) struct_names: HashMap<Arc<str>, StructId>,
    pub(super) function_names: HashMap<Arc<str>, Vec<FunctionId>>,
}

impl Schema {
    /// Returns the struct with the index `id`, which must come from this schema.
    ///
    /// # Panics
    /// If the schema has fewer structs.
    pub fn get(&self, id: StructId) -> &Struct {
        &self.structs[id.0]
    }

    /// Returns the index of the struct, union or exception called `name`; `None` if the interface
    /// declares none. Does not find the structs of functions' arguments and results.
    pub fn struct_id(&self, name: &str) -> Option<StructId> {
        self.struct_names.get(name).copied()
    }

    /// Returns the function with the index `id`; `None` if the schema has fewer functions.
    pub fn function(&self, id: FunctionId) -> Option<&Function> {
        self.functions.get(id.0)
    }

    /// Returns the functions of the schema, in the order of their indices.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// Returns the names of the services in the interface file, in the order of declaration.
    ///
    /// A service of an included file, such as `shared.Base`, is listed only if a service of the
    /// interface file inherits from it. Its name then precedes that of the first service that
    /// inherits from it.
    pub fn services(&self) -> impl Iterator<Item = &str> + Clone {
        self.services.iter().map(|(name, _)| &**name)
    }

    /// Returns the index of the function with the name `name`, as a message header states it:
    /// either `method`, or `service:method` as in Thrift's multiplexed protocol.
    ///
    /// # Errors
    /// `unknown_service`; `unknown_method`, also for `method` alone if several services declare a
    /// method of this name.
    pub fn find(&self, name: &str) -> Result<FunctionId, AccelError> {
        if let Some((service, method)) = name.split_once(':') {
            // Services of included files lend their functions to those of the file itself.
            if service.contains('.') {
                let known = one_of(
                    self.services().filter(|name| !name.contains('.')),
                    NO_SERVICE,
                );
                let name = service.to_owned();
                return Err(AccelError::UnknownService { name, known });
            }
            return self.find_in(service, method);
        }
        match self.function_names.get(name).map(Vec::as_slice) {
            Some([only]) => Ok(*only),
            Some(several) => {
                let owners = several.iter().map(|id| &*self.functions[id.0].service);
                let known = format!(
                    "service:method, since {} have methods of that name",
                    shorten(owners)
                );
                Err(AccelError::UnknownMethod {
                    name: name.to_owned(),
                    known,
                })
            }
            None => {
                let known = one_of(
                    self.functions.iter().map(|function| &*function.name),
                    NO_FUNCTION,
                );
                Err(AccelError::UnknownMethod {
                    name: name.to_owned(),
                    known,
                })
            }
        }
    }

    /// Returns the first service of the interface file that declares or inherits the function `id`;
    /// `None` if no service does.
    pub fn service_of(&self, id: FunctionId) -> Option<&str> {
        let own = |name: &str| !name.contains('.');
        let mut services = self.services.iter();
        let found = services.find(|(name, functions)| own(name) && functions.contains(&id));
        found.map(|(name, _)| &**name)
    }

    /// Returns the index of the function `method` of the service `service`.
    ///
    /// # Errors
    /// `unknown_service` or `unknown_method` if the schema does not have the service or the method.
    pub fn find_in(&self, service: &str, method: &str) -> Result<FunctionId, AccelError> {
        let Some((_, functions)) = self.services.iter().find(|(name, _)| **name == *service) else {
            let known = one_of(self.services(), NO_SERVICE);
            return Err(AccelError::UnknownService {
                name: service.to_owned(),
                known,
            });
        };
        let found = functions
            .iter()
            .find(|id| *self.functions[id.0].name == *method);
        found.copied().ok_or_else(|| {
            let known = one_of(
                functions.iter().map(|id| &*self.functions[id.0].name),
                "a function of the service, which has none",
            );
            AccelError::UnknownMethod {
                name: method.to_owned(),
                known,
            }
        })
    }
}

const NO_SERVICE: &str = "a service of the interface, which has none";
const NO_FUNCTION: &str = "a function of the interface, which has none";

/// The names that are allowed, in the words of a message; `none` if there are no names.
fn one_of<'a>(names: impl Iterator<Item = &'a str> + Clone, none: &str) -> String {
    match names.clone().count() {
        0 => none.to_owned(),
        1 => shorten(names),
        _ => format!("one of {}", shorten(names)),
    }
}

/// The first 12 names, and the number of further ones.
fn shorten<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let shown = names[..names.len().min(12)].join(", ");
    match names.len().saturating_sub(12) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
