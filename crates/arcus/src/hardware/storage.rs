//! A RAID-0 of SSDs in simulated time, in which writes delay reads.

use std::collections::VecDeque;

use accelflow_kernel::Stream;
use accelflow_units::{Bandwidth, Bytes, Time};

use crate::PlatformError;
use crate::rate::bandwidth;

/// The parameters of an array of identical SSDs. Each SSD has parallel units (flash dies), and a
/// unit runs one operation at a time. Operations are not bound to a unit: any idle unit of the SSD
/// takes the next one.
///
/// A write is acknowledged once it is in the SSD's buffer, and is programmed into flash later. The
/// programming, and the garbage collection that it causes, occupy a unit for much longer than a
/// read does. Reads wait while all units are busy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StorageConfig {
    /// The number of SSDs in the array. Each operation goes to an SSD that is chosen at random.
    pub devices: u32,
    /// The number of parallel units (flash dies) of each SSD.
    pub units: u32,
    /// The median time for which a read occupies a unit; times are log-normally distributed.
    pub read_median: Time,
    /// The standard deviation of the natural logarithm of a read's time, from 0 to 3.
    pub read_sigma: f64,
    /// The time from a write to its acknowledgement, if the SSD's buffer is not full.
    pub write_ack: Time,
    /// The time for which programming a buffered write occupies a unit.
    pub write_busy: Time,
    /// The capacity of each SSD's write buffer, in writes.
    pub write_buffer: u32,
    /// The largest number of commands that the array processes at the same time.
    pub queue_depth: u32,
    /// The data rate of each SSD's own link.
    pub bandwidth: Bandwidth,
}

impl StorageConfig {
    /// The parameters of an array of `devices` SSDs like the paper's (section 5.4: Samsung 983
    /// DCT). They are inferred from the paper's results; [`crate::parameters`] has the sources.
    pub fn paper(devices: u32) -> StorageConfig {
        StorageConfig {
            devices,
            units: 48,
            read_median: Time::from_us(50),
            read_sigma: 0.34,
            write_ack: Time::from_us(20),
            write_busy: Time::from_us(2_900),
            write_buffer: 41,
            queue_depth: 1_024,
            bandwidth: bandwidth(3e9),
        }
    }

    /// Checks that every parameter of the array is allowed.
    ///
    /// # Errors
    /// [`PlatformError::OutOfRange`] for the first parameter that is outside its range.
    pub fn check(&self) -> Result<(), PlatformError> {
        let counts = [
            ("storage.devices", self.devices),
            ("storage.units", self.units),
            ("storage.write_buffer", self.write_buffer),
            ("storage.queue_depth", self.queue_depth),
        ];
        for (name, count) in counts {
            let good = (1..=65_536).contains(&count);
            PlatformError::unless(good, name, f64::from(count), "from 1 to 65536")?;
        }
        let sigma = self.read_sigma;
        let good = (0.0..=3.0).contains(&sigma);
        PlatformError::unless(good, "storage.read_sigma", sigma, "from 0 to 3")
    }

    /// The mean time for which a read occupies a unit.
    pub fn read_mean(&self) -> Time {
        self.read_median
            .scale(libm::exp(self.read_sigma * self.read_sigma / 2.0))
    }

    /// The rate of reads that keeps every unit of every SSD busy, in reads per second.
    pub fn reads_per_s(&self) -> f64 {
        f64::from(self.devices) * f64::from(self.units) / self.read_mean().as_s_f64()
    }
}

/// An operation that occupies a unit (flash die) of an SSD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A read. The value is the caller's identifier of the read.
    Read(u32),
    /// The programming of a buffered write into flash, after the acknowledgement of the write.
    Program,
}

/// An operation that a unit (flash die) of an SSD has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// The index of the SSD in the array.
    pub device: usize,
    /// The operation that the unit has begun.
    pub operation: Operation,
    /// The simulated time when the operation ends and the unit is free again.
    pub done: Time,
}

#[derive(Clone, Debug, Default)]
struct Device {
    busy: u32,
    waiting: VecDeque<Operation>,
    buffered: u32,
    blocked: VecDeque<u32>,
    link_free: Time,
}

