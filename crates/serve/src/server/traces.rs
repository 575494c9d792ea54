//! The traces of a server: the default traces, some of which custom traces may replace.

use std::sync::Arc;

use accelflow_runtime::ERROR_TRACES;
use accelflow_trace::source::{Nodes, branch, seq, trans};
use accelflow_trace::{Image, Library, templates};

use crate::error::ServeError;
use crate::traces::bodies::CustomBodies;
use crate::traces::fit::{Task, Wire};
use crate::traces::memory::{Root, ServiceTraces};
use crate::traces::slot::{Slot, TraceSetting};
use crate::traces::source::TraceSource;
use crate::transport::grpc::traces::{self as grpc, PipeTraces};

/// The custom traces (programs of accelerator calls) of a server: their source, and the names of
/// the traces with which the server receives requests and sends responses.
#[derive(Clone, Debug, Default)]
pub struct ServerTraces {
    /// The source of the custom traces, such as a file. A custom trace replaces the default trace
    /// of the same name.
    pub source: TraceSource,
    /// The name of the trace that receives requests. Default: the paper's T1 (`T1_plain` without
    /// TLS). For gRPC: `T1_grpc`, the part of T1 that decodes messages.
    pub receive: Option<String>,
    /// The name of the trace that sends responses. Default: the paper's T2 (`T2_plain` without
    /// TLS). For gRPC: `T2_grpc`, the part of T2 that encodes messages.
    pub respond: Option<String>,
    /// The name of the trace that sends compressed responses. Default: `respond` if that is given,
    /// else the paper's T3 (`T3_plain` without TLS, `T3_grpc` for gRPC).
    pub respond_compressed: Option<String>,
}

impl TraceSetting for ServerTraces {
    fn source(&self) -> &TraceSource {
        &self.source
    }

    fn from(self, source: TraceSource) -> ServerTraces {
        ServerTraces { source, ..self }
    }
}

/// The names of the traces that a server begins with.
#[derive(Clone, Copy, Debug)]
struct TraceNames {
    receive: &'static str,
    send: &'static str,
    send_compressed: &'static str,
}

/// The paper's T1, T2 and T3.
const OVER_TLS: TraceNames = TraceNames {
    receive: "T1",
    send: "T2",
    send_compressed: "T3",
};

/// T1, T2 and T3 without Encr and Decr, for connections without TLS.
const PLAIN: TraceNames = TraceNames {
    receive: "T1_plain",
    send: "T2_plain",
    send_compressed: "T3_plain",
};

/// The parts of T1, T2 and T3 on gRPC's messages.
const GRPC: TraceNames = TraceNames {
    receive: grpc::RECEIVE,
    send: grpc::SEND,
    send_compressed: grpc::SEND_COMPRESSED,
};

/// The traces with which a request is received and answered.
#[derive(Debug)]
pub(crate) struct ServerImage {
    pub(crate) image: Arc<Image>,
    /// The bodies of accelerators other than the nine that the traces call.
    pub(crate) bodies: CustomBodies,
    pub(crate) receive: String,
    pub(crate) send: String,
    pub(crate) send_compressed: String,
    /// The number of images that the server had before this one.
    pub(crate) generation: u64,
    /// A description of where the traces come from.
    pub(crate) origin: String,
    kind: Kind,
}

impl ServerImage {
    /// The error subtrace for this server's connections: without Encr where they have no TLS.
    pub(crate) fn error_trace(&self, name: &str) -> String {
        self.kind.error_trace(name)
    }
}

/// The connections that a server's traces are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) grpc: bool,
    pub(crate) tls: bool,
    /// Whether error subtraces may answer clients.
    pub(crate) errors: bool,
}

impl Kind {
    fn names(self) -> TraceNames {
        match (self.grpc, self.tls) {
            (true, _) => GRPC,
            (false, true) => OVER_TLS,
            (false, false) => PLAIN,
        }
    }

    fn error_trace(self, name: &str) -> String {
        match self.tls {
            true => name.to_owned(),
            false => format!("{name}_plain"),
        }
    }

    /// The error subtraces that answer clients, if any do.
    fn error_traces(self) -> Vec<String> {
        let names = ERROR_TRACES.iter().filter(|_| self.errors);
        names.map(|name| self.error_trace(name)).collect()
    }

