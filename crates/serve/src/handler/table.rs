//! The table of a server's handlers, by function.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use accelflow_accel::thrift::{FunctionId, FunctionSet};

use super::kinds::AnyHandler;

/// The longest duration of a quick call. Waiting replies are written before calling a handler whose
/// last call took longer.
const QUICK: Duration = Duration::from_micros(50);

/// The handlers by the index of their functions, which RPC finds in the interface.
#[derive(Default)]
pub(crate) struct Handlers {
    by_function: Vec<Option<AnyHandler>>,
    /// By function, whether its last call was quick.
    quick: Vec<AtomicBool>,
}

impl Handlers {
    /// Sets or replaces the handler of a function.
    pub(crate) fn set(&mut self, FunctionId(index): FunctionId, handler: AnyHandler) {
        if self.by_function.len() <= index {
            self.by_function.resize_with(index + 1, || None);
            self.quick.resize_with(index + 1, AtomicBool::default);
        }
        self.by_function[index] = Some(handler);
    }

    pub(crate) fn get(&self, function: FunctionId) -> Option<&AnyHandler> {
        self.by_function.get(function.0)?.as_ref()
    }

    /// Whether the last call of the handler of `function` was quick.
    pub(crate) fn is_quick(&self, function: FunctionId) -> bool {
        let last = self.quick.get(function.0);
        last.is_none_or(|last| last.load(Ordering::Relaxed))
    }

    /// Records the duration of a call.
    pub(crate) fn took(&self, function: FunctionId, spent: Duration) {
        if let Some(last) = self.quick.get(function.0) {
            let quick = spent <= QUICK;
            // Stored only when it changes, since all connections read it.
            if last.load(Ordering::Relaxed) != quick {
                last.store(quick, Ordering::Relaxed);
            }
        }
    }

    /// Returns the functions whose handlers are [`ValueHandler`](crate::ValueHandler)s.
    pub(crate) fn of_values(&self) -> FunctionSet {
        let handlers = self.by_function.iter().enumerate();
        let values = handlers.filter(|(_, handler)| matches!(handler, Some(AnyHandler::Values(_))));
        values.map(|(index, _)| FunctionId(index)).collect()
    }
}
