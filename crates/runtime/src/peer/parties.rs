//! The parties with which a service exchanges messages.

use std::fmt;
use std::sync::Arc;

use accelflow_accel::Call;
use accelflow_accel::storage::Operation;

/// The other end of a service's connection: the cache, the database, another service or an HTTP
/// server. A service has one connection to each party.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Party {
    /// The cache in front of the database.
    Cache,
    /// The service's database.
    Database,
    /// The Thrift or gRPC service of this name.
    Service(Arc<str>),
    /// The HTTP server of this name.
    Host(Arc<str>),
    /// An unknown party, since the message is of no kind ([`Call::None`]).
    Unknown,
}

impl Party {
    /// Returns the party to which a message with the kind and header `call` is sent.
    pub fn of(call: &Call) -> Party {
        match call {
            Call::None => Party::Unknown,
            Call::Thrift(call) => Party::Service(call.service.clone()),
            Call::Grpc(call) => Party::Service(call.service().into()),
            Call::Http(call) => Party::Host(call.host.clone()),
            Call::Storage(call) => match call.operation {
                Operation::CacheGet | Operation::CacheSet => Party::Cache,
                Operation::DbFind | Operation::DbInsert => Party::Database,
            },
        }
    }
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Party::Cache => f.write_str("the database cache"),
            Party::Database => f.write_str("the database"),
            Party::Service(name) => write!(f, "service {name}"),
            Party::Host(name) => write!(f, "HTTP server {name}"),
            Party::Unknown => f.write_str("the peer of a message of unknown kind"),
        }
    }
}
