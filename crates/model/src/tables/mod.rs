//! The tables of the models' inputs.

mod area;
mod own;
mod power;
mod rpc_layer;

pub use area::AREA;
pub use power::POWER;
pub use rpc_layer::RPC_LAYER;
