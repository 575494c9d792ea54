//! How much of the measured time the platform's resources were in use.

use accelflow_units::Time;

use crate::Platform;

/// The shares of the measured time in which a platform's resources were in use, from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Usage {
    /// The PCIe link from the device to the host: the time in which packets were on the wire. The
    /// wire also idles while packets wait for credits, so a share below 1 may be the most that the
    /// link carries.
    pub up: f64,
    /// The PCIe link from the host to the device: the time in which packets were on the wire.
    pub down: f64,
    /// The accelerators, by index in [`Platform::accelerators`]: the time in which a message kept
    /// one busy.
    pub accelerators: Vec<f64>,
    /// The Ethernet ports, by index in [`Platform::ports`], for messages that arrive.
    pub ports_in: Vec<f64>,
    /// The Ethernet ports, by index in [`Platform::ports`], for messages that leave.
    pub ports_out: Vec<f64>,
    /// The units of the SSDs, on average over all of them; `None` without storage.
    pub ssd_units: Option<f64>,
    /// The SSDs' own links, on average over all of them; `None` without storage.
    pub ssd_links: Option<f64>,
}

/// The times for which a platform's resources were in use, so far, as in [`Usage`].
#[derive(Clone, Debug)]
pub(crate) struct Times {
    pub(crate) up: Time,
    pub(crate) down: Time,
    pub(crate) accelerators: Vec<Time>,
    pub(crate) ports_in: Vec<Time>,
    pub(crate) ports_out: Vec<Time>,
    /// The sums over all units and links of the SSDs.
    pub(crate) ssd_units: Time,
    pub(crate) ssd_links: Time,
}

/// The times for which a platform's resources were in use within the measured time.
#[derive(Clone, Debug)]
pub(crate) struct Busy {
    /// The beginning and the end of the measured time.
    measured: (Time, Time),
    total: Times,
}

impl Busy {
    /// Nothing was in use yet. `measured` are the beginning and the end of the measured time.
    pub(crate) fn new(platform: &Platform, measured: (Time, Time)) -> Busy {
        Busy {
            measured,
            total: Times {
                up: Time::ZERO,
                down: Time::ZERO,
                accelerators: vec![Time::ZERO; platform.accelerators.len()],
                ports_in: vec![Time::ZERO; platform.ports.len()],
                ports_out: vec![Time::ZERO; platform.ports.len()],
                ssd_units: Time::ZERO,
                ssd_links: Time::ZERO,
            },
        }
    }

    /// Counts a resource as in use from `from` to `to`.
    pub(crate) fn add(
        &mut self,
        from: Time,
        to: Time,
        resource: impl FnOnce(&mut Times) -> &mut Time,
    ) {
        let (begin, end) = self.measured;
        *resource(&mut self.total) += to.min(end).saturating_sub(from.max(begin));
    }

    /// The shares of the measured time.
    pub(crate) fn shares(self, platform: &Platform) -> Usage {
        let (begin, end) = self.measured;
        let share = |busy: Time| busy.as_ps() as f64 / (end - begin).as_ps() as f64;
        let each = |busy: Vec<Time>| busy.into_iter().map(share).collect();
        let ssds = |busy: Time, of_each: u32| {
            let storage = platform.storage?;
            Some(share(busy) / f64::from(storage.devices) / f64::from(of_each))
        };
        let units = platform.storage.map_or(1, |storage| storage.units);
        let total = self.total;
        Usage {
            up: share(total.up),
            down: share(total.down),
            accelerators: each(total.accelerators),
            ports_in: each(total.ports_in),
            ports_out: each(total.ports_out),
            ssd_units: ssds(total.ssd_units, units),
            ssd_links: ssds(total.ssd_links, 1),
        }
    }
}
