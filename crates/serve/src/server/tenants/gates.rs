//! The gate of each tenant: ARCUS's traffic shaper, and limits on traces and connections.
//!
//! A tenant is identified by the address that its connections come from, or by its clients'
//! certificates. An arrived message waits on its connection's thread until the tenant's buckets
//! have the tokens, before T1 runs. Nothing more is read from that connection meanwhile, so a flood
//! stays in the sender's buffers, as in ARCUS, whose queues are in the senders' memory. ARCUS's
//! arbiter, which lets a segment pass every 4 ns, has no counterpart here: threads take turns by
//! themselves.

use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use accelflow_runtime::{Gate, RunningTrace, Terms, TraceLimit, Turn};
use accelflow_shaping::{Clock, Registers, TokenBucket};
use accelflow_units::{Cycles, Time};

use super::settings::{OTHERS, SHAPING_CLOCK_HZ, Shaping, Tenant, TenantError, check};
use crate::observe::metrics::{Metrics, TenantMetrics};

/// The tenants of a running server. The last one has the connections that belong to no other.
pub(crate) struct Tenants {
    epoch: Instant,
    clock: Clock,
    all: Vec<State>,
}

struct State {
    tenant: Tenant,
    gate: Gate<Buckets>,
    traces: TraceLimit,
    /// The limit of chains that wait for responses. It is separate from that of `traces`, since a
    /// service that calls itself would otherwise wait for its own calls.
    chains: TraceLimit,
    connections: AtomicUsize,
    /// The order of requests that wait without a thread, and their number.
    line: tokio::sync::Mutex<()>,
    waiting: AtomicUsize,
    metrics: TenantMetrics,
}

impl State {
    fn terms(&self, number: u16) -> Terms {
        Terms {
            tenant: number,
            priority: self.tenant.priority,
            due: self.tenant.due_within.map(|within| Instant::now() + within),
        }
    }
}

/// Counts a waiting request until it is dropped.
struct Waits<'s>(&'s State);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How soon requests that wait without a thread notice new registers.
const LOOKS_EVERY: Duration = Duration::from_millis(50);

#[derive(Default)]
struct Buckets {
    requests: Option<TokenBucket>,
    bytes: Option<TokenBucket>,
    /// Set when the server stops: all waits end.
    closed: bool,
}

