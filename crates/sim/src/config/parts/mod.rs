//! The parts of a configuration, as quantities with units. The module `table` describes the
//! parameters.

mod accelerator;
mod atm;
mod cohort;
mod core;
mod dispatcher;
mod exception;
mod facts;
mod generation;
mod memory;
mod network;
mod own_sizes;
mod payload;
mod relief;
mod scheduling;
mod tcp;
mod tenant;
mod tlb;

pub use accelerator::{AcceleratorConfig, FallBackWhen, Reuse, RpcProcessor};
pub use atm::AtmConfig;
pub use cohort::CohortConfig;
pub use core::{Balancing, CoreConfig, FlagChecks, InterruptPolicy, SoftwareBalancing};
pub use dispatcher::{Busy, DispatcherConfig};
pub use exception::ExceptionConfig;
pub use facts::FactsConfig;
pub use generation::Generation;
pub use memory::MemoryConfig;
pub use network::NetworkConfig;
pub use own_sizes::OwnSizes;
pub use payload::{Heaps, PayloadConfig};
pub use relief::{FallbackTo, ReliefConfig, Resubmission};
pub use scheduling::{DispatchPolicy, SchedulingConfig};
pub use tcp::{Parking, TcpConfig};
pub use tenant::{Isolation, ShapingOrder, TenantConfig};
pub use tlb::TlbConfig;
