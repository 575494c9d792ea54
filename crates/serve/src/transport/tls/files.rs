//! Reading certificates and keys from PEM files, and the cipher suites of servers and clients.

use std::path::Path;

use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{self, cipher_suite};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::error::ServeError;

/// The cipher suites that both ends offer and accept: those of Encr and Decr.
pub(crate) fn provider() -> CryptoProvider {
    CryptoProvider {
        cipher_suites: vec![
            cipher_suite::TLS13_AES_128_GCM_SHA256,
            cipher_suite::TLS13_AES_256_GCM_SHA384,
        ],
        ..aws_lc_rs::default_provider()
    }
}

pub(crate) fn refused(path: &Path, why: impl ToString) -> ServeError {
    ServeError::Certificate {
        path: path.to_owned(),
        why: why.to_string(),
    }
}

/// The error of a file that cannot be read, or is malformed.
fn unreadable(path: &Path, error: pem::Error) -> ServeError {
    match error {
        pem::Error::Io(_) if path.as_os_str().is_empty() => {
            refused(Path::new("''"), "must be the path of a PEM file")
        }
        error => refused(path, error),
    }
}

/// Reads the certificates of a PEM file; there must be at least one.
pub(crate) fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ServeError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let found = read.map_err(|error| unreadable(path, error))?;
    match found.is_empty() {
        true => Err(refused(
            path,
            "must have at least one certificate in PEM form",
        )),
        false => Ok(found),
    }
}

/// Reads the authorities of a PEM file; there must be at least one.
pub(crate) fn read_roots(path: &Path) -> Result<RootCertStore, ServeError> {
    let mut roots = RootCertStore::empty();
    for certificate in read_certificates(path)? {
        roots
            .add(certificate)
            .map_err(|error| refused(path, error))?;
    }
    Ok(roots)
}

pub(crate) fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, ServeError> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| match error {
        pem::Error::NoItemsFound => refused(path, "must have a private key in PEM form"),
        error => unreadable(path, error),
    })
}
