//! The traces of storage: T4 to T8 of the templates, with other error subtraces.

use accelflow_trace::source::{Nodes, SourceError, branch, fork, seq, tail};
use accelflow_trace::{Image, LinkError, RegisterError, TemplateError, templates};

/// The trace in which T6 and T7 end after an error. The paper's error subtraces notify the
/// service's caller; this one notifies the handler, which can decide what to do.
pub(crate) const NOTIFIED: &str = "storage_told";

pub(crate) const READ: &str = "T4";
pub(crate) const WRITE: &str = "T8";
pub(crate) const WRITE_COMPRESSED: &str = "T8+Cmp";

/// An error of linking the traces; none in practice.
#[derive(Debug, thiserror::Error)]
pub enum TracesError {
    /// The templates cannot be loaded.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// A malformed source.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A name that is taken.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// A tail without a target.
    #[error(transparent)]
    Link(#[from] LinkError),
}

pub(crate) fn image() -> Result<Image, TracesError> {
    let mut library = templates()?;
    for (name, source) in [("T6", t6()?), ("T7", t7()?)] {
        library.remove(name);
        library.register(name, source)?;
    }
    library.register(NOTIFIED, seq(&["LdB"])?)?;
    Ok(library.link()?)
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
        let ours = image().expect("links");
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
