//! Details of gRPC statuses: the message `google.rpc.Status`, whose details are messages of any
//! type, each a `google.protobuf.Any`.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json, json};

use super::json::{MessageKind, from_json, to_json};
use super::schema::Schema;
use crate::error::AccelError;
use crate::limits::Limits;

/// `google.rpc.Status` on the wire. Interfaces need not import it.
static STATUS: LazyLock<MessageKind> = LazyLock::new(|| {
    let text = r#"
        syntax = "proto3";
        message Detail { string type_url = 1; bytes value = 2; }
        message Status { int32 code = 1; string message = 2; repeated Detail details = 3; }
        service Statuses { rpc Get(Status) returns (Status); }
    "#;
    let schema = Schema::parse(text).expect("a constant that tests use");
    let kind = schema.message("Status").expect("declared above");
    MessageKind::new(kind)
});

/// The types of `google.protobuf` with a special form in ProtoJSON.
const SPECIAL: [&str; 17] = [
    "Any",
    "BoolValue",
    "BytesValue",
    "DoubleValue",
    "Duration",
    "Empty",
    "FieldMask",
    "FloatValue",
    "Int32Value",
    "Int64Value",
    "ListValue",
    "StringValue",
    "Struct",
    "Timestamp",
    "UInt32Value",
    "UInt64Value",
    "Value",
];

impl Schema {
    /// Writes the message `google.rpc.Status` with the number and the text of a status, and
    /// `details`. A detail is the JSON of a `google.protobuf.Any`: an object with the member
    /// `@type`, a URL that ends in the name of a message type of the interface, and the fields of
    /// the message. If ProtoJSON has a special form for the type, the only other member is `value`,
    /// which has this form. For a type that the interface does not have, the only other member is
    /// `value` with the encoded message in base64.
    ///
    /// # Errors
    /// `bad_value` for a detail of another form, with its index and its type; the errors of
    /// [`super::message_from_json`] for fields that do not fit; `too_large`.
    pub fn status_with_details(
        &self,
        code: i32,
        message: &str,
        details: &[Json],
        limits: &Limits,
    ) -> Result<Vec<u8>, AccelError> {
        let details = details.iter().enumerate();
        let details = details.map(|(index, detail)| self.detail(index, detail, limits));
        let details = details.collect::<Result<Vec<_>, _>>()?;
        let status = json!({"code": code, "message": message, "details": details});
        from_json(&STATUS, status.to_string().as_bytes(), limits)
    }

    /// Reads the details in a message `google.rpc.Status`, each in the form of
    /// [`Schema::status_with_details`]. A detail whose content is not a message of its type is
    /// returned as if the interface did not have the type.
    ///
    /// # Errors
    /// The errors of [`super::message_to_json`] for the status itself.
    pub fn details_of_status(
        &self,
        status: &[u8],
        limits: &Limits,
    ) -> Result<Vec<Json>, AccelError> {
        let status: Json = serde_json::from_slice(&to_json(&STATUS, status, limits)?)
            .map_err(AccelError::from_json)?;
        let details = status["details"].as_array();
        let details = details.into_iter().flatten();
        details.map(|detail| self.shown(detail, limits)).collect()
    }

    /// The type whose name is the end of a URL.
    fn named(&self, url: &str) -> Option<MessageKind> {
        let name = url.rsplit('/').next().unwrap_or_default();
        self.message(name).map(MessageKind::new)
    }

    /// The `google.protobuf.Any` of a detail. Values may be secret, so that errors do not show
    /// them.
    fn detail(&self, index: usize, detail: &Json, limits: &Limits) -> Result<Json, AccelError> {
        let bad = |why: String| AccelError::BadValue { why };
        let members = detail.as_object();
        let url = members.and_then(|members| members.get("@type")?.as_str());
        let (Some(members), Some(url)) = (members, url) else {
            return Err(bad(format!(
                "detail {index}: must be an object with the text '@type'"
            )));
        };
        let value = members.get("value").filter(|_| members.len() == 2);
        let bytes = match self.named(url) {
            Some(kind) => {
                let json = match (is_special(&kind), value) {
                    (true, Some(value)) => value.clone(),
                    (true, None) => {
                        return Err(bad(format!(
                            "detail {index} '{url}': must have two members, '@type' and 'value', which \
                             has the type's form in ProtoJSON"
                        )));
                    }
                    (false, _) => Json::Object(without_type(members)),
                };
                from_json(&kind, json.to_string().as_bytes(), limits)?
            }
            None => {
                let text = value.and_then(Json::as_str);
                let bytes = text.and_then(|text| STANDARD.decode(text).ok());
                bytes.ok_or_else(|| {
                    bad(format!(
                        "detail {index} '{url}': must be a message type of the interface and its imports, \
                         or have no member but 'value', the encoded message in base64"
                    ))
                })?
            }
        };
        Ok(json!({"typeUrl": url, "value": STANDARD.encode(bytes)}))
    }

    fn shown(&self, detail: &Json, limits: &Limits) -> Result<Json, AccelError> {
        let text = |name: &str| detail[name].as_str().unwrap_or_default();
        let (url, value) = (text("typeUrl"), text("value"));
        let mut members = Map::new();
        members.insert("@type".to_owned(), url.into());
        let read = self.named(url).and_then(|kind| {
            let bytes = STANDARD.decode(value).ok()?;
            let json = to_json(&kind, &bytes, limits).ok()?;
            Some((is_special(&kind), serde_json::from_slice(&json).ok()?))
        });
        match read {
            Some((false, Json::Object(fields))) => members.extend(fields),
            Some((_, value)) => drop(members.insert("value".to_owned(), value)),
            None => drop(members.insert("value".to_owned(), value.into())),
        }
        Ok(Json::Object(members))
    }
}

fn without_type(members: &Map<String, Json>) -> Map<String, Json> {
    let mut fields = members.clone();
    fields.remove("@type");
    fields
}

/// Whether ProtoJSON has a special form for a type, which in an `Any` is the member `value`.
fn is_special(kind: &MessageKind) -> bool {
    let name = kind.descriptor().full_name();
    let name = name.strip_prefix("google.protobuf.");
    name.is_some_and(|name| SPECIAL.contains(&name))
}
