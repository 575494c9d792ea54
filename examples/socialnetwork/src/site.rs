//! The addresses, keys and files of one run.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use accelflow_storage::{Collection, GatewayConfig, Kind};
use serde::{Deserialize, Serialize};

use crate::services::SERVICES;

/// The name in the certificate that all servers share.
pub(crate) const SERVER_NAME: &str = "localhost";

/// The addresses and keys of a run, in a file for its processes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Site {
    pub(crate) gateway: SocketAddr,
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    ports: BTreeMap<String, u16>,
}

impl Site {
    /// Creates a certificate in `folder` and finds free ports.
    pub(crate) fn new(folder: &Path) -> Result<Site, Box<dyn std::error::Error>> {
        let made = rcgen::generate_simple_self_signed(vec![SERVER_NAME.to_owned()])?;
        let (certificate, key) = (folder.join("cert.pem"), folder.join("key.pem"));
        std::fs::write(&certificate, made.cert.pem())?;
        std::fs::write(&key, made.signing_key.serialize_pem())?;
        let names = SERVICES.iter().map(|(name, _)| *name);
        // All at once: a port that was given back could be found a second time.
        let listeners = names
            .chain([crate::floor::NAME, "gateway"])
            .map(|name| Ok((name, TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?)))
            .collect::<std::io::Result<Vec<_>>>()?;
        let mut ports = BTreeMap::new();
        for (name, listener) in &listeners {
            ports.insert((*name).to_owned(), listener.local_addr()?.port());
        }
        let gateway = ports.remove("gateway").unwrap_or_default();
        Ok(Site {
            gateway: SocketAddr::from((Ipv4Addr::LOCALHOST, gateway)),
            certificate,
            key,
            ports,
        })
    }

    /// Creates a certificate in `folder`, and one address for all services and one for the storage.
    pub(crate) fn of_stand_ins(folder: &Path) -> Result<Site, Box<dyn std::error::Error>> {
        let mut site = Site::new(folder)?;
        let port = site.address("TextService").port();
        site.ports.values_mut().for_each(|own| *own = port);
        Ok(site)
    }

    pub(crate) fn address(&self, service: &str) -> SocketAddr {
        let port = self.ports.get(service).copied().unwrap_or_default();
        SocketAddr::from((Ipv4Addr::LOCALHOST, port))
    }

    pub(crate) fn load(path: &Path) -> Result<Site, Box<dyn std::error::Error>> {
        Ok(serde_json::from_slice(&std::fs::read(path)?)?)
    }

    pub(crate) fn save(&self, path: &Path) -> std::io::Result<()> {
        std::fs::write(path, serde_json::to_vec(self)?)
    }

    pub(crate) fn gateway_config(&self, redis: String, postgres: String) -> GatewayConfig {
        GatewayConfig {
            listen: self.gateway,
            certificates: self.certificate.clone(),
            key: self.key.clone(),
            redis,
            postgres,
            collections: collections(),
            max_connections: 1_024,
            database_connections: 16,
            store_timeout_ms: 5_000,
        }
    }
}

/// The storage collections of the services. Credentials stay in the cache for a second, so that
/// most Logins miss it, as in AccelFlow's Table IV; timelines are sent compressed.
fn collections() -> Vec<Collection> {
    let hour = 3_600;
    [
        ("edge", Kind::Documents, hour, false),
        ("followees", Kind::Lists, hour, false),
        ("followers", Kind::Lists, hour, false),
        ("graph-user", Kind::Documents, hour, false),
        ("home-timeline", Kind::Lists, hour, true),
        ("post", Kind::Documents, hour, true),
        ("url-shorten", Kind::Documents, hour, false),
        ("user", Kind::UniqueDocuments, 1, false),
        ("user-timeline", Kind::Lists, hour, true),
    ]
    .map(|(name, kind, cache_ttl_s, cache_compressed)| Collection {
        name: name.to_owned(),
        kind,
        cache_ttl_s,
        cache_compressed,
        // Of followers all, of timelines what clients ask for.
        max_items: if name.starts_with("follow") {
            1_000
        } else {
            200
        },
    })
    .into()
}
