//! The simulated hardware: a host, and a device with accelerators, DMA engines and Ethernet ports.

use accelflow_units::{Bandwidth, Bytes};

use crate::PlatformError;
use crate::flow::{Arrivals, Flow, Path};
use crate::hardware::{Accelerator, Generation, PcieConfig, StorageConfig};
use crate::rate::bandwidth;

/// The parameters of the device's DMA engines and of their buffers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DmaConfig {
    /// The number of DMA engines, from 1 to 64. Packets of different engines take turns on the PCIe
    /// link.
    pub engines: usize,
    /// The limit on the outstanding bytes of one DMA engine: those that the engine has requested
    /// from the host, and that no accelerator has taken yet. A burst larger than the limit waits
    /// until the engine has no outstanding bytes.
    pub read_window: Bytes,
    /// The largest number of bytes that a DMA engine moves for one flow before it serves other
    /// flows; above 0. It is the size of the on-board buffer through which large messages are
    /// streamed. Messages from and to the storage are moved whole.
    pub burst: Bytes,
    /// The size of one DMA engine's output buffer, for results that wait to leave the device.
    pub egress: Bytes,
    /// The size of a DMA descriptor, which the device reads from the host's memory with each burst.
    pub descriptor: Bytes,
}

impl Default for DmaConfig {
    fn default() -> DmaConfig {
        DmaConfig {
            engines: 1,
            read_window: Bytes(65_536),
            burst: Bytes(16_384),
            egress: Bytes(65_536),
            descriptor: Bytes(32),
        }
    }
}

/// The simulated hardware: a host, and a device with accelerators that tenants share over PCIe.
#[derive(Clone, Debug, PartialEq)]
pub struct Platform {
    /// The PCIe link between host and device.
    pub pcie: PcieConfig,
    /// The device's DMA engines and buffers.
    pub dma: DmaConfig,
    /// The rate of each Ethernet port of the device. All ports are full duplex.
    pub ports: Vec<Bandwidth>,
    /// The device's accelerators; flows refer to them by index.
    pub accelerators: Vec<Accelerator>,
    /// The array of SSDs; `None` for a platform without storage.
    pub storage: Option<StorageConfig>,
}

/// The bytes that an Ethernet frame takes on the wire in addition to the message: 8 of preamble, 4
/// of check sequence, 12 of gap. The frame's header is part of the message's size.
pub const FRAME_OVERHEAD: Bytes = Bytes(24);

impl Platform {
    /// Creates the hardware of the paper's prototype (section 5.1) with the given accelerators:
    /// PCIe Gen 3 x8, two Ethernet ports of 50 Gbit/s, no storage.
    pub fn prototype(accelerators: Vec<Accelerator>) -> Platform {
        Platform {
            pcie: PcieConfig::default(),
            dma: DmaConfig::default(),
            ports: vec![bandwidth(6.25e9); 2],
            accelerators,
            storage: None,
        }
    }

    /// Replaces the PCIe link by one of another generation and width. If the new link is faster,
    /// PCIe credits and DMA buffers are multiplied by the ratio of the new rate to the old rate,
    /// rounded up to a whole number (assumed), so that they do not become the bottleneck.
    #[must_use]
    pub fn on_link(self, generation: Generation, lanes: u8) -> Platform {
        let pcie = PcieConfig {
            generation,
            lanes,
            ..self.pcie
        };
        let rate = |pcie: &PcieConfig| pcie.bandwidth().as_bytes_per_s();
        let times = rate(&pcie).div_ceil(rate(&self.pcie)).max(1) as u32;
        let bytes = |size: Bytes| Bytes(size.get() * u64::from(times));
        Platform {
            pcie: PcieConfig {
                posted_headers: pcie.posted_headers * times,
                posted_data: bytes(pcie.posted_data),
                non_posted_headers: pcie.non_posted_headers * times,
                ..pcie
            },
            dma: DmaConfig {
                read_window: bytes(self.dma.read_window),
                egress: bytes(self.dma.egress),
                ..self.dma
            },
            ..self
        }
    }

    /// Checks that the platform's values are allowed and that `flows` can run on it.
    ///
    /// # Errors
    /// [`PlatformError::OutOfRange`] for a value outside its range, [`PlatformError::NamedStorage`]
    /// for an accelerator called `storage`, [`PlatformError::UnknownPart`]
    /// for a flow that refers to a part or flow which does not exist, and
    /// [`PlatformError::PathIncomplete`] for a path that needs a part which is missing.
    pub fn check(&self, flows: &[Flow]) -> Result<(), PlatformError> {
        self.pcie.check()?;
        let engines = self.dma.engines;
        let good = (1..=64).contains(&engines);
        PlatformError::unless(good, "dma.engines", engines as f64, "from 1 to 64")?;
        let burst = self.dma.burst.get();
        PlatformError::unless(burst > 0, "dma.burst_bytes", 0.0, "at least 1 byte")?;
        for accelerator in &self.accelerators {
            accelerator.check()?;
        }
        if let Some(storage) = &self.storage {
            storage.check()?;
        }
        for (number, flow) in flows.iter().enumerate() {
            flow.check()?;
            self.check_parts(number, flow, flows)?;
        }
        Ok(())
    }

    fn check_parts(&self, flow: usize, spec: &Flow, flows: &[Flow]) -> Result<(), PlatformError> {
        let exists = |part, number: usize, count: usize| match number < count {
            true => Ok(()),
            false => Err(PlatformError::UnknownPart {
                flow,
                part,
                number,
                count,
            }),
        };
        exists("DMA engine", spec.engine, self.dma.engines)?;
        for &accelerator in &spec.accelerators {
            exists("accelerator", accelerator, self.accelerators.len())?;
        }
        if let Some(port) = spec.port {
            exists("port", port, self.ports.len())?;
        }
        if let Some(answers) = &spec.answers {
            exists("flow that carries answers", answers.by, flows.len())?;
        }
        let path = spec.path.name();
        let incomplete = |needs| Err(PlatformError::PathIncomplete { flow, path, needs });
        let carrier = spec.answers.as_ref().map(|answers| &flows[answers.by]);
        if carrier.is_some_and(|carrier| carrier.arrivals != Arrivals::Answers) {
            return incomplete("a flow whose arrivals are answers, to carry its answers");
        }
        match spec.path {
            Path::InlineTx if spec.port.is_none() => incomplete("an Ethernet port"),
            path if path.uses_storage() && self.storage.is_none() => {
                incomplete("storage devices, and the platform has none")
            }
            _ => Ok(()),
        }
    }
}
