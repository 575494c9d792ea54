//! The answer that a peer gives when it has it.

use std::fmt;

use super::error::PeerError;

/// What is done with a response.
type Resume = Box<dyn FnOnce(Result<Vec<u8>, PeerError>) + Send>;

/// Resumes the trace that waits for a response. It may be given from any thread and at any time;
/// dropped without a response, it tells the trace that none will come.
pub struct Reply(Option<Resume>);

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").finish_non_exhaustive()
    }
}

impl Reply {
    /// A reply that calls `resume` with the packets of the response.
    pub fn new(resume: impl FnOnce(Result<Vec<u8>, PeerError>) + Send + 'static) -> Reply {
        Reply(Some(Box::new(resume)))
    }

    /// Gives the packets of the response, or why there is none.
    pub fn give(mut self, response: Result<Vec<u8>, PeerError>) {
        if let Some(resume) = self.0.take() {
            resume(response);
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(resume) = self.0.take() {
            resume(Err(PeerError::Dropped));
        }
    }
}
