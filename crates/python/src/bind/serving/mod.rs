//! Python bindings of the server and its clients, for `accelflow.Server` and `accelflow.client`.

pub(crate) mod answer;
pub(crate) mod client;
pub(crate) mod handler;
pub(crate) mod load;
pub(crate) mod operations;
pub(crate) mod promise;
pub(crate) mod scope;
pub(crate) mod server;
pub(crate) mod tenants;
pub(crate) mod traces;
