//! A server whose RPC layer runs on its cores, on accelerators that the cores command, or in
//! Cerebros, the RPC processor between NIC and cores (Pourhabibi, Sutherland, Daglis and Falsafi,
//! MICRO 2021), in simulated time.
//!
//! * [`schema`]: messages, and the split schemata by which they are transformed.
//! * [`services`]: the five microservices of DeathStarBench that the paper studies.
//! * [`interface`]: user-defined services, from an interface file and a recording.
//! * [`platform`]: every parameter of the simulated server, with its origin.
//! * [`registration`], [`buffers`], [`pipelines`], [`steering`], [`icache`]: the server's
//!   components.
//! * [`summary`], [`catalogue`]: the results of runs, and descriptions of the services, in cycles.
//! * [`simulate`] simulates requests of a service under a [`Design`] of the RPC layer. [`analytic`]
//!   gives the inputs of the paper's closed-form model of a function, with which the simulation of
//!   one request at a time agrees.
//!
//! Equal arguments give bit-identical results.
//!
//! ```
//! use accelflow_cerebros::services::Service;
//! use accelflow_cerebros::{Arrivals, Design, Load, Platform, Steering, simulate};
//!
//! let uid = Service::named("UID")?;
//! let load = Load::new(Arrivals::Closed(1), 1);
//! let platform = Platform::default();
//! let run = simulate(&uid, &platform, Design::Full, Steering::LeastLoaded, &load)?;
//! assert!((platform.cycles(run.all.spent.rpc()) - 90.0).abs() < 0.01);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod buffers;
pub mod catalogue;
pub mod icache;
pub mod interface;
mod load;
mod outcome;
pub mod pipelines;
pub mod platform;
mod program;
pub mod registration;
mod request;
mod run;
pub mod schema;
mod server;
pub mod services;
mod shape;
pub mod steering;
pub mod summary;

pub use accelflow_model::cerebros::{Design, RpcLayer};
pub use load::{Arrivals, Load};
pub use outcome::{Group, Queue, Saturation, SimulationResult, Spent};
pub use platform::Platform;
pub use program::{Breakdown, Kind, analytic, breakdown};
pub use run::simulate;
pub use schema::Message;
pub use steering::Steering;
pub use summary::Summary;
