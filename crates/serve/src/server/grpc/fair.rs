//! Fair queueing of gRPC requests: tenants share the threads that run handlers, and the connections
//! of a tenant share the tenant's threads.
//!
//! A request occupies a thread until its handler returns, and that time is not known in advance. So
//! the next request is taken from the tenant or connection with the fewest threads now, and among
//! equals from the one whose requests have taken the least time. Deficit round robin would charge
//! only costs that are known in advance, and a connection with long requests would get more than
//! its share.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// The origin of a request: its tenant and connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    /// The number of the tenant.
    pub(crate) tenant: u16,
    /// The number of the connection.
    pub(crate) connection: u64,
}

/// The share of one tenant or one connection.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    running: usize,
    waiting: usize,
    /// The time that its requests have taken, starting from the level of the others when it was
    /// added.
    used: Duration,
}

/// Tenants or connections that share threads, in the order of their turns.
#[derive(Debug)]
struct Sharers<K> {
    shares: BTreeMap<K, Share>,
    /// The keys with waiting requests.
    ready: BTreeSet<(usize, Duration, K)>,
    /// The used time of the key that was served last. New keys start at this value, without credit
    /// for the past.
    now: Duration,
}

impl<K: Ord + Copy> Default for Sharers<K> {
    fn default() -> Sharers<K> {
        Sharers {
            shares: BTreeMap::new(),
            ready: BTreeSet::new(),
            now: Duration::ZERO,
        }
    }
}

impl<K: Ord + Copy> Sharers<K> {
    fn share(&self, key: K) -> Share {
        let idle = Share {
            used: self.now,
            ..Share::default()
        };
        self.shares.get(&key).copied().unwrap_or(idle)
    }

    /// Changes a share and updates its place in the order.
    fn change(&mut self, key: K, change: impl FnOnce(&mut Share)) {
        let before = self.share(key);
        let mut share = before;
        change(&mut share);
        self.ready.remove(&(before.running, before.used, key));
        if share.waiting > 0 {
            self.ready.insert((share.running, share.used, key));
        }
        match share.waiting + share.running {
            0 => self.shares.remove(&key),
            _ => self.shares.insert(key, share),
        };
    }

    fn begin(&mut self, key: K) {
        self.now = self.now.max(self.share(key).used);
        self.change(key, |share| {
            share.waiting -= 1;
            share.running += 1;
        });
    }

    fn end(&mut self, key: K, spent: Duration) {
        self.change(key, |share| {
            share.running = share.running.saturating_sub(1);
            share.used += spent;
        });
    }

    /// The key with the most waiting requests.
    fn longest(&self) -> Option<(K, usize)> {
        let lengths = self
            .ready
            .iter()
            .map(|(.., key)| (self.shares[key].waiting, *key));
        lengths.max().map(|(waiting, key)| (key, waiting))
    }
}

/// Which connections may get a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Eligible {
    /// Every connection.
    Anyone,
    /// Connections that have no thread now.
    ConnectionsWithout,
    /// Connections of tenants that have no thread now.
    TenantsWithout,
}

/// A bounded queue of requests with a fair choice of the next one.
#[derive(Debug)]
pub(crate) struct FairQueue<W> {
    most: usize,
    waiting: usize,
    tenants: Sharers<u16>,
    connections: BTreeMap<u16, Sharers<u64>>,
    work: BTreeMap<(u16, u64), VecDeque<W>>,
}

/// The error of a full queue in which this connection has the most requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

impl<W> FairQueue<W> {
    pub(crate) fn new(most: usize) -> FairQueue<W> {
        FairQueue {
            most,
            waiting: 0,
            tenants: Sharers::default(),
            connections: BTreeMap::new(),
            work: BTreeMap::new(),
        }
    }

    /// Adds `work`. If the queue is full, it replaces the last request of the connection with the
    /// most requests, and that request is returned.
    pub(crate) fn push(&mut self, flow: Flow, work: W) -> Result<Option<W>, Full> {
        let pushed_out = match self.waiting >= self.most {
            true => Some(self.push_out(flow)?),
            false => None,
        };
        self.tenants.change(flow.tenant, |share| share.waiting += 1);
        let connections = self.connections.entry(flow.tenant).or_default();
        connections.change(flow.connection, |share| share.waiting += 1);
        let key = (flow.tenant, flow.connection);
        self.work.entry(key).or_default().push_back(work);
        self.waiting += 1;
        Ok(pushed_out)
    }

