//! The limit on the process's file descriptors.

use rustix::process::{Resource, getrlimit};

/// The number of descriptors that the process may have.
pub(crate) fn descriptor_limit() -> usize {
    let most = getrlimit(Resource::Nofile).current;
    most.map_or(usize::MAX, |most| {
        usize::try_from(most).unwrap_or(usize::MAX)
    })
}
