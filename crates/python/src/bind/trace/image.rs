//! `TraceImage`: a linked trace memory (ATM), with the compiled words of traces.

use std::collections::HashMap;
use std::sync::Arc;

use accelflow_parameters::Refusal;
use accelflow_trace::{
    Accel, Field, Image, Instruction, Kind, NIBBLES, PositionMark, Visit, Walker, is_name,
};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyMapping};

use super::failure::Failure;
use super::node::{PyNode, parts};
use crate::bind::parameters::shown;

/// A linked trace memory (ATM): the words of traces, and the conditions that they test. Immutable.
///
/// Every image obeys the rules of the language, so all its traces end.
#[pyclass(frozen, eq, name = "TraceImage", module = "accelflow._native")]
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct PyImage {
    inner: Image,
}

impl PyImage {
    /// The image as a Python object.
    pub(crate) fn new(inner: Image) -> PyImage {
        PyImage { inner }
    }

    /// The image itself.
    pub(crate) fn inner(&self) -> &Image {
        &self.inner
    }

    fn known(&self) -> impl Iterator<Item = &str> {
        let names = self.inner.names().iter().map(String::as_str);
        names.filter(|name| is_name(name))
    }
}

#[pymethods]
impl PyImage {
    /// Reads an image from the bytes of a trace file. Raises TraceError for any other bytes.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<PyImage> {
        let image = py
            .detach(|| Image::from_bytes(data))
            .map_err(Failure::from)?;
        Ok(PyImage::new(image))
    }

    /// Returns the image as the bytes of a trace file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.inner.to_bytes())
    }

    /// The 64-bit words of the memory, in the order of their addresses.
    #[getter]
    fn words(&self) -> Vec<u64> {
        self.inner.words().iter().map(|word| word.0).collect()
    }

    /// The name of each word, in the order of addresses.
    ///
    /// A name is that of a trace, or NAME.1, NAME.2 and so on for later words of a long trace.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.inner.names().to_vec()
    }

    /// The names of all traces, in the order of their addresses.
    #[getter]
    fn traces(&self) -> Vec<String> {
        self.known().map(str::to_owned).collect()
    }

    /// The conditions of branches, in the order of the indices by which words refer to them.
    #[getter]
    fn predicates(&self) -> Vec<String> {
        let table = self.inner.predicates();
        (0_u8..)
            .map_while(|nibble| table.condition(nibble))
            .map(|condition| condition.to_string())
            .collect()
    }

    /// The declarations of the custom accelerators that words call, by index.
    #[getter]
    fn kinds(&self) -> Vec<String> {
        let kinds = self.inner.kinds().iter();
        kinds.map(|kind| kind.to_string()).collect()
    }

    /// The facts of payloads that the conditions read, in the order of their indices.
    ///
    /// A fact is the value of a field, a byte or a bit, or whether a field or bytes equal a text.
    #[getter]
    fn fields(&self) -> Vec<String> {
        self.inner.predicates().fields().to_vec()
    }

    /// Returns the address of the first word of the trace called `name`. Raises TraceError, with
    /// the known names, for an unknown name.
    fn entry(&self, name: &str) -> PyResult<usize> {
        match self.inner.entry(name) {
            Some(address) => Ok(address.index()),
            None => Err(Failure::unknown(name, self.known()).into()),
        }
    }

    /// Returns the instructions of the word at `address`, in order.
    ///
    /// A nibble is 4 bits of the word. Each of the trailing zero nibbles is one `end`. Raises
    /// IndexError for an address outside the memory.
    fn decode(&self, address: usize) -> PyResult<Vec<PyInstruction>> {
        let Some(word) = self.inner.words().get(address).copied() else {
            let words = self.inner.words().len();
            let allowed = format!("must be below {words}, the number of words");
            let refusal = Refusal::new("address", address, allowed);
            return Err(PyIndexError::new_err(refusal.to_string()));
        };
        let mut found = Vec::new();
        let mut mark = PositionMark::START;
        while mark.index() < NIBBLES {
            let (inner, next) = word.decode(mark).map_err(Failure::from)?;
            let nibbles = (mark.index()..next.index())
                .map(|i| format!("{:x}", word.nibble(i)))
                .collect();
            found.push(PyInstruction {
                inner,
                position: mark.index(),
                kinds: self.inner.kinds().to_vec(),
                nibbles,
            });
            mark = next;
        }
        Ok(found)
    }

    /// Returns the name and the source of each word; linking all sources gives the same image.
    fn disassemble(&self) -> PyResult<Vec<(String, Vec<PyNode>)>> {
        let found = self.inner.disassemble();
        Ok(parts(&found.map_err(Failure::from)?))
    }

    /// Returns the steps of the trace `name` and its successors for a payload with `facts`.
    ///
    /// `facts` are integers by name. Steps are pairs such as ('enter', 'T1'), ('receive', 'TCP'),
    /// ('call', 'Decr'), ('trans', 'JSON>str'), ('fork', ''), ('notify', ''). A join is ('scatter',
    /// ''), then ('wait', '') where an arm reaches it and ('join', '') for the last arm. The arms
    /// of a fork or join follow one another. Raises TraceError, with the index of the step, for a
    /// fact that is missing, and after `max_visits` steps: each fork doubles the work after it, so
    /// a trace may be very long. Raises TraceError for a fact that is no integer of 64 bits, and
    /// for a negative `max_visits`.
    #[pyo3(
        signature = (name, facts, *, max_visits=Visits::Number(100_000)),
        text_signature = "($self, name, facts, *, max_visits=100_000)"
    )]
    fn walk(
        &self,
        py: Python<'_>,
        name: &str,
        facts: &Bound<'_, PyAny>,
        max_visits: Visits<'_>,
    ) -> PyResult<Vec<(&'static str, String)>> {
        let Some(walker) = Walker::new(&self.inner, name) else {
            return Err(Failure::unknown(name, self.known()).into());
        };
        let facts = facts_of(facts)?;
        let max_visits = max_visits.number()?;
        Ok(py.detach(|| follow(walker, &facts, max_visits))?)
    }

    fn __len__(&self) -> usize {
        self.inner.words().len()
    }

    fn __repr__(&self) -> String {
        let (words, traces) = (self.inner.words().len(), self.known().count());
        format!("<TraceImage of {traces} traces in {words} words>")
    }
}

