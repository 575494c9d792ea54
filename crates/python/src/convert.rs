//! Converts JSON text to Python objects and back, without an intermediate tree of JSON values.

use std::cell::{Cell, RefCell};
use std::fmt;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

/// The deepest nesting of objects that Python code returns; a list may contain itself.
const MAX_DEPTH: usize = 128;

/// Converts JSON text to a Python object: dict, list, str, int, float, bool or None.
pub(crate) fn to_python<'py>(py: Python<'py>, json: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let failed = |error: serde_json::Error| PyValueError::new_err(error.to_string());
    let value = Builder(py).deserialize(&mut deserializer).map_err(failed)?;
    deserializer.end().map_err(failed)?;
    Ok(value)
}

/// Builds the Python object of a value.
#[derive(Clone, Copy)]
pub(crate) struct Builder<'py>(pub(crate) Python<'py>);

impl<'de, 'py> DeserializeSeed<'de> for Builder<'py> {
    type Value = Bound<'py, PyAny>;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Self::Value, D::Error> {
        source.deserialize_any(self)
    }
}

fn custom<E: serde::de::Error>(error: PyErr) -> E {
    E::custom(error)
}

impl<'de, 'py> Visitor<'de> for Builder<'py> {
    type Value = Bound<'py, PyAny>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Self::Value, E> {
        Ok(self.0.None().into_bound(self.0))
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(PyBool::new(self.0, value).to_owned().into_any())
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Self::Value, E> {
        Ok(PyInt::new(self.0, value).into_any())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Self::Value, E> {
        Ok(PyInt::new(self.0, value).into_any())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Self::Value, E> {
        Ok(PyFloat::new(self.0, value).into_any())
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Self::Value, E> {
        Ok(PyString::new(self.0, value).into_any())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let list = PyList::empty(self.0);
        while let Some(item) = items.next_element_seed(self)? {
            list.append(item).map_err(custom)?;
        }
        Ok(list.into_any())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let dict = PyDict::new(self.0);
        while let Some(key) = members.next_key_seed(self)? {
            let value = members.next_value_seed(self)?;
            dict.set_item(key, value).map_err(custom)?;
        }
        Ok(dict.into_any())
    }
}

/// The floating-point numbers that a Python object may have.
#[derive(Clone, Copy)]
pub(crate) enum Floats {
    /// Those that JSON has.
    Finite,
    /// NaN and infinities, too, for a writer that knows where the interface has a `double`.
    All,
    /// NaN and infinities, too: texts that stand for them in a `double` of Thrift.
    Texts,
}

/// Converts a Python object to JSON text. Raises TypeError for a type that JSON does not have, and
/// ValueError for a number that it cannot express. Both contain the place.
pub(crate) fn from_python(value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    json_of(value, Floats::Finite)
}

/// Converts a Python object to JSON text like [`from_python`], with the numbers `floats`.
fn json_of(value: &Bound<'_, PyAny>, floats: Floats) -> PyResult<Vec<u8>> {
    let problem = Problem::default();
    let text = serde_json::to_vec(&Value::of(value, floats, &problem));
    problem.raise()?;
    text.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Converts a Python object to JSON text like [`from_python`], with texts for NaN and infinities of
/// Thrift. If there are any, `check` has to find them where the interface has a `double`.
pub(crate) fn json_for_thrift<E>(
    value: &Bound<'_, PyAny>,
    check: impl FnOnce(&Value<'_, '_>) -> Result<(), E>,
) -> PyResult<Result<Vec<u8>, E>> {
    let problem = Problem::default();
    let text = serde_json::to_vec(&Value::of(value, Floats::Texts, &problem));
    let has_special = problem.has_special.get();
    problem.raise()?;
    let text = text.map_err(|error| PyValueError::new_err(error.to_string()))?;
    if has_special {
        let problem = Problem::default();
        let checked = check(&Value::of(value, Floats::All, &problem));
        problem.raise()?;
        return Ok(checked.map(|()| text));
    }
    Ok(Ok(text))
}

/// The reason why a Python object cannot be serialized, if there is one.
#[derive(Default)]
pub(crate) struct Problem {
    found: RefCell<Found>,
    /// Whether a NaN or an infinity was written.
    has_special: Cell<bool>,
}

#[derive(Default)]
struct Found {
    why: Option<Why>,
    /// The steps to the place, the last one first.
    path: Vec<String>,
}

enum Why {
    Type(String),
    Value(String),
    Raised(PyErr),
}

impl Problem {
    /// Whether a NaN or an infinity was written, which a writer of JSON text takes for null.
    pub(crate) fn has_special(&self) -> bool {
        self.has_special.get()
    }

    /// Raises TypeError for a type that JSON does not have and ValueError for such a number; both
    /// name the place.
    pub(crate) fn raise(self) -> PyResult<()> {
        let Found { why, mut path } = self.found.into_inner();
        path.reverse();
        let place = format!("${}", path.concat());
        match why {
            None => Ok(()),
            Some(Why::Type(why)) => Err(PyTypeError::new_err(format!("{place}: {why}"))),
            Some(Why::Value(why)) => Err(PyValueError::new_err(format!("{place}: {why}"))),
            Some(Why::Raised(error)) => Err(error),
        }
    }

    fn is<E: serde::ser::Error>(&self, why: Why) -> E {
        let path = Vec::new();
        self.found.replace(Found {
            why: Some(why),
            path,
        });
        E::custom("a Python object that JSON cannot express")
    }

    fn raised<E: serde::ser::Error>(&self, error: PyErr) -> E {
        self.is(Why::Raised(error))
    }

    /// Adds a step to the place of an error.
    fn within<T, E>(&self, done: Result<T, E>, step: impl FnOnce() -> String) -> Result<T, E> {
        done.inspect_err(|_| self.found.borrow_mut().path.push(step()))
    }
}

/// A Python object as serde sees it: dict, list, tuple, str, int, float, bool or None.
#[derive(Clone, Copy)]
pub(crate) struct Value<'v, 'py> {
    object: &'v Bound<'py, PyAny>,
    floats: Floats,
    problem: &'v Problem,
    depth: usize,
}

impl<'v, 'py> Value<'v, 'py> {
    /// Wraps an object. If serializing it fails, [`Problem::raise`] raises the error if the object
    /// caused it.
    pub(crate) fn of(
        object: &'v Bound<'py, PyAny>,
        floats: Floats,
        problem: &'v Problem,
    ) -> Value<'v, 'py> {
        Value {
            object,
            floats,
            problem,
            depth: 0,
        }
    }

    fn inner<'w>(&'w self, object: &'w Bound<'py, PyAny>) -> Value<'w, 'py> {
        Value {
            object,
            floats: self.floats,
            problem: self.problem,
            depth: self.depth + 1,
        }
    }

    fn text<'t, E: serde::ser::Error>(&self, text: &'t Bound<'_, PyString>) -> Result<&'t str, E> {
        text.to_str().map_err(|_| {
            let why = "a str with an unpaired surrogate cannot be expressed in JSON".to_owned();
            self.problem.is(Why::Value(why))
        })
    }

    fn integer<S: Serializer>(&self, number: &Bound<'_, PyInt>, to: S) -> Result<S::Ok, S::Error> {
        if let Ok(small) = number.extract::<i64>() {
            return to.serialize_i64(small);
        }
        match number.extract::<u64>() {
            Ok(large) => to.serialize_u64(large),
            Err(_) => {
                let why = format!("{number} is not a 64-bit integer");
                Err(self.problem.is(Why::Value(why)))
            }
        }
    }

    fn float<S: Serializer>(&self, value: f64, to: S) -> Result<S::Ok, S::Error> {
        match self.floats {
            _ if value.is_finite() => to.serialize_f64(value),
            Floats::All => {
                self.problem.has_special.set(true);
                to.serialize_f64(value)
            }
            Floats::Texts => {
                self.problem.has_special.set(true);
                to.serialize_str(match value {
                    _ if value.is_nan() => "NaN",
                    _ if value > 0.0 => "Infinity",
                    _ => "-Infinity",
                })
            }
            Floats::Finite => {
                let why = format!("{value} cannot be expressed in JSON");
                Err(self.problem.is(Why::Value(why)))
            }
        }
    }

    fn object<S: Serializer>(&self, dict: &Bound<'_, PyDict>, to: S) -> Result<S::Ok, S::Error> {
        let problem = self.problem;
        let raised = |error| problem.raised(error);
        let mut members = to.serialize_map(Some(dict.len()))?;
        for (key, value) in dict.iter() {
            let Ok(key) = key.cast::<PyString>() else {
                let kind = key.get_type().name().map_err(raised)?;
                let why = format!("a key is of type {kind}, not str");
                return Err(problem.is(Why::Type(why)));
            };
            let key = self.text(key)?;
            let done = members.serialize_entry(key, &self.inner(&value));
            problem.within(done, || format!(".{key}"))?;
        }
        members.end()
    }

    fn array<S: Serializer>(
        &self,
        items: impl ExactSizeIterator<Item = Bound<'py, PyAny>>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let mut elements = to.serialize_seq(Some(items.len()))?;
        for (index, item) in items.enumerate() {
            let done = elements.serialize_element(&self.inner(&item));
            self.problem.within(done, || format!("[{index}]"))?;
        }
        elements.end()
    }
}

impl Serialize for Value<'_, '_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let (object, problem) = (self.object, self.problem);
        if self.depth > MAX_DEPTH {
            let why = format!("nested deeper than {MAX_DEPTH} levels");
            return Err(problem.is(Why::Value(why)));
        }
        if let Ok(text) = object.cast::<PyString>() {
            to.serialize_str(self.text(text)?)
        } else if object.is_none() {
            to.serialize_unit()
        } else if let Ok(flag) = object.cast::<PyBool>() {
            to.serialize_bool(flag.is_true())
        } else if let Ok(number) = object.cast::<PyInt>() {
            self.integer(number, to)
        } else if let Ok(number) = object.cast::<PyFloat>() {
            self.float(number.value(), to)
        } else if let Ok(dict) = object.cast::<PyDict>() {
            self.object(dict, to)
        } else if let Ok(list) = object.cast::<PyList>() {
            self.array(list.iter(), to)
        } else if let Ok(tuple) = object.cast::<PyTuple>() {
            self.array(tuple.iter(), to)
        } else {
            let kind = object.get_type().name();
            let kind = kind.map_err(|error| problem.raised(error))?;
            let why = format!(
                "a value of type {kind} cannot be expressed in JSON; allowed are dict, list, \
                 tuple, str, int, float, bool and None"
            );
            Err(problem.is(Why::Type(why)))
        }
    }
}