/// A connection of a tenant; dropping it makes room for another.
pub(crate) struct Admitted<'t>(&'t State);

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Tenants {
    /// `identified` is whether clients must prove their identities.
    pub(crate) fn new(
        tenants: Vec<Tenant>,
        identified: bool,
        metrics: &Metrics,
    ) -> Result<Tenants, TenantError> {
        check(&tenants)?;
        let mut unproven = tenants
            .iter()
            .filter(|tenant| !identified && !tenant.identities.is_empty());
        if let Some(tenant) = unproven.next() {
            return Err(TenantError::Unproven(tenant.name.clone()));
        }
        let clock = Clock::from_hz(SHAPING_CLOCK_HZ)?;
        let others = Tenant::new(OTHERS, Vec::new());
        let state = |mut tenant: Tenant| {
            for name in &mut tenant.identities {
                // DNS names ignore case; URIs do not.
                if !name.contains(':') {
                    name.make_ascii_lowercase();
                }
            }
            State {
                gate: Gate::new(Buckets::new(tenant.shaping)),
                traces: TraceLimit::new(tenant.max_traces),
                chains: TraceLimit::new(tenant.max_traces),
                connections: AtomicUsize::new(0),
                line: tokio::sync::Mutex::default(),
                waiting: AtomicUsize::new(0),
                metrics: metrics.tenant(&tenant.name),
                tenant,
            }
        };
        Ok(Tenants {
            epoch: Instant::now(),
            clock,
            all: tenants.into_iter().chain([others]).map(state).collect(),
        })
    }

    /// The number of the tenant of a connection from `address` whose client has proven
    /// `identities`.
    pub(crate) fn of(&self, address: IpAddr, identities: &[String]) -> u16 {
        let address = address.to_canonical();
        let has = |State { tenant, .. }: &State| {
            tenant
                .networks
                .iter()
                .any(|network| network.contains(&address))
                || tenant
                    .identities
                    .iter()
                    .any(|identity| identities.contains(identity))
        };
        let found = self.all.iter().position(has);
        found.unwrap_or(self.all.len() - 1) as u16
    }

    fn get(&self, number: u16) -> &State {
        let number = usize::from(number).min(self.all.len() - 1);
        &self.all[number]
    }

    /// Admits a connection, if the tenant may have one more.
    pub(crate) fn admit(&self, number: u16) -> Option<Admitted<'_>> {
        let state = self.get(number);
        let most = state.tenant.max_connections;
        let open = state.connections.fetch_add(1, Ordering::Relaxed);
        let admitted = Admitted(state);
        (most == 0 || open < most).then_some(admitted)
    }

    /// Waits until a message of `bytes` may pass; returns the terms for its traces, or `None` if
    /// the server stops.
    pub(crate) fn pass(&self, number: u16, bytes: usize) -> Option<Terms> {
        let state = self.get(number);
        let begun = Instant::now();
        let mut due = Cost {
            requests: 1,
            bytes: bytes as u64,
        };
        let open = state
            .gate
            .pass(None, |buckets| self.take(buckets, &mut due));
        state.metrics.passed(bytes, begun.elapsed());
        open.filter(|open| *open).map(|_| state.terms(number))
    }

    /// Waits as [`Tenants::pass`] does, without blocking a thread. Requests that wait this way pass
    /// in their order of arrival.
    pub(crate) async fn pass_later(&self, number: u16, bytes: usize) -> Option<Terms> {
        let state = self.get(number);
        let begun = Instant::now();
        let mut due = Cost {
            requests: 1,
            bytes: bytes as u64,
        };
        state.waiting.fetch_add(1, Ordering::Relaxed);
        let _waits = Waits(state);
        let _first = state.line.lock().await;
        let open = loop {
            match state.gate.change(|buckets| self.take(buckets, &mut due)) {
                Turn::Pass(open) => break open,
                Turn::Wait(until) => {
                    // New registers do not wake this wait.
                    let soon = Instant::now() + LOOKS_EVERY;
                    let until = until.map_or(soon, |until| until.min(soon));
                    tokio::time::sleep_until(until.into()).await;
                }
            }
        };
        state.metrics.passed(bytes, begun.elapsed());
        open.then(|| state.terms(number))
    }

    /// Pays as much of a message's cost as the buckets allow. Once all is paid, returns whether the
    /// server is open.
    fn take(&self, buckets: &mut Buckets, cost: &mut Cost) -> Turn<bool> {
        if buckets.closed {
            return Turn::Pass(false);
        }
        let now = self.clock.begun(self.now());
        while cost.requests > 0 || cost.bytes > 0 {
            let requests = most(&buckets.requests, cost.requests);
            let bytes = most(&buckets.bytes, cost.bytes);
            let for_requests = ready(&buckets.requests, requests, now);
            let ready = for_requests.max(ready(&buckets.bytes, bytes, now));
            if ready > now {
                let left = self.clock.edge(ready).saturating_sub(self.now());
                let left = Duration::from_nanos(left.as_ps().div_ceil(1_000));
                return Turn::Wait(Some(Instant::now() + left));
            }
            spend(&mut buckets.requests, requests, now);
            spend(&mut buckets.bytes, bytes, now);
            cost.requests -= requests;
            cost.bytes -= bytes;
        }
        Turn::Pass(true)
    }

    fn now(&self) -> Time {
        let ns = u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Time::from_ps(ns.saturating_mul(1_000))
    }

    /// Waits until one more trace of the tenant may run. Traces take microseconds and never wait,
    /// so this wait is short.
    pub(crate) fn begin_trace(&self, number: u16) -> Option<RunningTrace> {
        self.get(number).traces.begin(None).ok()
    }

    /// The limit on the chains of traces that a tenant's handlers run at once, if it has one.
    pub(crate) fn chains(&self, number: u16) -> Option<TraceLimit> {
        let state = self.get(number);
        (state.tenant.max_traces > 0).then(|| state.chains.clone())
    }

    /// The tenant and priority of work for a connection as a whole.
    pub(crate) fn terms_of_connection(&self, number: u16) -> Terms {
        Terms {
            due: None,
            ..self.get(number).terms(number)
        }
    }

    /// Replaces the registers of a tenant.
    pub(crate) fn reshape(&self, name: &str, shaping: Shaping) -> Result<(), TenantError> {
        let find = |state: &&State| state.tenant.name == name && name != OTHERS;
        let Some(state) = self.all.iter().find(find) else {
            let known: Vec<&str> = self.all.iter().map(|state| &*state.tenant.name).collect();
            return Err(TenantError::Unknown {
                name: name.to_owned(),
                known: known[..known.len() - 1].join(", "),
            });
        };
        let now = self.clock.begun(self.now());
        state.gate.change(|buckets| {
            write(&mut buckets.requests, shaping.requests, now);
            write(&mut buckets.bytes, shaping.bytes, now);
        });
        Ok(())
    }

    /// Ends all waits.
    pub(crate) fn close(&self) {
        for state in &self.all {
            state.gate.change(|buckets| buckets.closed = true);
        }
    }

    /// The number of waiting requests of each tenant.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (&str, usize)> {
        let row = |state: &State| state.gate.waiting() + state.waiting.load(Ordering::Relaxed);
        self.all
            .iter()
            .map(move |state| (&*state.tenant.name, row(state)))
    }
}

/// The tokens that a message has yet to pay.
struct Cost {
    requests: u64,
    bytes: u64,
}

impl Buckets {
    /// Full buckets.
    fn new(shaping: Shaping) -> Buckets {
        let bucket = |registers| TokenBucket::new(registers, Cycles(0));
        Buckets {
            requests: shaping.requests.map(bucket),
            bytes: shaping.bytes.map(bucket),
            closed: false,
        }
    }
}

/// The part of a cost that can be paid at once.
fn most(bucket: &Option<TokenBucket>, cost: u64) -> u64 {
    // The bucket can hold that much under any registers that may come into effect meanwhile.
    let least = |bucket: &TokenBucket| bucket.coming_registers().map(Registers::bucket).min();
    let least = bucket.as_ref().and_then(least);
    least.map_or(cost, |least| cost.min(u64::from(least)))
}

fn ready(bucket: &Option<TokenBucket>, cost: u64, now: Cycles) -> Cycles {
    let never = Cycles(u64::MAX);
    let ready = |bucket: &TokenBucket| bucket.ready(cost, now).unwrap_or(never);
    bucket.as_ref().map_or(now, ready)
}

fn spend(bucket: &mut Option<TokenBucket>, cost: u64, now: Cycles) {
    if let Some(bucket) = bucket {
        let paid = bucket.take(cost, now);
        debug_assert_eq!(paid, Ok(true), "time does not run backwards under a lock");
    }
}

/// Writes registers into a bucket. A new bucket starts full.
fn write(bucket: &mut Option<TokenBucket>, registers: Option<Registers>, now: Cycles) {
    match (bucket.as_mut(), registers) {
        (Some(bucket), Some(registers)) => bucket.write(registers, now),
        (_, registers) => *bucket = registers.map(|registers| TokenBucket::new(registers, now)),
    }
}
