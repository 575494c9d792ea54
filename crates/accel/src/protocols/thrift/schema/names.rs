//! Resolves the names in a Thrift interface.

use std::collections::HashMap;

use super::types::{StructId, Ty};
use crate::protocols::thrift::idl::{
    ConstDecl, EnumDecl, Fault, File, Name, Place, RecordDecl, TypeRef,
};

/// Longest chain of typedefs.
const MAX_TYPEDEFS: usize = 64;

/// Largest number of types in the type of one field. Nested typedefs for maps can double it with
/// each line, so a few lines could otherwise exhaust the memory.
const MAX_TYPES: usize = 1024;

enum Type<'f> {
    Record(StructId),
    Enum(&'f EnumDecl),
    Typedef(&'f TypeRef),
}

/// The names of all files of an interface.
pub(super) struct Names<'f> {
    files: &'f [File],
    types: Vec<HashMap<&'f str, Type<'f>>>,
    constants: Vec<HashMap<&'f str, &'f ConstDecl>>,
}

/// The meaning of a name used as a constant.
pub(super) enum Meaning<'f> {
    Constant(&'f ConstDecl),
    EnumValue(i32),
}

impl<'f> Names<'f> {
    /// Collects the names. Records are numbered file by file in order of declaration, as in
    /// [`records`].
    pub(super) fn new(files: &'f [File]) -> Result<Names<'f>, Fault> {
        let mut names = Names {
            files,
            types: Vec::new(),
            constants: Vec::new(),
        };
        let mut number = 0;
        for file in files {
            let document = &file.document;
            let (mut types, mut constants) = (HashMap::new(), HashMap::new());
            for record in &document.records {
                insert(&mut types, &record.name, Type::Record(StructId(number)))?;
                number += 1;
            }
            for declared in &document.enums {
                insert(&mut types, &declared.name, Type::Enum(declared))?;
            }
            for (name, target) in &document.typedefs {
                insert(&mut types, name, Type::Typedef(target))?;
            }
            for declared in &document.consts {
                insert(&mut constants, &declared.name, declared)?;
            }
            names.types.push(types);
            names.constants.push(constants);
        }
        Ok(names)
    }

    /// Returns the file of a name, and the name in that file. `file.name` is in an included file.
    pub(super) fn locate<'n>(&self, text: &'n str, place: Place) -> (usize, &'n str) {
        let here = &self.files[place.file];
        text.rsplit_once('.')
            .and_then(|(prefix, rest)| Some((*here.includes.get(prefix)?, rest)))
            .unwrap_or((place.file, text))
    }

    pub(super) fn ty(&self, ty: &TypeRef) -> Result<Ty, Fault> {
        self.resolve(ty, 0, &mut 0)
    }

    /// Resolves a type. `named` counts the type names in the same field.
    fn resolve(&self, ty: &TypeRef, steps: usize, named: &mut usize) -> Result<Ty, Fault> {
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

    fn resolve_name(&self, name: &Name, steps: usize, named: &mut usize) -> Result<Ty, Fault> {
        *named += 1;
        if *named > MAX_TYPES {
            let why = format!("the type of a field consists of more than {MAX_TYPES} types");
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
                let (file, local) = self.locate(other, name.place);
                match self.types[file].get(local) {
                    Some(Type::Record(id)) => Ty::Struct(*id),
                    Some(Type::Enum(_)) => Ty::I32,
                    Some(Type::Typedef(target)) if steps < MAX_TYPEDEFS => {
                        self.resolve(target, steps + 1, named)?
                    }
                    Some(Type::Typedef(_)) => {
                        let why = format!(
                            "typedef '{other}' refers to itself, or is behind {MAX_TYPEDEFS} other \
                             typedefs: must be behind fewer"
                        );
                        return Err(name.place.error(why));
                    }
                    None => {
                        return Err(name.place.error(format!("type '{other}' is not declared")));
                    }
                }
            }
        })
    }

    /// The constant `NAME` or `file.NAME`, or the value `Enum.NAME` or `file.Enum.NAME`.
    pub(super) fn constant(&self, text: &str, place: Place) -> Option<Meaning<'f>> {
        let (file, local) = self.locate(text, place);
        if let Some(declared) = self.constants[file].get(local) {
            return Some(Meaning::Constant(declared));
        }
        let (owner, value) = text.rsplit_once('.')?;
        let (file, local) = self.locate(owner, place);
        let Some(Type::Enum(declared)) = self.types[file].get(local) else {
            return None;
        };
        let (_, number) = declared.values.iter().find(|(name, _)| name == value)?;
        Some(Meaning::EnumValue(*number))
    }
}

/// All structs, unions and exceptions, with their files.
pub(super) fn records(files: &[File]) -> impl Iterator<Item = (&File, &RecordDecl)> {
    let of_file = |file| std::iter::repeat(file);
    files
        .iter()
        .flat_map(move |file| of_file(file).zip(&file.document.records))
}

fn insert<'f, T>(known: &mut HashMap<&'f str, T>, name: &'f Name, value: T) -> Result<(), Fault> {
    match known.insert(&name.text, value) {
        None => Ok(()),
        Some(_) => Err(name
            .place
            .error(format!("'{}' is declared twice", name.text))),
    }
}
