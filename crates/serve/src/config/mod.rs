//! The settings of servers and clients, and their checks. Nothing here depends on the rest of the
//! crate.

mod check;
pub(crate) mod descriptors;
pub(crate) mod server;
pub(crate) mod steering;
pub(crate) mod tables;
pub(crate) mod telemetry;
pub(crate) mod tenants;
pub(crate) mod time_limit;

pub use server::{ArenaSettings, Compression, Config, Execution, RpcProcessor};
pub use steering::{Steering, SteeringPolicy};
pub use tables::{
    ARENA_PARAMETERS, CONFIG_PARAMETERS, RPC_PARAMETERS, SAMPLE_RATIO, STEERING_PARAMETERS,
};
pub use telemetry::{Telemetry, TelemetryError};
pub use tenants::{Control, SHAPING_CLOCK_HZ, Shaping, Tenant, TenantError, TenantSlo};
pub use time_limit::MAX_TIME_LIMIT;
