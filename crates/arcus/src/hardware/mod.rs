//! The hardware models of a platform: PCIe link, storage, accelerators, and the host's software
//! shaper.

mod accelerator;
mod link;
mod pcie;
mod software;
mod storage;

pub use accelerator::{Accelerator, Curve, Egress, Law, STORAGE};
pub use link::{Direction, Sent, Transfer};
pub use pcie::{Generation, Packet, PcieConfig};
pub(crate) use software::SoftwareShaper;
pub use software::{SoftwareConfig, SoftwareRate};
pub use storage::{Begun, Operation, Storage, StorageConfig};
