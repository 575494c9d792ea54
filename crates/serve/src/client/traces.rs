//! The traces of Thrift, HTTP and gRPC calls: the default traces, and custom traces of a client.

use std::sync::Arc;

use accelflow_trace::source::{Nodes, branch, seq, tail};
use accelflow_trace::{Image, Library, templates};

use crate::error::ServeError;
use crate::traces::bodies::CustomBodies;
use crate::traces::fit::{Task, Wire};
use crate::traces::memory::{Root, ServiceTraces};
use crate::traces::slot::{Slot, TraceSetting};
use crate::traces::source::TraceSource;
use crate::transport::grpc::traces::{self as grpc, PipeTraces};

/// The custom traces (programs of accelerator calls) of a client: their source, and the names of
/// the traces that send requests and receive responses.
#[derive(Clone, Debug, Default)]
pub struct ClientTraces {
    /// The source of the custom traces, such as a file. A custom trace replaces the default trace
    /// of the same name.
    pub source: TraceSource,
    /// The name of the trace that sends a request. The tail of this trace must be the trace named
    /// by `answer`. Default: the paper's T9 (for HTTP T11), without Encr if there is no TLS. For
    /// gRPC: `T9_grpc`, which only encodes the message and has no tail.
    pub call: Option<String>,
    /// The name of the trace that sends a compressed request. Default: `call` if that is given,
    /// else the default of `call` with Cmp added.
    pub call_compressed: Option<String>,
    /// The name of the trace that sends a oneway request (Thrift only). Default: T9 without its
    /// tail, and without Encr if there is no TLS.
    pub oneway: Option<String>,
    /// The name of the trace that sends a compressed oneway request (Thrift only). Default:
    /// `oneway` if that is given, else the default of `oneway` with Cmp added.
    pub oneway_compressed: Option<String>,
    /// The name of the trace that receives the response. Default: the paper's T10 without its error
    /// subtrace (for HTTP T12), without Decr if there is no TLS. For gRPC: `T10_grpc`, which only
    /// decodes the message.
    pub answer: Option<String>,
}

impl TraceSetting for ClientTraces {
    fn source(&self) -> &TraceSource {
        &self.source
    }

    fn from(self, source: TraceSource) -> ClientTraces {
        ClientTraces { source, ..self }
    }
}

/// The names of the traces for one kind of call over one kind of connection.
#[derive(Clone, Copy, Debug)]
struct Names {
    call: &'static str,
    call_compressed: &'static str,
    oneway: &'static str,
    oneway_compressed: &'static str,
    answer: &'static str,
}

/// T9 and T10 without the error subtrace, since errors are reported to the calling core and not to
/// the service's caller.
const THRIFT_OVER_TLS: Names = Names {
    call: "T9_call",
    call_compressed: "T9_call+Cmp",
    oneway: "T9_oneway",
    oneway_compressed: "T9_oneway+Cmp",
    answer: "T10_call",
};

/// T9 and T10 without Encr and Decr.
const THRIFT_PLAIN: Names = Names {
    call: "T9_plain",
    call_compressed: "T9_plain+Cmp",
    oneway: "T9_oneway_plain",
    oneway_compressed: "T9_oneway_plain+Cmp",
    answer: "T10_plain",
};

/// T11 and T12, unchanged.
const HTTP_OVER_TLS: Names = Names {
    call: "T11",
    call_compressed: "T11+Cmp",
    // Every request is answered.
    oneway: "T11",
    oneway_compressed: "T11+Cmp",
    answer: "T12",
};

/// T11 and T12 without Encr and Decr.
const HTTP_PLAIN: Names = Names {
    call: "T11_plain",
    call_compressed: "T11_plain+Cmp",
    oneway: "T11_plain",
    oneway_compressed: "T11_plain+Cmp",
    answer: "T12_plain",
};

/// The message parts of T9 and T10 for gRPC.
const GRPC: Names = Names {
    call: grpc::CALL,
    call_compressed: grpc::CALL_COMPRESSED,
    oneway: grpc::CALL,
    oneway_compressed: grpc::CALL_COMPRESSED,
    answer: grpc::RESPONSE,
};

/// The linked traces with which calls are made.
#[derive(Debug)]
pub(super) struct ClientImage {
    pub(super) image: Image,
    /// The bodies of the custom accelerators that the traces call.
    pub(super) bodies: CustomBodies,
    /// The number of the client's earlier images.
    pub(super) generation: u64,
    pub(super) call: String,
    pub(super) call_compressed: String,
    /// The trace of a oneway request.
    pub(super) oneway: String,
    pub(super) oneway_compressed: String,
    /// The trace that receives the response, with which the call traces end.
    pub(super) answer: String,
}

impl ClientImage {
    /// Returns the paper's name of a trace, which recordings use, such as `T9+Cmp` for
    /// `T9_call+Cmp`. The steps are the same except for the error subtrace. Traces without Encr and
    /// Decr are not in the paper and keep their names, as do custom traces.
    pub(super) fn paper_name(&self, trace: &str) -> String {
        match trace {
            "T9_call" | "T9_call+Cmp" | "T10_call" => trace.replace("_call", ""),
            other => other.to_owned(),
        }
    }
}

/// The protocol of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaks {
    Thrift,
    Http,
    Grpc,
}

/// The kind of connection that a client's traces are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) speaks: Speaks,
    pub(super) tls: bool,
}

impl Kind {
    fn names(self) -> Names {
        match (self.speaks, self.tls) {
            (Speaks::Thrift, true) => THRIFT_OVER_TLS,
            (Speaks::Thrift, false) => THRIFT_PLAIN,
            (Speaks::Http, true) => HTTP_OVER_TLS,
            (Speaks::Http, false) => HTTP_PLAIN,
            (Speaks::Grpc, _) => GRPC,
        }
    }