    fn push_out(&mut self, flow: Flow) -> Result<W, Full> {
        let (mut tenant, most) = self.tenants.longest().ok_or(Full)?;
        if self.tenants.share(flow.tenant).waiting + 1 >= most {
            tenant = flow.tenant;
        }
        let connections = self.connections.get(&tenant).ok_or(Full)?;
        let (connection, most) = connections.longest().ok_or(Full)?;
        if tenant == flow.tenant && connections.share(flow.connection).waiting + 1 >= most {
            return Err(Full);
        }
        self.tenants.change(tenant, |share| share.waiting -= 1);
        if let Some(connections) = self.connections.get_mut(&tenant) {
            connections.change(connection, |share| share.waiting -= 1);
        }
        let last = self.take(Flow { tenant, connection }, VecDeque::pop_back);
        last.ok_or(Full)
    }

    /// Returns the next flow, if there is one.
    fn next(&self, eligible: Eligible) -> Option<Flow> {
        let mut tenants = self.tenants.ready.iter();
        tenants.find_map(|(of_tenant, _, tenant)| {
            let (of_connection, _, connection) = self.connections.get(tenant)?.ready.first()?;
            let may = match eligible {
                Eligible::Anyone => true,
                Eligible::ConnectionsWithout => *of_connection == 0,
                Eligible::TenantsWithout => *of_tenant == 0,
            };
            may.then_some(Flow {
                tenant: *tenant,
                connection: *connection,
            })
        })
    }

    /// Whether a waiting request may get a thread.
    pub(crate) fn has_next(&self, eligible: Eligible) -> bool {
        self.next(eligible).is_some()
    }

    /// Takes the next request. It counts as running until [`FairQueue::end`].
    pub(crate) fn pop(&mut self, eligible: Eligible) -> Option<(Flow, W)> {
        let flow = self.next(eligible)?;
        self.tenants.begin(flow.tenant);
        if let Some(connections) = self.connections.get_mut(&flow.tenant) {
            connections.begin(flow.connection);
        }
        let work = self.take(flow, VecDeque::pop_front)?;
        Some((flow, work))
    }

    /// Records the end of a request and its duration.
    pub(crate) fn end(&mut self, flow: Flow, spent: Duration) {
        self.tenants.end(flow.tenant, spent);
        if let Some(connections) = self.connections.get_mut(&flow.tenant) {
            connections.end(flow.connection, spent);
        }
    }

    fn take(&mut self, flow: Flow, end: impl FnOnce(&mut VecDeque<W>) -> Option<W>) -> Option<W> {
        let key = (flow.tenant, flow.connection);
        let queue = self.work.get_mut(&key)?;
        let work = end(queue)?;
        if queue.is_empty() {
            self.work.remove(&key);
        }
        self.waiting -= 1;
        Some(work)
    }

