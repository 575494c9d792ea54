//! The platform that a plan describes.

use accelflow_units::{Bytes, Time};

use super::file::{AcceleratorTable, Pair, PlanFile, StorageTable};
use crate::{
    Accelerator, Curve, Egress, Generation, Platform, PlatformError, StorageConfig, gbit_per_s,
    parameters,
};

/// The platform of a plan; fields that are left out have the values of ARCUS's prototype.
pub(super) fn platform_of(file: &PlanFile) -> Result<Platform, PlatformError> {
    let catalogue = parameters::catalogue();
    let mut accelerators = Vec::new();
    for name in names(file) {
        let found = catalogue
            .iter()
            .find(|accelerator| accelerator.name == name);
        accelerators.extend(found.cloned());
    }
    for own in &file.accelerator {
        accelerators.extend((0..own.instances).map(|_| accelerator_of(own)));
    }
    let mut platform = Platform::prototype(accelerators);
    let given = &file.platform;
    let number = given
        .pcie_generation
        .map_or(2, |number| number.saturating_sub(1));
    let generation = Generation::ALL.get(usize::from(number)).copied();
    let lanes = given.pcie_lanes.unwrap_or(platform.pcie.lanes);
    platform = platform.on_link(generation.unwrap_or(Generation::Gen3), lanes);
    let pcie = &mut platform.pcie;
    pcie.max_payload = given.max_payload_bytes.map_or(pcie.max_payload, Bytes);
    pcie.max_read_request = given
        .max_read_request_bytes
        .map_or(pcie.max_read_request, Bytes);
    pcie.read_latency = given
        .read_latency_ns
        .map_or(pcie.read_latency, Time::from_ns_f64);
    platform.dma.engines = given.dma_engines.unwrap_or(platform.dma.engines);
    if let Some(ports) = &given.ports_gbit_per_s {
        platform.ports = ports.iter().map(|rate| gbit_per_s(*rate)).collect();
    }
    if file.storage_devices > 0 {
        platform.storage = Some(storage_of(file.storage_devices, &file.storage));
    }
    platform.check(&[])?;
    Ok(platform)
}

/// The built-in accelerators of a plan: those that it lists, or else those that its flows name.
fn names(file: &PlanFile) -> Vec<String> {
    if let Some(listed) = &file.accelerators {
        return listed.clone();
    }
    let mut found: Vec<String> = Vec::new();
    for flow in &file.flow {
        for name in std::iter::once(&flow.accelerator)
            .chain(&flow.instead)
            .chain(&flow.then)
        {
            if !found.contains(name) {
                found.push(name.clone());
            }
        }
    }
    found
}

fn storage_of(devices: u32, given: &StorageTable) -> StorageConfig {
    let paper = StorageConfig::paper(devices);
    let us = |given: Option<f64>, paper: Time| {
        given.map_or(paper, |value| Time::from_ns_f64(value * 1e3))
    };
    StorageConfig {
        units: given.units.unwrap_or(paper.units),
        read_median: us(given.read_median_us, paper.read_median),
        read_sigma: given.read_sigma.unwrap_or(paper.read_sigma),
        write_ack: us(given.write_ack_us, paper.write_ack),
        write_busy: us(given.write_busy_us, paper.write_busy),
        write_buffer: given.write_buffer.unwrap_or(paper.write_buffer),
        queue_depth: given.queue_depth.unwrap_or(paper.queue_depth),
        bandwidth: given.link_gbit_per_s.map_or(paper.bandwidth, gbit_per_s),
        ..paper
    }
}

fn accelerator_of(own: &AcceleratorTable) -> Accelerator {
    let setup = Time::from_ns_f64(own.setup_ns.unwrap_or(0.0));
    // A curve without points has a peak.
    let peak = gbit_per_s(own.peak_gbit_per_s.unwrap_or(0.0));
    let curve = match (&own.points, own.block_bytes) {
        (Some(points), _) => {
            let point = |Pair(size, ns): &Pair| (Bytes(*size), Time::from_ns_f64(*ns));
            Curve::Points(points.iter().map(point).collect())
        }
        (None, Some(block)) => Curve::Blocks {
            block: Bytes(block),
            peak,
        },
        (None, None) => Curve::Saturating { setup, peak },
    };
    let plain = Accelerator::new(&own.name, curve);
    Accelerator {
        egress: match (own.egress_bytes, own.egress_ratio) {
            (Some(bytes), _) => Egress::Fixed(Bytes(bytes)),
            (None, ratio) => Egress::Ratio(ratio.unwrap_or(1.0)),
        },
        call_egress: own
            .call_egress_bytes
            .map(|bytes| Egress::Fixed(Bytes(bytes))),
        law: own.compute_times,
        latency: Time::from_ns_f64(own.latency_ns.unwrap_or(0.0)),
        input: own.input_bytes.map_or(plain.input, Bytes),
        ..plain
    }
}
