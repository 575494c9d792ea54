//! Resolution of a service's host name to IP addresses.
//!
//! The system's resolver cannot be cancelled and has its own time limits. So it runs on a separate
//! thread, and waiting calls may give up. A client runs one look-up at a time, for all its calls.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::cancel::{Cancel, Slot, Woken};
use super::config::Address;

/// The addresses, or the kind and text of the system's error.
type Found = Result<Vec<SocketAddr>, (io::ErrorKind, String)>;

type LookUp = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// Looks up the addresses of one host.
pub(super) struct Names {
    look_up: Arc<LookUp>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    running: bool,
    waiting: Vec<Arc<Slot<Found>>>,
}

impl Default for Names {
    fn default() -> Names {
        Names::by(|host, port| Ok((host, port).to_socket_addrs()?.collect()))
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Names {
    fn by(
        look_up: impl Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync + 'static,
    ) -> Names {
        Names {
            look_up: Arc::new(look_up),
            state: Arc::default(),
        }
    }

    /// Returns the addresses of a host, in the system's order. [`io::ErrorKind::TimedOut`] if they
    /// are not known in time, or if the wait is cancelled.
    pub(super) fn addresses(
        &self,
        address: &Address,
        until: Instant,
        cancel: Option<&Cancel>,
    ) -> io::Result<Vec<SocketAddr>> {
        if let Ok(ip) = address.host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(ip, address.port)]);
        }
        let slot = Arc::new(Slot::new());
        let _watch = cancel.map(|cancel| cancel.watch(slot.clone()));
        self.ask(address, slot.clone())?;
        let late = || {
            io::Error::new(
                io::ErrorKind::TimedOut,
                "the look-up of the name took too long",
            )
        };
        let found = match slot.wait_until(until) {
            Woken::Value(found) => found,
            Woken::Late | Woken::Cancelled => {
                lock(&self.state)
                    .waiting
                    .retain(|other| !Arc::ptr_eq(other, &slot));
                // The result may have arrived at the last moment.
                slot.take().ok_or_else(late)?
            }
        };
        found.map_err(|(kind, text)| io::Error::new(kind, text))
    }

    /// Adds the slot to the running look-up, or starts one.
    fn ask(&self, address: &Address, slot: Arc<Slot<Found>>) -> io::Result<()> {
        let mut state = lock(&self.state);
        if !state.running {
            let (host, port) = (address.host.clone(), address.port);
            let (look_up, shared) = (self.look_up.clone(), self.state.clone());
            let spawned = std::thread::Builder::new().name("accelflow-names".to_owned());
            spawned.spawn(move || {
                let answer = Answer(Some(&shared));
                let found = look_up(&host, port);
                answer.give(&found.map_err(|error| (error.kind(), error.to_string())));
            })?;
            state.running = true;
        }
        state.waiting.push(slot);
        Ok(())
    }
}

/// A guard that ends a look-up, even if it panics, so that the next call starts another. Empty once
/// the look-up has ended.
struct Answer<'s>(Option<&'s Mutex<State>>);

impl Answer<'_> {
    fn give(mut self, found: &Found) {
        self.end(found);
    }

    fn end(&mut self, found: &Found) {
        let Some(state) = self.0.take() else {
            return;
        };
        let mut state = lock(state);
        state.running = false;
        for slot in state.waiting.drain(..) {
            slot.put(found.clone());
        }
    }
}

impl Drop for Answer<'_> {
    fn drop(&mut self) {
        let why = "the look-up of the name failed";
        self.end(&Err((io::ErrorKind::Other, why.to_owned())));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    fn somewhere() -> Address {
        "somewhere.internal:80".parse().expect("an address")
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(50)
    }

    fn late() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    /// A look-up that counts itself, and waits until it is let go.
    fn held() -> (Names, mpsc::Sender<()>, Arc<AtomicUsize>) {
        let (release, gate) = mpsc::channel::<()>();
        let (gate, begun) = (Mutex::new(gate), Arc::new(AtomicUsize::new(0)));
        let counted = begun.clone();
        let names = Names::by(move |_, port| {
            counted.fetch_add(1, Ordering::SeqCst);
            let gate = gate.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = gate.recv();
            Ok(vec![SocketAddr::from(([127, 0, 0, 9], port))])
        });
        (names, release, begun)
    }

    #[test]
    fn who_waits_may_leave_and_the_others_share_one_look_up() {
        let (names, release, begun) = held();
        let left = names.addresses(&somewhere(), soon(), None);
        let error = left.expect_err("nobody answers");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(error.to_string().contains("look-up"), "{error}");
        let cancel = Cancel::new();
        cancel.cancel();
        let left = names.addresses(&somewhere(), late(), Some(&cancel));
        left.expect_err("it was cancelled");
        assert!(lock(&names.state).waiting.is_empty(), "nobody waits");
        std::thread::scope(|threads| {
            let ask = || names.addresses(&somewhere(), late(), None);
            let asked: Vec<_> = (0..3).map(|_| threads.spawn(ask)).collect();
            while lock(&names.state).waiting.len() < 3 {
                std::thread::yield_now();
            }
            release.send(()).expect("it waits");
            for asked in asked {
                let found = asked.join().expect("no panic").expect("found");
                assert_eq!(found, [SocketAddr::from(([127, 0, 0, 9], 80))]);
            }
        });
        assert_eq!(begun.load(Ordering::SeqCst), 1);
        drop(release);
        names
            .addresses(&somewhere(), late(), None)
            .expect("found anew");
        assert_eq!(begun.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn a_look_up_that_has_ended_leaves_the_next_one_alone() {
        let names = Names::by(|_, port| Ok(vec![SocketAddr::from(([127, 0, 0, 9], port))]));
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    for _ in 0..2_000 {
                        let found = names.addresses(&somewhere(), late(), None);
                        assert!(found.is_ok(), "{found:?}");
                    }
                });
            }
        });
    }

    #[test]
    fn addresses_need_no_look_up() {
        let names = Names::by(|_, _| panic!("nobody asked"));
        for (text, expected) in [("127.0.0.1:80", "127.0.0.1:80"), ("[::1]:80", "[::1]:80")] {
            let found = names.addresses(&text.parse().expect("good"), late(), None);
            let expected: SocketAddr = expected.parse().expect("good");
            assert_eq!(found.expect("no need"), [expected]);
        }
    }

    #[test]
    fn a_look_up_that_fails_says_so_to_all_and_does_not_last() {
        let (first, names) = (AtomicUsize::new(0), somewhere());
        let failing = Names::by(move |_, _| match first.fetch_add(1, Ordering::SeqCst) {
            0 => Err(io::Error::other("no such name")),
            1 => panic!("on purpose"),
            _ => Ok(Vec::new()),
        });
        let said = || {
            failing
                .addresses(&names, late(), None)
                .map_err(|error| error.to_string())
        };
        assert_eq!(said(), Err("no such name".to_owned()));
        assert_eq!(said(), Err("the look-up of the name failed".to_owned()));
        assert_eq!(said(), Ok(Vec::new()));
    }
}
