//! Platforms: a host and its device.

use accelflow_units::{Bandwidth, Bytes};

use crate::PlatformError;
use crate::flow::{Arrivals, Flow, Path};
use crate::hardware::{Accelerator, Generation, PcieConfig, StorageConfig};
use crate::rate::bandwidth;

/// The device's DMA engines and the buffers around them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DmaConfig {
    /// The number of engines. Packets of different engines take turns on the link.
    pub engines: usize,
    /// The largest number of bytes in flight per engine: requested from the host but not yet taken
    /// by an accelerator.
    pub read_window: Bytes,
    /// The largest number of bytes that an engine moves for one flow before it serves the others.
    /// It is the part of the on-board buffer through which a flow's message is streamed.
    pub burst: Bytes,
    /// The size of one engine's output buffer, for results that wait to leave.
    pub egress: Bytes,
    /// The size of a descriptor, which is read from the host's memory with each burst.
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

/// A host and its device.
#[derive(Clone, Debug, PartialEq)]
pub struct Platform {
    /// The link between them.
    pub pcie: PcieConfig,
    /// The DMA engines.
    pub dma: DmaConfig,
    /// Ethernet ports, full duplex, by their rate.
    pub ports: Vec<Bandwidth>,
    /// Accelerators.
    pub accelerators: Vec<Accelerator>,
    /// The storage, if there is any.
    pub storage: Option<StorageConfig>,
}

/// Bytes of an Ethernet frame in addition to its contents: preamble 8, check sequence 4, gap 12.
pub const FRAME_OVERHEAD: Bytes = Bytes(24);

impl Platform {
    /// The prototype's host and board (section 5.1): PCIe Gen 3 x8, two ports of 50 Gbit/s.
    pub fn prototype(accelerators: Vec<Accelerator>) -> Platform {
        Platform {
            pcie: PcieConfig::default(),
            dma: DmaConfig::default(),
            ports: vec![bandwidth(6.25e9); 2],
            accelerators,
            storage: None,
        }
    }

    /// Replaces the link. For a faster link, credits and buffers are scaled in proportion
    /// (assumed), so that they limit no more than the prototype's.
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

    /// Checks the platform, and that `flows` can run on it.
    ///
    /// # Errors
    /// [`PlatformError::OutOfRange`] for a value out of its range, [`PlatformError::UnknownPart`]
    /// for a flow that names a part which the platform does not have, and
    /// [`PlatformError::PathIncomplete`] for a path that needs one.
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
            exists("flow of answers", answers.by, flows.len())?;
        }
        let path = spec.path.name();
        let incomplete = |needs| Err(PlatformError::PathIncomplete { flow, path, needs });
        let carrier = spec.answers.as_ref().map(|answers| &flows[answers.by]);
        if carrier.is_some_and(|carrier| carrier.arrivals != Arrivals::Answers) {
            return incomplete("answers carried by a flow whose arrivals are answers");
        }
        match spec.path {
            Path::InlineTx if spec.port.is_none() => incomplete("a port"),
            path if path.uses_storage() && self.storage.is_none() => incomplete("storage"),
            _ => Ok(()),
        }
    }
}