/// The state of an array of SSDs in simulated time: waiting operations, busy units and write
/// buffers.
#[derive(Clone, Debug)]
pub struct Storage {
    config: StorageConfig,
    devices: Vec<Device>,
    stream: Stream,
}

impl Storage {
    /// Creates an array of idle SSDs, with `stream` as its source of random numbers.
    pub fn new(config: StorageConfig, stream: Stream) -> Storage {
        let devices = vec![Device::default(); config.devices as usize];
        Storage {
            config,
            devices,
            stream,
        }
    }

    /// Picks the SSD of the next operation at random, and returns its index.
    pub fn pick(&mut self) -> usize {
        self.stream.below(u64::from(self.config.devices)) as usize
    }

    /// Queues a read at the SSD with index `device`; [`Storage::begin`] starts it. `tag` is the
    /// caller's identifier of the read.
    pub fn read(&mut self, device: usize, tag: u32) {
        self.devices[device].waiting.push_back(Operation::Read(tag));
    }

    /// Adds a write to the buffer of the SSD with index `device`, and returns the time when the
    /// write is acknowledged. `None` if the buffer is full, so that the write waits. `tag` is the
    /// caller's identifier of the write; [`Storage::end`] returns it for a write that waited.
    pub fn write(&mut self, device: usize, tag: u32, now: Time) -> Option<Time> {
        let ssd = &mut self.devices[device];
        if ssd.buffered >= self.config.write_buffer {
            ssd.blocked.push_back(tag);
            return None;
        }
        ssd.buffered += 1;
        ssd.waiting.push_back(Operation::Program);
        Some(now + self.config.write_ack)
    }

    /// Starts the next operation of the SSD with index `device` on a free unit; `None` if all units
    /// are busy or no operation waits.
    pub fn begin(&mut self, device: usize, now: Time) -> Option<Begun> {
        let ssd = &mut self.devices[device];
        if ssd.busy >= self.config.units {
            return None;
        }
        let operation = ssd.waiting.pop_front()?;
        ssd.busy += 1;
        let busy = match operation {
            Operation::Program => self.config.write_busy,
            Operation::Read(_) => {
                let normal = standard_normal(&mut self.stream);
                self.config
                    .read_median
                    .scale(libm::exp(self.config.read_sigma * normal))
            }
        };
        let done = now + busy;
        Some(Begun {
            device,
            operation,
            done,
        })
    }

    /// Ends an operation of the SSD with index `device` and frees the operation's unit. If the
    /// operation was the programming of a write, this write leaves the SSD's buffer, and the first
    /// write that waits for space enters it. Returns the tag and acknowledgement time of the write
    /// that enters; `None` if none waited, and after a read.
    pub fn end(&mut self, device: usize, operation: Operation, now: Time) -> Option<(u32, Time)> {
        let ssd = &mut self.devices[device];
        ssd.busy -= 1;
        if operation != Operation::Program {
            return None;
        }
        ssd.buffered -= 1;
        let tag = ssd.blocked.pop_front()?;
        self.write(device, tag, now)
            .map(|acknowledged| (tag, acknowledged))
    }

    /// Sends `size` bytes over the link of the SSD with index `device`, behind earlier transfers.
    /// Returns the time when the bytes have crossed the link.
    pub fn send(&mut self, device: usize, size: Bytes, now: Time) -> Time {
        let ssd = &mut self.devices[device];
        ssd.link_free = ssd.link_free.max(now) + self.config.bandwidth.transfer(size);
        ssd.link_free
    }

    /// The time for which `size` bytes occupy an SSD's link.
    pub fn transfer(&self, size: Bytes) -> Time {
        self.config.bandwidth.transfer(size)
    }
}

/// A standard normal number by the Box-Muller transform, with the functions of the pinned library,
/// for equal results on all machines.
fn standard_normal(stream: &mut Stream) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - stream.uniform()));
    radius * libm::cos(2.0 * std::f64::consts::PI * stream.uniform())
}
