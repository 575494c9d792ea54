//! The gates of tenants: for each tenant, ARCUS's traffic shaper and limits on traces and
//! connections.
//!
//! A tenant is identified by the address that its connections come from, or by its clients'
//! certificates. An arrived message waits on its connection's thread until the tenant's buckets
//! have enough tokens, before T1 runs. Meanwhile nothing more is read from that connection, so a
//! flood stays in the sender's buffers. In ARCUS, too, queues are in the senders' memory. ARCUS's
//! arbiter, which admits a segment of a message every 4 ns, has no counterpart here, since the
//! operating system schedules threads.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use accelflow_runtime::{Gate, RunningTrace, Terms, TraceLimit, Turn};
use accelflow_shaping::control::{Counters, Slo};
use accelflow_shaping::{Clock, CostTable, Registers, TokenBucket};
use accelflow_units::{Bytes, Cycles, Time};

use super::parameters::LOOKS_EVERY;
use crate::config::tenants::{OTHERS, check};
use crate::config::{SHAPING_CLOCK_HZ, Shaping, Tenant, TenantError, TenantSlo};
use crate::observe::metrics::{Metrics, TenantMetrics};

/// The tenants of a running server. The last tenant has the connections that match no other tenant.
pub(crate) struct Tenants {
    epoch: Instant,
    clock: Clock,
    all: Vec<State>,
}

struct State {
    tenant: Tenant,
    gate: Gate<Buckets>,
    traces: TraceLimit,
    /// The limit of chains that wait for responses. It is separate from the limit of `traces`,
    /// since a service that calls itself would otherwise wait for its own calls.
    chains: TraceLimit,
    connections: AtomicUsize,
    /// The lock that orders requests which wait without a thread.
    line: tokio::sync::Mutex<()>,
    waiting: AtomicUsize,
    metrics: TenantMetrics,
    period: Period,
}

