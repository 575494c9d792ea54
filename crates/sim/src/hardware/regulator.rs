use accelflow_units::{Bandwidth, Bytes, Time};

/// Limits the rate at which each tenant moves data to and from memory, as the memory bandwidth
/// allocation of Intel's Resource Director Technology does for cores.
#[derive(Clone, Debug)]
pub(crate) struct Regulator {
    limit: Option<Bandwidth>,
    /// By tenant, when its next transfer may begin.
    next: Vec<Time>,
}

impl Regulator {
    pub(crate) fn new(limit: Option<Bandwidth>) -> Regulator {
        Regulator {
            limit,
            next: Vec::new(),
        }
    }

    /// When `tenant` may move `size`, if it asks `now`.
    pub(crate) fn admit(&mut self, tenant: u16, size: Bytes, now: Time) -> Time {
        let Some(limit) = self.limit else {
            return now;
        };
        let tenant = usize::from(tenant);
        if tenant >= self.next.len() {
            self.next.resize(tenant + 1, Time::ZERO);
        }
        let start = self.next[tenant].max(now);
        self.next[tenant] = start + limit.transfer(size);
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    #[test]
    fn a_tenant_beyond_its_rate_waits_and_others_do_not() {
        let mut off = Regulator::new(None);
        assert_eq!(off.admit(3, Bytes(1 << 30), ns(5)), ns(5));
        assert_eq!(off.admit(3, Bytes(1 << 30), ns(5)), ns(5));
        let mut regulator = Regulator::new(Bandwidth::from_bytes_per_s(1_000_000_000));
        assert_eq!(regulator.admit(1, Bytes(100), ns(5)), ns(5));
        assert_eq!(regulator.admit(1, Bytes(50), ns(6)), ns(105));
        assert_eq!(regulator.admit(0, Bytes(50), ns(6)), ns(6));
        assert_eq!(regulator.admit(1, Bytes(1), ns(155)), ns(155));
        assert_eq!(regulator.admit(1, Bytes(1), ns(200)), ns(200));
    }
}
