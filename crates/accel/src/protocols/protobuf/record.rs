//! gRPC records: messages that applications read field by field instead of as JSON text.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeSeed;

use super::json::{self, MessageKind};
use super::schema::{MethodId, Schema};
use crate::error::AccelError;
use crate::limits::Limits;
use crate::role::Role;

/// The message type of a record. A record is a gRPC request or response that was checked but stays
/// in its wire form, instead of being converted to JSON text.
///
/// Reading a record gives the same values as reading the JSON that [`super::message_to_json`]
/// writes for the record's bytes.
#[derive(Clone, Debug)]
pub struct Record {
    schema: Arc<Schema>,
    method: MethodId,
    role: Role,
    limits: Limits,
}

impl Record {
    pub(crate) fn new(schema: Arc<Schema>, method: MethodId, role: Role, limits: Limits) -> Record {
        Record {
            schema,
            method,
            role,
            limits,
        }
    }

    /// Whether the record is the message of `method` of `schema` in the role `role`.
    pub(crate) fn is_message(&self, schema: &Schema, method: MethodId, role: Role) -> bool {
        std::ptr::eq(&*self.schema, schema) && self.method == method && self.role == role
    }

    fn kind(&self) -> Result<&MessageKind, AccelError> {
        let method = self.schema.method(self.method);
        let method = method.ok_or_else(|| AccelError::UnknownMethod {
            name: format!("method {}", self.method.0),
            known: "a method of this schema, not of another one".to_owned(),
        })?;
        Ok(method.message(self.role))
    }

    pub(crate) fn to_json(&self, bytes: &[u8]) -> Result<Vec<u8>, AccelError> {
        json::to_json(self.kind()?, bytes, &self.limits)
    }

    pub(crate) fn read_seed<'a, S: DeserializeSeed<'a>>(
        &self,
        bytes: &'a [u8],
        seed: S,
    ) -> Result<S::Value, AccelError> {
        self.kind()?.read(bytes, &self.limits, seed)
    }

    /// Encodes the response to this request as a record. Its bytes replace the content of `out`.
    pub(crate) fn result<T: Serialize + ?Sized>(
        &self,
        value: &T,
        most: usize,
        out: &mut Vec<u8>,
    ) -> Result<Record, AccelError> {
        let role = Role::Response;
        let record = Record {
            role,
            ..self.clone()
        };
        record
            .kind()?
            .write(value, &self.limits.of_at_most(most), out)?;
        Ok(record)
    }
}
