//! The thread of a gRPC client: its connections, and the calls that use a connection or wait for
//! one.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use tokio::task::{LocalSet, spawn_blocking, spawn_local};
use tokio::time::{interval, sleep, timeout};

use super::connection::{Connection, Driver, greet};
use super::exchange::exchange;
use super::order::{Answer, Order, Stage};
use super::setup::Setup;
use crate::client::dial::{Dialled, dial};
use crate::client::error::CallError;
use crate::client::pool::PoolCounts;
use crate::transport::close::{Close, alert};
use crate::transport::http2::pipe::Fault;
use crate::transport::http2::window::flood;

/// The longest interval between checks of idle connections and waiting calls.
const LONGEST_TICK: Duration = Duration::from_secs(1);
/// The number of times that a refused call is retried on the same connection.
const REFUSALS: u32 = 6;
/// The pause before the first of these retries. It doubles for each further retry.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
/// The time that connections have to close when the client is dropped.
const FAREWELL: Duration = Duration::from_millis(200);

/// The state of the connections, for other threads.
#[derive(Default)]
pub(super) struct Counts {
    open: AtomicUsize,
    idle: AtomicUsize,
    waiting: AtomicUsize,
}

impl Counts {
    pub(super) fn read(&self) -> PoolCounts {
        let read = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        PoolCounts {
            open: read(&self.open),
            idle: read(&self.idle),
            waiting: read(&self.waiting),
        }
    }
}

type Granted = Result<Place, CallError>;

struct Hub {
    setup: Arc<Setup>,
    counts: Arc<Counts>,
    connections: RefCell<Vec<Rc<Connection>>>,
    opening: Cell<usize>,
    /// The number of connections that have not ended yet, including retired ones.
    driven: Cell<usize>,
    waiting: RefCell<VecDeque<oneshot::Sender<Granted>>>,
}

/// The right to make one call over a connection.
struct Place {
    hub: Rc<Hub>,
    connection: Rc<Connection>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let connection = &self.connection;
        connection.active.set(connection.active.get() - 1);
        connection.last_used.set(Instant::now());
        self.hub.hand_out();
    }
}

/// Serves calls until the sender of orders is dropped.
pub(super) fn serve(
    setup: &Arc<Setup>,
    counts: &Arc<Counts>,
    orders: mpsc::UnboundedReceiver<Order>,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()?;
    let tasks = LocalSet::new();
    let hub = Rc::new(Hub {
        setup: setup.clone(),
        counts: counts.clone(),
        connections: RefCell::default(),
        opening: Cell::new(0),
        driven: Cell::new(0),
        waiting: RefCell::default(),
    });
    tasks.block_on(&runtime, hub.run(orders));
    drop(tasks);
    // Does not wait for a name resolution that may still be running.
    runtime.shutdown_background();
    Ok(())
}

impl Hub {
    async fn run(self: Rc<Self>, mut orders: mpsc::UnboundedReceiver<Order>) {
        let tick = (self.setup.config.idle_timeout / 4).min(LONGEST_TICK);
        let mut tick = interval(tick.max(Duration::from_millis(5)));
        loop {
            tokio::select! {
                order = orders.recv() => match order {
                    Some(order) => drop(spawn_local(self.clone().take(order))),
                    None => break,
                },
                _ = tick.tick() => self.look(),
            }
        }
        for connection in self.connections.borrow_mut().drain(..) {
            connection.why.set("idle");
        }
        let gone = async {
            while self.driven.get() > 0 {
                sleep(Duration::from_millis(1)).await;
            }
        };
        // Connections that the service keeps open are cut off.
        let _ = timeout(FAREWELL, gone).await;
    }

    /// Performs a call until its caller gives up.
    async fn take(self: Rc<Self>, mut order: Order) {
        let (_never, none) = oneshot::channel();
        let given_up = std::mem::replace(&mut order.given_up, none);
        tokio::select! {
            biased;
            result = self.attempt(&order) => order.ticket.result.put(result),
            _ = given_up => {}
        }
    }

    async fn attempt(self: &Rc<Self>, order: &Order) -> Result<Answer, CallError> {
        let place = self.place(order).await?;
        let mut pauses = self.pauses();
        loop {
            let begun = Instant::now();
            let watch = RetireIfSilent {
                connection: &place.connection,
                begun,
                deadline: order.deadline,
            };
            let answered = exchange(&self.setup, &place.connection, order).await;
            drop(watch);
            let refused = matches!(answered, Err(CallError::Unprocessed { .. }));
            if !refused || place.connection.is_leaving() {
                return answered;
            }
            let Some(pause) = pauses.next() else {
                return answered;
            };
            // The call keeps its place during the pause, so that the service has fewer concurrent
            // calls.
            self.setup.metrics.retry("unprocessed");
            order.ticket.advance(Stage::Refused);
            sleep(pause).await;
        }
    }

