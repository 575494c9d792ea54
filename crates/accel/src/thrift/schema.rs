//! Schemas: what the interface says about every struct and function.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use super::idl::{self, Document, FieldDecl, IdlError, Name, RecordKind, TypeRef};
use crate::error::AccelError;

/// The type of a field or element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ty {
    /// `bool`.
    Bool,
    /// `byte` or `i8`.
    I8,
    /// `i16`.
    I16,
    /// `i32`, and every enum.
    I32,
    /// `i64`.
    I64,
    /// `double`.
    Double,
    /// `string`: UTF-8 text.
    String,
    /// `binary`: any bytes.
    Binary,
    /// `list<T>`.
    List(Box<Ty>),
    /// `set<T>`.
    Set(Box<Ty>),
    /// `map<K, V>`.
    Map(Box<(Ty, Ty)>),
    /// A struct, union or exception.
    Struct(StructId),
}

impl Ty {
    /// The type's name without its parameters.
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

/// A struct of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StructId(usize);

/// A function of a schema: also its handler's index, dense from zero in order of declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FunctionId(pub usize);

/// One field.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its number on the wire.
    pub id: i16,
    /// Its name in JSON.
    pub name: Arc<str>,
    /// Its type.
    pub ty: Ty,
    /// Whether it must be present.
    pub required: bool,
    /// `"name":`, ready to be written.
    pub(super) json_key: Box<[u8]>,
}

/// A struct, union, exception, or the arguments or result of a function.
#[derive(Clone, Debug)]
pub struct Struct {
    /// Its name; `<function>_args` and `<function>_result` for those.
    pub name: Arc<str>,
    /// Whether exactly one field must be set.
    pub is_union: bool,
    /// Fields in order of their numbers.
    pub fields: Vec<Field>,
}

impl Struct {
    /// The field with number `id`, and its place.
    pub fn field_by_id(&self, id: i16) -> Option<(usize, &Field)> {
        // Numbers are nearly always 1, 2, 3 ...: look there before searching.
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

    /// The field called `name`, and its place.
    pub fn field_by_name(&self, name: &str) -> Option<(usize, &Field)> {
        self.fields
            .iter()
            .enumerate()
            .find(|(_, field)| &*field.name == name)
    }

    pub(super) fn field_names(&self) -> String {
        shorten(self.fields.iter().map(|field| &*field.name))
    }
}

/// One function of a service.
#[derive(Clone, Debug)]
pub struct Function {
    /// The service that declares it.
    pub service: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// The struct of its arguments.
    pub arguments: StructId,
    /// The struct of its result: `success` (number 0) unless void, and the declared exceptions.
    pub result: StructId,
    /// Whether no reply is sent.
    pub oneway: bool,
}

/// All structs and functions of an interface.
#[derive(Debug)]
pub struct Schema {
    structs: Vec<Struct>,
    functions: Vec<Function>,
    /// Services with all their functions, inherited ones included.
    services: Vec<(Arc<str>, Vec<FunctionId>)>,
    struct_names: HashMap<Arc<str>, StructId>,
    function_names: HashMap<Arc<str>, Vec<FunctionId>>,
}

static SOCIAL_NETWORK: LazyLock<Arc<Schema>> =
    LazyLock::new(|| embedded(include_str!("../../idl/social_network.thrift")));
static STORAGE: LazyLock<Arc<Schema>> =
    LazyLock::new(|| embedded(include_str!("../../idl/storage.thrift")));

fn embedded(text: &str) -> Arc<Schema> {
    Arc::new(Schema::parse(text).expect("the embedded interfaces are constants that tests parse"))
}

impl Schema {
    /// Reads an interface.
    ///
    /// # Errors
    /// The first thing that the language, or this crate's subset of it, does not allow.
    pub fn parse(text: &str) -> Result<Schema, IdlError> {
        Builder::new(idl::parse(text)?)?.build()
    }

    /// The interface of DeathStarBench's SocialNetwork (`idl/social_network.thrift`).
    pub fn social_network() -> Arc<Schema> {
        SOCIAL_NETWORK.clone()
    }

    /// The messages of the database cache and the database (`idl/storage.thrift`).
    pub fn storage() -> Arc<Schema> {
        STORAGE.clone()
    }

    /// The struct behind an identifier of this schema.
    pub fn get(&self, id: StructId) -> &Struct {
        &self.structs[id.0]
    }

