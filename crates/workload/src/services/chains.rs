//! The chains that services of all suites are made of.
//!
//! Facts are those of the most common path. A chain also has the facts for traces that it visits
//! only when a branch goes the less common way (the reads that follow a cache miss), so that a
//! simulator can draw branches.

use super::service::{Chain, Phase};

/// The message that begins every request. `compressed` tells whether its payload is.
pub(super) fn receive(compressed: i64) -> Phase {
    Phase::one(Chain::new("T1").with("T1", "compressed", compressed))
}

/// The message that ends every request: `T2`, or `T3` for a compressed one.
pub(super) fn send(trace: &str) -> Phase {
    Phase::one(Chain::new(trace))
}

/// A nested call. An exception is off the most common path.
pub(super) fn rpc(entry: &str, compressed: i64) -> Chain {
    Chain::new(entry)
        .with("T10", "exception", 0)
        .with("T10", "compressed", compressed)
}

/// A read through the cache; on a miss, of the database, which then refills the cache with data
/// in the form the database has it in.
pub(super) fn read(hit: i64, compressed: i64) -> Chain {
    Chain::new("T4")
        .with("T5", "hit", hit)
        .with("T5", "compressed", compressed)
        .with("T6", "found", 1)
        .with("T6", "compressed", compressed)
        .with("T6", "c_compressed", compressed)
        .with("T7", "exception", 0)
}

/// A write to a cache or a database, with `T8` or `T8+Cmp`.
pub(super) fn write(entry: &str) -> Chain {
    Chain::new(entry).with("T7", "exception", 0)
}

/// A call by HTTP, with an uncompressed response.
pub(super) fn http(entry: &str) -> Chain {
    Chain::new(entry).with("T12", "compressed", 0)
}

/// A path of steps with application logic before, between and after them: from `received` to
/// `sent`.
pub(super) fn path(received: Phase, steps: Vec<Phase>, sent: &str) -> Vec<Phase> {
    let mut path = vec![received, Phase::Cpu];
    for step in steps {
        path.extend([step, Phase::Cpu]);
    }
    path.push(send(sent));
    path
}
