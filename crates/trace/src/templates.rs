//! The twelve traces of AccelFlow's Table II (Figs. 2, 4 and 7) and their error subtraces.
//!
//! For T8, T9 and T11 the core decides before the start whether to compress the data. Each has two
//! entry points, such as `T8` and `T8+Cmp`, since the paper's traces have no branch there.

use crate::library::{Library, RegisterError};
use crate::source::{Node, Nodes, SourceError, branch, fork, seq, tail, trans};

/// A predefined trace, which is a short program of accelerator calls: one of those in Table II of
/// the AccelFlow paper, or one of the error traces to which they lead.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    /// The name of the trace, such as `T1`.
    pub name: &'static str,
    /// What the trace does, in words, such as "Receive function request".
    pub about: &'static str,
    source: fn() -> Result<Nodes, SourceError>,
}

impl Template {
    /// Creates the source of this trace: its accelerator calls, branches and other nodes, in order.
    ///
    /// # Errors
    /// Never: the sources of all predefined traces are valid, as tests check.
    pub fn source(&self) -> Result<Nodes, SourceError> {
        (self.source)()
    }
}

/// The error of adding the predefined traces (AccelFlow paper, Table II) to a library.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The source of a trace is invalid. Does not occur, since tests check the paper's traces.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The library does not accept a predefined trace, for example because a different trace in the
    /// library already has the same name.
    #[error(transparent)]
    Register(#[from] RegisterError),
}

/// The predefined traces: those in Table II of the AccelFlow paper, in the paper's order, then the
/// error traces to which they lead. T8, T9 and T11 each have a variant that compresses, such as
/// `T8+Cmp`. `accelflow trace list` prints the traces in this order.
pub const TEMPLATES: &[Template] = &[
    Template {
        name: "T1",
        about: "Receive function request",
        source: t1,
    },
    Template {
        name: "T2",
        about: "Send function response",
        source: || seq(&SEND_RPC),
    },
    Template {
        name: "T3",
        about: "Send function response, compressed",
        source: t3,
    },
    Template {
        name: "T4",
        about: "Send read request to DB cache",
        source: || send(&[], "T5"),
    },
    Template {
        name: "T5",
        about: "Receive response to a read to the DB cache",
        source: t5,
    },
    Template {
        name: "T6",
        about: "Receive response to a read to the DB",
        source: t6,
    },
    Template {
        name: "T7",
        about: "Receive response to a write to the DB cache or DB",
        source: t7,
    },
    Template {
        name: "T8",
        about: "Send write request to DB cache or DB",
        source: || send(&[], "T7"),
    },
    Template {
        name: "T8+Cmp",
        about: "Send write request to DB cache or DB, compressed",
        source: || send(&["Cmp"], "T7"),
    },
    Template {
        name: "T9",
        about: "Send RPC request",
        source: || rpc(&[], Some("T10")),
    },
    Template {
        name: "T9+Cmp",
        about: "Send RPC request, compressed",
        source: || rpc(&["Cmp"], Some("T10")),
    },
    Template {
        name: "T10",
        about: "Receive RPC response",
        source: t10,
    },
    Template {
        name: "T11",
        about: "Send HTTP request",
        source: || send(&[], "T12"),
    },
    Template {
        name: "T11+Cmp",
        about: "Send HTTP request, compressed",
        source: || send(&["Cmp"], "T12"),
    },
    Template {
        name: "T12",
        about: "Receive HTTP response",
        source: t12,
    },
    Template {
        name: "T6_error",
        about: "Report to the caller that the DB has no such data",
        source: || seq(&SEND_RPC),
    },
    Template {
        name: "T7_error",
        about: "Report an exception of a write to the caller",
        source: || seq(&SEND_RPC),
    },
    Template {
        name: "T10_error",
        about: "Report an exception of a nested RPC to the caller",
        source: || seq(&SEND_RPC),
    },
];

const SEND_RPC: [&str; 4] = ["Ser", "RPC", "Encr", "TCP"];