    /// The struct called `name`.
    pub fn struct_id(&self, name: &str) -> Option<StructId> {
        self.struct_names.get(name).copied()
    }

    /// The function behind an identifier of this schema.
    pub fn function(&self, id: FunctionId) -> Option<&Function> {
        self.functions.get(id.0)
    }

    /// All functions in order of their identifiers.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// The names of the services.
    pub fn services(&self) -> impl Iterator<Item = &str> {
        self.services.iter().map(|(name, _)| &**name)
    }

    /// Finds a function by the name in a message header: `method`, or `service:method` as
    /// Thrift's multiplexed protocol writes it.
    ///
    /// # Errors
    /// `unknown_service`; `unknown_method`, also for a bare name that several services have.
    pub fn find(&self, name: &str) -> Result<FunctionId, AccelError> {
        if let Some((service, method)) = name.split_once(':') {
            return self.find_in(service, method);
        }
        match self.function_names.get(name).map(Vec::as_slice) {
            Some([only]) => Ok(*only),
            Some(several) => {
                let owners = several.iter().map(|id| &*self.functions[id.0].service);
                let known = format!("it in several services: {}", shorten(owners));
                Err(AccelError::UnknownMethod {
                    name: name.to_owned(),
                    known,
                })
            }
            None => {
                let known = shorten(self.functions.iter().map(|f| &*f.name));
                Err(AccelError::UnknownMethod {
                    name: name.to_owned(),
                    known,
                })
            }
        }
    }

    /// Finds a function of one service.
    ///
    /// # Errors
    /// `unknown_service`, `unknown_method`.
    pub fn find_in(&self, service: &str, method: &str) -> Result<FunctionId, AccelError> {
        let Some((_, functions)) = self.services.iter().find(|(name, _)| **name == *service) else {
            let known = shorten(self.services());
            return Err(AccelError::UnknownService {
                name: service.to_owned(),
                known,
            });
        };
        let found = functions
            .iter()
            .find(|id| *self.functions[id.0].name == *method);
        found.copied().ok_or_else(|| {
            let known = shorten(functions.iter().map(|id| &*self.functions[id.0].name));
            AccelError::UnknownMethod {
                name: method.to_owned(),
                known,
            }
        })
    }
}

/// The first dozen names, and how many more there are.
fn shorten<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let shown = names[..names.len().min(12)].join(", ");
    match names.len().saturating_sub(12) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

struct Builder {
    document: Document,
    schema: Schema,
}

/// Most fields of a struct: which of them are present is kept in 128 bits, of which the result of
/// a function needs one for `success`.
const MAX_FIELDS: usize = 127;

/// How many typedefs may lead to one another.
const MAX_TYPEDEFS: usize = 64;

/// How many types the type of one field may consist of. Each typedef for a map of another doubles
/// them, so a few lines could otherwise ask for more than there is memory.
const MAX_TYPES: usize = 1024;

impl Builder {
    fn new(document: Document) -> Result<Builder, IdlError> {
        let mut struct_names = HashMap::new();
        for (index, record) in document.records.iter().enumerate() {
            let name: Arc<str> = record.name.text.as_str().into();
            if struct_names.insert(name, StructId(index)).is_some() {
                let why = format!("'{}' is declared twice", record.name.text);
                return Err(record.name.place.error(why));
            }
        }
        let schema = Schema {
            structs: Vec::new(),
            functions: Vec::new(),
            services: Vec::new(),
            struct_names,
            function_names: HashMap::new(),
        };
        Ok(Builder { document, schema })
    }

    fn build(mut self) -> Result<Schema, IdlError> {
        for record in &self.document.records {
            let fields = self.fields(&record.fields)?;
            let is_union = record.kind == RecordKind::Union;
            self.schema.structs.push(Struct {
                name: record.name.text.as_str().into(),
                is_union,
                fields,
            });
        }
        for index in 0..self.document.services.len() {
            self.service(index)?;
        }
        Ok(self.schema)
    }

