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
    /// One of whom nothing but the address is known.
    pub(crate) fn admit(
        tenants: Option<&'t Tenants>,
        address: SocketAddr,
    ) -> Result<Guest<'t>, Close> {
        let mut guest = Guest {
            peer: Peer {
                address,
                identities: Arc::default(),
                tenant: 0,
            },
            tenants,
            place: None,
        };
        guest.settle()?;
        Ok(guest)
    }

    /// It has proven to be called so; by that it may be another tenant's.
    pub(crate) fn identify(&mut self, identities: Vec<String>) -> Result<(), Close> {
        self.peer.identities = identities.into();
        match self.peer.identities.is_empty() {
            true => Ok(()),
            false => self.settle(),
        }
    }

    fn settle(&mut self) -> Result<(), Close> {
        let Some(tenants) = self.tenants else {
            return Ok(());
        };
        let tenant = tenants.of(self.peer.address.ip(), &self.peer.identities);
        if self.place.is_none() || tenant != self.peer.tenant {
            // The place that it had becomes free even if there is no other.
            self.place = None;
            self.place = Some(tenants.admit(tenant).ok_or(Close::TooManyOfTenant)?);
            self.peer.tenant = tenant;
        }
        Ok(())
    }
}
