//! The table of the custom accelerators that the traces of one memory call.

use std::sync::Arc;

use crate::kind::Kind;
use crate::limits::MAX_KINDS;
use crate::source::{Node, Nodes};

/// The error of traces whose declarations of custom accelerators cannot be in one trace memory: two
/// declarations of one name differ, or there are too many.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KindsError {
    /// Two declarations of the same custom accelerator differ. Names that differ only in upper and
    /// lower case denote the same accelerator, but the declarations must spell the name alike.
    #[error("accelerator '{name}': must have one declaration, but has '{one}' and '{other}'")]
    Differ {
        /// The name of the custom accelerator.
        name: String,
        /// The first declaration, as text.
        one: String,
        /// The second declaration, as text.
        other: String,
    },
    /// The traces call more than [`MAX_KINDS`] custom accelerators. Holds the name of the first one
    /// too many.
    #[error(
        "accelerator = '{0}': must be left out: a trace memory has at most {MAX_KINDS} custom accelerators"
    )]
    TooMany(String),
}

impl KindsError {
    /// Creates the error for the declaration `other` of an accelerator that `one` declares already.
    pub(crate) fn differ(one: &Kind, other: &Kind) -> KindsError {
        KindsError::Differ {
            name: other.name().to_owned(),
            one: one.to_string(),
            other: other.to_string(),
        }
    }
}

/// Adds the custom accelerators that `nodes` call to `found`, in order.
///
/// # Errors
/// [`KindsError`] for conflicting declarations of one name, or too many names.
pub(crate) fn collect(nodes: &[Node], found: &mut Vec<Arc<Kind>>) -> Result<(), KindsError> {
    nodes.iter().try_for_each(|node| match node {
        Node::Kind(kind) => add(kind, found),
        Node::Branch {
            on_true, on_false, ..
        } => {
            collect(on_true, found)?;
            collect(on_false, found)
        }
        Node::Fork(arms) | Node::Join(arms) => {
            arms.iter().try_for_each(|arm: &Nodes| collect(arm, found))
        }
        _ => Ok(()),
    })
}

fn add(kind: &Arc<Kind>, found: &mut Vec<Arc<Kind>>) -> Result<(), KindsError> {
    let same = |known: &&Arc<Kind>| known.name().eq_ignore_ascii_case(kind.name());
    match found.iter().find(same) {
        Some(known) if known == kind => Ok(()),
        Some(known) => Err(KindsError::differ(known, kind)),
        None if found.len() == MAX_KINDS => Err(KindsError::TooMany(kind.name().to_owned())),
        None => {
            found.push(kind.clone());
            Ok(())
        }
    }
}
