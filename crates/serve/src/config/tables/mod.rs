//! The parameters of a server: limits on connections and messages, time limits, and threads.

pub(crate) mod forms;
mod limits;
mod threads;
mod times;

use accelflow_parameters::{Kind, Parameter, Provenance, Table};

use super::server::{ArenaSettings, Config, RpcProcessor};
use super::steering::Steering;

/// The table of a server's parameters (fields of [`Config`]) with their ranges and defaults. Three
/// settings are not in the table, since they depend on the machine or the user: the number of
/// cores, the address of the operators' port, and [`Config::execution`]. [`Config::steering`] and
/// [`Config::rpc`] have tables of their own.
pub const CONFIG_PARAMETERS: Table<Config> = Table::new(&[
    limits::CONNECTIONS,
    limits::MESSAGES,
    times::ROWS,
    threads::CONFIG,
]);

/// The table of the parameters of [`Steering`], except the number of workers, which depends on the
/// machine.
pub const STEERING_PARAMETERS: Table<Steering> = Table::new(&[threads::STEERING]);

/// The table of the parameters of [`RpcProcessor`]: whether the split schema is used, and the size
/// of the memory that requests share.
pub const RPC_PARAMETERS: Table<RpcProcessor> = Table::new(&[threads::RPC]);

/// The table of the parameters of [`ArenaSettings`]: how requests use the memory that they share.
/// The size of this memory, [`ArenaSettings::bytes`], is in [`RPC_PARAMETERS`].
pub const ARENA_PARAMETERS: Table<ArenaSettings> = Table::new(&[threads::ARENA]);

/// The range and the default of the share of requests that are sampled for OpenTelemetry spans.
pub const SAMPLE_RATIO: Parameter = Parameter {
    key: "sample_ratio",
    unit: "",
    kind: Kind::number(0.0, 1.0),
    default: 1.0,
    provenance: Provenance::Assumed,
    source: "no source",
    why: "A request with a traceparent is sampled if its caller's is.",
};
