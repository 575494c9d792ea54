use accelflow_units::Time;

use crate::config::AtmConfig;

/// The trace memory. A read occupies the first free port for its latency.
#[derive(Clone, Debug)]
pub(crate) struct TraceMemory {
    latency: Time,
    /// When each port is free.
    ports: Vec<Time>,
}

impl TraceMemory {
    pub(crate) fn new(config: &AtmConfig) -> TraceMemory {
        TraceMemory {
            latency: config.latency,
            ports: vec![Time::ZERO; config.ports.max(1)],
        }
    }

    /// Reads a word, after earlier reads. Returns the time when it has been read. `now` must not
    /// decrease.
    pub(crate) fn read(&mut self, now: Time) -> Time {
        let Some(port) = self.ports.iter_mut().min() else {
            return now;
        };
        *port = now.max(*port) + self.latency;
        *port
    }

    /// Whether reads take time.
    pub(crate) fn takes_time(&self) -> bool {
        self.latency > Time::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    #[test]
    fn reads_wait_when_all_ports_are_taken() {
        let reads = |ports: usize| {
            let latency = at(10);
            let mut memory = TraceMemory::new(&AtmConfig { latency, ports });
            [100, 101, 102, 125].map(|ns| memory.read(at(ns)))
        };
        assert_eq!(reads(1), [110, 120, 130, 140].map(at));
        assert_eq!(reads(2), [110, 111, 120, 135].map(at));
        assert_eq!(reads(3), [110, 111, 112, 135].map(at));
    }
}
