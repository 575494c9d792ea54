//! The table of the accelerators beside the nine that the traces of one memory call.

use std::sync::Arc;

use crate::kind::Kind;
use crate::limits::MAX_KINDS;
use crate::source::{Node, Nodes};

/// Two declarations that do not fit together, or too many.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KindsError {
    /// Two declarations of one name.
    #[error("the accelerator '{name}' is declared as '{one}' and as '{other}'")]
    Differ {
        /// The name.
        name: String,
        /// A declaration.
        one: String,
        /// Another.
        other: String,
    },
    /// More accelerators than a nibble can number.
    #[error("one trace memory has at most {MAX_KINDS} accelerators beside the nine; '{0}' is more")]
    TooMany(String),
}

/// Adds the accelerators beside the nine that `nodes` call to `found`, in their order.
///
/// # Errors
/// [`KindsError`] for two declarations of one name, and for too many names.
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
    match found.iter().find(|known| known.name() == kind.name()) {
        Some(known) if known == kind => Ok(()),
        Some(known) => Err(KindsError::Differ {
            name: kind.name().to_owned(),
            one: known.to_string(),
            other: kind.to_string(),
        }),
        None if found.len() == MAX_KINDS => Err(KindsError::TooMany(kind.name().to_owned())),
        None => {
            found.push(kind.clone());
            Ok(())
        }
    }
}
