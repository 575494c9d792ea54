//! The settings of a storage gateway, and the errors of a gateway that cannot start.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::{Deserialize, Serialize};

use super::error::StoreError;
use crate::collections::{Collection, CollectionError};

/// The settings of a storage gateway, which the command `accelflow-storage-gateway` reads from a
/// JSON file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatewayConfig {
    /// The address that the gateway listens on.
    pub listen: SocketAddr,
    /// The path of the PEM file with the gateway's certificate chain, which begins with the
    /// gateway's own certificate.
    pub certificates: PathBuf,
    /// The path of the PEM file with the private key of the gateway's certificate.
    pub key: PathBuf,
    /// The URL of the cache, a Redis server: `redis://...`.
    pub redis: String,
    /// The connection string of the database, a PostgreSQL server: a URL, or in `key=value` form.
    pub postgres: String,
    /// The collections that the gateway stores.
    pub collections: Vec<Collection>,
    /// The largest number of open connections from services, 1 to 65,536. Default 256.
    #[serde(default = "default_connections")]
    pub max_connections: usize,
    /// The largest number of connections to the database, 1 to 1,024. Default 8.
    #[serde(default = "default_pool")]
    pub database_connections: usize,
    /// The time limit of one request to the cache or the database, in milliseconds: 1 to 3,600,000.
    /// The wait for a connection to the database has a limit of the same length. Default 2,000.
    #[serde(default = "default_timeout")]
    pub store_timeout_ms: u64,
}

fn default_connections() -> usize {
    256
}

fn default_pool() -> usize {
    8
}

fn default_timeout() -> u64 {
    2_000
}

/// The error of a gateway that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// A file of settings, certificates or a key cannot be read or used.
    #[error("{path}: {why}")]
    File {
        /// The path of the file.
        path: PathBuf,
        /// What is wrong with the file.
        why: String,
    },
    /// A number in the settings is out of its range.
    #[error("{name} = {value}: must be from 1 to {most}")]
    Number {
        /// The name of the setting.
        name: &'static str,
        /// The value of the setting as it was given.
        value: u64,
        /// The largest allowed value.
        most: u64,
    },
    /// The settings of a collection are invalid.
    #[error(transparent)]
    Collections(#[from] CollectionError),
    /// The gateway cannot listen on its address.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// The address at which the gateway should listen.
        address: SocketAddr,
        /// The operating system's error.
        error: io::Error,
    },
    /// The cache or the database cannot be reached or prepared.
    #[error("cannot use {what}: {error}")]
    Store {
        /// Which of the two cannot be used: "the cache" or "the database".
        what: &'static str,
        /// The error of the cache or database.
        error: StoreError,
    },
}

impl GatewayConfig {
    /// Reads the settings of a gateway from the JSON file at `path`.
    ///
    /// # Errors
    /// [`GatewayError::File`] for a file that cannot be read, or whose JSON is invalid. For invalid
    /// JSON, the error states line and column.
    pub fn load(path: &Path) -> Result<GatewayConfig, GatewayError> {
        let refused = |why: String| GatewayError::File {
            path: path.to_owned(),
            why,
        };
        let text = std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
        serde_json::from_str(&text).map_err(|error| refused(error.to_string()))
    }

    pub(super) fn check(&self) -> Result<(), GatewayError> {
        let numbers = [
            ("max_connections", self.max_connections as u64, 65_536),
            (
                "database_connections",
                self.database_connections as u64,
                1_024,
            ),
            ("store_timeout_ms", self.store_timeout_ms, 3_600_000),
        ];
        for (name, value, most) in numbers {
            if !(1..=most).contains(&value) {
                return Err(GatewayError::Number { name, value, most });
            }
        }
        Ok(())
    }

    pub(super) fn tls(&self) -> Result<Arc<ServerConfig>, GatewayError> {
        let refused = |path: &Path, why: String| GatewayError::File {
            path: path.to_owned(),
            why,
        };
        let path = &self.certificates;
        let chain: Result<Vec<_>, _> =
            CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
        let chain = chain.map_err(|error| refused(path, error.to_string()))?;
        let key = PrivateKeyDer::from_pem_file(&self.key)
            .map_err(|error| refused(&self.key, error.to_string()))?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key));
        let mut config = config.map_err(|error| refused(path, error.to_string()))?;
        // Session tickets would arrive between two messages. Connections are kept open, not
        // resumed.
        config.send_tls13_tickets = 0;
        Ok(Arc::new(config))
    }
}
