//! The platform of a plan.

use accelflow_arcus::{
    Accelerator, Curve, Egress, Generation, Law, Platform, PlatformError, StorageConfig,
    gbit_per_s, parameters,
};
use accelflow_units::{Bytes, Time};
use serde::{Deserialize, Serialize};

/// The host and its device. Fields that are left out have the values of ARCUS's prototype.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlatformRequest {
    pcie_generation: Option<u8>,
    pcie_lanes: Option<u8>,
    max_payload_bytes: Option<u64>,
    max_read_request_bytes: Option<u64>,
    read_latency_ns: Option<f64>,
    dma_engines: Option<usize>,
    ports_gbit_per_s: Option<Vec<f64>>,
    /// Built-in accelerators by name, one instance for each occurrence.
    accelerators: Vec<String>,
    /// Accelerators that the user defines.
    accelerator: Vec<AcceleratorRequest>,
    storage_devices: u32,
}

/// An accelerator that the user defines.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
struct AcceleratorRequest {
    name: String,
    instances: u32,
    peak_gbit_per_s: Option<f64>,
    setup_ns: Option<f64>,
    block_bytes: Option<u64>,
    /// Bytes and nanoseconds.
    points: Option<Vec<(u64, f64)>>,
    egress_ratio: Option<f64>,
    egress_bytes: Option<u64>,
    call_egress_bytes: Option<u64>,
    latency_ns: Option<f64>,
    compute_times: String,
    input_bytes: Option<u64>,
}

impl AcceleratorRequest {
    fn accelerator(&self) -> Accelerator {
        let setup = Time::from_ns_f64(self.setup_ns.unwrap_or(0.0));
        // The fields were checked before: a curve without points has a peak.
        let peak = gbit_per_s(self.peak_gbit_per_s.unwrap_or(0.0));
        let curve = match (&self.points, self.block_bytes) {
            (Some(points), _) => {
                let point = |point: &(u64, f64)| (Bytes(point.0), Time::from_ns_f64(point.1));
                Curve::Points(points.iter().map(point).collect())
            }
            (None, Some(block)) => Curve::Blocks {
                block: Bytes(block),
                peak,
            },
            (None, None) => Curve::Saturating { setup, peak },
        };
        let mut made = Accelerator::new(&self.name, curve);
        made.egress = match (self.egress_bytes, self.egress_ratio) {
            (Some(bytes), _) => Egress::Fixed(Bytes(bytes)),
            (None, ratio) => Egress::Ratio(ratio.unwrap_or(1.0)),
        };
        made.call_egress = self
            .call_egress_bytes
            .map(|bytes| Egress::Fixed(Bytes(bytes)));
        let law = Law::ALL
            .into_iter()
            .find(|law| law.name() == self.compute_times);
        made.law = law.unwrap_or_default();
        made.latency = Time::from_ns_f64(self.latency_ns.unwrap_or(0.0));
        made.input = self.input_bytes.map_or(made.input, Bytes);
        made
    }
}

impl PlatformRequest {
    pub(super) fn platform(&self) -> Result<Platform, PlatformError> {
        let catalogue = parameters::catalogue();
        let mut accelerators = Vec::new();
        for name in &self.accelerators {
            let found = catalogue
                .iter()
                .find(|accelerator| accelerator.name == *name);
            accelerators.extend(found.cloned());
        }
        for own in &self.accelerator {
            accelerators.extend((0..own.instances).map(|_| own.accelerator()));
        }
        let mut platform = Platform::prototype(accelerators);
        let number = self
            .pcie_generation
            .map_or(2, |number| number.saturating_sub(1));
        let generation = Generation::ALL.get(usize::from(number)).copied();
        let lanes = self.pcie_lanes.unwrap_or(platform.pcie.lanes);
        platform = platform.on_link(generation.unwrap_or(Generation::Gen3), lanes);
        let pcie = &mut platform.pcie;
        pcie.max_payload = self.max_payload_bytes.map_or(pcie.max_payload, Bytes);
        pcie.max_read_request = self
            .max_read_request_bytes
            .map_or(pcie.max_read_request, Bytes);
        pcie.read_latency = self
            .read_latency_ns
            .map_or(pcie.read_latency, Time::from_ns_f64);
        platform.dma.engines = self.dma_engines.unwrap_or(platform.dma.engines);
        if let Some(ports) = &self.ports_gbit_per_s {
            platform.ports = ports.iter().map(|rate| gbit_per_s(*rate)).collect();
        }
        if self.storage_devices > 0 {
            platform.storage = Some(StorageConfig::paper(self.storage_devices));
        }
        platform.check(&[])?;
        Ok(platform)
    }
}
