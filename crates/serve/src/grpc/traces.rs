//! The traces of gRPC: the paper's T1, T2 and T3 cut where HTTP/2's frames lie between records and
//! messages.
//!
//! gRPC compresses messages, not what they mean, so Dcmp comes before Dser and Cmp after Ser.

use accelflow_trace::Library;
use accelflow_trace::source::{Nodes, branch, seq};

use crate::error::ServeError;

/// The part of T1 that knows messages.
pub(crate) const RECEIVE: &str = "T1_grpc";
/// The part of T2 that does.
pub(crate) const SEND: &str = "T2_grpc";
/// That of T3.
pub(crate) const SEND_COMPRESSED: &str = "T3_grpc";

/// The parts that know records, or on a connection without TLS, bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PipeTraces {
    pub(crate) receive: &'static str,
    /// None where only TCP is left to do: a trace that begins with TCP receives.
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

impl PipeTraces {
    pub(crate) fn of(tls: bool) -> PipeTraces {
        match tls {
            true => OVER_TLS,
            false => PLAIN,
        }
    }
}

pub(crate) fn register(library: &mut Library) -> Result<(), ServeError> {
    library.register(OVER_TLS.receive, seq(&["TCP", "Decr"])?)?;
    library.register(PLAIN.receive, seq(&["TCP"])?)?;
    for send in [OVER_TLS.send, PLAIN.send].into_iter().flatten() {
        library.register(send, seq(&["Encr", "TCP"])?)?;
    }
    let mut receive = seq(&["RPC"])?;
    let decompress = branch("out['compressed'] == 1", seq(&["Dcmp"])?, Nodes::new())?;
    receive.push(decompress);
    receive.extend(seq(&["Dser", "LdB"])?);
    library.register(RECEIVE, receive)?;
    library.register(SEND, seq(&["Ser", "RPC"])?)?;
    library.register(SEND_COMPRESSED, seq(&["Ser", "Cmp", "RPC"])?)?;
    Ok(())
}
