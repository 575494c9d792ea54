//! Stand-ins of the services and of the storage that the eight services call: they answer at once,
//! as in Cerebros's evaluation (MICRO 2021, section 5), so that response times are those of the
//! eight.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use accelflow_accel::compress::{Cmp, DEFAULT_LEVEL};
use accelflow_accel::storage::{Operation, StorageRequest, StorageResponse, Stored, read_request};
use accelflow_accel::thrift::Schema;
use accelflow_accel::{AccelError, Codec, Limits};
use accelflow_serve::{Compression, Config, Request, Server, TlsIdentity};
use accelflow_trace::Format;
use clap::Args;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

use crate::requests::{EIGHT, Kind};
use crate::serve::wait_for_end;
use crate::services::stored_user;
use crate::site::Site;

type Failure = Box<dyn std::error::Error>;

/// Requests of each kind whose arguments are printed.
const REQUESTS: u64 = 64;
/// Posts of a timeline.
const POSTS: i64 = 10;

/// Options of the stand-ins.
#[derive(Args)]
pub(crate) struct Options {
    /// The folder for certificate, key and addresses.
    folder: PathBuf,
}

/// Serves until standard input ends. Prints the site's file, the certificate, the interface, and
/// the functions with arguments of requests, as JSON.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let site = Site::of_stand_ins(&options.folder)?;
    let (file, interface) = (
        options.folder.join("site.json"),
        options.folder.join("social_network.thrift"),
    );
    site.save(&file)?;
    std::fs::write(
        &interface,
        include_str!("../../../crates/accel/idl/social_network.thrift"),
    )?;
    serve_storage(&site)?;
    let running = services(&site)?.start(site.address("TextService"))?;
    let mut requests = BTreeMap::new();
    for kind in EIGHT {
        let arguments: Vec<Value> = (0..REQUESTS)
            .map(|number| kind.arguments(number))
            .collect::<Result<_, AccelError>>()?;
        let told = json!({"function": kind.function(), "compressed": kind.compressed(), "arguments": arguments});
        requests.insert(kind.name(), told);
    }
    let told = json!({"site": file, "certificate": site.certificate, "interface": interface, "requests": requests});
    println!("{told}");
    wait_for_end();
    running.stop(std::time::Duration::ZERO);
    Ok(())
}

/// The services that the eight call, with the same reply for every request.
fn services(site: &Site) -> Result<Server, Failure> {
    let post = Kind::StorePost.arguments(1)?["post"].clone();
    let replies = [
        (
            "TextService.ComposeText",
            json!({"text": "A post.", "user_mentions": [], "urls": []}),
        ),
        ("MediaService.ComposeMedia", json!([])),
        ("UniqueIdService.ComposeUniqueId", json!(7)),
        (
            "UserService.ComposeCreatorWithUserId",
            json!({"user_id": 1, "username": "username_1"}),
        ),
        ("PostStorageService.ReadPosts", json!([post])),
        ("PostStorageService.StorePost", Value::Null),
        ("UserTimelineService.WriteUserTimeline", Value::Null),
        ("HomeTimelineService.WriteHomeTimeline", Value::Null),
        ("SocialGraphService.InsertUser", Value::Null),
    ];
    let mut server = Server::new(Schema::social_network());
    server.set_config(Config {
        compression: Compression::LikeRequest,
        ..Config::default()
    });
    server.set_tls(TlsIdentity::from_pem_files(&site.certificate, &site.key)?);
    for (function, reply) in replies {
        let reply = match reply {
            Value::Null => Vec::new(),
            value => value.to_string().into_bytes(),
        };
        server.handle(function, move |_: &Request<'_>| Ok(reply.clone()))?;
    }
    Ok(server)
}

/// Serves storage requests over TLS, in a thread for each connection. Threads end with the process.
fn serve_storage(site: &Site) -> Result<(), Failure> {
    let chain = vec![CertificateDer::from_pem_file(&site.certificate)?];
    let key = PrivateKeyDer::from_pem_file(&site.key)?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    // The client reads application data alone once the handshake is done.
    config.send_tls13_tickets = 0;
    let (config, store) = (Arc::new(config), Arc::new(Store::default()));
    let address: SocketAddr = site.gateway;
    let listener = TcpListener::bind(address)?;
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (config, store) = (config.clone(), store.clone());
            std::thread::spawn(move || {
                // A client that goes away ends its thread.
                converse(stream, config, &store).ok();
            });
        }
    });
    Ok(())
}

fn converse(stream: TcpStream, config: Arc<ServerConfig>, store: &Store) -> Result<(), Failure> {
    stream.set_nodelay(true)?;
    let mut stream = StreamOwned::new(ServerConnection::new(config)?, stream);
    let limits = Limits::default();
    loop {
        let mut message = vec![0; 4];
        stream.read_exact(&mut message)?;
        let length = u32::from_be_bytes([message[0], message[1], message[2], message[3]]) as usize;
        if length > limits.max_message_bytes {
            return Err("the request is larger than a message may be".into());
        }
        message.resize(4 + length, 0);
        stream.read_exact(&mut message[4..])?;
        let request = read_request(&message, &limits)?;
        let response = store.answer(&request)?;
        stream.write_all(&response.encode(&limits)?)?;
        stream.flush()?;
    }
}

/// The contents of the storage: timelines are in the cache, users in the database alone, and
/// everything is written well.
#[derive(Default)]
struct Store {
    users: Mutex<BTreeMap<String, String>>,
}

impl Store {
    fn answer(&self, request: &StorageRequest) -> Result<StorageResponse, Failure> {
        let done = StorageResponse::done(request.operation);
        Ok(match (request.operation, request.collection.as_str()) {
            (Operation::CacheGet, "home-timeline") => {
                let items: Vec<i64> = (1..=POSTS).collect();
                let list = json!({"items": items}).to_string();
                StorageResponse {
                    hit: true,
                    data: Some(compressed(&list)?),
                    ..done
                }
            }
            (Operation::DbFind, "user") => {
                let user = self.user(&request.key)?;
                StorageResponse {
                    found: user.is_some(),
                    data: user.map(plain),
                    ..done
                }
            }
            _ => done,
        })
    }

    /// The stored user with this name, one of those whose Login requests know the password.
    fn user(&self, name: &str) -> Result<Option<String>, Failure> {
        let number = name
            .strip_prefix("username_")
            .and_then(|text| text.parse().ok());
        let Some(number) = number else {
            return Ok(None);
        };
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(user) = users.get(name) {
            return Ok(Some(user.clone()));
        }
        let user = stored_user(number)?;
        users.insert(name.to_owned(), user.clone());
        Ok(Some(user))
    }
}

fn plain(text: String) -> Stored {
    Stored {
        bytes: text.into_bytes(),
        codec: None,
        format: Format::Json,
    }
}

fn compressed(text: &str) -> Result<Stored, AccelError> {
    let codec = Codec::Zstd;
    let mut compressor = Cmp::new(codec, DEFAULT_LEVEL, Limits::default())?;
    Ok(Stored {
        bytes: compressor.compress(text.as_bytes())?,
        codec: Some(codec),
        format: Format::Json,
    })
}
