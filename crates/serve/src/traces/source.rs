//! Sources of a service's custom traces: a library, a trace memory, or a file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use accelflow_trace::text::parse;
use accelflow_trace::{Image, Library, LinkError, MAGIC, Part, Registered, is_name};

use super::bodies::CustomBodies;
use super::refusal::{FileFault, TraceRefusal};

/// The largest file of traces, in bytes. It exceeds the size of a trace memory of 4096 words with
/// the longest names.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// A trace as parts that each fit a word.
#[derive(Clone, Debug)]
pub(crate) struct Split {
    pub(crate) parts: Vec<Part>,
    pub(crate) owner: Option<String>,
}

/// The source of the custom traces of a server, RPC client or storage client: a library, a trace
/// memory or a file. The default source has no traces.
#[derive(Clone, Debug, Default)]
pub struct TraceSource {
    traces: BTreeMap<String, Split>,
    file: Option<PathBuf>,
    /// The service that uses the traces; it may not use traces of other services. `None` allows
    /// all.
    service: Option<String>,
    bodies: CustomBodies,
}

impl TraceSource {
    /// Creates a source of custom traces from the present traces of `library`.
    pub fn of_library(library: &Library) -> TraceSource {
        let split = |trace: &Registered| Split {
            parts: trace.parts.clone(),
            owner: trace.owner.clone(),
        };
        let traces = library.traces().iter();
        TraceSource {
            traces: traces.map(|t| (t.name.clone(), split(t))).collect(),
            ..TraceSource::default()
        }
    }

    /// Creates a source of custom traces from the linked traces of the trace memory `image`.
    ///
    /// # Errors
    /// [`LinkError`] for words that are not a valid trace memory.
    pub fn of_image(image: &Image) -> Result<TraceSource, LinkError> {
        let mut traces: BTreeMap<String, Split> = BTreeMap::new();
        for part in image.disassemble()? {
            let (parts, owner) = (Vec::new(), None);
            let trace = trace_of(&part.name).to_owned();
            let split = traces.entry(trace).or_insert(Split { parts, owner });
            split.parts.push(part);
        }
        Ok(TraceSource {
            traces,
            ..TraceSource::default()
        })
    }

    /// Reads custom traces from a file: a binary trace file (`docs/trace-format.md`) or traces as
    /// text.
    ///
    /// # Errors
    /// [`TraceRefusal::File`] if the file cannot be read, is larger than 1 MiB, or does not contain
    /// valid traces.
    pub fn from_file(path: &Path) -> Result<TraceSource, TraceRefusal> {
        let read = read(path).map_err(|why| TraceRefusal::File {
            path: path.to_owned(),
            why: Box::new(why),
        })?;
        Ok(TraceSource {
            file: Some(path.to_owned()),
            ..read
        })
    }

    /// Restricts the source to traces that the service named `service` may use. Traces that belong
    /// to other services are then refused.
    #[must_use]
    pub fn for_service(mut self, service: &str) -> TraceSource {
        self.service = Some(service.to_owned());
        self
    }

    /// Sets the bodies (implementations in software) of the custom accelerators that the traces
    /// call.
    #[must_use]
    pub fn with_bodies(mut self, bodies: CustomBodies) -> TraceSource {
        self.bodies = bodies;
        self
    }

    /// Returns the bodies (implementations in software) of the custom accelerators that the traces
    /// call.
    pub fn bodies(&self) -> &CustomBodies {
        &self.bodies
    }

    /// Returns the path of the file from which the traces were read; `None` for other sources.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Reads the traces from their file again.
    ///
    /// # Errors
    /// [`TraceRefusal::NoFile`], and those of [`TraceSource::from_file`].
    pub(crate) fn again(&self) -> Result<TraceSource, TraceRefusal> {
        let path = self.file.as_deref().ok_or(TraceRefusal::NoFile)?;
        let read = TraceSource::from_file(path)?;
        Ok(TraceSource {
            service: self.service.clone(),
            bodies: self.bodies.clone(),
            ..read
        })
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Split> {
        self.traces.get(name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let mine = |(_, split): &(&String, &Split)| self.owner_of(split).is_none();
        self.traces.iter().filter(mine).map(|(name, _)| &**name)
    }

    /// Returns the other service that owns a trace, if there is one.
    pub(crate) fn owner_of<'t>(&self, trace: &'t Split) -> Option<&'t str> {
        let service = self.service.as_deref();
        let owner = trace.owner.as_deref()?;
        (service.is_some() && service != Some(owner)).then_some(owner)
    }
}

/// The trace that a part belongs to: part 2 of `NAME` is called `NAME.2`.
pub(crate) fn trace_of(part: &str) -> &str {
    match is_name(part) {
        true => part,
        false => part.split('.').next().unwrap_or(part),
    }
}

fn read(path: &Path) -> Result<TraceSource, FileFault> {
    let mut bytes = Vec::new();
    let file = File::open(path)?;
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(FileFault::Large(MAX_FILE_BYTES));
    }
    if bytes.starts_with(&MAGIC) {
        return Ok(TraceSource::of_image(&Image::from_bytes(&bytes)?)?);
    }
    let text = String::from_utf8(bytes).map_err(|_| FileFault::Neither)?;
    let mut library = Library::new();
    for (name, nodes) in parse(&text)? {
        library.register(&name, nodes)?;
    }
    Ok(TraceSource::of_library(&library))
}
