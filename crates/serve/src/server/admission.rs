//! The admission of connections to a server: certificates, tenants, limits on connections and
//! memory, and the server's shutdown.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::places::Places;
use super::tenants::control::Controlled;
use super::tenants::gates::Tenants;
use super::thread_scope::ThreadScope;
use crate::memory::arena::Arena;
use crate::transport::tls::identity::IdentitySlot;

/// Decides whether a connection is accepted, and on which terms.
pub(crate) struct Admission {
    /// The server's certificate, if it speaks TLS.
    pub(crate) identity: Option<IdentitySlot>,
    /// The tenants, if there are any.
    pub(crate) tenants: Option<Arc<Tenants>>,
    /// The promises to tenants; `None` without a control plane.
    pub(crate) controlled: Option<Arc<Controlled>>,
    /// The open connections.
    pub(crate) places: Arc<Places>,
    /// The memory that requests share, if it is limited.
    pub(crate) arena: Option<Arc<Arena>>,
    /// The scope that each connection's thread runs in.
    pub(crate) thread_scope: Arc<ThreadScope>,
    /// Whether the server is stopping.
    pub(crate) stopping: AtomicBool,
}

impl Admission {
    /// Whether clients must have a certificate.
    pub(crate) fn asks_clients(&self) -> bool {
        let identity = self.identity.as_ref();
        identity.is_some_and(|identity| identity.asks_clients)
    }

    /// Whether the server is stopping.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }
}
