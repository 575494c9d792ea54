//! Replies, through which a peer returns a response at a later time.

use std::fmt;

use super::error::PeerError;

/// The function that is called with a response.
type Resume = Box<dyn FnOnce(Result<Vec<u8>, PeerError>) + Send>;

/// The handle through which a peer passes its response to the trace that waits for it, from any
/// thread and at any time. Dropping the handle without a response ends the wait with
/// [`PeerError::Dropped`].
pub struct Reply(Option<Resume>);

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").finish_non_exhaustive()
    }
}

impl Reply {
    /// Creates a handle that calls `resume` once: with the packets of the response, or with an
    /// error.
    pub fn new(resume: impl FnOnce(Result<Vec<u8>, PeerError>) + Send + 'static) -> Reply {
        Reply(Some(Box::new(resume)))
    }

    /// Passes the packets of the response, or the error, to the waiting trace.
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