/// The totals of a tenant's measured requests since the last reading.
#[derive(Default)]
struct Period {
    ended: AtomicU64,
    spent_ns: AtomicU64,
    late: AtomicU64,
    /// The time limit for answering requests, in ns; 0 if latency is not watched.
    within_ns: AtomicU64,
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

impl Period {
    /// Counts a request that has ended.
    fn count(&self, spent_ns: u64, took: Duration) {
        let within = self.within_ns.load(Ordering::Relaxed);
        let late = within > 0 && whole_ns(took) > within;
        self.ended.fetch_add(1, Ordering::Relaxed);
        self.spent_ns.fetch_add(spent_ns, Ordering::Relaxed);
        self.late.fetch_add(u64::from(late), Ordering::Relaxed);
    }
}

/// Counts a waiting request until it is dropped.
struct Waits<'s>(&'s State);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Default)]
struct Buckets {
    requests: Option<TokenBucket>,
    bytes: Option<TokenBucket>,
    time: Option<TokenBucket>,
    /// The costs of the tenant's requests, while they are measured.
    costs: CostTable,
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

/// The account of a request's accelerator time. The tokens for the predicted time are already
/// spent. Dropping the account spends tokens for additional time, or returns those that were not
/// needed.
pub(crate) struct Charge {
    tenants: Arc<Tenants>,
    tenant: u16,
    size: Bytes,
    predicted_ns: u64,
    /// Tokens that were spent at admission; none if there is no bucket.
    paid_ns: u64,
    spent_ns: AtomicU64,
    /// The time of admission.
    begun: Instant,
}

impl Charge {
    /// Adds time that accelerators spent on the request.
    pub(crate) fn add(&self, spent: Duration) {
        self.spent_ns.fetch_add(whole_ns(spent), Ordering::Relaxed);
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let spent = *self.spent_ns.get_mut();
        let state = self.tenants.get(self.tenant);
        let now = self.tenants.cycle();
        state.metrics.worked(self.predicted_ns, spent);
        state.period.count(spent, self.begun.elapsed());
        state.gate.change(|buckets| {
            if spent > 0 {
                buckets.costs.learn(self.size, Time::from_ns(spent));
            }
            if let Some(bucket) = &mut buckets.time {
                match spent.checked_sub(self.paid_ns) {
                    Some(more) => bucket.charge(more, now),
                    None => bucket.give_back(self.paid_ns - spent, now),
                }
            }
        });
    }
}

/// An admitted request: the terms of its traces, and its account if its time is measured.
#[derive(Default)]
pub(crate) struct Passage {
    pub(crate) terms: Terms,
    pub(crate) charge: Option<Charge>,
}

impl Tenants {
    /// Creates the tenants. `identified` states whether clients must prove their identities.
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
            return Err(TenantError::NoClientCertificates(tenant.name.clone()));
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
                period: Period::default(),
                tenant,
            }
        };
        Ok(Tenants {
            epoch: Instant::now(),
            clock,
            all: tenants.into_iter().chain([others]).map(state).collect(),
        })
    }

    /// Returns the index of the tenant for a connection from `address` whose client has proven
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

    /// The number of tenants, including the one of connections that match no other tenant.
    pub(crate) fn count(&self) -> usize {
        self.all.len()
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

    /// Waits until a message of `bytes` is admitted. Returns `None` if the server stops.
    pub(crate) fn pass(self: &Arc<Self>, number: u16, bytes: usize) -> Option<Passage> {
        let state = self.get(number);
        let begun = Instant::now();
        let mut due = Cost::of(bytes);
        let open = state
            .gate
            .pass(None, |buckets| self.take(buckets, &mut due));
        state.metrics.passed(bytes, begun.elapsed());
        open.filter(|open| *open)
            .map(|_| self.passage(number, bytes, &due))
    }

    /// Like [`Tenants::pass`], without blocking a thread. Requests that wait this way are admitted
    /// in order of arrival.
    pub(crate) async fn pass_later(self: &Arc<Self>, number: u16, bytes: usize) -> Option<Passage> {
        let mut due = Cost::of(bytes);
        let open = self.wait_in_line(number, bytes, &mut due).await;
        open.then(|| self.passage(number, bytes, &due))
    }

    /// Like [`Tenants::pass_later`], for a message on which accelerators do no work: it counts for
    /// the limits on requests and bytes alone. Returns whether the server is still open.
    pub(crate) async fn pass_without_work(&self, number: u16, bytes: usize) -> bool {
        let mut due = Cost::without_time(bytes);
        self.wait_in_line(number, bytes, &mut due).await
    }

    /// Waits in order of arrival until `due` is paid for a message of `bytes`. Returns whether the
    /// server is still open.
    async fn wait_in_line(&self, number: u16, bytes: usize, due: &mut Cost) -> bool {
        let state = self.get(number);
        let begun = Instant::now();
        state.waiting.fetch_add(1, Ordering::Relaxed);
        let _waits = Waits(state);
        let _first = state.line.lock().await;
        let open = loop {
            match state.gate.change(|buckets| self.take(buckets, due)) {
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
        open
    }

    fn passage(self: &Arc<Self>, number: u16, bytes: usize, cost: &Cost) -> Passage {
        let charge = cost.predicted.map(|predicted_ns| Charge {
            tenants: self.clone(),
            tenant: number,
            size: Bytes(bytes as u64),
            predicted_ns,
            paid_ns: cost.paid_ns,
            spent_ns: AtomicU64::new(0),
            begun: Instant::now(),
        });
        Passage {
            terms: self.get(number).terms(number),
            charge,
        }
    }

    /// Pays as much of a message's cost as the buckets allow. Once everything is paid, returns
    /// whether the server is still open.
    fn take(&self, buckets: &mut Buckets, cost: &mut Cost) -> Turn<bool> {
        if buckets.closed {
            return Turn::Pass(false);
        }
        cost.predict(buckets);
        let now = self.cycle();
        while cost.requests > 0 || cost.bytes > 0 || cost.time_ns > 0 {
            // Time is paid as tokens come. If a request waited for a full bucket, tokens that
            // others give back meanwhile would not fit and be lost.
            cost.pay_time(&mut buckets.time, now);
            let requests = payable(&buckets.requests, cost.requests);
            let bytes = payable(&buckets.bytes, cost.bytes);
            let time_ns = payable(&buckets.time, cost.time_ns);
            let ready = [
                ready(&buckets.requests, requests, now),
                ready(&buckets.bytes, bytes, now),
                ready(&buckets.time, time_ns, now),
            ];
            let ready = ready.into_iter().fold(now, Cycles::max);
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

    fn cycle(&self) -> Cycles {
        self.clock.begun(self.now())
    }

    fn now(&self) -> Time {
        Time::from_ps(whole_ns(self.epoch.elapsed()).saturating_mul(1_000))
    }

    /// Waits until one more trace of the tenant may run. Traces take microseconds and never wait,
    /// so this wait is short.
    pub(crate) fn begin_trace(&self, number: u16) -> Option<RunningTrace> {
        self.get(number).traces.begin(None).ok()
    }

    /// Returns the limit on concurrent chains of traces by a tenant's handlers, if it has one.
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

    /// Returns the index of the tenant with this name.
    pub(crate) fn number(&self, name: &str) -> Result<usize, TenantError> {
        let named = &self.all[..self.all.len() - 1];
        let found = named.iter().position(|state| state.tenant.name == name);
        found.ok_or_else(|| {
            let known: Vec<&str> = named.iter().map(|state| &*state.tenant.name).collect();
            let known = match known.is_empty() {
                true => "the server's tenants, but the server has none".to_owned(),
                false => known.join(", "),
            };
            TenantError::Unknown {
                name: name.to_owned(),
                known,
            }
        })
    }

    /// Replaces the registers of a tenant. With a control plane, those for accelerator time are not
    /// replaced.
    pub(crate) fn reshape(
        &self,
        name: &str,
        shaping: Shaping,
        controlled: bool,
    ) -> Result<(), TenantError> {
        let state = &self.all[self.number(name)?];
        if controlled && shaping.time.is_some() {
            return Err(TenantError::TimeLimitUnderControl(name.to_owned()));
        }
        let now = self.cycle();
        state.gate.change(|buckets| {
            write(&mut buckets.requests, shaping.requests, now);
            write(&mut buckets.bytes, shaping.bytes, now);
            if !controlled {
                write(&mut buckets.time, shaping.time, now);
            }
        });
        Ok(())
    }

    /// Replaces the registers of a tenant's accelerator time.
    pub(crate) fn write_time(&self, number: usize, registers: Registers) {
        let now = self.cycle();
        let gate = &self.all[number].gate;
        gate.change(|buckets| write(&mut buckets.time, Some(registers), now));
    }

    /// Gives a tenant a full bucket of accelerator time with these registers.
    pub(crate) fn renew_time(&self, number: usize, registers: Registers) {
        let bucket = TokenBucket::new(registers, self.cycle());
        self.all[number]
            .gate
            .change(|buckets| buckets.time = Some(bucket));
    }

    /// The names of all tenants, in order of their indices.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|state| &*state.tenant.name)
    }

    /// The initial SLOs of tenants.
    pub(crate) fn promises(&self) -> impl Iterator<Item = (&str, TenantSlo)> {
        self.all
            .iter()
            .filter_map(|state| Some((&*state.tenant.name, state.tenant.slo?)))
    }

    /// Returns the expected time of a request of `size`, from the tenant's earlier requests, or
    /// else from those of the first tenant that has had requests.
    pub(crate) fn predict(&self, name: &str, size: Bytes) -> Option<Time> {
        let own = self.all.iter().filter(|state| state.tenant.name == name);
        let mut states = own.chain(&self.all);
        states.find_map(|state| state.gate.change(|buckets| buckets.costs.predict(size)))
    }

    /// Sets the time limit for answering a tenant's requests.
    pub(crate) fn expect_within(&self, number: usize, within: Option<Duration>) {
        let within = within.map_or(0, whole_ns);
        let period = &self.all[number].period;
        period.within_ns.store(within, Ordering::Relaxed);
    }

    /// Returns the totals of each tenant since the last call. `promises` are the tenants' SLOs.
    pub(crate) fn counters(&self, promises: &[Option<Slo>]) -> Vec<Counters> {
        let counted = |(state, slo): (&State, &Option<Slo>)| {
            let period = &state.period;
            let size = slo.and_then(|slo| slo.size);
            let predict = |size| state.gate.change(|buckets| buckets.costs.predict(size));
            Counters {
                requests: period.ended.swap(0, Ordering::Relaxed),
                time: Time::from_ns(period.spent_ns.swap(0, Ordering::Relaxed)),
                late: period.late.swap(0, Ordering::Relaxed),
                waiting: state.gate.waiting() + state.waiting.load(Ordering::Relaxed),
                request_time: size.and_then(predict),
            }
        };
        self.all.iter().zip(promises).map(counted).collect()
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

/// The tokens that a message still has to pay.
struct Cost {
    requests: u64,
    bytes: u64,
    time_ns: u64,
    size: Bytes,
    /// The expected accelerator time in ns, set when the message is first in line, if its time is
    /// measured. Before the first measurement it is zero, and everything is charged afterwards.
    predicted: Option<u64>,
    /// The tokens paid for accelerator time, in ns.
    paid_ns: u64,
}

impl Cost {
    fn of(bytes: usize) -> Cost {
        let bytes = bytes as u64;
        Cost {
            requests: 1,
            bytes,
            time_ns: 0,
            size: Bytes(bytes),
            predicted: None,
            paid_ns: 0,
        }
    }

    /// The cost of a message on which accelerators do no work.
    fn without_time(bytes: usize) -> Cost {
        Cost {
            predicted: Some(0),
            ..Cost::of(bytes)
        }
    }

    fn predict(&mut self, buckets: &Buckets) {
        if self.predicted.is_none() && buckets.time.is_some() {
            let time = buckets.costs.predict(self.size);
            self.time_ns = time.map_or(0, |time| time.as_ps().div_ceil(1_000));
            self.predicted = Some(self.time_ns);
        }
    }

    /// Pays as much of the time as there are tokens; all of it without a bucket.
    fn pay_time(&mut self, bucket: &mut Option<TokenBucket>, now: Cycles) {
        let Some(there) = bucket.as_ref().map(|bucket| bucket.tokens(now)) else {
            self.time_ns = 0;
            return;
        };
        let part = self.time_ns.min(there);
        if part > 0 {
            spend(bucket, part, now);
            self.time_ns -= part;
            self.paid_ns += part;
        }
    }
}

impl Buckets {
    /// Full buckets.
    fn new(shaping: Shaping) -> Buckets {
        let bucket = |registers| TokenBucket::new(registers, Cycles(0));
        Buckets {
            requests: shaping.requests.map(bucket),
            bytes: shaping.bytes.map(bucket),
            time: shaping.time.map(bucket),
            costs: CostTable::default(),
            closed: false,
        }
    }
}

/// A duration in nanoseconds.
fn whole_ns(spent: Duration) -> u64 {
    u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the part of a cost that can be paid at once.
fn payable(bucket: &Option<TokenBucket>, cost: u64) -> u64 {
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
