//! Who is at the other end of a connection, and whose connection it is.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::error::Close;
use crate::tenants::{Admitted, Tenants};

/// The other end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    /// What it has proven to be called.
    pub(crate) identities: Arc<[String]>,
    /// The number of its tenant.
    pub(crate) tenant: u16,
}

/// A peer that has a place among its tenant's connections, until this is dropped.
pub(crate) struct Guest<'t> {
    pub(crate) peer: Peer,
    tenants: Option<&'t Tenants>,
    place: Option<Admitted<'t>>,
}

impl<'t> Guest<'t> {
    /// One of whom nothing but the address is known. It has no place yet: whose it is may depend on
    /// what it proves.
    pub(crate) fn new(tenants: Option<&'t Tenants>, address: SocketAddr) -> Guest<'t> {
        Guest {
            peer: Peer {
                address,
                identities: Arc::default(),
                tenant: 0,
            },
            tenants,
            place: None,
        }
    }

    /// It has proven to be called so, if that was asked: gives it its place.
    pub(crate) fn admit(&mut self, identities: Vec<String>) -> Result<(), Close> {
        self.peer.identities = identities.into();
        if let Some(tenants) = self.tenants {
            self.peer.tenant = tenants.of(self.peer.address.ip(), &self.peer.identities);
            let place = tenants.admit(self.peer.tenant);
            self.place = Some(place.ok_or(Close::TooManyOfTenant)?);
        }
        Ok(())
    }
}
