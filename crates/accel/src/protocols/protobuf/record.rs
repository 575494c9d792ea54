//! Records of gRPC: messages as applications read them field by field, and not as JSON text.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeSeed;

use super::json::{self, MessageKind};
use super::schema::{MethodId, Schema};
use crate::error::AccelError;
use crate::limits::Limits;
use crate::role::Role;

/// What the bytes of a record are: a method's request or its response, as they are on the wire.
///
/// A record means the JSON that [`super::message_to_json`] makes of it, no more and no less.
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

    /// Whether it is what `method` of `schema` takes or gives.
    pub(crate) fn is_message(&self, schema: &Schema, method: MethodId, role: Role) -> bool {
        std::ptr::eq(&*self.schema, schema) && self.method == method && self.role == role
    }

    fn kind(&self) -> Result<&MessageKind, AccelError> {
        let method = self.schema.method(self.method);
        let method = method.ok_or_else(|| AccelError::UnknownMethod {
            name: format!("method {}", self.method.0),
            known: "those of another schema".to_owned(),
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

    /// The record of the response to this request; its bytes are put in the place of those in `out`.
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
