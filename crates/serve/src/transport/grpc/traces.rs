//! The traces of gRPC. The paper's T1, T2 and T3 are each split into a part that processes TLS
//! records and a part that processes messages, since HTTP/2 frames are between these layers.
//!
//! gRPC compresses serialized messages, so Dcmp comes before Dser and Cmp after Ser.

use accelflow_trace::Library;
use accelflow_trace::source::{Nodes, branch, seq};

use crate::error::ServeError;

/// The part of T1 on messages.
pub(crate) const RECEIVE: &str = "T1_grpc";
/// The part of T2 on messages.
pub(crate) const SEND: &str = "T2_grpc";
/// The part of T3 on messages.
pub(crate) const SEND_COMPRESSED: &str = "T3_grpc";

/// The parts on TLS records, or on a connection without TLS, on bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PipeTraces {
    pub(crate) receive: &'static str,
    /// The trace that sends. `None` if only TCP is left, since a trace that begins with TCP would
    /// receive.
    pub(crate) send: Option<&'static str>,
}

const OVER_TLS: PipeTraces = PipeTraces {
    receive: "T1_http2",
    send: Some("T2_http2"),
};

const PLAIN: PipeTraces = PipeTraces {
    receive: "T1_http2_plain",
    send: None,
};

/// The parts of T9 and T10 on records, for calls.
const CALLS_OVER_TLS: PipeTraces = PipeTraces {
    receive: "T10_http2",
    send: Some("T9_http2"),
};

const CALLS_PLAIN: PipeTraces = PipeTraces {
    receive: "T10_http2_plain",
    send: None,
};

/// The part of T9 on messages.
pub(crate) const CALL: &str = "T9_grpc";
/// The part of T9 on messages, with Cmp.
pub(crate) const CALL_COMPRESSED: &str = "T9_grpc+Cmp";
/// The part of T10 on messages.
pub(crate) const RESPONSE: &str = "T10_grpc";

impl PipeTraces {
    /// The traces of a client's connection.
    pub(crate) fn of_calls(tls: bool) -> PipeTraces {
        match tls {
            true => CALLS_OVER_TLS,
            false => CALLS_PLAIN,
        }
    }

    pub(crate) fn of(tls: bool) -> PipeTraces {
        match tls {
            true => OVER_TLS,
            false => PLAIN,
        }
    }
}

/// Registers the traces of a gRPC server.
pub(crate) fn register(library: &mut Library) -> Result<(), ServeError> {
    pipes(library, [OVER_TLS, PLAIN])?;
    library.register(RECEIVE, received()?)?;
    library.register(SEND, seq(&["Ser", "RPC"])?)?;
    library.register(SEND_COMPRESSED, seq(&["Ser", "Cmp", "RPC"])?)?;
    Ok(())
}

/// Registers the traces of a gRPC client.
pub(crate) fn register_calls(library: &mut Library) -> Result<(), ServeError> {
    pipes(library, [CALLS_OVER_TLS, CALLS_PLAIN])?;
    library.register(CALL, seq(&["Ser", "RPC"])?)?;
    library.register(CALL_COMPRESSED, seq(&["Ser", "Cmp", "RPC"])?)?;
    library.register(RESPONSE, received()?)?;
    Ok(())
}

fn pipes(library: &mut Library, [over_tls, plain]: [PipeTraces; 2]) -> Result<(), ServeError> {
    library.register(over_tls.receive, seq(&["TCP", "Decr"])?)?;
    library.register(plain.receive, seq(&["TCP"])?)?;
    for send in [over_tls.send, plain.send].into_iter().flatten() {
        library.register(send, seq(&["Encr", "TCP"])?)?;
    }
    Ok(())
}

fn received() -> Result<Nodes, ServeError> {
    let mut nodes = seq(&["RPC"])?;
    let decompress = branch("out['compressed'] == 1", seq(&["Dcmp"])?, Nodes::new())?;
    nodes.push(decompress);
    nodes.extend(seq(&["Dser", "LdB"])?);
    Ok(nodes)
}
