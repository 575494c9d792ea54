//! The declarations of a `.proto` file: services, methods, and the message types of the methods.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prost_reflect::{DescriptorPool, MessageDescriptor};
use protox::Compiler;
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};

use super::any;
use super::json::MessageKind;
use super::shape::Builder;
use crate::error::AccelError;
use crate::role::Role;

/// The error of a `.proto` file or text that cannot be read or is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct ProtoError {
    /// The reason, with file, line and column if they are known.
    why: String,
}

impl From<protox::Error> for ProtoError {
    fn from(error: protox::Error) -> ProtoError {
        // The compiler's long form begins with file, line and column if they are known.
        let why = format!("{error:?}");
        ProtoError { why }
    }
}

/// The index of a gRPC method in its [`Schema`], which is also the index of the method's handler in
/// a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MethodId(pub usize);

/// A method of a gRPC service.
#[derive(Clone, Debug)]
pub struct Method {
    /// The full name of the service that declares the method: `package.Service`.
    pub service: Arc<str>,
    /// The name of the gRPC method.
    pub name: Arc<str>,
    /// The path of the method's requests: `/package.Service/Method`.
    pub path: Arc<str>,
    /// Whether the request and the response are one message each (true), or either is a stream.
    pub unary: bool,
    input: MessageKind,
    output: MessageKind,
}

impl Method {
    /// Returns the message type of the method's requests, then that of its responses.
    pub fn messages(&self) -> [MessageDescriptor; 2] {
        [&self.input, &self.output].map(|kind| kind.descriptor().clone())
    }

    /// The message type of its requests or of its responses.
    pub(crate) fn message(&self, role: Role) -> &MessageKind {
        match role {
            Role::Request => &self.input,
            Role::Response => &self.output,
        }
    }

    /// Returns whether the response is any JSON value (`google.protobuf.Value`), of which null is
    /// one.
    pub fn returns_json_value(&self) -> bool {
        self.output.descriptor().full_name() == "google.protobuf.Value"
    }

    /// Returns whether the request is any JSON value, of which null is one.
    pub fn takes_json_value(&self) -> bool {
        self.input.descriptor().full_name() == "google.protobuf.Value"
    }

    /// Whether requests and responses can be records.
    pub(crate) fn takes_records(&self) -> bool {
        self.input.is_plain() && self.output.is_plain()
    }
}

/// The services of a `.proto` file and of the files that it imports.
pub struct Schema {
    pub(super) pool: DescriptorPool,
    methods: Vec<Method>,
    by_path: BTreeMap<Arc<str>, MethodId>,
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.by_path.keys()).finish()
    }
}

/// A resolver whose only file is an interface text.
struct Text<'t>(&'t str);

const TEXT: &str = "interface.proto";

impl FileResolver for Text<'_> {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        match name {
            TEXT => File::from_source(name, self.0),
            _ => Err(protox::Error::file_not_found(name)),
        }
    }
}

impl Schema {
    /// Reads a `.proto` file and the files that it imports. Imported files are searched in the
    /// file's folder, then in the folders of `search`. Google's well-known types are built in.
    ///
    /// # Errors
    /// [`ProtoError`] for a file that cannot be read, is invalid or declares no method.
    pub fn read(path: &Path, search: &[PathBuf]) -> Result<Schema, ProtoError> {
        // The compiler's message for a missing file would name folders only.
        std::fs::File::open(path).map_err(|error| ProtoError {
            why: error.to_string(),
        })?;
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        let mut compiler = Compiler::new(std::iter::once(&folder).chain(search))?;
        compiler.include_imports(true).open_file(path)?;
        Schema::from_compiler(&compiler)
    }

    /// Reads an interface from `text`, the content of a `.proto` file, which may import only
    /// Google's well-known types.
    ///
    /// # Errors
    /// [`ProtoError`] for a text that is invalid or declares no method.
    pub fn parse(text: &str) -> Result<Schema, ProtoError> {
        // The resolver must own its text.
        struct Owned(String);
        impl FileResolver for Owned {
            fn open_file(&self, name: &str) -> Result<File, protox::Error> {
                Text(&self.0).open_file(name)
            }
        }
        let mut resolver = ChainFileResolver::new();
        resolver.add(Owned(text.to_owned()));
        resolver.add(GoogleFileResolver::new());
        let mut compiler = Compiler::with_file_resolver(resolver);
        compiler.include_imports(true).open_file(TEXT)?;
        Schema::from_compiler(&compiler)
    }

