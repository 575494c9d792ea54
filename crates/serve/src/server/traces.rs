//! The traces of a Thrift server.

use accelflow_trace::source::{Nodes, branch, seq, trans};
use accelflow_trace::{Image, templates};

use crate::error::ServeError;

/// The names of the traces that one kind of connection runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TraceNames {
    pub(crate) receive: &'static str,
    pub(crate) send: &'static str,
    pub(crate) send_compressed: &'static str,
}

/// The paper's T1, T2 and T3.
pub(crate) const OVER_TLS: TraceNames = TraceNames {
    receive: "T1",
    send: "T2",
    send_compressed: "T3",
};

/// T1, T2 and T3 without Decr and Encr, for connections without TLS.
pub(crate) const PLAIN: TraceNames = TraceNames {
    receive: "T1_plain",
    send: "T2_plain",
    send_compressed: "T3_plain",
};

/// The trace memory: the templates, and those of plain connections.
pub(crate) fn image() -> Result<Image, ServeError> {
    let mut library = templates()?;
    let mut receive = seq(&["TCP", "RPC", "Dser"])?;
    let mut decompress = vec![trans("JSON", "str")?];
    decompress.extend(seq(&["Dcmp"])?);
    receive.push(branch("out['compressed'] == 1", decompress, Nodes::new())?);
    receive.extend(seq(&["LdB"])?);
    library.register(PLAIN.receive, receive)?;
    library.register(PLAIN.send, seq(&["Ser", "RPC", "TCP"])?)?;
    library.register(PLAIN.send_compressed, seq(&["Cmp", "Ser", "RPC", "TCP"])?)?;
    crate::transport::grpc::traces::register(&mut library)?;
    Ok(library.link()?)
}
