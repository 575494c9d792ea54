//! Traces of a service's own as text, and which traces a call takes. Tests of `accelflow-storage`
//! use this file, too.

use accelflow_runtime::trail::{self, TrailPhase};
use accelflow_serve::TraceSource;
use accelflow_trace::Library;
use accelflow_trace::text::parse;

pub(crate) fn source(text: &str) -> TraceSource {
    let mut library = Library::new();
    for (name, nodes) in parse(text).expect("a constant") {
        library.register(&name, nodes).expect("a possible trace");
    }
    TraceSource::of_library(&library)
}

/// What `call` returns, and the traces that it takes.
pub(crate) fn taken<T>(call: impl FnOnce() -> T) -> (T, Vec<String>) {
    let (done, trail) = trail::follow(true, call);
    let mut names = Vec::new();
    for phase in trail.expect("wanted").phases {
        if let TrailPhase::Chains(chains) = phase {
            let steps = chains.into_iter().flat_map(|chain| chain.steps);
            names.extend(steps.map(|step| step.trace));
        }
    }
    names.dedup();
    (done, names)
}
