//! Traces in addition to the paper's, for work of services for which Table II has no trace.

use std::collections::BTreeSet;

use accelflow_trace::source::{Node, Nodes, SourceError, branch, listing, seq, tail};

/// Traces that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Own {
    /// A request that comes by HTTP, and its answer.
    HttpRequest,
    /// A call by HTTP whose answer may be an error.
    HttpCall,
    /// A read of a database without a cache.
    DatabaseRead,
    /// A read of a cache, and on a miss of the database, which does not refill the cache.
    ReadThrough,
    /// A read of a cache, which tells the core whether there was a hit.
    CacheOnly,
}

impl Own {
    /// Each trace with its name, those that begin chains first.
    fn sources(self) -> Result<Vec<(&'static str, Nodes)>, SourceError> {
        Ok(match self {
            Own::HttpRequest => vec![
                ("HttpReceive", received(None)?),
                ("HttpRespond", seq(&SEND)?),
                ("HttpRespond+Cmp", compressed(seq(&SEND)?)?),
            ],
            Own::HttpCall => vec![
                ("HttpCall", sent("HttpAnswer")?),
                ("HttpCall+Cmp", compressed(sent("HttpAnswer")?)?),
                (
                    "HttpAnswer",
                    received(Some(("out['exception'] == 1", "HttpError")))?,
                ),
                ("HttpError", seq(&SEND)?),
            ],
            Own::DatabaseRead => vec![
                ("DatabaseRead", sent("DatabaseAnswer")?),
                (
                    "DatabaseAnswer",
                    received(Some(("out['exception'] == 1", "T7_error")))?,
                ),
            ],
            Own::ReadThrough => vec![
                ("ReadThrough", sent("ReadThroughCache")?),
                ("ReadThroughCache", cache_answer(sent("ReadThroughData")?)?),
                (
                    "ReadThroughData",
                    received(Some(("out['found'] == 0", "T6_error")))?,
                ),
            ],
            Own::CacheOnly => vec![
                ("CacheOnly", sent("CacheOnlyAnswer")?),
                ("CacheOnlyAnswer", cache_answer(seq(&["LdB"])?)?),
            ],
        })
    }

    /// The purpose of the traces.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Own::HttpRequest => "a request by HTTP and its answer",
            Own::HttpCall => "a call by HTTP whose answer may be an error",
            Own::DatabaseRead => "a read of a database without a cache",
            Own::ReadThrough => "a read through a cache that is not refilled",
            Own::CacheOnly => "a read of a cache without a database behind it",
        }
    }
}

const SEND: [&str; 3] = ["Ser", "Encr", "TCP"];

/// The text of all `own` traces, each under its name. Of those that begin chains, only those that
/// are `used`.
///
/// # Errors
/// None in practice: the same builders can fail for sources that users give.
pub(crate) fn text(own: &BTreeSet<Own>, used: &BTreeSet<String>) -> Result<String, SourceError> {
    let mut text = String::new();
    for own in own {
        text += &format!("# {}\n", own.about());
        for (name, nodes) in own.sources()? {
            if BEGIN_CHAINS.contains(&name) && !used.contains(name) {
                continue;
            }
            text += &format!("trace {name}:\n");
            for line in listing(&nodes).lines() {
                text += &format!("    {line}\n");
            }
        }
    }
    Ok(text)
}

/// The traces that begin chains; tails lead to the others.
const BEGIN_CHAINS: [&str; 8] = [
    "HttpReceive",
    "HttpRespond",
    "HttpRespond+Cmp",
    "HttpCall",
    "HttpCall+Cmp",
    "DatabaseRead",
    "ReadThrough",
    "CacheOnly",
];

fn sent(next: &str) -> Result<Nodes, SourceError> {
    let mut nodes = seq(&SEND)?;
    nodes.push(tail(next));
    Ok(nodes)
}

fn compressed(mut nodes: Nodes) -> Result<Nodes, SourceError> {
    nodes.splice(0..0, seq(&["Cmp"])?);
    Ok(nodes)
}

fn decompressed() -> Result<Node, SourceError> {
    branch("out['compressed'] == 1", seq(&["Dcmp"])?, Nodes::new())
}

/// A message is received, and reported by another trace if a condition holds.
fn received(report: Option<(&str, &str)>) -> Result<Nodes, SourceError> {
    let mut nodes = seq(&["TCP", "Decr", "Dser"])?;
    if let Some((condition, trace)) = report {
        nodes.push(branch(condition, vec![tail(trace)], Nodes::new())?.expecting(false));
    }
    nodes.push(decompressed()?);
    nodes.extend(seq(&["LdB"])?);
    Ok(nodes)
}

/// The answer of a cache: `miss` follows if it had nothing.
fn cache_answer(miss: Nodes) -> Result<Nodes, SourceError> {
    let mut hit = vec![decompressed()?];
    hit.extend(seq(&["LdB"])?);
    let mut nodes = seq(&["TCP", "Decr", "Dser"])?;
    nodes.push(branch("out['hit'] == 1", hit, miss)?.expecting(true));
    Ok(nodes)
}
