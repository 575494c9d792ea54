//! The registration of a microservice with Cerebros (section 4.1): its functions, the schemata of
//! their payloads, and the format of headers.
//!
//! The schema map is Cerebros's table of registered functions, with the schemata of each function's
//! request and response. Cerebros processes calls of these functions; a core processes the others.

use accelflow_parameters::Refusal;
use accelflow_units::Bytes;

use crate::Platform;
use crate::schema::{Message, Type, TypeSchema, header};
use crate::services::Service;

/// The index of the header field that names the function: after version and kind, and sequence
/// number.
const MARKED: usize = 2;

/// The format of message headers, including which header field names the called function (section
/// 4.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderFormat {
    schema: TypeSchema,
    marked: usize,
}

impl HeaderFormat {
    /// Creates the format of headers with the same fields as `header`. The field with index
    /// `marked`, counted from 0, states which function is called, by a name or an integer.
    ///
    /// # Errors
    /// [`Refusal`] if `marked` is not the index of a field, or if the field is neither a string nor
    /// an integer.
    pub fn new(header: &Message, marked: usize) -> Result<HeaderFormat, Refusal> {
        let schema = TypeSchema::of(header);
        match header.fields.get(marked).map(|field| field.kind()) {
            Some(Type::Text | Type::I32 | Type::I64) => Ok(HeaderFormat { schema, marked }),
            Some(_) => {
                let allowed = "must be the index of a string or integer field";
                Err(Refusal::new(
                    "header: index of the field that names the function",
                    marked,
                    allowed,
                ))
            }
            None => {
                let allowed = format!(
                    "must be below {}, the number of fields",
                    header.fields.len()
                );
                Err(Refusal::new(
                    "header: index of the field that names the function",
                    marked,
                    allowed,
                ))
            }
        }
    }

    /// The index, counted from 0, of the header field that names the function.
    pub fn marked(&self) -> usize {
        self.marked
    }
}

/// The record of one microservice in Cerebros: the format of its headers, and its functions in the
/// schema map (the table of functions whose calls Cerebros can process).
#[derive(Clone, Debug)]
pub struct Registration {
    header: HeaderFormat,
    /// Whether a function is in the schema map, by function.
    known: Vec<bool>,
    /// The type schemata of a function's request and response, by function.
    schemata: Vec<[TypeSchema; 2]>,
    /// The request of a function, by function.
    requests: Vec<Message>,
    capacity: usize,
}

impl Registration {
    /// Registers the functions of `service` in the schema map, the table of functions whose calls
    /// Cerebros can process. The most popular functions are registered first, until the map is
    /// full; `platform` states the size of the map.
    ///
    /// # Errors
    /// [`Refusal`] for a header format without a field that names the function.
    pub fn new(platform: &Platform, service: &Service) -> Result<Registration, Refusal> {
        let capacity = platform.schema_map_entries as usize;
        let mut order: Vec<usize> = (0..service.functions.len()).collect();
        let popularity = |n: usize| service.functions[n].popularity;
        order.sort_by(|&a, &b| popularity(b).total_cmp(&popularity(a)));
        let mut known = vec![false; order.len()];
        for function in order.into_iter().take(capacity) {
            known[function] = true;
        }
        let types = |message: &Message| TypeSchema::of(message);
        Ok(Registration {
            header: HeaderFormat::new(&header(""), MARKED)?,
            known,
            schemata: service
                .functions
                .iter()
                .map(|f| [types(&f.call.request), types(&f.call.response)])
                .collect(),
            requests: service
                .functions
                .iter()
                .map(|f| f.call.request.clone())
                .collect(),
            capacity,
        })
    }

    /// Returns whether the function with index `function` is in the schema map, so that Cerebros
    /// can process its calls.
    pub fn knows(&self, function: usize) -> bool {
        self.known[function]
    }

    /// The number of functions in the schema map, and the number of functions that the map can
    /// hold.
    pub fn occupancy(&self) -> (usize, usize) {
        (
            self.known.iter().filter(|known| **known).count(),
            self.capacity,
        )
    }

    /// The total size of the type schemata: of the functions in the schema map, and of the header,
    /// which has the same schema for all messages. A type schema lists the types of a message's
    /// fields.
    pub fn type_bytes(&self) -> Bytes {
        let registered = self.known.iter().zip(&self.schemata);
        let of_functions: u64 = registered
            .filter(|(known, _)| **known)
            .flat_map(|(_, schemata)| schemata)
            .map(|schema| schema.type_bytes().get())
            .sum();
        Bytes(self.header.schema.type_bytes().get() + of_functions)
    }

    /// Returns the total size of the schemata (the types and addresses of message fields) for
    /// `messages` concurrent requests to each function in the schema map. In the first value, the
    /// types are stored once per function; in the second, once per request. Addresses are stored
    /// per request in both.
    pub fn storage(&self, messages: u64) -> (Bytes, Bytes) {
        let schemata = self.schemata.iter().zip(&self.requests);
        let registered = self.known.iter().zip(schemata);
        let each = registered
            .filter(|(known, _)| **known)
            .map(|(_, (schemata, request))| schemata[0].storage(request, messages));
        each.fold((Bytes(0), Bytes(0)), |sum, storage| {
            (
                Bytes(sum.0.get() + storage.0.get()),
                Bytes(sum.1.get() + storage.1.get()),
            )
        })
    }
}
