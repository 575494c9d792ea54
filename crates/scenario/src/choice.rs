//! Enums whose values users choose by name; each name is defined once, next to its value.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An enum whose values users choose by name in files, on the command line and in Python.
pub trait Choice: Copy + PartialEq + 'static {
    /// All values, in the order in which commands list them.
    const ALL: &'static [Self];

    /// Returns the name by which users choose this value.
    fn name(self) -> &'static str;

    /// Returns the value with this name; `None` for an unknown name.
    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.name() == name)
    }

    /// Returns the names of all values, in the order of [`Choice::ALL`].
    fn names() -> Vec<&'static str> {
        Self::ALL.iter().map(|value| value.name()).collect()
    }
}

/// Writes a choice as its name. For `#[serde(with = "choice")]`.
pub(crate) fn serialize<T: Choice, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(value.name())
}

/// Reads a choice from its name.
pub(crate) fn deserialize<'de, T: Choice, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    let name = String::deserialize(from)?;
    T::named(&name).ok_or_else(|| unknown::<T, D::Error>(&name))
}

/// A setting of a scenario: one value for all services, or the workload file's value for each
/// service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrOwn<T> {
    /// The contained value, for all services.
    Chosen(T),
    /// For each service, the value in the workload file; the default for a service without one.
    Own,
}

impl<T: Choice> Serialize for OrOwn<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(match self {
            OrOwn::Chosen(value) => value.name(),
            OrOwn::Own => OWN,
        })
    }
}

/// The name that means the values of the workload's file.
pub(crate) const OWN: &str = "own";

fn unknown<T: Choice, E: serde::de::Error>(name: &str) -> E {
    E::custom(format!("'{name}': must be {}", T::names().join(", ")))
}

/// The serialization of an optional choice, for `#[serde(with = "choice::open")]`.
pub(crate) mod open {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::choice::{Choice, unknown};

    /// Writes the name, or null.
    pub(crate) fn serialize<T: Choice, S: Serializer>(
        value: &Option<T>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => to.serialize_str(value.name()),
            None => to.serialize_none(),
        }
    }

    /// Reads a name, or null.
    pub(crate) fn deserialize<'de, T: Choice, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<T>, D::Error> {
        let name = Option::<String>::deserialize(from)?;
        let Some(name) = name else { return Ok(None) };
        match T::named(&name) {
            Some(value) => Ok(Some(value)),
            None => Err(unknown::<T, D::Error>(&name)),
        }
    }
}

/// The JSON Schema of a choice: a string that is one of its names.
pub(crate) struct ByName<T>(PhantomData<T>);

impl<T: Choice> JsonSchema for ByName<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        std::any::type_name::<T>().into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "enum": T::names()})
    }
}
