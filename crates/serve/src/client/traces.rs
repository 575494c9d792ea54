//! The traces of Thrift and HTTP calls.

use accelflow_trace::source::{Nodes, branch, seq, tail};
use accelflow_trace::{Image, templates};

use crate::error::ServeError;
use crate::transport::grpc::traces::register_calls;

/// The names of the traces that calls of one kind take over one kind of connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallTraces {
    pub(super) call: &'static str,
    pub(super) call_compressed: &'static str,
    /// The trace of a request without an answer.
    pub(super) oneway: &'static str,
    pub(super) oneway_compressed: &'static str,
    /// The trace that receives the response, in which the first two end.
    pub(super) answer: &'static str,
}

impl CallTraces {
    /// The paper's name of a trace, which recordings use: `T9+Cmp` for `T9_call+Cmp`. The steps are
    /// the same but for the error subtrace. Traces without Encr and Decr are not in the paper and
    /// keep their names.
    pub(super) fn paper_name(&self, trace: &str) -> String {
        trace.replace("_call", "")
    }
}

/// T9 and T10 without the error subtrace: errors are reported to the calling core, and not to the
/// service's own caller.
pub(super) const THRIFT_OVER_TLS: CallTraces = CallTraces {
    call: "T9_call",
    call_compressed: "T9_call+Cmp",
    oneway: "T9_oneway",
    oneway_compressed: "T9_oneway+Cmp",
    answer: "T10_call",
};

/// T9 and T10 without Encr and Decr.
pub(super) const THRIFT_PLAIN: CallTraces = CallTraces {
    call: "T9_plain",
    call_compressed: "T9_plain+Cmp",
    oneway: "T9_oneway_plain",
    oneway_compressed: "T9_oneway_plain+Cmp",
    answer: "T10_plain",
};

/// T11 and T12, as they are.
pub(super) const HTTP_OVER_TLS: CallTraces = CallTraces {
    call: "T11",
    call_compressed: "T11+Cmp",
    // Every request is answered.
    oneway: "T11",
    oneway_compressed: "T11+Cmp",
    answer: "T12",
};

/// The same less Encr and Decr.
pub(super) const HTTP_PLAIN: CallTraces = CallTraces {
    call: "T11_plain",
    call_compressed: "T11_plain+Cmp",
    oneway: "T11_plain",
    oneway_compressed: "T11_plain+Cmp",
    answer: "T12_plain",
};

/// The trace memory of a client: the templates and the traces above.
pub(super) fn image() -> Result<Image, ServeError> {
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
    register_calls(&mut library)?;
    Ok(library.link()?)
}

fn answer(receive: &[&str]) -> Result<Nodes, ServeError> {
    let mut nodes = seq(receive)?;
    let decompress = branch("out['compressed'] == 1", seq(&["Dcmp"])?, Nodes::new())?;
    nodes.push(decompress);
    nodes.extend(seq(&["LdB"])?);
    Ok(nodes)
}