    /// The pauses before retrying a call that the service has refused although it processes others.
    /// Some services count streams for a while after their end.
    fn pauses(&self) -> impl Iterator<Item = Duration> + use<> {
        let most = match self.setup.config.retry.max_attempts {
            0 | 1 => 0,
            _ => REFUSALS,
        };
        (0..most).map(|turn| FIRST_PAUSE * (1 << turn))
    }

    /// Waits for a place.
    async fn place(self: &Rc<Self>, order: &Order) -> Granted {
        // Earlier calls have precedence.
        if self.waiting.borrow().is_empty()
            && let Some(place) = self.free_place()
        {
            return Ok(place);
        }
        let config = &self.setup.config;
        let waiting = self.waiting.borrow().len();
        let soon = self
            .opening
            .get()
            .saturating_mul(config.calls_per_connection);
        if waiting >= config.max_waiting.saturating_add(soon) && !self.may_open() {
            return Err(CallError::PoolFull {
                address: self.setup.name.clone(),
                connections: config.max_connections,
                waiting,
            });
        }
        if self
            .connections
            .borrow()
            .iter()
            .all(|connection| connection.retired.get())
        {
            order.ticket.advance(Stage::Connecting);
        }
        let (grant, granted) = oneshot::channel();
        self.waiting.borrow_mut().push_back(grant);
        self.open_more();
        self.count();
        let _count = RecountOnDrop(self);
        let lost = || CallError::Cancelled {
            address: self.setup.name.clone(),
            sent: false,
        };
        granted.await.unwrap_or_else(|_| Err(lost()))
    }

    /// Takes a place on the first connection that has one.
    fn free_place(self: &Rc<Self>) -> Option<Place> {
        let connections = self.connections.borrow();
        let connection = connections
            .iter()
            .find(|connection| connection.room() > 0)?
            .clone();
        connection.active.set(connection.active.get() + 1);
        let hub = self.clone();
        Some(Place { hub, connection })
    }

    /// Gives places to waiting calls, in order.
    fn hand_out(self: &Rc<Self>) {
        loop {
            self.waiting.borrow_mut().retain(|grant| !grant.is_closed());
            if self.waiting.borrow().is_empty() {
                break;
            }
            let Some(place) = self.free_place() else {
                self.open_more();
                break;
            };
            let first = self.waiting.borrow_mut().pop_front();
            if let Some(first) = first {
                // If the call is gone by now, dropping the place gives it back.
                drop(first.send(Ok(place)));
            }
        }
        self.count();
    }

    fn may_open(&self) -> bool {
        self.connections.borrow().len() + self.opening.get() < self.setup.config.max_connections
    }

    /// Opens as many connections as the waiting calls need.
    fn open_more(self: &Rc<Self>) {
        let each = self.setup.config.calls_per_connection;
        let wanted = self.waiting.borrow().len().div_ceil(each);
        while self.opening.get() < wanted && self.may_open() {
            self.opening.set(self.opening.get() + 1);
            spawn_local(self.clone().open());
        }
    }

    async fn open(self: Rc<Self>) {
        let opened = self.connect().await;
        self.opening.set(self.opening.get() - 1);
        match opened {
            Ok(connection) => {
                self.connections.borrow_mut().push(connection);
                self.hand_out();
            }
            Err(error) => self.refuse(&error),
        }
        self.count();
    }

