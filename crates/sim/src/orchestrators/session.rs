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

/// The decisions of one simulation. An [`Orchestrator`](super::Orchestrator) that keeps state
/// begins a session for each simulation, so that simulations do not depend on one another.
pub trait Session: Send {
    /// Returns the fixed properties. A run reads them once. [`Properties::policy`] has no effect if
    /// [`Session::orders_queues`] is true.
    ///
    /// # Errors
    /// [`PolicyError`] if the policy fails; it ends the simulation.
    fn properties(&mut self) -> Result<Properties, PolicyError>;

    /// Decides who handles `completion`, and for how long.
    ///
    /// # Errors
    /// [`PolicyError`] if the policy fails; it ends the simulation.
    fn decide(&mut self, completion: &Completion) -> Result<Decision, PolicyError>;

    /// Whether [`Session::choose`] decides which entry leaves a queue next.
    fn orders_queues(&self) -> bool;

    /// Whether software sets the deadlines of operations, as for
    /// [`DispatchPolicy::Edf`](crate::config::DispatchPolicy::Edf).
    fn needs_deadlines(&self) -> bool;

    /// Chooses the entry that leaves `queue` next: returns its index in `waiting`, which is in the
    /// order in which the entries became ready and has at least one.
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

/// The parts of a simulation that a [`Session`] may read.
#[derive(Clone, Copy, Debug)]
pub struct Simulated<'s> {
    /// The server's parameters.
    pub config: &'s Config,
    /// The pairs of accelerators with a static link.
    pub links: &'s Links,
    /// The names of the services, by index.
    pub services: &'s [&'s str],
}

/// A queue of an accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueName {
    /// The type of the accelerator.
    pub accel: Accel,
    /// The index of the instance.
    pub instance: u8,
    /// True for the overflow area, from which entries move to the input queue; false for the input
    /// queue, from which elements load them.
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

/// An entry that waits in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Index of its service in [`Simulated::services`].
    pub service: u16,
    /// Number of its tenant.
    pub tenant: u16,
    /// The priority level.
    pub priority: u8,
    /// The time when its request arrived at the server.
    pub arrived: Time,
    /// The deadline of the operation; [`Time::MAX`] without one.
    pub due: Time,
    /// The expected time of the operation on an element.
    pub expected: Time,
}

/// The error of a [`Session`]'s decision. It has the text of the wrapped error.
#[derive(Clone, Debug)]
pub struct PolicyError(Arc<dyn Error + Send + Sync>);

impl PolicyError {
    /// Wraps the error of a policy.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> PolicyError {
        PolicyError(Arc::from(error.into()))
    }

    /// The wrapped error, if it is an `E`.
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