    fn wire(self) -> Wire {
        let grpc = self.speaks == Speaks::Grpc;
        Wire {
            tcp: !grpc,
            tls: self.tls && !grpc,
            rpc: self.speaks != Speaks::Http,
            compresses_messages: grpc,
        }
    }

    /// Checks and links the traces of a client, including custom ones.
    pub(super) fn link(
        self,
        own: Option<&ClientTraces>,
        generation: u64,
    ) -> Result<ClientImage, ServeError> {
        let (base, names, wire) = (base()?, self.names(), self.wire());
        let named = |get: fn(&ClientTraces) -> &Option<String>, or: &str| {
            let given = own.and_then(|own| get(own).clone());
            given.unwrap_or_else(|| or.to_owned())
        };
        let call = named(|own| &own.call, names.call);
        let oneway = named(|own| &own.oneway, names.oneway);
        let own_call = own.and_then(|own| own.call.as_deref());
        let own_oneway = own.and_then(|own| own.oneway.as_deref());
        let compressed = own_call.unwrap_or(names.call_compressed);
        let call_compressed = named(|own| &own.call_compressed, compressed);
        let compressed = own_oneway.unwrap_or(names.oneway_compressed);
        let oneway_compressed = named(|own| &own.oneway_compressed, compressed);
        let answer = named(|own| &own.answer, names.answer);
        let root = |place, name, task| Root {
            place,
            name,
            task,
            wire,
        };
        let calls = match self.speaks {
            // The frames of HTTP/2 separate the two traces.
            Speaks::Grpc => Task::Send,
            _ => Task::Call(&answer),
        };
        let mut roots = vec![
            root("call", &*call, calls),
            root("call_compressed", &*call_compressed, calls),
            root("answer", &*answer, Task::Receive),
        ];
        if self.speaks == Speaks::Thrift {
            roots.push(root("oneway", &*oneway, Task::Send));
            let compressed = &*oneway_compressed;
            roots.push(root("oneway_compressed", compressed, Task::Send));
        }
        let pipes = PipeTraces::of_calls(self.tls);
        let others: Vec<&str> = match self.speaks {
            Speaks::Grpc => [Some(pipes.receive), pipes.send]
                .into_iter()
                .flatten()
                .collect(),
            _ => Vec::new(),
        };
        let traces = ServiceTraces {
            base: &base,
            own: own.map(|own| &own.source),
        };
        let image = traces.link(&roots, &others)?;
        Ok(ClientImage {
            image,
            bodies: own.map_or_else(CustomBodies::default, |own| own.source.bodies().clone()),
            generation,
            call,
            call_compressed,
            oneway,
            oneway_compressed,
            answer,
        })
    }
}

/// The replaceable traces of a client.
pub(super) struct TraceSlot {
    kind: Kind,
    slot: Slot<ClientImage, ClientTraces>,
}

impl TraceSlot {
    pub(super) fn new(kind: Kind) -> Result<TraceSlot, ServeError> {
        let slot = Slot::new(None, |given, turn| kind.link(given, turn))?;
        Ok(TraceSlot { kind, slot })
    }

    /// The traces for the next call.
    pub(super) fn now(&self) -> Arc<ClientImage> {
        self.slot.now()
    }

    /// Replaces the traces for future calls; `None` restores the default traces.
    pub(super) fn replace(&self, traces: Option<ClientTraces>) -> Result<u64, ServeError> {
        let link = |given: Option<&ClientTraces>, turn| self.kind.link(given, turn);
        self.slot.replace(traces, link)
    }

    /// Replaces the traces with the present contents of their file.
    pub(super) fn reload(&self) -> Result<u64, ServeError> {
        self.slot.reload(|given, turn| self.kind.link(given, turn))
    }
}

/// The default traces of every client: the templates, and those above.
fn base() -> Result<Library, ServeError> {
    let mut library = templates()?;
    for (names, encr, decr) in [
        (THRIFT_OVER_TLS, &["Encr"][..], &["Decr"][..]),
        (THRIFT_PLAIN, &[], &[]),
    ] {
        let send = [&["Ser", "RPC"], encr, &["TCP"]].concat();
        for (before, call, oneway) in [
            (&[][..], names.call, names.oneway),
            (&["Cmp"], names.call_compressed, names.oneway_compressed),
        ] {
            let mut nodes = seq(&[before, &send].concat())?;
            library.register(oneway, nodes.clone())?;
            nodes.push(tail(names.answer));
            library.register(call, nodes)?;
        }
        let receive = [&["TCP"], decr, &["RPC", "Dser"]].concat();
        library.register(names.answer, answer(&receive)?)?;
    }
    for (before, name) in [
        (&[][..], HTTP_PLAIN.call),
        (&["Cmp"], HTTP_PLAIN.call_compressed),
    ] {
        let mut nodes = seq(&[before, &["Ser", "TCP"]].concat())?;
        nodes.push(tail(HTTP_PLAIN.answer));
        library.register(name, nodes)?;
    }
    library.register(HTTP_PLAIN.answer, answer(&["TCP", "Dser"])?)?;
    grpc::register_calls(&mut library)?;
    Ok(library)
}

fn answer(receive: &[&str]) -> Result<Nodes, ServeError> {
    let mut nodes = seq(receive)?;
    let decompress = branch("out['compressed'] == 1", seq(&["Dcmp"])?, Nodes::new())?;
    nodes.push(decompress);
    nodes.extend(seq(&["LdB"])?);
    Ok(nodes)
}