    /// Opens a connection, and waits for the service's SETTINGS, which limit the number of calls.
    async fn connect(self: &Rc<Self>) -> Result<Rc<Connection>, CallError> {
        let (setup, patience) = (self.setup.clone(), self.setup.config.connect_timeout);
        let until = Instant::now() + patience;
        let left = || until.saturating_duration_since(Instant::now());
        let dialled = spawn_blocking(move || {
            dial(
                &setup.address,
                &setup.names,
                setup.trust.as_ref(),
                until,
                None,
            )
            .map_err(|failed| failed.of(&setup.name))
        });
        let failed = |error: io::Error| CallError::Connect {
            address: self.setup.name.clone(),
            error,
        };
        let gone = |error: tokio::task::JoinError| failed(io::Error::other(error));
        let dialled: Dialled = dialled.await.map_err(gone)??;
        let (connection, driver, fault) = greet(&self.setup, dialled, left()).await?;
        let connection = Rc::new(connection);
        spawn_local(
            self.clone()
                .drive(connection.clone(), driver, fault.clone()),
        );
        let greeted = timeout(left(), connection.greeted.notified()).await;
        greeted.map_err(|_| failed(io::ErrorKind::TimedOut.into()))?;
        if let Some(Close::Alert(description)) = &*fault.borrow() {
            // With TLS 1.3 a client learns only now that its certificate was rejected.
            let (address, why) = (self.setup.name.clone(), alert(*description));
            return Err(CallError::Tls { address, why });
        }
        if connection.retired.get() {
            let why = "the service closed the connection or does not speak HTTP/2";
            return Err(failed(io::Error::other(why)));
        }
        Ok(connection)
    }

    /// Fails the waiting calls after a connection could not be opened, unless there is another one.
    fn refuse(self: &Rc<Self>, error: &CallError) {
        if self.opening.get() > 0
            || self
                .connections
                .borrow()
                .iter()
                .any(|connection| !connection.retired.get())
        {
            return;
        }
        let address = self.setup.name.clone();
        let copy = || match error {
            CallError::Tls { why, .. } => CallError::Tls {
                address: address.clone(),
                why: why.clone(),
            },
            CallError::Connect { error, .. } => CallError::Connect {
                address: address.clone(),
                error: io::Error::new(error.kind(), error.to_string()),
            },
            other => CallError::Connect {
                address: address.clone(),
                error: io::Error::other(other.to_string()),
            },
        };
        let waiting = std::mem::take(&mut *self.waiting.borrow_mut());
        for grant in waiting {
            drop(grant.send(Err(copy())));
        }
    }

    /// Drives a connection to its end.
    async fn drive(self: Rc<Self>, connection: Rc<Connection>, driver: Driver, fault: Fault) {
        self.driven.set(self.driven.get() + 1);
        let (why, frames) = (connection.why.clone(), connection.frames.clone());
        let known = Rc::downgrade(&connection);
        // The library ends a connection that has no calls and is not in the list.
        drop(connection);
        let ended = tokio::select! {
            ended = driver => match (ended, &*fault.borrow()) {
                (Ok(()), None) | (_, Some(Close::Done)) => why.get(),
                _ => "failed",
            },
            () = flood(&frames) => "failed",
        };
        if let Some(connection) = known.upgrade() {
            connection.retired.set(true);
            connection.greeted.notify_one();
        }
        self.setup.metrics.ended(ended);
        self.driven.set(self.driven.get() - 1);
        self.look();
    }

    /// Closes connections that have been idle for too long, and drops retired ones.
    fn look(self: &Rc<Self>) {
        let now = Instant::now();
        let patience = self.setup.config.idle_timeout;
        for connection in self.connections.borrow().iter() {
            if connection.active.get() == 0 && now - connection.last_used.get() >= patience {
                connection.retired.set(true);
                connection.why.set("idle");
            }
        }
        let of_use =
            |connection: &Rc<Connection>| !connection.retired.get() || connection.active.get() > 0;
        self.connections.borrow_mut().retain(of_use);
        self.hand_out();
    }

    fn count(&self) {
        let connections = self.connections.borrow();
        let idle = connections
            .iter()
            .filter(|connection| connection.active.get() == 0)
            .count();
        let set = |count: &AtomicUsize, value| count.store(value, Ordering::Relaxed);
        set(&self.counts.open, connections.len() + self.opening.get());
        set(&self.counts.idle, idle);
        let waiting = self.waiting.borrow();
        let waiting = waiting.iter().filter(|grant| !grant.is_closed());
        set(&self.counts.waiting, waiting.count());
    }
}

/// Updates the counts when a call stops waiting.
struct RecountOnDrop<'h>(&'h Rc<Hub>);

impl Drop for RecountOnDrop<'_> {
    fn drop(&mut self) {
        self.0.count();
    }
}

/// Retires a connection when a call times out without any data from the service, which may be gone.
struct RetireIfSilent<'l> {
    connection: &'l Connection,
    begun: Instant,
    deadline: Instant,
}

impl Drop for RetireIfSilent<'_> {
    fn drop(&mut self) {
        if Instant::now() >= self.deadline && self.connection.heard() < self.begun {
            self.connection.retired.set(true);
            self.connection.why.set("failed");
        }
    }
}