    fn service(&mut self, index: usize) -> Result<(), IdlError> {
        let service = self.document.services[index].clone();
        let name: Arc<str> = service.name.text.as_str().into();
        let mut functions = match &service.extends {
            None => Vec::new(),
            Some(base) => self.functions_of(base)?,
        };
        for function in service.functions {
            let mut result = self.fields(&function.throws)?;
            if let Some(ty) = &function.returns {
                result.insert(0, field(0, "success", self.resolve(ty, 0, &mut 0)?, false));
            }
            let arguments = self.fields(&function.arguments)?;
            let arguments = self.add(format!("{}_args", function.name.text), arguments);
            let result = self.add(format!("{}_result", function.name.text), result);
            let id = FunctionId(self.schema.functions.len());
            let function_name: Arc<str> = function.name.text.as_str().into();
            self.schema
                .function_names
                .entry(function_name.clone())
                .or_default()
                .push(id);
            functions.push(id);
            self.schema.functions.push(Function {
                service: name.clone(),
                name: function_name,
                arguments,
                result,
                oneway: function.oneway,
            });
        }
        self.schema.services.push((name, functions));
        Ok(())
    }

    fn functions_of(&self, base: &Name) -> Result<Vec<FunctionId>, IdlError> {
        let found = self
            .schema
            .services
            .iter()
            .find(|(name, _)| **name == *base.text);
        found
            .map(|(_, functions)| functions.clone())
            .ok_or_else(|| {
                base.place.error(format!(
                    "service '{}' is not declared before this line",
                    base.text
                ))
            })
    }

    fn add(&mut self, name: String, fields: Vec<Field>) -> StructId {
        let id = StructId(self.schema.structs.len());
        self.schema.structs.push(Struct {
            name: name.into(),
            is_union: false,
            fields,
        });
        id
    }

    fn fields(&self, declared: &[FieldDecl]) -> Result<Vec<Field>, IdlError> {
        if let Some(surplus) = declared.get(MAX_FIELDS) {
            return Err(surplus
                .name
                .place
                .error(format!("more than {MAX_FIELDS} fields")));
        }
        let mut fields = Vec::with_capacity(declared.len() + 1);
        for decl in declared {
            let ty = self.resolve(&decl.ty, 0, &mut 0)?;
            fields.push(field(decl.id, &decl.name.text, ty, decl.required));
        }
        fields.sort_by_key(|field| field.id);
        Ok(fields)
    }

    /// The type behind `ty`; `named` counts the names met in the type of the same field.
    fn resolve(&self, ty: &TypeRef, steps: usize, named: &mut usize) -> Result<Ty, IdlError> {
        Ok(match ty {
            TypeRef::List(element) => Ty::List(Box::new(self.resolve(element, steps, named)?)),
            TypeRef::Set(element) => Ty::Set(Box::new(self.resolve(element, steps, named)?)),
            TypeRef::Map(pair) => Ty::Map(Box::new((
                self.resolve(&pair.0, steps, named)?,
                self.resolve(&pair.1, steps, named)?,
            ))),
            TypeRef::Named(name) => self.resolve_name(name, steps, named)?,
        })
    }

    fn resolve_name(&self, name: &Name, steps: usize, named: &mut usize) -> Result<Ty, IdlError> {
        *named += 1;
        if *named > MAX_TYPES {
            let why = format!("the type of a field is made of more than {MAX_TYPES} types");
            return Err(name.place.error(why));
        }
        Ok(match name.text.as_str() {
            "bool" => Ty::Bool,
            "byte" | "i8" => Ty::I8,
            "i16" => Ty::I16,
            "i32" => Ty::I32,
            "i64" => Ty::I64,
            "double" => Ty::Double,
            "string" => Ty::String,
            "binary" => Ty::Binary,
            other => {
                if let Some(id) = self.schema.struct_names.get(other) {
                    return Ok(Ty::Struct(*id));
                }
                if self.document.enums.iter().any(|known| known.text == other) {
                    return Ok(Ty::I32);
                }
                let alias = self
                    .document
                    .typedefs
                    .iter()
                    .find(|(known, _)| known.text == other);
                let Some((_, target)) = alias else {
                    return Err(name.place.error(format!("type '{other}' is not declared")));
                };
                if steps >= MAX_TYPEDEFS {
                    return Err(name
                        .place
                        .error(format!("typedef '{other}' leads to itself")));
                }
                self.resolve(target, steps + 1, named)?
            }
        })
    }
}

fn field(id: i16, name: &str, ty: Ty, required: bool) -> Field {
    let json_key = format!("\"{name}\":").into_bytes().into_boxed_slice();
    Field {
        id,
        name: name.into(),
        ty,
        required,
        json_key,
    }
}
