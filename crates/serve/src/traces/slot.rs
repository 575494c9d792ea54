//! A slot for a service's traces, which may be replaced while requests use them.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::refusal::TraceRefusal;
use super::source::TraceSource;

/// A setting that selects the custom traces of a server, RPC client or storage client: the source
/// of the traces, and the names of the traces to use.
pub trait TraceSetting: Clone {
    /// Returns the source of the custom traces.
    fn source(&self) -> &TraceSource;

    /// Returns a setting with the same names of traces, and `source` as the source of the traces.
    #[must_use]
    fn from(self, source: TraceSource) -> Self;
}

/// The traces that a server, RPC client or storage client uses now, which can be replaced while it
/// runs. `T` is the type of the linked traces, and `G` is the type of the setting from which the
/// traces were linked.
///
/// From beginning to end, a request uses the traces that were current when the request began.
#[derive(Debug)]
pub struct Slot<T, G> {
    now: RwLock<Arc<T>>,
    given: Mutex<(Option<G>, u64)>,
}

impl<T, G: TraceSetting> Slot<T, G> {
    /// Creates a slot for the setting `given` (`None` for default traces). `link` is called with
    /// this setting and 0, the number of replacements so far, and returns the linked traces.
    ///
    /// # Errors
    /// The errors of `link`.
    pub fn new<E>(
        given: Option<G>,
        link: impl FnOnce(Option<&G>, u64) -> Result<T, E>,
    ) -> Result<Slot<T, G>, E> {
        Ok(Slot {
            now: RwLock::new(Arc::new(link(given.as_ref(), 0)?)),
            given: Mutex::new((given, 0)),
        })
    }

    /// Returns the linked traces that the service uses now.
    pub fn now(&self) -> Arc<T> {
        let now = self.now.read().unwrap_or_else(PoisonError::into_inner);
        now.clone()
    }

    /// Replaces the setting by `given` (`None` for default traces), and the traces by the result of
    /// `link`, which is called with this setting and the number that this method returns. Returns
    /// the number of replacements so far, including this one. If `link` fails, nothing changes.
    ///
    /// # Errors
    /// The errors of `link`.
    pub fn replace<E>(
        &self,
        given: Option<G>,
        link: impl FnOnce(Option<&G>, u64) -> Result<T, E>,
    ) -> Result<u64, E> {
        self.change(|_| Ok(given), link)
    }

    /// Reads the trace file of the current setting again, and replaces the traces by its present
    /// contents, like [`Slot::replace`].
    ///
    /// # Errors
    /// The errors of `link`, [`TraceRefusal::NoFile`] if the traces were not read from a file, and
    /// [`TraceRefusal::File`] if the file cannot be read or does not contain valid traces.
    pub fn reload<E: From<TraceRefusal>>(
        &self,
        link: impl FnOnce(Option<&G>, u64) -> Result<T, E>,
    ) -> Result<u64, E> {
        let again = |given: Option<&G>| {
            let given = given.ok_or(TraceRefusal::NoFile)?;
            Ok(Some(given.clone().from(given.source().again()?)))
        };
        self.change(again, link)
    }

    fn change<E>(
        &self,
        choose: impl FnOnce(Option<&G>) -> Result<Option<G>, E>,
        link: impl FnOnce(Option<&G>, u64) -> Result<T, E>,
    ) -> Result<u64, E> {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let chosen = choose(given.0.as_ref())?;
        let turn = given.1 + 1;
        let linked = Arc::new(link(chosen.as_ref(), turn)?);
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = linked;
        *given = (chosen, turn);
        Ok(turn)
    }
}
