//! A service's own traces, in addition to the paper's twelve (`accelflow_serve::TraceSource`), for
//! `accelflow.own_traces`.

use std::path::PathBuf;

use accelflow_serve::{ClientTraces, CustomBodies, ServerTraces, TraceSource};
use pyo3::prelude::*;

use crate::bind::trace::body;
use crate::bind::trace::image::PyImage;
use crate::bind::trace::library::PyLibrary;
use crate::errors::failure;

/// A library, a linked image, or a file.
#[derive(FromPyObject)]
enum PySource {
    #[pyo3(transparent)]
    Library(Py<PyLibrary>),
    #[pyo3(transparent)]
    Image(Py<PyImage>),
    #[pyo3(transparent)]
    File(PathBuf),
}

impl PySource {
    /// The traces, with the registered bodies of the custom accelerators that they call. With
    /// `logs`, exceptions of bodies go to the log of servers.
    fn read(&self, logs: bool) -> PyResult<TraceSource> {
        let bodies = CustomBodies::new(move || body::all(logs));
        Ok(self.traces()?.with_bodies(bodies))
    }

    fn traces(&self) -> PyResult<TraceSource> {
        match self {
            PySource::Library(library) => Ok(library.get().source()),
            PySource::Image(image) => TraceSource::of_image(image.get().inner()).map_err(failure),
            PySource::File(path) => TraceSource::from_file(path).map_err(failure),
        }
    }
}

/// `accelflow.own_traces.ServerTraces`.
#[derive(FromPyObject)]
pub(crate) struct PyServerTraces {
    library: PySource,
    receive: Option<String>,
    respond: Option<String>,
    respond_compressed: Option<String>,
}

impl PyServerTraces {
    pub(crate) fn read(self) -> PyResult<ServerTraces> {
        Ok(ServerTraces {
            source: self.library.read(true)?,
            receive: self.receive,
            respond: self.respond,
            respond_compressed: self.respond_compressed,
        })
    }
}

/// `accelflow.own_traces.ClientTraces`.
#[derive(FromPyObject)]
pub(crate) struct PyClientTraces {
    library: PySource,
    call: Option<String>,
    call_compressed: Option<String>,
    oneway: Option<String>,
    oneway_compressed: Option<String>,
    answer: Option<String>,
}

impl PyClientTraces {
    pub(crate) fn read(self) -> PyResult<ClientTraces> {
        Ok(ClientTraces {
            source: self.library.read(false)?,
            call: self.call,
            call_compressed: self.call_compressed,
            oneway: self.oneway,
            oneway_compressed: self.oneway_compressed,
            answer: self.answer,
        })
    }
}
