//! The runs of traces in progress, and the admission of new runs.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::request::Busy;
use crate::limit::TenantBusy;

/// The runs in progress.
pub(super) struct Runs {
    most: usize,
    /// The largest number of runs per tenant; 0 for no limit.
    most_of_tenant: usize,
    state: Mutex<State>,
    none: Condvar,
}

#[derive(Default)]
struct State {
    running: usize,
    tenants: HashMap<u16, usize>,
    closed: bool,
}

/// A run in progress. Dropping this value ends it.
pub(super) struct Running {
    runs: Arc<Runs>,
    tenant: u16,
}

impl Runs {
    pub(super) fn new(most: usize, most_of_tenant: usize) -> Runs {
        Runs {
            most,
            most_of_tenant,
            state: Mutex::default(),
            none: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a run of a tenant if the limits allow another.
    pub(super) fn begin(self: &Arc<Self>, tenant: u16) -> Result<Running, Busy> {
        let mut state = self.lock();
        if state.closed {
            return Err(Busy::Ended);
        }
        if state.running >= self.most {
            return Err(Busy::Runs { most: self.most });
        }
        let most = self.most_of_tenant;
        if most > 0 {
            let running = state.tenants.entry(tenant).or_default();
            if *running >= most {
                return Err(Busy::Tenant(TenantBusy { most }));
            }
            *running += 1;
        }
        state.running += 1;
        Ok(Running {
            runs: self.clone(),
            tenant,
        })
    }

    pub(super) fn running(&self) -> usize {
        self.lock().running
    }

    /// Refuses all further runs.
    pub(super) fn close(&self) {
        self.lock().closed = true;
    }

    /// Waits until all runs have ended, but no longer than `most`.
    pub(super) fn wait_for_none(&self, most: Duration) {
        let state = self.lock();
        let waited = self
            .none
            .wait_timeout_while(state, most, |state| state.running > 0);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut state = self.runs.lock();
        state.running -= 1;
        if let Some(running) = state.tenants.get_mut(&self.tenant) {
            *running -= 1;
            if *running == 0 {
                state.tenants.remove(&self.tenant);
            }
        }
        if state.running == 0 {
            self.runs.none.notify_all();
        }
    }
}
