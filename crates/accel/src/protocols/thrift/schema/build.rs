//! Builds a Thrift schema from the declarations of an interface.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::defaults;
use super::names::{Names, records};
use super::types::{Field, Function, FunctionId, Schema, Struct, StructId, Ty};
use crate::protocols::thrift::idl::{
    Fault, FieldDecl, File, FunctionDecl, IdlError, Name, RecordKind, locate,
};

/// Largest number of fields of a struct. 128 bits record which fields are present, and the result
/// of a function needs one of them for `success`.
const MAX_FIELDS: usize = 127;

/// Longest chain of services that extend one another.
const MAX_BASES: usize = 64;

/// The schema of the services of the first file.
pub(super) fn build(files: &[File]) -> Result<Schema, IdlError> {
    let schema = || {
        let mut builder = Builder {
            files,
            names: Names::new(files)?,
            schema: Schema::default(),
            declared: Vec::new(),
            built: HashMap::new(),
        };
        builder.records()?;
        for index in 0..builder.files[0].document.services.len() {
            builder.service(0, index, 0)?;
        }
        defaults::fill(
            files,
            &builder.names,
            &mut builder.schema,
            &builder.declared,
        )?;
        Ok(builder.schema)
    };
    schema().map_err(|fault: Fault| locate(fault, files))
}

struct Builder<'f> {
    files: &'f [File],
    names: Names<'f>,
    schema: Schema,
    /// The declared fields of each struct of the schema.
    declared: Vec<&'f [FieldDecl]>,
    /// The functions of services by file and place in it.
    built: HashMap<(usize, usize), Vec<FunctionId>>,
}

impl<'f> Builder<'f> {
    fn records(&mut self) -> Result<(), Fault> {
        for (file, record) in records(self.files) {
            let name = match std::ptr::eq(file, &raw const self.files[0]) {
                true => record.name.text.clone(),
                false => format!("{}.{}", file.name, record.name.text),
            };
            let is_union = record.kind == RecordKind::Union;
            let mut fields = self.fields(&record.fields)?;
            for field in &mut fields {
                // A union has only one field set, so no field can be required.
                field.required &= !is_union;
            }
            let id = self.add(name, is_union, fields, &record.fields);
            let name = self.schema.get(id).name.clone();
            // Files in different folders may have the same name, which refers to the first one.
            self.schema.struct_names.entry(name).or_insert(id);
        }
        Ok(())
    }

    /// Returns the functions of a service. Inherited functions come first.
    fn service(
        &mut self,
        file: usize,
        index: usize,
        depth: usize,
    ) -> Result<Vec<FunctionId>, Fault> {
        if let Some(functions) = self.built.get(&(file, index)) {
            return Ok(functions.clone());
        }
        let files = self.files;
        let service = &files[file].document.services[index];
        let earlier = &files[file].document.services[..index];
        if earlier
            .iter()
            .any(|other| other.name.text == service.name.text)
        {
            let why = format!("service '{}' is declared twice", service.name.text);
            return Err(service.name.place.error(why));
        }
        let mut functions = match &service.extends {
            None => Vec::new(),
            Some(base) if depth == MAX_BASES => {
                let why = format!(
                    "the service inherits from more than {MAX_BASES} services, or from itself"
                );
                return Err(base.place.error(why));
            }
            Some(base) => {
                let (file, index) = self.find_service(base, index)?;
                self.service(file, index, depth + 1)?
            }
        };
        let name: Arc<str> = match file {
            0 => service.name.text.as_str().into(),
            _ => format!("{}.{}", files[file].name, service.name.text).into(),
        };
        let inherited = functions.iter().map(|id| &self.schema.functions[id.0].name);
        let mut known: HashSet<Arc<str>> = inherited.cloned().collect();
        for function in &service.functions {
            let id = self.function(&name, function)?;
            if !known.insert(self.schema.functions[id.0].name.clone()) {
                let why = format!("function '{}' is declared twice", function.name.text);
                return Err(function.name.place.error(why));
            }
            functions.push(id);
        }
        self.schema.services.push((name, functions.clone()));
        self.built.insert((file, index), functions.clone());
        Ok(functions)
    }

    fn function(
        &mut self,
        service: &Arc<str>,
        declared: &'f FunctionDecl,
    ) -> Result<FunctionId, Fault> {
        let name = &declared.name.text;
        let mut result = self.fields(&declared.throws)?;
        if let Some(ty) = &declared.returns {
            result.insert(0, field(0, "success", self.names.ty(ty)?, false));
        }
        let arguments = self.fields(&declared.arguments)?;
        let arguments = self.add(
            format!("{name}_args"),
            false,
            arguments,
            &declared.arguments,
        );
        let result = self.add(format!("{name}_result"), false, result, &declared.throws);
        let id = FunctionId(self.schema.functions.len());
        let name: Arc<str> = name.as_str().into();
        let same = self.schema.function_names.entry(name.clone());
        same.or_default().push(id);
        self.schema.functions.push(Function {
            service: service.clone(),
            name,
            arguments,
            result,
            oneway: declared.oneway,
        });
        Ok(id)
    }

    /// The service `base` that service number `index` of a file extends.
    fn find_service(&self, base: &Name, index: usize) -> Result<(usize, usize), Fault> {
        let (file, local) = self.names.locate(&base.text, base.place);
        let services = &self.files[file].document.services;
        let earlier = match file == base.place.file {
            true => &services[..index],
            false => services,
        };
        let found = earlier
            .iter()
            .position(|service| service.name.text == local);
        found.map(|index| (file, index)).ok_or_else(|| {
            let why = format!(
                "service '{}': must be declared before this line, or as FILE.SERVICE in an \
                 included file",
                base.text
            );
            base.place.error(why)
        })
    }

    fn add(
        &mut self,
        name: String,
        is_union: bool,
        fields: Vec<Field>,
        declared: &'f [FieldDecl],
    ) -> StructId {
        let id = StructId(self.schema.structs.len());
        self.schema.structs.push(Struct {
            name: name.into(),
            is_union,
            fields,
            defaults: 0,
        });
        self.declared.push(declared);
        id
    }

    fn fields(&self, declared: &[FieldDecl]) -> Result<Vec<Field>, Fault> {
        if let Some(surplus) = declared.get(MAX_FIELDS) {
            let why = format!("too many fields: must have at most {MAX_FIELDS}");
            return Err(surplus.name.place.error(why));
        }
        let mut fields = Vec::with_capacity(declared.len() + 1);
        for decl in declared {
            let ty = self.names.ty(&decl.ty)?;
            fields.push(field(decl.id, &decl.name.text, ty, decl.required));
        }
        fields.sort_by_key(|field| field.id);
        Ok(fields)
    }
}

fn field(id: i16, name: &str, ty: Ty, required: bool) -> Field {
    let json_key = format!("\"{name}\":").into_bytes().into_boxed_slice();
    Field {
        id,
        name: name.into(),
        ty,
        required,
        default: None,
        json_key,
    }
}
