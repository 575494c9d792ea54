//! Replies, with which a peer returns a response later.

use std::fmt;

use super::error::PeerError;

/// The function that is called with a response.
type Resume = Box<dyn FnOnce(Result<Vec<u8>, PeerError>) + Send>;

/// Resumes the trace that waits for a response, from any thread and at any time. Dropping it
/// without a response ends the wait with [`PeerError::Dropped`].
pub struct Reply(Option<Resume>);

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").finish_non_exhaustive()
    }
}

impl Reply {
    /// Creates a reply that calls `resume` with the packets of the response.
    pub fn new(resume: impl FnOnce(Result<Vec<u8>, PeerError>) + Send + 'static) -> Reply {
        Reply(Some(Box::new(resume)))
    }

    /// Passes the packets of the response, or the error, to the trace.
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
