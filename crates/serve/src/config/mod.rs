//! The settings of servers, and the checks of these settings. Clients use some of the settings too.
//! This module does not depend on the other modules of the crate.

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