/// Adds the predefined traces to `library`: those in Table II of the AccelFlow paper, and the error
/// traces to which they lead.
///
/// # Errors
/// [`TemplateError`] if `library` has a different trace under one of their names. The predefined
/// traces before that one are then in `library`.
pub fn register_templates(library: &mut Library) -> Result<(), TemplateError> {
    for template in TEMPLATES {
        library.register(template.name, template.source()?)?;
    }
    Ok(())
}

/// Creates a library of the predefined traces: those in Table II of the AccelFlow paper, and the
/// error traces to which they lead.
///
/// # Errors
/// Never: the sources of all predefined traces are valid, as tests check.
pub fn templates() -> Result<Library, TemplateError> {
    let mut library = Library::new();
    register_templates(&mut library)?;
    Ok(library)
}

fn decompress_if_compressed() -> Result<Node, SourceError> {
    branch("out['compressed'] == 1", seq(&["Dcmp"])?, Nodes::new())
}

fn report_if(condition: &str, subtrace: &str) -> Result<Node, SourceError> {
    Ok(branch(condition, vec![tail(subtrace)], Nodes::new())?.expecting(false))
}

fn send(before: &[&str], next: &str) -> Result<Nodes, SourceError> {
    let mut nodes = seq(before)?;
    nodes.extend(seq(&["Ser", "Encr", "TCP"])?);
    nodes.push(tail(next));
    Ok(nodes)
}

fn rpc(before: &[&str], next: Option<&str>) -> Result<Nodes, SourceError> {
    let mut nodes = seq(before)?;
    nodes.extend(seq(&SEND_RPC)?);
    nodes.extend(next.map(tail));
    Ok(nodes)
}

fn t1() -> Result<Nodes, SourceError> {
    let mut nodes = seq(&["TCP", "Decr", "RPC", "Dser"])?;
    let mut decompress = vec![trans("JSON", "str")?];
    decompress.extend(seq(&["Dcmp"])?);
    nodes.push(branch("out['compressed'] == 1", decompress, Nodes::new())?);
    nodes.extend(seq(&["LdB"])?);
    Ok(nodes)
}

fn t3() -> Result<Nodes, SourceError> {
    rpc(&["Cmp"], None)
}

fn t5() -> Result<Nodes, SourceError> {
    let mut hit = vec![decompress_if_compressed()?];
    hit.extend(seq(&["LdB"])?);
    let miss = send(&[], "T6")?;
    let mut nodes = seq(&["TCP", "Decr", "Dser"])?;
    nodes.push(branch("out['hit'] == 1", hit, miss)?.expecting(true));
    Ok(nodes)
}

fn t6() -> Result<Nodes, SourceError> {
    let mut nodes = seq(&["TCP", "Decr", "Dser"])?;
    nodes.push(report_if("out['found'] == 0", "T6_error")?);
    nodes.push(decompress_if_compressed()?);
    let mut write = vec![branch(
        "out['c_compressed'] == 1",
        seq(&["Cmp"])?,
        Nodes::new(),
    )?];
    write.extend(send(&[], "T7")?);
    nodes.push(fork(vec![seq(&["LdB"])?, write]));
    Ok(nodes)
}

fn t7() -> Result<Nodes, SourceError> {
    let mut nodes = seq(&["TCP", "Decr", "Dser"])?;
    nodes.push(report_if("out['exception'] == 1", "T7_error")?);
    nodes.extend(seq(&["LdB"])?);
    Ok(nodes)
}

fn t10() -> Result<Nodes, SourceError> {
    let mut nodes = seq(&["TCP", "Decr", "RPC", "Dser"])?;
    nodes.push(report_if("out['exception'] == 1", "T10_error")?);
    nodes.push(decompress_if_compressed()?);
    nodes.extend(seq(&["LdB"])?);
    Ok(nodes)
}

fn t12() -> Result<Nodes, SourceError> {
    let mut nodes = seq(&["TCP", "Decr", "Dser"])?;
    nodes.push(decompress_if_compressed()?);
    nodes.extend(seq(&["LdB"])?);
    Ok(nodes)
}
