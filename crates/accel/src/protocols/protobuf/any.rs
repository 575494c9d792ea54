//! `google.protobuf.Any` without a type and content, whose JSON is `{}`. The library
//! `prost-reflect` refuses them, so before it writes JSON, and when it reads some, they have a type
//! that only this module knows. One in the content of another `Any` is still refused.

use prost_reflect::prost_types::{DescriptorProto, FileDescriptorProto};
use prost_reflect::{DescriptorError, DescriptorPool, DynamicMessage, Kind, ReflectMessage, Value};

/// The full name of the type.
pub(super) const ANY: &str = "google.protobuf.Any";

const PACKAGE: &str = "accelflow.internal";
const NAME: &str = "NoContent";
const URL: &str = "type.googleapis.com/accelflow.internal.NoContent";

/// The JSON text of such an `Any`.
pub(super) const EMPTY: &str = "{}";
/// The JSON text of such an `Any` in the library.
pub(super) const MARKED: &str = r#"{"@type":"type.googleapis.com/accelflow.internal.NoContent"}"#;

/// Declares the type in an interface.
pub(super) fn declare(pool: &mut DescriptorPool) -> Result<(), DescriptorError> {
    let message = DescriptorProto {
        name: Some(NAME.to_owned()),
        ..DescriptorProto::default()
    };
    pool.add_file_descriptor_proto(FileDescriptorProto {
        name: Some("accelflow/internal/no_content.proto".to_owned()),
        package: Some(PACKAGE.to_owned()),
        message_type: vec![message],
        syntax: Some("proto3".to_owned()),
        ..FileDescriptorProto::default()
    })
}

/// Gives every `Any` in `message` that has neither type nor content the type of this module.
pub(super) fn mark(message: &mut DynamicMessage) {
    each(message, &mut |any| {
        let empty = |name| match any.get_field_by_name(name).as_deref() {
            Some(Value::String(text)) => text.is_empty(),
            Some(Value::Bytes(bytes)) => bytes.is_empty(),
            _ => false,
        };
        if empty("type_url") && empty("value") {
            any.set_field_by_name("type_url", Value::String(URL.to_owned()));
        }
    });
}

/// Undoes [`mark`].
pub(super) fn unmark(message: &mut DynamicMessage) {
    each(message, &mut |any| {
        let url = any.get_field_by_name("type_url");
        if url.as_deref().and_then(Value::as_str) == Some(URL) {
            any.clear_field_by_name("type_url");
        }
    });
}

/// Calls `change` for each `Any` in `message`, at any depth.
fn each(message: &mut DynamicMessage, change: &mut dyn FnMut(&mut DynamicMessage)) {
    if message.descriptor().full_name() == ANY {
        return change(message);
    }
    for field in message.descriptor().fields() {
        if matches!(field.kind(), Kind::Message(_)) && message.has_field(&field) {
            within(message.get_field_mut(&field), change);
        }
    }
    for (_, value) in message.extensions_mut() {
        within(value, change);
    }
}

fn within(value: &mut Value, change: &mut dyn FnMut(&mut DynamicMessage)) {
    match value {
        Value::Message(inner) => each(inner, change),
        Value::List(values) => values.iter_mut().for_each(|value| within(value, change)),
        Value::Map(values) => values.values_mut().for_each(|value| within(value, change)),
        _ => {}
    }
}
