//! The peer of a server's connection (the client), and its tenant.

use std::net::SocketAddr;
use std::sync::Arc;

use super::admission::Admission;
use super::places::{Place, Places};
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
    places: &'t Places,
    /// The connection's place on the server.
    place: &'t Place,
    admitted: Option<Admitted<'t>>,
}

impl<'t> PeerAdmission<'t> {
    /// Creates a peer that is not yet identified. It has no place yet, since its tenant may depend
    /// on its certificate.
    pub(crate) fn unidentified(admission: &'t Admission, place: &'t Place) -> PeerAdmission<'t> {
        PeerAdmission {
            peer: Peer {
                address: place.address,
                identities: Arc::default(),
                tenant: 0,
            },
            tenants: admission.tenants.as_deref(),
            places: &admission.places,
            place,
            admitted: None,
        }
    }

    /// Assigns the peer its place, by its address and its proven identities. May evict an idle
    /// connection of its tenant.
    pub(crate) fn admit(&mut self, identities: Vec<String>) -> Result<(), Close> {
        self.peer.identities = identities.into();
        if let Some(tenants) = self.tenants {
            let tenant = tenants.of(self.peer.address.ip(), &self.peer.identities);
            self.peer.tenant = tenant;
            let admit = || tenants.admit(tenant);
            let admitted = (self.places).admit_of_tenant(self.place, tenant, admit);
            self.admitted = Some(admitted.ok_or(Close::TooManyOfTenant)?);
        }
        Ok(())
    }
}
