//! The peer of a connection, and its tenant.

use std::net::SocketAddr;
use std::sync::Arc;

use super::tenants::gates::{Admitted, Tenants};
use crate::transport::close::Close;

/// The peer of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    /// The names that its certificate proves.
    pub(crate) identities: Arc<[String]>,
    /// The number of its tenant.
    pub(crate) tenant: u16,
}

/// A peer and its place among its tenant's connections. Dropping it frees the place.
pub(crate) struct PeerAdmission<'t> {
    pub(crate) peer: Peer,
    tenants: Option<&'t Tenants>,
    place: Option<Admitted<'t>>,
}

impl<'t> PeerAdmission<'t> {
    /// Creates a peer that is not yet identified. It has no place yet, since its tenant may depend
    /// on its certificate.
    pub(crate) fn unidentified(
        tenants: Option<&'t Tenants>,
        address: SocketAddr,
    ) -> PeerAdmission<'t> {
        PeerAdmission {
            peer: Peer {
                address,
                identities: Arc::default(),
                tenant: 0,
            },
            tenants,
            place: None,
        }
    }

    /// Assigns the peer its place, by its address and its proven identities.
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