    /// The compiler's own pool was made before the compiler read options, and so ignores the option
    /// `packed` of fields. The files that it returns have it.
    fn from_compiler(compiler: &Compiler) -> Result<Schema, ProtoError> {
        let files = compiler.encode_file_descriptor_set();
        let pool = DescriptorPool::decode(files.as_slice()).and_then(|mut pool| {
            any::declare(&mut pool)?;
            Ok(pool)
        });
        Schema::from_pool(pool.map_err(|error| ProtoError {
            why: error.to_string(),
        })?)
    }

    fn from_pool(pool: DescriptorPool) -> Result<Schema, ProtoError> {
        let mut methods = Vec::new();
        let mut builder = Builder::default();
        for service in pool.services() {
            for method in service.methods() {
                builder.add(&method.input());
                builder.add(&method.output());
            }
        }
        let (shapes, places) = builder.finish();
        let kind = |message| MessageKind::known(message, &shapes, &places);
        for service in pool.services() {
            let name: Arc<str> = service.full_name().into();
            for method in service.methods() {
                methods.push(Method {
                    service: name.clone(),
                    name: method.name().into(),
                    path: format!("/{name}/{}", method.name()).into(),
                    unary: !method.is_client_streaming() && !method.is_server_streaming(),
                    input: kind(method.input()),
                    output: kind(method.output()),
                });
            }
        }
        if methods.is_empty() {
            let why = "declares no service with a method".to_owned();
            return Err(ProtoError { why });
        }
        let places = methods.iter().zip(0..);
        let by_path = places.map(|(method, place)| (method.path.clone(), MethodId(place)));
        let by_path = by_path.collect();
        Ok(Schema {
            pool,
            methods,
            by_path,
        })
    }

    /// Returns the methods in the order of their declaration. The index of a method in this list is
    /// the method's [`MethodId`].
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// Returns the method with the index `id`; `None` if the schema has no such method.
    pub fn method(&self, id: MethodId) -> Option<&Method> {
        self.methods.get(id.0)
    }

    /// Returns the index of the method that the path of a request names, such as
    /// `/package.Service/Method`.
    ///
    /// # Errors
    /// `unknown_method` if the schema does not have the service or the method.
    pub fn find_path(&self, path: &str) -> Result<MethodId, AccelError> {
        if let Some(id) = self.by_path.get(path) {
            return Ok(*id);
        }
        let (service, name) = match path.strip_prefix('/').and_then(|rest| rest.split_once('/')) {
            Some(parts) => parts,
            None => ("", path),
        };
        self.unknown(service, name)
    }

    /// Returns the index of the method called `name`: `package.Service.Method`, or `Service.Method`
    /// or `Method` if that is unique.
    ///
    /// # Errors
    /// `unknown_method` for an unknown or ambiguous name.
    pub fn find(&self, name: &str) -> Result<MethodId, AccelError> {
        let mut found = self.methods.iter().zip(0..).filter(|(method, _)| {
            let full = format!(".{}.{}", method.service, method.name);
            full.strip_suffix(name)
                .is_some_and(|rest| rest.ends_with('.'))
        });
        match (found.next(), found.next()) {
            (Some((_, place)), None) => Ok(MethodId(place)),
            (Some((first, _)), Some((other, _))) => Err(AccelError::UnknownMethod {
                name: name.to_owned(),
                known: format!("{} or {}, including the service", first.path, other.path),
            }),
            _ => {
                let (service, name) = name.rsplit_once('.').unwrap_or(("", name));
                self.unknown(service, name)
            }
        }
    }

    fn unknown<T>(&self, service: &str, name: &str) -> Result<T, AccelError> {
        const SHOWN: usize = 8;
        let knows = |method: &Method| &*method.service == service;
        let shorten = |text: &str| text.chars().take(128).collect::<String>();
        let name = match service {
            "" => shorten(name),
            _ => shorten(&format!("{service}.{name}")),
        };
        let siblings = self.methods.iter().any(knows);
        let known: Vec<String> = (self.methods.iter())
            .filter(|method| !siblings || knows(method))
            .take(SHOWN)
            .map(|method| format!("{}.{}", method.service, method.name))
            .collect();
        let known = match &known[..] {
            [only] => only.clone(),
            _ => format!("one of {}", known.join(", ")),
        };
        Err(AccelError::UnknownMethod { name, known })
    }

    /// Returns the message type with the full name `name`; `None` if the schema has none.
    pub fn message(&self, name: &str) -> Option<MessageDescriptor> {
        self.pool.get_message_by_name(name)
    }
}
