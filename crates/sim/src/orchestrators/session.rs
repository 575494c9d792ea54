//! Decisions of one simulation that keep state or can fail, such as those of classes in Python.

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

/// The decisions of an [`Orchestrator`](super::Orchestrator) in one simulation. An orchestrator
/// that keeps state begins a session for each simulation, so that simulations do not depend on one
/// another.
pub trait Session: Send {
    /// Returns the properties that do not change during the simulation. A run reads them once.
    /// [`Properties::policy`] has no effect if [`Session::orders_queues`] is true.
    ///
    /// # Errors
    /// [`PolicyError`] if the policy fails; it ends the simulation.
    fn properties(&mut self) -> Result<Properties, PolicyError>;

    /// Decides which of dispatcher, manager and core handle `completion`, and for how long.
    ///
    /// # Errors
    /// [`PolicyError`] if the policy fails; it ends the simulation.
    fn decide(&mut self, completion: &Completion) -> Result<Decision, PolicyError>;

    /// Whether [`Session::choose`] chooses the next entry of each queue, instead of a built-in
    /// policy.
    fn orders_queues(&self) -> bool;

    /// Whether operations have deadlines, which software sets as for
    /// [`DispatchPolicy::Edf`](crate::config::DispatchPolicy::Edf).
    fn needs_deadlines(&self) -> bool;

    /// Chooses the entry that leaves `queue` next, and returns its index in `waiting`. These are
    /// the waiting entries, at least one, in the order in which they became ready.
    ///
    /// # Errors
    /// [`PolicyError`] if the policy fails; it ends the simulation.
    fn choose(
        &mut self,
        queue: &QueueName,
        waiting: &[Waiting],
        now: Time,
    ) -> Result<usize, PolicyError>;
}

/// What a [`Session`] may know of its simulation.
#[derive(Clone, Copy, Debug)]
pub struct Simulated<'s> {
    /// The parameters of the simulated server.
    pub config: &'s Config,
    /// The pairs of accelerators with a static link, as Cohort has them.
    pub links: &'s Links,
    /// The names of the services, indexed by the service's number.
    pub services: &'s [&'s str],
}

/// Identifies the input queue or the overflow area of an accelerator instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueName {
    /// The type of the accelerator.
    pub accel: Accel,
    /// The index of the instance within its type.
    pub instance: u8,
    /// Whether it is the overflow area, from which entries move to the input queue, and not the
    /// input queue, from which processing elements load them.
    pub overflow: bool,
}

impl fmt::Display for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let area = if self.overflow {
            "overflow area"
        } else {
            "input queue"
        };
        write!(f, "{area} of {} {}", self.accel, self.instance)
    }
}

/// An entry that waits in an accelerator's queue, as [`Session::choose`] sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Index of the entry's service in [`Simulated::services`].
    pub service: u16,
    /// Number of the tenant that sent the entry's request.
    pub tenant: u16,
    /// Priority of the entry's request; higher goes first.
    pub priority: u8,
    /// Time at which the entry's request arrived at the server.
    pub arrived: Time,
    /// Deadline of the entry's operation; [`Time::MAX`] without one.
    pub due: Time,
    /// Expected time of the operation on a processing element.
    pub expected: Time,
}

/// The error of a user's policy in a [`Session`]. It has the text of the wrapped error.
#[derive(Clone, Debug)]
pub struct PolicyError(Arc<dyn Error + Send + Sync>);

impl PolicyError {
    /// Wraps the error of a user's policy.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> PolicyError {
        PolicyError(Arc::from(error.into()))
    }

    /// Returns the wrapped error if it has the type `E`; else `None`.
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
    /// Whether the texts are equal.
    fn eq(&self, other: &PolicyError) -> bool {
        self.to_string() == other.to_string()
    }
}
