//! JSON text to Python objects and back, without a tree in between.

use std::fmt;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// How deeply objects may be nested that Python code returns; a list may contain itself.
const MAX_DEPTH: usize = 128;

/// The Python object that JSON text stands for: dict, list, str, int, float, bool or None.
pub(crate) fn to_python<'py>(py: Python<'py>, json: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let failed = |error: serde_json::Error| PyValueError::new_err(error.to_string());
    let value = Builder(py).deserialize(&mut deserializer).map_err(failed)?;
    deserializer.end().map_err(failed)?;
    Ok(value)
}

#[derive(Clone, Copy)]
struct Builder<'py>(Python<'py>);

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

/// The JSON text of a Python object. Raises TypeError for what JSON does not have and ValueError
/// for numbers that it cannot write; both name the place.
pub(crate) fn from_python(value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let mut writer = Writer {
        out: Vec::with_capacity(128),
        path: String::from("$"),
    };
    writer.value(value, 0)?;
    Ok(writer.out)
}

struct Writer {
    out: Vec<u8>,
    /// Where the value stands, for errors.
    path: String,
}

impl Writer {
    fn value(&mut self, value: &Bound<'_, PyAny>, depth: usize) -> PyResult<()> {
        if depth > MAX_DEPTH {
            let why = format!("{}: nested deeper than {MAX_DEPTH}", self.path);
            return Err(PyValueError::new_err(why));
        }
        if let Ok(text) = value.cast::<PyString>() {
            self.string(text.to_str()?);
        } else if value.is_none() {
            self.out.extend_from_slice(b"null");
        } else if let Ok(flag) = value.cast::<PyBool>() {
            let text: &[u8] = if flag.is_true() { b"true" } else { b"false" };
            self.out.extend_from_slice(text);
        } else if let Ok(number) = value.cast::<PyInt>() {
            match number.extract::<i64>() {
                Ok(small) => self.out.extend_from_slice(small.to_string().as_bytes()),
                Err(_) => {
                    let why = format!("{}: {number} is no 64-bit integer", self.path);
                    return Err(PyValueError::new_err(why));
                }
            }
        } else if let Ok(number) = value.cast::<PyFloat>() {
            self.float(number.value())?;
        } else if let Ok(dict) = value.cast::<PyDict>() {
            self.object(dict, depth)?;
        } else if let Ok(list) = value.cast::<PyList>() {
            self.array(list.iter(), depth)?;
        } else if let Ok(tuple) = value.cast::<PyTuple>() {
            self.array(tuple.iter(), depth)?;
        } else {
            let kind = value.get_type().name()?;
            let why = format!(
                "{}: {kind} has no form in JSON; allowed are dict, list, tuple, str, int, float, \
                 bool and None",
                self.path
            );
            return Err(PyTypeError::new_err(why));
        }
        Ok(())
    }

    fn string(&mut self, text: &str) {
        self.out.push(b'"');
        let mut plain = 0;
        for (at, byte) in text.bytes().enumerate() {
            if byte >= 0x20 && byte != b'"' && byte != b'\\' {
                continue;
            }
            self.out.extend_from_slice(&text.as_bytes()[plain..at]);
            plain = at + 1;
            match byte {
                b'"' => self.out.extend_from_slice(b"\\\""),
                b'\\' => self.out.extend_from_slice(b"\\\\"),
                b'\n' => self.out.extend_from_slice(b"\\n"),
                other => self
                    .out
                    .extend_from_slice(format!("\\u{other:04x}").as_bytes()),
            }
        }
        self.out.extend_from_slice(&text.as_bytes()[plain..]);
        self.out.push(b'"');
    }

    fn float(&mut self, value: f64) -> PyResult<()> {
        // serde_json writes the shortest text that reads back as the same number.
        match serde_json::Number::from_f64(value) {
            Some(number) => self.out.extend_from_slice(number.to_string().as_bytes()),
            None => {
                let why = format!("{}: {value} has no form in JSON", self.path);
                return Err(PyValueError::new_err(why));
            }
        }
        Ok(())
    }

    fn object(&mut self, dict: &Bound<'_, PyDict>, depth: usize) -> PyResult<()> {
        self.out.push(b'{');
        for (index, (key, value)) in dict.iter().enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            let Ok(key) = key.cast::<PyString>() else {
                let kind = key.get_type().name()?;
                let why = format!("{}: a key is of type {kind}, not str", self.path);
                return Err(PyTypeError::new_err(why));
            };
            let key = key.to_str()?;
            self.string(key);
            self.out.push(b':');
            let before = self.path.len();
            self.path.push('.');
            self.path.push_str(key);
            self.value(&value, depth + 1)?;
            self.path.truncate(before);
        }
        self.out.push(b'}');
        Ok(())
    }

    fn array<'py>(
        &mut self,
        items: impl Iterator<Item = Bound<'py, PyAny>>,
        depth: usize,
    ) -> PyResult<()> {
        self.out.push(b'[');
        for (index, item) in items.enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            let before = self.path.len();
            self.path.push_str(&format!("[{index}]"));
            self.value(&item, depth + 1)?;
            self.path.truncate(before);
        }
        self.out.push(b']');
        Ok(())
    }
}
