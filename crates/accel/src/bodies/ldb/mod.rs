//! LdB: picks the core that processes a message.

mod affinity;
mod balancer;
mod bound;
mod core_loads;
mod function_map;
mod least_loaded;
mod policy;
mod round_robin;

pub use affinity::Affinity;
pub use balancer::Ldb;
pub use core_loads::CoreLoads;
pub use function_map::FunctionMap;
pub use least_loaded::LeastLoaded;
pub use policy::BalancingPolicy;
pub use round_robin::RoundRobin;
