//! The places of a server. Each open connection occupies one. There are limits on the number of
//! places in total and per client address.
//!
//! A client that makes one request and then nothing more would keep its place for the whole idle
//! timeout, and a thousand such connections would lock out everyone else. So if there is no place
//! for a new connection, the server evicts the connection that has been idle longest, if it has
//! been idle for at least [`Config::evict_after`].

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::{IpAddr, Ipv6Addr, Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::Notify;

use crate::config::Config;
use crate::config::descriptors::descriptor_limit;
use crate::transport::shared_socket::{Held, SharedSocket};

/// The time that a new connection waits for the place of another that is about to end: its client
/// has closed it, or it is evicted. Ending it takes little time, so the wait matters on overloaded
/// machines.
const LEAVING: Duration = Duration::from_secs(5);

/// The interval at which the wait checks for connections that are about to end. A connection that
/// has ended wakes it at once.
const LOOKS_EVERY: Duration = Duration::from_millis(5);

/// The value of [`Place::idle_since`] for a connection whose first request has not begun to arrive.
const NEW: u64 = 0;

/// The value of [`Place::idle_since`] for a connection with a request.
const WORKS: u64 = u64::MAX;

/// The value of [`Place::tenant`] for a connection whose tenant is not known yet.
const UNKNOWN: u32 = u32::MAX;

/// The place of one connection.
pub(crate) struct Place {
    pub(crate) number: u64,
    pub(crate) socket: SharedSocket,
    pub(crate) address: SocketAddr,
    tenant: AtomicU32,
    /// Whether the connection's thread waits for a handler or for its tenant's turn, and not for
    /// the client.
    busy: AtomicBool,
    /// When the connection became idle, in nanoseconds since the server's start; [`NEW`] before its
    /// first request, and [`WORKS`] during requests.
    idle_since: AtomicU64,
    evicted: AtomicBool,
    /// Wakes the task of a gRPC connection that is evicted.
    eviction: Notify,
    /// Whether the connection still has to open more descriptors.
    opens_more: AtomicBool,
    places: Arc<Places>,
}

impl Place {
    /// Calls `work`, which may take long and does not notice if the client closes the connection.
    pub(crate) fn busy<T>(&self, work: impl FnOnce() -> T) -> T {
        self.busy.store(true, Ordering::Relaxed);
        let done = work();
        self.busy.store(false, Ordering::Relaxed);
        done
    }

    /// Records that the connection waits for its next request.
    pub(crate) fn idles(&self) {
        let since = self.places.nanoseconds(Instant::now());
        let since = since.clamp(NEW + 1, WORKS - 1);
        // A connection that waits then looks whether the server stops, which happens before the
        // server looks whether the connection has a request.
        self.idle_since.store(since, Ordering::SeqCst);
    }

    /// Records that the connection still waits for its first request.
    pub(crate) fn is_new(&self) {
        self.idle_since.store(NEW, Ordering::SeqCst);
    }

    /// Records that a request has begun to arrive.
    pub(crate) fn works(&self) {
        self.idle_since.store(WORKS, Ordering::Relaxed);
    }

    /// Whether the connection has to end to make room for another.
    pub(crate) fn is_evicted(&self) -> bool {
        self.evicted.load(Ordering::Relaxed)
    }

    /// Waits until the connection is evicted.
    pub(crate) async fn eviction(&self) {
        self.eviction.notified().await;
    }

    /// Records that the connection has opened all its descriptors.
    pub(crate) fn has_opened(&self) {
        if self.opens_more.swap(false, Ordering::Relaxed) {
            self.places.opening.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn is_idle(&self) -> bool {
        !matches!(self.idle_since.load(Ordering::Relaxed), NEW | WORKS)
    }

    /// Whether a request has begun to arrive and is not answered yet.
    pub(crate) fn has_request(&self) -> bool {
        self.idle_since.load(Ordering::SeqCst) == WORKS
    }

    fn evict(&self) {
        self.evicted.store(true, Ordering::Relaxed);
        match self.places.are_http2 {
            true => self.eviction.notify_one(),
            // Wakes the thread that waits for a message. It answers one that arrives meanwhile.
            false => self.socket.shut_down(Shutdown::Read),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.has_opened();
    }
}

/// Why a connection is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoPlace {
    /// The server has its maximum number of connections.
    TooMany,
    /// The address has its maximum number of connections.
    TooManyOfAddress,
    /// The remaining descriptors are reserved.
    Descriptors,
}

impl NoPlace {
    pub(crate) fn reason(self) -> &'static str {
        match self {
            NoPlace::TooMany => "too_many",
            NoPlace::TooManyOfAddress => "too_many_of_address",
            NoPlace::Descriptors => "no_descriptors",
        }
    }
}

/// The connections that count against a limit.
#[derive(Clone, Copy, Debug)]
enum Group {
    All,
    OfAddress(IpAddr),
    OfTenant(u16),
}

impl Group {
    fn has(self, place: &Place) -> bool {
        match self {
            Group::All => true,
            Group::OfAddress(own) => network(place.address.ip()) == own,
            Group::OfTenant(own) => place.tenant.load(Ordering::Relaxed) == u32::from(own),
        }
    }
}

/// The places of a server.
pub(crate) struct Places {
    begun: Instant,
    most: usize,
    /// The largest number of connections from one address.
    most_of_address: usize,
    limits_loopback: bool,
    reserved_descriptors: usize,
    /// The time after which an idle connection may be closed for another one, in nanoseconds.
    evict_after: u64,
    /// Whether idle connections speak HTTP/2, and end by themselves when they are asked to.
    are_http2: bool,
    /// The number of descriptors that a connection opens in addition to its socket.
    more_descriptors: usize,
    /// The number of connections that still have to open them.
    opening: AtomicUsize,
    open: Mutex<Open>,
    left: Condvar,
}

#[derive(Default)]
struct Open {
    places: BTreeMap<u64, Arc<Place>>,
    /// The number of connections from each address.
    of_address: BTreeMap<IpAddr, usize>,
}

impl Open {
    fn add(&mut self, place: Arc<Place>) {
        *self
            .of_address
            .entry(network(place.address.ip()))
            .or_default() += 1;
        self.places.insert(place.number, place);
    }

    fn remove(&mut self, place: &Place) {
        if self.places.remove(&place.number).is_none() {
            return;
        }
        if let Entry::Occupied(mut count) = self.of_address.entry(network(place.address.ip())) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    fn of_address(&self, network: IpAddr) -> usize {
        self.of_address.get(&network).copied().unwrap_or_default()
    }

    fn of(&self, group: Group) -> impl Iterator<Item = &Arc<Place>> {
        self.places.values().filter(move |place| group.has(place))
    }

    /// Whether a connection of `group` is about to end, so that its place will soon be free: its
    /// client has closed it, or it is evicted and has no request.
    fn is_one_leaving(&self, group: Group) -> bool {
        if self
            .of(group)
            .any(|place| place.is_evicted() && place.is_idle())
        {
            return true;
        }
        let places = self
            .of(group)
            .filter(|place| !place.busy.load(Ordering::Relaxed));
        let sockets: Vec<Held> = places.filter_map(|place| place.socket.now()).collect();
        let looks = sockets.iter();
        let looks = looks.map(|socket| PollFd::new(socket, PollFlags::RDHUP));
        let mut looks: Vec<PollFd<'_>> = looks.collect();
        let ends = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
        poll(&mut looks, Some(&Timespec::default())).is_ok_and(|found| found > 0)
            && looks.iter().any(|look| look.revents().intersects(ends))
    }

    /// Evicts the connection of `group` that has been idle longest, if it became idle at
    /// `idle_until` or before. Returns whether there was one.
    fn evict(&self, group: Group, idle_until: u64) -> bool {
        let idle = self
            .of(group)
            .filter(|place| !place.is_evicted())
            .map(|place| (place.idle_since.load(Ordering::Relaxed), place))
            .filter(|(since, _)| (NEW + 1..=idle_until).contains(since));
        let longest = idle.min_by_key(|(since, _)| *since);
        longest.inspect(|(_, place)| place.evict()).is_some()
    }
}

/// How often a thread that waits for all connections to end asks whether to go on.
const ASKS_EVERY: Duration = Duration::from_millis(50);

/// One address may by default have one out of this number of connections: a quarter.
const SHARE_OF_ADDRESS: usize = 4;

impl Places {
    /// Creates the places of a server. Connections open `more_descriptors` in addition to their
    /// sockets. `are_http2` states whether they speak HTTP/2.
    pub(crate) fn new(config: &Config, more_descriptors: usize, are_http2: bool) -> Arc<Places> {
        let most = config.max_connections;
        let of_address = config.max_connections_per_address;
        Arc::new(Places {
            begun: Instant::now(),
            most,
            most_of_address: of_address.unwrap_or(most.div_ceil(SHARE_OF_ADDRESS)),
            limits_loopback: of_address.is_some(),
            reserved_descriptors: config.reserved_descriptors,
            evict_after: whole_nanoseconds(config.evict_after),
            are_http2,
            more_descriptors,
            opening: AtomicUsize::new(0),
            open: Mutex::default(),
            left: Condvar::new(),
        })
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn nanoseconds(&self, now: Instant) -> u64 {
        whole_nanoseconds(now.saturating_duration_since(self.begun))
    }

    /// The number of open connections.
    pub(crate) fn count(&self) -> usize {
        self.open().places.len()
    }

    /// The number of connections that wait for their next request, and may be evicted.
    pub(crate) fn idle(&self) -> usize {
        let open = self.open();
        let idle = open.of(Group::All);
        idle.filter(|place| place.is_idle() && !place.is_evicted())
            .count()
    }

    /// Assigns a connection a place. May evict an idle connection, and wait for the place of one
    /// that is about to end.
    pub(crate) fn take(
        self: &Arc<Self>,
        number: u64,
        mut stream: TcpStream,
        address: SocketAddr,
        stopping: &AtomicBool,
    ) -> Result<Arc<Place>, NoPlace> {
        let deadline = Instant::now() + LEAVING;
        let mut open = self.open();
        while let Err(why) = self.room(&open, &stream, address.ip()) {
            let group = match why {
                NoPlace::TooManyOfAddress => Group::OfAddress(network(address.ip())),
                NoPlace::TooMany | NoPlace::Descriptors => Group::All,
            };
            let over = stopping.load(Ordering::Acquire) || Instant::now() >= deadline;
            open = match over {
                true => return Err(why),
                false => self.await_one(open, group).ok_or(why)?,
            };
            if why == NoPlace::Descriptors {
                stream = renumbered(stream);
            }
        }
        let opens_more = self.more_descriptors > 0;
        self.opening
            .fetch_add(usize::from(opens_more), Ordering::Relaxed);
        let place = Arc::new(Place {
            number,
            socket: SharedSocket::new(stream),
            address,
            tenant: AtomicU32::new(UNKNOWN),
            busy: AtomicBool::new(false),
            idle_since: AtomicU64::new(NEW),
            evicted: AtomicBool::new(false),
            eviction: Notify::new(),
            opens_more: AtomicBool::new(opens_more),
            places: self.clone(),
        });
        open.add(place.clone());
        Ok(place)
    }

    /// Waits for a connection of `group` to end: one that is about to, or the one that has been
    /// idle longest, which is evicted. Returns `None` if there is neither.
    fn await_one<'o>(
        &self,
        open: MutexGuard<'o, Open>,
        group: Group,
    ) -> Option<MutexGuard<'o, Open>> {
        let idle_until = self
            .nanoseconds(Instant::now())
            .checked_sub(self.evict_after);
        let ends = open.is_one_leaving(group)
            || idle_until.is_some_and(|idle_until| open.evict(group, idle_until));
        if !ends {
            return None;
        }
        let waited = self.left.wait_timeout(open, LOOKS_EVERY);
        Some(waited.unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Calls `admit` until the connection of `place` is admitted as one of `tenant`. Meanwhile idle
    /// connections of the tenant are evicted. Returns `None` if no place of the tenant gets free.
    pub(crate) fn admit_of_tenant<T>(
        &self,
        place: &Place,
        tenant: u16,
        admit: impl Fn() -> Option<T>,
    ) -> Option<T> {
        let deadline = Instant::now() + LEAVING;
        let mut open = self.open();
        loop {
            if let Some(admitted) = admit() {
                place.tenant.store(u32::from(tenant), Ordering::Relaxed);
                return Some(admitted);
            }
            if Instant::now() >= deadline {
                return None;
            }
            open = self.await_one(open, Group::OfTenant(tenant))?;
        }
    }

    fn room(&self, open: &Open, stream: &TcpStream, address: IpAddr) -> Result<(), NoPlace> {
        if open.places.len() >= self.most {
            return Err(NoPlace::TooMany);
        }
        let limited = self.limits_loopback || !address.to_canonical().is_loopback();
        if limited && open.of_address(network(address)) >= self.most_of_address {
            return Err(NoPlace::TooManyOfAddress);
        }
        let opening = self.opening.load(Ordering::Relaxed) + 1;
        let more = opening * self.more_descriptors + self.reserved_descriptors;
        let fits = |descriptor: RawFd| {
            let used = usize::try_from(descriptor).map_or(usize::MAX, |number| number + 1);
            used.saturating_add(more) <= descriptor_limit()
        };
        // The system assigns the lowest free number, so all numbers below it are in use. It
        // assigned the stream's when the server began to wait for a connection; a copy has today's.
        let fits_now = || stream.try_clone().is_ok_and(|copy| fits(copy.as_raw_fd()));
        match fits(stream.as_raw_fd()) || fits_now() {
            true => Ok(()),
            false => Err(NoPlace::Descriptors),
        }
    }

    /// Frees a connection's place. Returns the number of remaining connections.
    pub(crate) fn give(&self, place: &Place) -> usize {
        let mut open = self.open();
        open.remove(place);
        self.left.notify_all();
        open.places.len()
    }

    /// Calls `tell` with each connection.
    pub(crate) fn each(&self, mut tell: impl FnMut(&Place)) {
        self.open().places.values().for_each(|place| tell(place));
    }

    /// Waits until all connections have ended, until `deadline`, or until `waits` returns false,
    /// and closes the rest. Returns the number of those closed that had a request.
    pub(crate) fn clear(
        &self,
        deadline: Instant,
        waits: &dyn Fn() -> bool,
        before_cut: impl FnOnce(),
    ) -> usize {
        let mut open = self.open();
        while !open.places.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.left.wait_timeout(open, left.min(ASKS_EVERY));
            drop(waited.unwrap_or_else(PoisonError::into_inner));
            // The caller's function may take long, so connections must be able to end meanwhile.
            if !waits() {
                open = self.open();
                break;
            }
            open = self.open();
        }
        let cut_off = open.places.values().filter(|place| place.has_request());
        let cut_off = cut_off.count();
        before_cut();
        for place in open.places.values() {
            place.socket.shut_down(Shutdown::Both);
        }
        cut_off
    }
}

fn whole_nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The same socket under the lowest free number, which another connection may have left.
fn renumbered(stream: TcpStream) -> TcpStream {
    stream.try_clone().unwrap_or(stream)
}

/// Returns the network that counts as one address. For IPv6 it is the first 64 bits, since the
/// owner of one address usually has that whole network (RFC 4291, section 2.5.4).
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64)),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_of_ipv6_is_one_address() {
        let of = |text: &str| network(text.parse().expect("an address"));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:2"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
    }
}
