//! The check of a server's settings before its start.

use accelflow_parameters::Refusal;

use super::descriptors::descriptor_limit;
use super::server::Config;
use super::steering::Steering;
use super::tables::{ARENA_PARAMETERS, CONFIG_PARAMETERS, RPC_PARAMETERS, STEERING_PARAMETERS};

impl Config {
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        CONFIG_PARAMETERS.check(self)?;
        // In the tables, 0 stands for None.
        if self.max_connections_per_address == Some(0) {
            let parameter = CONFIG_PARAMETERS.parameter("max_connections_per_address")?;
            return Err(parameter.refusal(0));
        }
        if let Some(arena) = &self.rpc.arena {
            if arena.bytes == 0 {
                return Err(RPC_PARAMETERS.parameter("arena_bytes")?.refusal(0));
            }
            ARENA_PARAMETERS.check(arena)?;
        }
        RPC_PARAMETERS.check(&self.rpc)?;
        if let Some(steering) = &self.steering {
            steering.check()?;
        }
        let most = descriptor_limit();
        if self.reserved_descriptors < most {
            return Ok(());
        }
        let allowed = format!(
            "must be below {most}, the number of files that the process may open (RLIMIT_NOFILE)"
        );
        let given = self.reserved_descriptors;
        Err(Refusal::new("reserved_descriptors", given, allowed))
    }
}

impl Steering {
    fn check(&self) -> Result<(), Refusal> {
        if self.workers == 0 {
            return Err(Refusal::new("workers", 0, "must be at least 1"));
        }
        STEERING_PARAMETERS.check(self)
    }
}
