//! Simulated hosts: cores, the threads that wait for a core, and requests.

use std::collections::VecDeque;

use accelflow_units::Time;

use super::setup::Piece;

/// The state of a core. If an event ends it, that event is in the calendar.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    Nothing,
    /// Runs a request until it offloads or ends.
    Request(usize),
    /// Waits with its request for the accelerator, which ends the wait.
    Held(usize),
    /// Switches threads, for no request.
    Switching,
}

/// A host of one core.
pub(super) struct Host {
    /// What the core does.
    pub doing: Doing,
    /// The time at which the core began its present activity (`doing`).
    pub since: Time,
    /// The requests that can continue on the core: the index of each, and the time that the core
    /// takes to switch to the request's thread.
    pub ready: VecDeque<(usize, Time)>,
    /// The requests that can continue on the core before those in `ready`: the index of each, and
    /// the time that the core takes to switch to the request's thread.
    pub first: VecDeque<(usize, Time)>,
    /// The times of arrival of the requests that wait for a free thread.
    pub backlog: VecDeque<Time>,
    /// The number of threads without a request.
    pub free_threads: usize,
}

impl Host {
    pub(super) fn new(threads: usize) -> Host {
        Host {
            doing: Doing::Nothing,
            since: Time::ZERO,
            ready: VecDeque::new(),
            first: VecDeque::new(),
            backlog: VecDeque::new(),
            free_threads: threads,
        }
    }
}

/// A request with a thread.
#[derive(Clone, Copy)]
pub(super) struct Request {
    /// The index of the host that works on the request.
    pub host: usize,
    /// The time of the request's arrival.
    pub arrived: Time,
    /// The number of kernel calls that the request makes after the call `next`.
    pub kernels_left: u32,
    /// The kernel call to offload when the core's present work ends; `None` if the host's work for
    /// the request then ends.
    pub next: Option<Piece>,
    /// The number of running offloads that must end before the request can end. Only offloads that
    /// need no response count, and only those to an accelerator of the same machine.
    pub outstanding: u32,
    /// Whether the host has finished its own work for the request.
    pub host_done: bool,
}

/// Requests in numbered places that are used again.
#[derive(Default)]
pub(super) struct Requests {
    all: Vec<Request>,
    free: Vec<usize>,
}

impl Requests {
    pub(super) fn add(&mut self, request: Request) -> usize {
        match self.free.pop() {
            Some(place) => {
                self.all[place] = request;
                place
            }
            None => {
                self.all.push(request);
                self.all.len() - 1
            }
        }
    }

    pub(super) fn remove(&mut self, place: usize) {
        self.free.push(place);
    }

    pub(super) fn get(&mut self, place: usize) -> &mut Request {
        &mut self.all[place]
    }
}
