//! The parameters of servers: limits on connections and messages, time limits, and threads.

pub(crate) mod forms;
mod limits;
mod threads;
mod times;

use accelflow_parameters::{Kind, Parameter, Provenance, Table};

use super::server::{ArenaSettings, Config, RpcProcessor};
use super::steering::Steering;

/// The parameters of a server that have a default of their own. The number of cores and of steered
/// workers, the address for operators and the execution follow from the machine or from the user.
pub const CONFIG_PARAMETERS: Table<Config> = Table::new(&[
    limits::CONNECTIONS,
    limits::MESSAGES,
    times::ROWS,
    threads::CONFIG,
]);

/// The parameters of steering, except the number of workers, which follows from the machine.
pub const STEERING_PARAMETERS: Table<Steering> = Table::new(&[threads::STEERING]);

/// The parts of Cerebros's RPC processor that a server has.
pub const RPC_PARAMETERS: Table<RpcProcessor> = Table::new(&[threads::RPC]);

/// The parameters of the memory that requests share, except its size.
pub const ARENA_PARAMETERS: Table<ArenaSettings> = Table::new(&[threads::ARENA]);

/// The share of requests that are sampled for spans.
pub const SAMPLE_RATIO: Parameter = Parameter {
    key: "sample_ratio",
    unit: "",
    kind: Kind::number(0.0, 1.0),
    default: 1.0,
    provenance: Provenance::Assumed,
    source: "no source",
    why: "A request with a traceparent is sampled if its caller's is.",
};