fn facts_of(facts: &Bound<'_, PyAny>) -> PyResult<HashMap<String, i64>> {
    let refused = |place: String, value: &Bound<'_, PyAny>, allowed: &str| -> PyErr {
        Failure::new("bad_fact", Refusal::new(place, shown(value), allowed)).into()
    };
    let Ok(mapping) = facts.cast::<PyMapping>() else {
        let allowed = "must be a mapping of names to whole numbers";
        return Err(refused("facts".to_owned(), facts, allowed));
    };
    let mut found = HashMap::new();
    for item in mapping.items()?.iter() {
        let (name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let Ok(text) = name.extract::<String>() else {
            return Err(refused("facts key".to_owned(), &name, "must be a str"));
        };
        let Ok(number) = value.extract::<i64>() else {
            let place = format!("facts[{}]", shown(&name));
            let allowed = "must be a whole number of at most 64 bits";
            return Err(refused(place, &value, allowed));
        };
        found.insert(text, number);
    }
    Ok(found)
}

/// `max_visits` of [`PyImage::walk`].
#[derive(FromPyObject)]
enum Visits<'py> {
    Number(usize),
    Other(Bound<'py, PyAny>),
}

impl Visits<'_> {
    /// The number of steps. Numbers beyond a usize allow every step.
    fn number(self) -> PyResult<usize> {
        match self {
            Visits::Number(number) => Ok(number),
            Visits::Other(given) if given.is_instance_of::<PyInt>() && given.gt(0)? => {
                Ok(usize::MAX)
            }
            Visits::Other(given) => {
                let allowed = "must be a whole number of at least 0";
                let refusal = Refusal::new("max_visits", shown(&given), allowed);
                Err(Failure::new("bad_value", refusal).into())
            }
        }
    }
}

fn follow(
    mut walker: Walker<'_>,
    facts: &HashMap<String, i64>,
    max_visits: usize,
) -> Result<Vec<(&'static str, String)>, Failure> {
    let lookup = |field: Field<'_>| facts.get(field.name).copied();
    let mut visits = Vec::new();
    loop {
        let trace = walker.trace().unwrap_or_default();
        let place = |failure: Failure| failure.of(trace).at_step(visits.len());
        match walker.advance(&lookup) {
            Err(fault) => return Err(place(fault.into())),
            Ok(None) => return Ok(visits),
            Ok(Some(_)) if visits.len() == max_visits => {
                let message =
                    format!("max_visits = {max_visits}: must be larger: the trace has more steps");
                return Err(place(Failure::new("too_many_visits", message)));
            }
            Ok(Some(visit)) => visits.push(describe(visit, walker.image().kinds())),
        }
    }
}

