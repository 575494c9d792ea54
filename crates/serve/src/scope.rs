//! The context of the request that a thread handles: deadline, tenant, priority, OpenTelemetry
//! context, and whether the client still waits. Calls that the handler makes inherit this context.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use accelflow_accel::Job;
use accelflow_runtime::{RunningTrace, TenantBusy, Terms, TraceLimit};
use opentelemetry::Context;
use opentelemetry::trace::TraceContextExt;

thread_local! {
    static DEADLINE: Cell<Option<Instant>> = const { Cell::new(None) };
    static CARRIED: RefCell<Option<Carried>> = const { RefCell::new(None) };
    static ABANDONED: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Runs `work` with a deadline: calls to services that `work` makes on this thread must end by
/// `deadline`, or by the current deadline ([`current_deadline`]) if that is earlier.
pub fn with_deadline<T>(deadline: Instant, work: impl FnOnce() -> T) -> T {
    /// Restores the outer deadline, even if `work` panics.
    struct Outer(Option<Instant>);

    impl Drop for Outer {
        fn drop(&mut self) {
            DEADLINE.set(self.0);
        }
    }

    let outer = Outer(DEADLINE.get());
    DEADLINE.set(Some(outer.0.map_or(deadline, |outer| outer.min(deadline))));
    work()
}

/// Returns the deadline of calls to services that this thread makes now. It is the deadline of the
/// request that the thread handles, or an earlier one set by [`with_deadline`]. `None` if there is
/// no deadline.
pub fn current_deadline() -> Option<Instant> {
    DEADLINE.get()
}

/// The part of a request's context that the handler's calls to services and storage inherit: the
/// request's tenant and priority, the handler's deadline, and the limit on how many such calls the
/// tenant makes at a time (AccelFlow, section IV.D).
#[derive(Clone, Default)]
pub struct Carried {
    /// The tenant and priority of the request, and the time at which the handler should end.
    pub terms: Terms,
    /// The limit on the chains of traces that the tenant's handlers run at a time; `None` for no
    /// limit.
    pub limit: Option<TraceLimit>,
    /// The client, if the ensemble may answer it directly.
    pub(crate) caller: Option<Arc<Mutex<dyn Answering>>>,
}

impl fmt::Debug for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Carried")
            .field("terms", &self.terms)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

impl Carried {
    /// Creates the context for a request's calls. `terms` has the request's tenant and priority,
    /// and the handler's deadline; `limit` bounds the tenant's concurrent calls and storage
    /// accesses.
    pub fn new(terms: Terms, limit: Option<TraceLimit>) -> Carried {
        Carried {
            terms,
            limit,
            caller: None,
        }
    }

    /// Whether the context differs from the default.
    fn matters(&self) -> bool {
        let default = self.terms == Terms::default();
        !default || self.limit.is_some() || self.caller.is_some()
    }
}

/// The client of a request, to which the ensemble can reply directly.
pub(crate) trait Answering: Send {
    /// Sends the error in `job` to the client with an error subtrace. Returns whether it was sent.
    fn answer(&mut self, trace: &str, job: &Job) -> bool;
}

/// Sends the error in `job` to the client of the request that this thread handles, and returns
/// whether it was sent. The handler's own answer is then discarded. `trace` is the name of the
/// error subtrace, the trace that sends the error: `T6_error`, `T7_error` or `T10_error`. A gRPC
/// client gets a status without an error subtrace, whatever `trace` is.
///
/// Nothing is sent if the thread handles no request, if [`Config::errors_to_caller`](crate::Config)
/// is false, if the handler's function is oneway, if an error was already sent for this request, or
/// if the error is a Thrift exception that the handler's function does not declare.
pub fn answer_caller(trace: &str, job: &Job) -> bool {
    let caller = CARRIED.with_borrow(|carried| carried.as_ref()?.caller.clone());
    caller.is_some_and(|caller| {
        let mut caller = caller.lock().unwrap_or_else(PoisonError::into_inner);
        caller.answer(trace, job)
    })
}

/// Runs `work`, whose calls on this thread inherit the context `carried`. With `None`, they inherit
/// the thread's current context.
pub fn with_carried<T>(carried: Option<&Carried>, work: impl FnOnce() -> T) -> T {
    /// Restores the outer context, even if `work` panics.
    struct Outer(Option<Carried>);

    impl Drop for Outer {
        fn drop(&mut self) {
            CARRIED.set(self.0.take());
        }
    }

    let Some(carried) = carried else {
        return work();
    };
    let _outer = Outer(CARRIED.replace(Some(carried.clone())));
    work()
}

/// Returns the tenant and priority of the request that this thread handles, and the deadline of its
/// handler, which leaves time for the response; [`Terms::default`] if the thread handles no
/// request.
pub fn current_terms() -> Terms {
    CARRIED.with_borrow(|carried| carried.as_ref().map_or_else(Terms::default, |c| c.terms))
}

/// Waits until the tenant of the request that this thread handles may begin another chain of
/// traces, such as a call or a storage access. The number of a tenant's concurrent chains is
/// limited. The chain counts as running until the returned value is dropped. Returns `Ok(None)` if
/// there is no limit.
///
/// # Errors
/// [`TenantBusy`] if the chain may not begin by `until`.
pub fn begin_chain(until: Instant) -> Result<Option<RunningTrace>, TenantBusy> {
    let limit = current_limit();
    limit.map(|limit| limit.begin(Some(until))).transpose()
}

/// The limit on the tenant's chains that [`begin_chain`] applies.
pub(crate) fn current_limit() -> Option<TraceLimit> {
    CARRIED.with_borrow(|carried| carried.as_ref()?.limit.clone())
}

/// Runs `work` with the flag `abandoned` of its request, which [`Scope::current`] then includes.
pub(crate) fn with_abandonment<T>(
    abandoned: Option<&Arc<AtomicBool>>,
    work: impl FnOnce() -> T,
) -> T {
    /// Restores the outer flag, even if `work` panics.
    struct Outer(Option<Arc<AtomicBool>>);

    impl Drop for Outer {
        fn drop(&mut self) {
            ABANDONED.set(self.0.take());
        }
    }

    let Some(abandoned) = abandoned else {
        return work();
    };
    let _outer = Outer(ABANDONED.replace(Some(abandoned.clone())));
    work()
}

/// Whether a request is abandoned: its deadline has passed, or its client has stopped waiting.
pub(crate) fn is_abandoned(deadline: Option<Instant>, abandoned: Option<&Arc<AtomicBool>>) -> bool {
    abandoned.is_some_and(|abandoned| abandoned.load(Ordering::Relaxed))
        || deadline.is_some_and(|deadline| deadline <= Instant::now())
}

/// The context of a request, which other threads need to work on the request: its deadline, tenant,
/// priority, the tenant's limit on concurrent calls, the OpenTelemetry context, and whether the
/// client still waits.
#[derive(Clone, Debug)]
pub struct Scope {
    deadline: Option<Instant>,
    carried: Option<Carried>,
    context: Option<Context>,
    abandoned: Option<Arc<AtomicBool>>,
}

impl Scope {
    /// Returns the context of the request that this thread handles. `None` if the thread handles no
    /// request, or every part of the request's context has its default value.
    pub fn current() -> Option<Scope> {
        let scope = Scope {
            deadline: current_deadline(),
            carried: CARRIED.with_borrow(Clone::clone).filter(Carried::matters),
            context: Context::map_current(|context| {
                context.has_active_span().then(|| context.clone())
            }),
            abandoned: ABANDONED.with_borrow(Clone::clone),
        };
        let some = scope.deadline.is_some() || scope.context.is_some() || scope.abandoned.is_some();
        (some || scope.carried.is_some()).then_some(scope)
    }

    /// Returns whether the request's client has stopped waiting for the answer; see
    /// [`Request::is_abandoned`](crate::Request::is_abandoned).
    pub fn is_abandoned(&self) -> bool {
        is_abandoned(self.deadline, self.abandoned.as_ref())
    }

    /// Runs `work` on this thread as if the thread handled the request.
    pub fn enter<T>(&self, work: impl FnOnce() -> T) -> T {
        let _attached = self
            .context
            .as_ref()
            .map(|context| context.clone().attach());
        let work = || with_abandonment(self.abandoned.as_ref(), work);
        let work = || with_carried(self.carried.as_ref(), work);
        match self.deadline {
            Some(deadline) => with_deadline(deadline, work),
            None => work(),
        }
    }

    /// Returns the time left until the request's deadline: zero once the deadline has passed;
    /// `None` without a deadline.
    pub fn time_left(&self) -> Option<Duration> {
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
        self.deadline.map(left)
    }
}