    /// The traces on the bytes of HTTP/2 connections.
    fn pipes(self) -> Vec<&'static str> {
        let pipes = PipeTraces::of(self.tls);
        let all = [Some(pipes.receive), pipes.send].into_iter().flatten();
        all.filter(|_| self.grpc).collect()
    }

    fn wire(self) -> Wire {
        Wire {
            tcp: !self.grpc,
            tls: self.tls && !self.grpc,
            rpc: true,
            compresses_messages: self.grpc,
        }
    }

    /// Checks and links the traces of a server, including its own.
    pub(crate) fn link(
        self,
        own: Option<&ServerTraces>,
        generation: u64,
    ) -> Result<ServerImage, ServeError> {
        let (base, names) = (base()?, self.names());
        let named = |given: &Option<String>| given.clone();
        let receive = own.and_then(|own| named(&own.receive));
        let receive = receive.unwrap_or_else(|| names.receive.to_owned());
        let respond = own.and_then(|own| named(&own.respond));
        let compressed = own.and_then(|own| named(&own.respond_compressed));
        let send_compressed = compressed
            .or_else(|| respond.clone())
            .unwrap_or_else(|| names.send_compressed.to_owned());
        let send = respond.unwrap_or_else(|| names.send.to_owned());
        let wire = self.wire();
        let root = |place, name, task| Root {
            place,
            name,
            task,
            wire,
        };
        let errors = self.error_traces();
        let mut roots = vec![
            root("receive", &*receive, Task::Receive),
            root("respond", &*send, Task::Send),
            root("respond_compressed", &*send_compressed, Task::Send),
        ];
        for name in &errors {
            roots.push(root("errors_to_caller", name, Task::Send));
        }
        let traces = ServiceTraces {
            base: &base,
            own: own.map(|own| &own.source),
        };
        let image = traces.link(&roots, &self.pipes())?;
        Ok(ServerImage {
            image: Arc::new(image),
            bodies: own.map_or_else(CustomBodies::default, |own| own.source.bodies().clone()),
            receive,
            send,
            send_compressed,
            generation,
            origin: origin(own),
            kind: self,
        })
    }
}

/// A description of where a server's traces come from.
fn origin(own: Option<&ServerTraces>) -> String {
    match (own, own.and_then(|own| own.source.file())) {
        (None, _) => "the server".to_owned(),
        (Some(_), None) => "a library".to_owned(),
        (Some(_), Some(path)) => path.display().to_string(),
    }
}

/// The traces of a running server, which may be replaced.
pub(crate) struct TraceSlot {
    kind: Kind,
    slot: Slot<ServerImage, ServerTraces>,
}

impl TraceSlot {
    pub(crate) fn new(kind: Kind, given: Option<ServerTraces>) -> Result<TraceSlot, ServeError> {
        let slot = Slot::new(given, |given, turn| kind.link(given, turn))?;
        Ok(TraceSlot { kind, slot })
    }

    /// The traces for the next request.
    pub(crate) fn now(&self) -> Arc<ServerImage> {
        self.slot.now()
    }

    /// Replaces the traces for later requests. Returns the number of replacements so far. If the
    /// new traces are refused, nothing changes.
    pub(crate) fn replace(&self, traces: Option<ServerTraces>) -> Result<u64, ServeError> {
        let link = |given: Option<&ServerTraces>, turn| self.kind.link(given, turn);
        self.slot.replace(traces, link)
    }

    /// Replaces the traces by the present contents of their file, like [`TraceSlot::replace`].
    pub(crate) fn reload(&self) -> Result<u64, ServeError> {
        self.slot.reload(|given, turn| self.kind.link(given, turn))
    }
}

/// The default traces of every server: the templates, and those of connections without TLS and of
/// gRPC.
fn base() -> Result<Library, ServeError> {
    let mut library = templates()?;
    let mut receive = seq(&["TCP", "RPC", "Dser"])?;
    let mut decompress = vec![trans("JSON", "str")?];
    decompress.extend(seq(&["Dcmp"])?);
    receive.push(branch("out['compressed'] == 1", decompress, Nodes::new())?);
    receive.extend(seq(&["LdB"])?);
    library.register(PLAIN.receive, receive)?;
    library.register(PLAIN.send, seq(&["Ser", "RPC", "TCP"])?)?;
    library.register(PLAIN.send_compressed, seq(&["Cmp", "Ser", "RPC", "TCP"])?)?;
    for name in ERROR_TRACES {
        library.register(&format!("{name}_plain"), seq(&["Ser", "RPC", "TCP"])?)?;
    }
    grpc::register(&mut library)?;
    Ok(library)
}
