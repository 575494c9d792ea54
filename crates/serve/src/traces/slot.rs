//! Traces that may be replaced while they are used.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::refusal::TraceRefusal;
use super::source::TraceSource;

/// A setting of a service's traces: their source, and the names of the traces to use.
pub trait TraceSetting: Clone {
    /// The source of the traces.
    fn source(&self) -> &TraceSource;

    /// Returns the same names, with `source` as the source of the traces.
    #[must_use]
    fn from(self, source: TraceSource) -> Self;
}

/// The linked traces `T` that a service uses now, and the setting `G` that they were made from.
/// They can be replaced while the service runs.
///
/// Each request uses the traces that are current when it begins, until its end.
#[derive(Debug)]
pub struct Slot<T, G> {
    now: RwLock<Arc<T>>,
    given: Mutex<(Option<G>, u64)>,
}

impl<T, G: TraceSetting> Slot<T, G> {
    /// Creates the slot for the setting `given` (`None` for default traces), and links the first
    /// traces with `link`, which also gets the number of earlier replacements.
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

    /// Returns the linked traces in use now.
    pub fn now(&self) -> Arc<T> {
        let now = self.now.read().unwrap_or_else(PoisonError::into_inner);
        now.clone()
    }

    /// Replaces the traces by the result of `link` for the setting `given`. Returns the number of
    /// replacements so far. If `link` fails, nothing changes.
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

    /// Like [`Slot::replace`], for the same setting and the present contents of its trace file.
    ///
    /// # Errors
    /// The errors of `link`, and [`TraceRefusal::NoFile`].
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
