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
    pub doing: Doing,
    pub since: Time,
    /// Requests that can continue, each with the time of the core's switch to its thread.
    pub ready: VecDeque<(usize, Time)>,
    /// Ready requests that have precedence, each with the time of the core's switch to its thread.
    pub first: VecDeque<(usize, Time)>,
    /// Arrivals without a thread, by their time.
    pub backlog: VecDeque<Time>,
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
    pub host: usize,
    pub arrived: Time,
    pub kernels_left: u32,
    /// The kernel to offload when the core's present work ends.
    pub next: Option<Piece>,
    /// Offloads without a response yet that the request waits for at its end.
    pub outstanding: u32,
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
