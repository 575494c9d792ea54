//! Sessions: orchestrators with state in one simulation, such as policies written in Python.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use accelflow_trace::Accel;
use accelflow_units::Time;

use super::completion::Completion;
use super::decision::Decision;
use super::links::Links;
use super::properties::Properties;
use crate::config::Config;

/// An [`Orchestrator`](super::Orchestrator) with the state that it keeps during one simulation. An
/// orchestrator with state begins a session for each simulation, so that simulations do not depend
/// on one another. In a simulation of several servers, each server has a session of its own.
pub trait Session: Send {
    /// Returns the properties of the orchestrator, which do not change during the simulation. A run
    /// calls this once. [`Properties::policy`] has no effect if [`Session::orders_queues`] returns
    /// `true`.
    ///
    /// # Errors
    /// [`PolicyError`] if the policy fails; the simulation then fails.
    fn properties(&mut self) -> Result<Properties, PolicyError>;

    /// Returns the decision which of dispatcher, manager and core handle `completion`, and for how
    /// long.
    ///
    /// # Errors
    /// [`PolicyError`] if the policy fails; the simulation then fails.
    fn decide(&mut self, completion: &Completion) -> Result<Decision, PolicyError>;

    /// Returns whether [`Session::choose`] chooses the next entry of each accelerator's queues,
    /// instead of a built-in policy. A central manager's queue keeps its own order.
    fn orders_queues(&self) -> bool;

    /// Returns whether operations have deadlines, which software sets in the same way as for
    /// [`DispatchPolicy::Edf`](crate::config::DispatchPolicy::Edf). The result has no effect unless
    /// [`Session::orders_queues`] returns `true`.
    fn needs_deadlines(&self) -> bool;

    /// Chooses the entry that leaves `queue` next, and returns the index of the entry in `waiting`.
    /// `waiting` has all waiting entries, at least one, in the order in which they became ready.
    /// The simulation fails if the index is out of range.
    ///
    /// # Errors
    /// [`PolicyError`] if the policy fails; the simulation then fails.
    fn choose(
        &mut self,
        queue: &QueueName,
        waiting: &[Waiting],
        now: Time,
    ) -> Result<usize, PolicyError>;
}

/// The inputs of a simulation that a [`Session`] may use.
#[derive(Clone, Copy, Debug)]
pub struct Simulated<'s> {
    /// The parameters of the simulated server. Its costs of software are already those of its
    /// processor generation.
    pub config: &'s Config,
    /// The pairs of accelerators that Cohort connects by a static link.
    pub links: &'s Links,
    /// The names of the services, indexed like the services of the plan.
    pub services: &'s [&'s str],
    /// The names of the accelerators that traces can call, by [`Accel::index`]: the paper's nine,
    /// then the custom accelerators of the plan's trace memory.
    pub accelerators: &'s [&'s str],
}

/// The identity of the input queue of an accelerator instance, or of its overflow area, which takes
/// entries that find the input queue full. If tenants reserve shares of the instance, each share
/// has queues of its own, all with the same identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueName {
    /// The type of the accelerator.
    pub accel: Accel,
    /// The index of the instance among the instances of its accelerator type, from 0.
    pub instance: u8,
    /// Whether the queue is the overflow area, from which entries move to the input queue. If
    /// `false`, the queue is the input queue, from which processing elements load entries.
    pub overflow: bool,
}

impl QueueName {
    /// Returns the queue in words, such as `input queue of TCP 0`. `accelerator` is the name of the
    /// queue's accelerator, from [`Simulated::accelerators`].
    pub fn text(&self, accelerator: &str) -> String {
        let area = if self.overflow {
            "overflow area"
        } else {
            "input queue"
        };
        format!("{area} of {accelerator} {}", self.instance)
    }
}

/// An entry that waits in an accelerator's queue, as [`Session::choose`] sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Index of the entry's service in [`Simulated::services`].
    pub service: u16,
    /// ID of the tenant that sent the entry's request.
    pub tenant: u16,
    /// Priority of the entry's request; a higher value is more urgent.
    pub priority: u8,
    /// Time at which the entry's request arrived at the server.
    pub arrived: Time,
    /// Deadline of the entry's operation; [`Time::MAX`] without a deadline.
    pub due: Time,
    /// Expected time of the entry's operation on a processing element of an idle server.
    pub expected: Time,
}

/// The error of a user-written policy (orchestrator) in a [`Session`]. This type wraps the policy's
/// own error and displays the text of that error.
#[derive(Clone, Debug)]
pub struct PolicyError(Arc<dyn Error + Send + Sync>);

impl PolicyError {
    /// Wraps `error`, the error of a user-written policy.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> PolicyError {
        PolicyError(Arc::from(error.into()))
    }

    /// Returns the error that the policy reported, if that error has the type `E`; else `None`.
    pub fn inner<E: Error + 'static>(&self) -> Option<&E> {
        self.0.downcast_ref()
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for PolicyError {}

impl PartialEq for PolicyError {
    /// Returns whether both errors have the same text.
    fn eq(&self, other: &PolicyError) -> bool {
        self.to_string() == other.to_string()
    }
}
