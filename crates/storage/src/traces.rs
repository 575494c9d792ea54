//! The traces of a storage client: the paper's T4 to T8, except that T6 and T7 report errors to the
//! handler instead of the service's caller.

use accelflow_serve::{
    CustomBodies, Root, ServiceTraces, Task, TraceRefusal, TraceSetting, TraceSource, Wire,
};
use accelflow_trace::source::{Nodes, SourceError, branch, fork, seq, tail};
use accelflow_trace::{Image, Library, LinkError, RegisterError, TemplateError, templates};

/// The trace in which T6 and T7 end after an error. The paper's error subtraces notify the
/// service's caller; this one notifies the handler, which can decide what to do.
pub(crate) const NOTIFIED: &str = "storage_notified";

const READ: &str = "T4";
const WRITE: &str = "T8";
const WRITE_COMPRESSED: &str = "T8+Cmp";

/// The traces (short programs of accelerator calls) by which a [`Storage`](crate::Storage) client
/// sends requests to the gateway and receives the responses.
#[derive(Clone, Debug, Default)]
pub struct StorageTraces {
    /// The source of the traces, such as a file. The traces replace the default traces of the same
    /// names.
    pub source: TraceSource,
    /// The name of the trace that begins a read; `None` means T4 of the paper. The traces to which
    /// its tails lead receive the responses.
    pub read: Option<String>,
    /// The name of the trace that begins a write; `None` means T8 of the paper.
    pub write: Option<String>,
    /// The name of the trace that begins a write of a compressed document. `None` means the trace
    /// `write` if that is given, otherwise `T8+Cmp`, which is T8 with compression.
    pub write_compressed: Option<String>,
    /// The name of the trace that notifies the handler of a missing document or a refused request.
    /// `None` means `storage_notified`, which only calls LdB.
    pub notified: Option<String>,
}

impl TraceSetting for StorageTraces {
    fn source(&self) -> &TraceSource {
        &self.source
    }

    fn from(self, source: TraceSource) -> StorageTraces {
        StorageTraces { source, ..self }
    }
}

/// The linked traces by which a client reads and writes.
#[derive(Debug)]
pub(crate) struct StorageImage {
    pub(crate) image: Image,
    /// The bodies of accelerators other than the nine that the traces call.
    pub(crate) bodies: CustomBodies,
    /// The number of images that the client had before this one.
    pub(crate) generation: u64,
    pub(crate) read: String,
    pub(crate) write: String,
    pub(crate) write_compressed: String,
    pub(crate) notified: String,
}

/// The error of traces that a storage client cannot use, since they are invalid or cannot be linked
/// into one trace memory. In practice only [`TracesError::Own`] occurs; the other variants concern
/// the default traces.
#[derive(Debug, thiserror::Error)]
pub enum TracesError {
    /// The paper's templates cannot be loaded.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// The source of a default trace has an invalid node. Does not occur, since tests check them.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A default trace has a name that another trace already has.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// A tail of a default trace names a trace that does not exist.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The custom traces of the client are invalid, or do not fit a read or write.
    #[error(transparent)]
    Own(#[from] TraceRefusal),
}

/// Checks and links the traces of a client, including its own.
pub(crate) fn link(
    own: Option<&StorageTraces>,
    generation: u64,
) -> Result<StorageImage, TracesError> {
    let named = |given: fn(&StorageTraces) -> &Option<String>, or: &str| {
        let given = own.and_then(|own| given(own).clone());
        given.unwrap_or_else(|| or.to_owned())
    };
    let own_write = own.and_then(|own| own.write.as_deref());
    let compressed = own_write.unwrap_or(WRITE_COMPRESSED);
    let (read, write) = (named(|own| &own.read, READ), named(|own| &own.write, WRITE));
    let write_compressed = named(|own| &own.write_compressed, compressed);
    let notified = named(|own| &own.notified, NOTIFIED);
    let root = |place, name| Root {
        place,
        name,
        task: Task::Store,
        wire: WIRE,
    };
    let roots = [
        root("read", &*read),
        root("write", &*write),
        root("write_compressed", &*write_compressed),
    ];
    let base = base()?;
    let traces = ServiceTraces {
        base: &base,
        own: own.map(|own| &own.source),
    };
    let image = traces.link(&roots, &[])?;
    Ok(StorageImage {
        image,
        bodies: own.map_or_else(CustomBodies::default, |own| own.source.bodies().clone()),
        generation,
        read,
        write,
        write_compressed,
        notified,
    })
}

/// The layers of storage messages: they have no RPC header, and connections have TLS.
const WIRE: Wire = Wire {
    tcp: true,
    tls: true,
    rpc: false,
    compresses_messages: false,
};

/// The default traces of every client.
fn base() -> Result<Library, TracesError> {
    let mut library = templates()?;
    for (name, source) in [("T6", t6()?), ("T7", t7()?)] {
        library.remove(name);
        library.register(name, source)?;
    }
    library.register(NOTIFIED, seq(&["LdB"])?)?;
    Ok(library)
}

fn notify_if(condition: &str) -> Result<accelflow_trace::Node, SourceError> {
    Ok(branch(condition, vec![tail(NOTIFIED)], Nodes::new())?.expecting(false))
}

fn t6() -> Result<Nodes, SourceError> {
    let mut nodes = seq(&["TCP", "Decr", "Dser"])?;
    nodes.push(notify_if("out['found'] == 0")?);
    let decompress = seq(&["Dcmp"])?;
    nodes.push(branch("out['compressed'] == 1", decompress, Nodes::new())?);
    let compress = seq(&["Cmp"])?;
    let mut write = vec![branch("out['c_compressed'] == 1", compress, Nodes::new())?];
    write.extend(seq(&["Ser", "Encr", "TCP"])?);
    write.push(tail("T7"));
    nodes.push(fork(vec![seq(&["LdB"])?, write]));
    Ok(nodes)
}

fn t7() -> Result<Nodes, SourceError> {
    let mut nodes = seq(&["TCP", "Decr", "Dser"])?;
    nodes.push(notify_if("out['exception'] == 1")?);
    nodes.extend(seq(&["LdB"])?);
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use accelflow_trace::{Field, Visit, Walker};

    /// The accelerators that a read calls if branches find `facts`, and 0 for all others.
    fn calls(image: &Image, facts: &[(&str, i64)]) -> Vec<String> {
        let find = |field: Field<'_>| {
            let of = |(name, _): &&(&str, i64)| *name == field.name;
            Some(facts.iter().find(of).map_or(0, |(_, value)| *value))
        };
        let mut walker = Walker::new(image, READ).expect("registered");
        let mut calls = Vec::new();
        while let Some(visit) = walker.advance(&find).expect("runs") {
            if let Visit::Call { accel, .. } = visit {
                calls.push(accel.name().to_owned());
            }
        }
        calls
    }

    #[test]
    fn the_common_arms_are_those_of_the_templates() {
        let ours = link(None, 0).expect("links").image;
        let theirs = templates().expect("register").link().expect("links");
        for facts in [
            &[("hit", 1)][..],
            &[("hit", 1), ("compressed", 1)],
            &[("found", 1)],
            &[("found", 1), ("compressed", 1)],
            &[("found", 1), ("c_compressed", 1)],
        ] {
            assert_eq!(calls(&ours, facts), calls(&theirs, facts), "{facts:?}");
        }
        // Not found: only the core is notified.
        let calls = calls(&ours, &[]);
        assert_eq!(calls.last().map(String::as_str), Some("LdB"));
    }
}
