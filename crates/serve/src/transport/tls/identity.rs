//! A server's certificate, its private key, and the clients that it accepts.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use accelflow_parameters::Refusal;
use rustls::ServerConfig;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};

use super::files::{provider, read_certificates, read_key, read_roots, refused};
use crate::error::ServeError;

/// The TLS settings of a server: its certificate and private key, and the clients that it accepts.
/// Connections use only TLS 1.3 with TLS_AES_128_GCM_SHA256 or TLS_AES_256_GCM_SHA384.
#[derive(Clone, Debug)]
pub struct TlsIdentity {
    pub(super) config: Arc<ServerConfig>,
    /// Whether clients must have a certificate.
    pub(crate) asks_clients: bool,
}

impl TlsIdentity {
    /// Reads a server's certificate chain and its private key from PEM files. The chain in
    /// `certificates` begins with the server's own certificate.
    ///
    /// # Errors
    /// [`ServeError::Certificate`] with the file and its defect.
    pub fn from_pem_files(certificates: &Path, key: &Path) -> Result<TlsIdentity, ServeError> {
        TlsIdentity::new(certificates, key, None)
    }

    /// Like [`TlsIdentity::from_pem_files`], and accepts only clients with a certificate signed by
    /// one of the authorities in the PEM file `authorities`. TLS sessions are not resumed, so that
    /// each certificate is checked. Revocation lists are not read. Requests have the DNS names, in
    /// lower case, and the URIs of the client's certificate
    /// ([`Request::peer_identities`](crate::Request)).
    ///
    /// # Errors
    /// The errors of [`TlsIdentity::from_pem_files`], also for the file `authorities`.
    pub fn for_known_clients(
        certificates: &Path,
        key: &Path,
        authorities: &Path,
    ) -> Result<TlsIdentity, ServeError> {
        TlsIdentity::new(certificates, key, Some(authorities))
    }

    fn new(
        certificates: &Path,
        key: &Path,
        authorities: Option<&Path>,
    ) -> Result<TlsIdentity, ServeError> {
        let chain = read_certificates(certificates)?;
        let private = read_key(key)?;
        let builder = ServerConfig::builder_with_provider(Arc::new(provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| refused(certificates, error.to_string()))?;
        let builder = match authorities {
            None => builder.with_no_client_auth(),
            Some(authorities) => builder.with_client_cert_verifier(verifier(authorities)?),
        };
        let config = builder.with_single_cert(chain, private);
        let mut config = config.map_err(|error| refused(key, error.to_string()))?;
        config.enable_secret_extraction = true;
        if authorities.is_some() {
            // Resuming a connection does not check the client's certificate, which may have
            // expired.
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
        Ok(TlsIdentity {
            config: Arc::new(config),
            asks_clients: authorities.is_some(),
        })
    }
}

impl TlsIdentity {
    /// Returns the identity for HTTP/2 only (RFC 9113, section 3.2).
    fn for_http2(&self) -> TlsIdentity {
        let mut config = ServerConfig::clone(&self.config);
        config.alpn_protocols = vec![b"h2".to_vec()];
        TlsIdentity {
            config: Arc::new(config),
            ..*self
        }
    }
}

/// The identity of a running server, which may be replaced. A connection has the one that was
/// current when it began.
#[derive(Debug)]
pub(crate) struct IdentitySlot {
    now: RwLock<TlsIdentity>,
    is_http2: bool,
    pub(crate) asks_clients: bool,
}

impl IdentitySlot {
    pub(crate) fn new(identity: TlsIdentity, is_http2: bool) -> IdentitySlot {
        IdentitySlot {
            asks_clients: identity.asks_clients,
            now: RwLock::new(adapted(identity, is_http2)),
            is_http2,
        }
    }

    pub(crate) fn now(&self) -> TlsIdentity {
        let now = self.now.read().unwrap_or_else(PoisonError::into_inner);
        now.clone()
    }

    /// Replaces the identity by one that also asks clients for certificates, or also does not.
    pub(crate) fn replace(&self, identity: TlsIdentity) -> Result<(), Refusal> {
        let (given, allowed) = match self.asks_clients {
            true => ("without authorities of clients", "must have them"),
            false => ("with authorities of clients", "must have none"),
        };
        if identity.asks_clients != self.asks_clients {
            let allowed = format!("{allowed}, as the server had when it was started");
            return Err(Refusal::new("tls", given, allowed));
        }
        let identity = adapted(identity, self.is_http2);
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = identity;
        Ok(())
    }
}

fn adapted(identity: TlsIdentity, is_http2: bool) -> TlsIdentity {
    match is_http2 {
        true => identity.for_http2(),
        false => identity,
    }
}

/// Makes a verifier that accepts certificates signed by one of these authorities.
fn verifier(authorities: &Path) -> Result<Arc<dyn ClientCertVerifier>, ServeError> {
    let roots = Arc::new(read_roots(authorities)?);
    let built = WebPkiClientVerifier::builder_with_provider(roots, Arc::new(provider())).build();
    built.map_err(|error| refused(authorities, error))
}
