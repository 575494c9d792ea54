//! The processor time of a server's process, by who used it.

use std::fs;
use std::time::{Duration, Instant};

use accelflow_trace::Accel;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};

use super::Failed;

/// Processor time in nanoseconds: of the host's threads, and of the ensemble's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    pub(crate) host_ns: u64,
    pub(crate) worker_ns: u64,
}

impl Spent {
    pub(crate) fn since(self, before: Spent) -> Spent {
        Spent {
            host_ns: self.host_ns.saturating_sub(before.host_ns),
            worker_ns: self.worker_ns.saturating_sub(before.worker_ns),
        }
    }
}

/// Whether a thread with this name belongs to the ensemble.
fn is_worker(name: &str) -> bool {
    let kind = name.trim_end().split('-').next().unwrap_or(name);
    let accelerators = Accel::ALL.map(Accel::name);
    accelerators.contains(&kind) || matches!(kind, "core" | "parked")
}

/// The threads of a process: their numbers and names.
fn threads(process: u32) -> Result<Vec<(i32, String)>, Failed> {
    let mut found = Vec::new();
    for entry in fs::read_dir(format!("/proc/{process}/task"))? {
        let folder = entry?.path();
        let number = folder.file_name().and_then(|name| name.to_str());
        let number = number.and_then(|name| name.parse().ok());
        // A thread may have ended meanwhile.
        if let (Some(number), Ok(name)) = (number, fs::read_to_string(folder.join("comm"))) {
            found.push((number, name));
        }
    }
    Ok(found)
}

/// The processor time of a process so far. It is exact while its threads wait.
pub(crate) fn spent(process: u32) -> Result<Spent, Failed> {
    let mut spent = Spent::default();
    for (number, name) in threads(process)? {
        let place = format!("/proc/{process}/task/{number}/schedstat");
        let text = fs::read_to_string(place).unwrap_or_default();
        let ran = text.split(' ').next().and_then(|word| word.parse().ok());
        let sum = match is_worker(&name) {
            true => &mut spent.worker_ns,
            false => &mut spent.host_ns,
        };
        *sum += ran.unwrap_or(0);
    }
    Ok(spent)
}

/// Binds the ensemble's threads of this process to `core`.
///
/// A thread names itself when it begins to run, and bears the name of its process before. So this
/// waits until only the calling thread, the process's first, has that name.
pub(crate) fn bind_workers(core: usize) -> Result<(), Failed> {
    let mut set = CpuSet::new();
    set.set(core);
    let own = fs::read_to_string("/proc/self/comm")?;
    let begun = Instant::now();
    loop {
        let threads = threads(std::process::id())?;
        let unnamed = threads.iter().filter(|(_, name)| *name == own).count();
        if unnamed > 1 {
            if begun.elapsed() > Duration::from_secs(10) {
                return Err("a thread of the server has no name".into());
            }
            std::thread::yield_now();
            continue;
        }
        for (number, name) in threads {
            if is_worker(&name) {
                sched_setaffinity(Pid::from_raw(number), &set)?;
            }
        }
        return Ok(());
    }
}