/// The name of `accel` in a memory with `kinds`.
fn name(accel: Accel, kinds: &[Arc<Kind>]) -> &str {
    let own = accel.custom_number().and_then(|number| kinds.get(number));
    own.map_or(accel.name(), |kind| kind.name())
}

/// A visit as a pair of words.
pub(crate) fn describe(visit: Visit, kinds: &[Arc<Kind>]) -> (&'static str, String) {
    match visit {
        Visit::Enter(name) => ("enter", name),
        Visit::Call {
            accel,
            receives: true,
        } => ("receive", accel.to_string()),
        Visit::Call { accel, .. } => ("call", name(accel, kinds).to_owned()),
        Visit::Transform(change) => ("trans", change.to_string()),
        Visit::Fork => ("fork", String::new()),
        Visit::Scatter => ("scatter", String::new()),
        Visit::Wait => ("wait", String::new()),
        Visit::Join => ("join", String::new()),
        Visit::Notify => ("notify", String::new()),
    }
}

/// One instruction of a word of trace memory. Attributes that it lacks are None.
#[pyclass(frozen, name = "TraceInstruction", module = "accelflow._native")]
pub(crate) struct PyInstruction {
    inner: Instruction,
    position: usize,
    nibbles: String,
    kinds: Vec<Arc<Kind>>,
}

#[pymethods]
impl PyInstruction {
    /// The index of the instruction's first nibble (4 bits) in the word, 0 to 15.
    #[getter]
    fn position(&self) -> usize {
        self.position
    }

    /// The instruction's nibbles (4 bits each) in hexadecimal.
    #[getter]
    fn nibbles(&self) -> &str {
        &self.nibbles
    }

    /// The instruction: end, call, branch, trans, fork, scatter, join, tail, jump or continue.
    ///
    /// `trans` changes the payload's format, `scatter` starts the arms of a join, and `continue`
    /// loads another word of a long trace.
    #[getter]
    fn operation(&self) -> &'static str {
        match self.inner {
            Instruction::End => "end",
            Instruction::Call(_) => "call",
            Instruction::Branch { .. } => "branch",
            Instruction::Transform(_) => "trans",
            Instruction::Fork(_) => "fork",
            Instruction::Scatter(_) => "scatter",
            Instruction::Join => "join",
            Instruction::Tail(_) => "tail",
            Instruction::Jump(_) => "jump",
            Instruction::Continue(_) => "continue",
        }
    }

    /// The accelerator of a call, or both formats of a transformation, as in JSON>str.
    #[getter]
    fn name(&self) -> Option<String> {
        match self.inner {
            Instruction::Call(accel) => Some(name(accel, &self.kinds).to_owned()),
            Instruction::Transform(change) => Some(change.to_string()),
            _ => None,
        }
    }

    /// The index of a branch's condition in the trace memory; None for other instructions.
    #[getter]
    fn predicate(&self) -> Option<u8> {
        match self.inner {
            Instruction::Branch { predicate, .. } => Some(predicate),
            _ => None,
        }
    }

    /// The index of the nibble to which the instruction jumps; 16 for the end of the word.
    ///
    /// A branch jumps if its condition is false. A fork or a scatter starts another execution
    /// there.
    #[getter]
    fn target(&self) -> Option<usize> {
        match self.inner {
            Instruction::Branch { otherwise, .. } => Some(otherwise.index()),
            Instruction::Jump(to) | Instruction::Fork(to) | Instruction::Scatter(to) => {
                Some(to.index())
            }
            _ => None,
        }
    }

    /// The trace-memory address of the word that a tail or a continue loads.
    #[getter]
    fn address(&self) -> Option<usize> {
        match self.inner {
            Instruction::Tail(to) | Instruction::Continue(to) => Some(to.index()),
            _ => None,
        }
    }

    fn __repr__(&self) -> String {
        let operation = self.operation();
        format!(
            "<TraceInstruction {} {operation} at {}>",
            self.nibbles, self.position
        )
    }
}