    /// Takes all waiting requests.
    pub(crate) fn clear(&mut self) -> Vec<W> {
        let all = std::mem::replace(self, FairQueue::new(self.most));
        all.work.into_values().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn flow(tenant: u16, connection: u64) -> Flow {
        Flow { tenant, connection }
    }

    /// A queue with the given number of requests of each flow, added flow by flow.
    fn queue(most: usize, waiting: &[(Flow, usize)]) -> FairQueue<Flow> {
        let mut queue = FairQueue::new(most);
        for (flow, count) in waiting {
            for _ in 0..*count {
                assert_eq!(queue.push(*flow, *flow), Ok(None));
            }
        }
        queue
    }

    /// Serves requests on one thread for some turns; returns how many turns each connection had.
    fn turns(
        queue: &mut FairQueue<Flow>,
        turns: usize,
        takes: impl Fn(Flow) -> Duration,
    ) -> BTreeMap<(u16, u64), usize> {
        let mut counts = BTreeMap::new();
        for _ in 0..turns {
            let (flow, work) = queue.pop(Eligible::Anyone).expect("there is more");
            assert_eq!(flow, work);
            *counts.entry((flow.tenant, flow.connection)).or_default() += 1;
            queue.end(flow, takes(flow));
        }
        counts
    }

    #[test]
    fn tenants_share_and_within_each_its_connections() {
        let many = [(flow(0, 1), 900), (flow(0, 2), 100), (flow(1, 3), 100)];
        let mut queue = queue(2_000, &many);
        let counts = turns(&mut queue, 200, |_| MS);
        assert_eq!(counts, [((0, 1), 50), ((0, 2), 50), ((1, 3), 100)].into());
        // A connection may have what others do not use.
        let counts = turns(&mut queue, 900, |_| MS);
        assert_eq!(counts, [((0, 1), 850), ((0, 2), 50)].into());
        assert!(!queue.has_next(Eligible::Anyone));
    }

    #[test]
    fn who_has_long_requests_has_fewer_of_them() {
        let mut queue = queue(2_000, &[(flow(0, 1), 500), (flow(0, 2), 500)]);
        let takes = |flow: Flow| if flow.connection == 1 { 9 * MS } else { MS };
        let counts = turns(&mut queue, 300, takes);
        assert_eq!(counts, [((0, 1), 30), ((0, 2), 270)].into());
    }

    #[test]
    fn who_was_away_has_no_claim_from_before() {
        let mut queue = queue(2_000, &[(flow(0, 1), 500)]);
        turns(&mut queue, 100, |_| MS);
        for _ in 0..200 {
            queue.push(flow(0, 2), flow(0, 2)).expect("room");
        }
        let counts = turns(&mut queue, 100, |_| MS);
        assert!(counts[&(0, 1)].abs_diff(counts[&(0, 2)]) <= 2, "{counts:?}");
    }

    #[test]
    fn threads_go_to_whoever_has_the_fewest() {
        let mut queue = queue(2_000, &[(flow(0, 1), 100)]);
        for _ in 0..8 {
            queue.pop(Eligible::Anyone).expect("waiting");
        }
        queue.push(flow(0, 2), flow(0, 2)).expect("room");
        queue.push(flow(0, 2), flow(0, 2)).expect("room");
        // The first has used no time yet, but it is not known how long its requests will take.
        let next =
            |queue: &mut FairQueue<Flow>, eligible| queue.pop(eligible).map(|(flow, _)| flow);
        assert_eq!(
            next(&mut queue, Eligible::ConnectionsWithout),
            Some(flow(0, 2))
        );
        assert_eq!(next(&mut queue, Eligible::ConnectionsWithout), None);
        assert_eq!(next(&mut queue, Eligible::Anyone), Some(flow(0, 2)));
        assert_eq!(next(&mut queue, Eligible::Anyone), Some(flow(0, 1)));
        // The other tenant has fewer threads, but all of its connections have one.
        queue.push(flow(1, 3), flow(1, 3)).expect("room");
        assert_eq!(
            next(&mut queue, Eligible::ConnectionsWithout),
            Some(flow(1, 3))
        );
        queue.push(flow(1, 3), flow(1, 3)).expect("room");
        queue.push(flow(0, 4), flow(0, 4)).expect("room");
        assert_eq!(
            next(&mut queue, Eligible::ConnectionsWithout),
            Some(flow(0, 4))
        );
    }

    #[test]
    fn the_last_threads_are_for_tenants_that_have_none() {
        let mut queue = queue(2_000, &[(flow(0, 1), 2), (flow(0, 2), 1), (flow(1, 3), 2)]);
        let next =
            |queue: &mut FairQueue<Flow>, eligible| queue.pop(eligible).map(|(flow, _)| flow);
        assert_eq!(next(&mut queue, Eligible::Anyone), Some(flow(0, 1)));
        // The second connection of the first tenant has no thread, but its tenant has.
        assert_eq!(next(&mut queue, Eligible::TenantsWithout), Some(flow(1, 3)));
        assert_eq!(next(&mut queue, Eligible::TenantsWithout), None);
        assert_eq!(
            next(&mut queue, Eligible::ConnectionsWithout),
            Some(flow(0, 2))
        );
        queue.end(flow(1, 3), MS);
        assert_eq!(next(&mut queue, Eligible::TenantsWithout), Some(flow(1, 3)));
    }

    #[test]
    fn a_full_queue_is_at_the_expense_of_whoever_filled_it() {
        let mut queue = queue(10, &[(flow(0, 1), 6), (flow(0, 2), 4)]);
        assert_eq!(queue.push(flow(0, 1), flow(0, 1)), Err(Full));
        let longest = Ok(Some(flow(0, 1)));
        assert_eq!(queue.push(flow(0, 2), flow(0, 2)), longest);
        assert_eq!(queue.push(flow(0, 2), flow(0, 2)), Err(Full));
        for _ in 0..5 {
            assert!(queue.push(flow(1, 3), flow(1, 3)).expect("room").is_some());
        }
        assert_eq!(queue.push(flow(1, 3), flow(1, 3)), Err(Full));
        let counts = turns(&mut queue, 10, |_| MS);
        assert_eq!(counts[&(1, 3)], 5);
        assert_eq!(queue.pop(Eligible::Anyone), None);
    }

    #[test]
    fn nothing_is_kept_of_who_is_gone() {
        let many: Vec<(Flow, usize)> = (0..100).map(|number| (flow(0, number), 3)).collect();
        let mut queue = queue(1_000, &many);
        turns(&mut queue, 300, |_| MS);
        assert!(queue.work.is_empty() && queue.tenants.shares.is_empty());
        assert!(
            queue
                .connections
                .values()
                .all(|sharers| sharers.shares.is_empty())
        );
    }
}
