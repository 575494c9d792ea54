//! The forms of an offload: what the host's threads do while an accelerator has the kernel.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use accelflow_runtime::affinity::on_core;
use accelflow_runtime::thread_time;
use accelflow_runtime::{Executor, Finished, Notification, Pools, TraceHandle};
use serde_json::{Map, Value, json};

use super::{Failed, Kernel, Machine, ns};

/// Threads of the host in Sync-OS.
pub(crate) const THREADS: usize = 4;

/// Requests whose offloads the host does not wait for at once.
pub(crate) const IN_FLIGHT: usize = 8;

/// Requests of one form in a round.
const REQUESTS: usize = 120;

/// A form of offloading.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// No accelerator: the host does the kernel.
    Inline,
    /// The thread spins until the response is there.
    Sync,
    /// The thread sleeps; others have its core meanwhile.
    SyncOs,
    /// The same with one thread: the latency of a request on an idle host.
    SyncOsAlone,
    /// The thread goes on, and takes responses later.
    AsyncSameThread,
    /// The thread goes on, and another one takes responses.
    AsyncDistinctThread,
    /// Nobody takes responses.
    AsyncNoResponse,
}

const FORMS: [(&str, Form); 7] = [
    ("inline", Form::Inline),
    ("sync", Form::Sync),
    ("sync_os", Form::SyncOs),
    ("sync_os_alone", Form::SyncOsAlone),
    ("async_same_thread", Form::AsyncSameThread),
    ("async_distinct_thread", Form::AsyncDistinctThread),
    ("async_no_response", Form::AsyncNoResponse),
];

/// The host with its requests, which it takes in turn.
pub(crate) struct Host<'m> {
    pub(crate) machine: &'m Machine,
    pub(crate) pools: &'m Pools,
    pub(crate) requests: Vec<Kernel>,
    pub(crate) own_us: u32,
}

/// What a thread does with an offload once it has begun.
enum Begun {
    Handle(TraceHandle),
    /// The ensemble has refused it, and the host has done it.
    Here,
}

impl Host<'_> {
    /// One measurement of each form.
    pub(crate) fn round(&self) -> Result<Value, Failed> {
        let mut found = Map::new();
        for (name, form) in FORMS {
            found.insert(name.to_owned(), self.form(form)?);
        }
        Ok(Value::Object(found))
    }

    /// Time of a request: on the clock of a saturated host, and of its processor.
    pub(crate) fn form(&self, form: Form) -> Result<Value, Failed> {
        let begun = Instant::now();
        let host = self.machine.cores.host;
        let (busy, refused) = on_core(host, || match form {
            Form::SyncOs => self.threads(),
            Form::AsyncDistinctThread => self.two_threads(),
            _ => {
                let before = thread_time();
                let refused = self.thread(form, REQUESTS)?;
                Ok((thread_time().saturating_sub(before), refused))
            }
        })??;
        while self.pools.running() > 0 {
            thread::yield_now();
        }
        Ok(json!({
            "wall_ns": ns(begun.elapsed(), REQUESTS),
            "host_ns": ns(busy, REQUESTS),
            "refused": refused,
        }))
    }

    /// As many threads as Sync-OS has. Returns what they ran.
    fn threads(&self) -> Result<(Duration, usize), Failed> {
        thread::scope(|scope| {
            let run = || {
                let before = thread_time();
                let refused = self.thread(Form::SyncOs, REQUESTS / THREADS)?;
                Ok::<_, Failed>((thread_time().saturating_sub(before), refused))
            };
            let all: Vec<_> = (0..THREADS).map(|_| scope.spawn(run)).collect();
            let mut sum = (Duration::ZERO, 0);
            for thread in all {
                let (busy, refused) = thread
                    .join()
                    .map_err(|_| "a host's thread has panicked")??;
                sum = (sum.0 + busy, sum.1 + refused);
            }
            Ok(sum)
        })
    }

    /// One thread that offloads, and one that takes the responses.
    fn two_threads(&self) -> Result<(Duration, usize), Failed> {
        let (give, taken) = mpsc::sync_channel(IN_FLIGHT);
        thread::scope(|scope| {
            let taker = scope.spawn(move || take_all(&taken));
            let before = thread_time();
            let mut executor = self.machine.executor()?;
            let mut refused = 0;
            for number in 0..REQUESTS {
                match self.begin(number, &mut executor)? {
                    Begun::Handle(handle) => give.send(handle)?,
                    Begun::Here => refused += 1,
                }
            }
            drop(give);
            let busy = thread_time().saturating_sub(before);
            let taking = taker.join().map_err(|_| "a host's thread has panicked")??;
            Ok((busy + taking, refused))
        })
    }

    /// Requests of one thread. Returns how many offloads were refused.
    fn thread(&self, form: Form, requests: usize) -> Result<usize, Failed> {
        let mut executor = self.machine.executor()?;
        let mut flying = VecDeque::new();
        let mut refused = 0;
        for number in 0..requests {
            if matches!(form, Form::Inline) {
                self.machine.work(self.own_us);
                let request = self.requests[number % self.requests.len()].request()?;
                check(request.run_inline(&mut executor))?;
                continue;
            }
            let Begun::Handle(handle) = self.begin(number, &mut executor)? else {
                refused += 1;
                continue;
            };
            match form {
                Form::Sync => {
                    handle.wait_by(Notification::Poll, None);
                    check(handle.wait())?;
                }
                Form::AsyncSameThread => {
                    flying.push_back(handle);
                    if flying.len() > IN_FLIGHT
                        && let Some(oldest) = flying.pop_front()
                    {
                        check(oldest.wait())?;
                    }
                }
                Form::AsyncNoResponse => drop(handle),
                _ => check(handle.wait())?,
            }
        }
        flying
            .into_iter()
            .try_for_each(|handle| check(handle.wait()))?;
        Ok(refused)
    }

    /// The host's own work, and the begin of the offload.
    fn begin(&self, number: usize, executor: &mut Executor) -> Result<Begun, Failed> {
        self.machine.work(self.own_us);
        let request = self.requests[number % self.requests.len()].request()?;
        let image: &Arc<_> = &self.machine.image;
        match self.pools.enqueue(image, request) {
            Ok(handle) => Ok(Begun::Handle(handle)),
            Err(refused) => {
                check(refused.request.run_inline(executor))?;
                Ok(Begun::Here)
            }
        }
    }
}

/// Takes responses until there are none any more. Returns what this thread ran.
fn take_all(handles: &Receiver<TraceHandle>) -> Result<Duration, Failed> {
    let before = thread_time();
    for handle in handles {
        check(handle.wait())?;
    }
    Ok(thread_time().saturating_sub(before))
}

/// Takes the result of a run, as a service would.
pub(crate) fn check(finished: Finished) -> Result<(), Failed> {
    match finished.result {
        Ok(_) => Ok(()),
        Err(failure) => Err(failure.error.to_string().into()),
    }
}
