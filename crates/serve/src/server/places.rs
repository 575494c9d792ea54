//! The places of connections, with limits on their total number and their number per address.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::{IpAddr, Ipv6Addr, Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::descriptors::descriptor_limit;
use crate::config::Config;

/// The time that a new connection waits for the place of another whose client has closed it. Ending
/// that connection takes only processor time, so the wait matters on overloaded machines.
const LEAVING: Duration = Duration::from_secs(5);

/// The interval at which the wait checks for connections that are about to end. A connection that
/// has ended wakes it at once.
const LOOKS_EVERY: Duration = Duration::from_millis(5);

/// The place of one connection.
pub(crate) struct Place {
    pub(crate) number: u64,
    pub(crate) stream: TcpStream,
    pub(crate) address: SocketAddr,
    /// Whether the connection's thread waits for a handler or for its tenant's turn, and not for
    /// the client.
    busy: AtomicBool,
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

    /// Records that the connection has opened all its descriptors.
    pub(crate) fn has_opened(&self) {
        if self.opens_more.swap(false, Ordering::Relaxed) {
            self.places.opening.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn network(&self) -> IpAddr {
        network(self.address.ip())
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

/// The places of a server.
pub(crate) struct Places {
    most: usize,
    /// The largest number of connections from one address.
    most_of_address: usize,
    limits_loopback: bool,
    reserved_descriptors: usize,
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
        *self.of_address.entry(place.network()).or_default() += 1;
        self.places.insert(place.number, place);
    }

    fn remove(&mut self, place: &Place) {
        if self.places.remove(&place.number).is_none() {
            return;
        }
        if let Entry::Occupied(mut count) = self.of_address.entry(place.network()) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    fn of_address(&self, network: IpAddr) -> usize {
        self.of_address.get(&network).copied().unwrap_or_default()
    }

    /// Whether some client has closed a connection that counts against the exceeded limit, so that
    /// its place will soon be free.
    fn is_one_leaving(&self, why: NoPlace, network: IpAddr) -> bool {
        let places = self.places.values();
        let places = places.filter(|place| why == NoPlace::TooMany || place.network() == network);
        let places = places.filter(|place| !place.busy.load(Ordering::Relaxed));
        let looks = places.map(|place| PollFd::new(&place.stream, PollFlags::RDHUP));
        let mut looks: Vec<PollFd<'_>> = looks.collect();
        let ends = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
        poll(&mut looks, Some(&Timespec::default())).is_ok_and(|found| found > 0)
            && looks.iter().any(|look| look.revents().intersects(ends))
    }
}

/// One address may by default have one out of this number of connections: a quarter.
const SHARE_OF_ADDRESS: usize = 4;

impl Places {
    pub(crate) fn new(config: &Config, more_descriptors: usize) -> Arc<Places> {
        let most = config.max_connections;
        let of_address = config.max_connections_per_address;
        Arc::new(Places {
            most,
            most_of_address: of_address.unwrap_or(most.div_ceil(SHARE_OF_ADDRESS)),
            limits_loopback: of_address.is_some(),
            reserved_descriptors: config.reserved_descriptors,
            more_descriptors,
            opening: AtomicUsize::new(0),
            open: Mutex::default(),
            left: Condvar::new(),
        })
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of open connections.
    pub(crate) fn count(&self) -> usize {
        self.open().places.len()
    }

    /// Assigns a connection a place. May wait for the place of a connection that is about to end.
    pub(crate) fn take(
        self: &Arc<Self>,
        number: u64,
        stream: TcpStream,
        address: SocketAddr,
        stopping: &AtomicBool,
    ) -> Result<Arc<Place>, NoPlace> {
        let deadline = Instant::now() + LEAVING;
        let descriptor = usize::try_from(stream.as_raw_fd()).unwrap_or(usize::MAX);
        let mut open = self.open();
        while let Err(why) = self.room(&open, descriptor, address.ip()) {
            let over = stopping.load(Ordering::Acquire) || Instant::now() >= deadline;
            // Waiting does not change the number of this connection's descriptor.
            let hopeless = over || why == NoPlace::Descriptors;
            if hopeless || !open.is_one_leaving(why, network(address.ip())) {
                return Err(why);
            }
            let waited = self.left.wait_timeout(open, LOOKS_EVERY);
            open = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let opens_more = self.more_descriptors > 0;
        self.opening
            .fetch_add(usize::from(opens_more), Ordering::Relaxed);
        let place = Arc::new(Place {
            number,
            stream,
            address,
            busy: AtomicBool::new(false),
            opens_more: AtomicBool::new(opens_more),
            places: self.clone(),
        });
        open.add(place.clone());
        Ok(place)
    }

    fn room(&self, open: &Open, descriptor: usize, address: IpAddr) -> Result<(), NoPlace> {
        if open.places.len() >= self.most {
            return Err(NoPlace::TooMany);
        }
        let limited = self.limits_loopback || !address.to_canonical().is_loopback();
        if limited && open.of_address(network(address)) >= self.most_of_address {
            return Err(NoPlace::TooManyOfAddress);
        }
        // The system assigns the lowest free number, so all numbers below this one are in use.
        let opening = self.opening.load(Ordering::Relaxed) + 1;
        let need = descriptor + 1 + opening * self.more_descriptors;
        match need + self.reserved_descriptors > descriptor_limit() {
            true => Err(NoPlace::Descriptors),
            false => Ok(()),
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

    /// Waits until all connections have ended, or until `deadline`, and closes the rest. Returns
    /// the number of those closed.
    pub(crate) fn clear(&self, deadline: Instant, before_cut: impl FnOnce()) -> usize {
        let mut open = self.open();
        while !open.places.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.left.wait_timeout(open, left);
            open = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        before_cut();
        for place in open.places.values() {
            let _ = place.stream.shutdown(Shutdown::Both);
        }
        open.places.len()
    }
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
