//! The services: their handlers and the resources that handlers use.

mod compose;
mod graph;
mod posts;
mod text;
mod timelines;
mod users;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use accelflow_accel::Settings;
use accelflow_accel::thrift::{Protocol, Schema};
use accelflow_runtime::trail;
use accelflow_serve::{
    CallError, Client, ClientConfig, Compression, Config, Execution, HandlerError, HandlerResult,
    Request, Running, Server, TlsIdentity, TlsTrust,
};
use accelflow_storage::{Storage, StorageConfig, StorageError};
use rayon::ThreadPool;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::site::{SERVER_NAME, Site};

/// The services of the application, and whether they compress replies: as in AccelFlow's Table IV
/// where possible (docs/results/socialnetwork.md).
pub(crate) const SERVICES: [(&str, Compression); 11] = [
    ("ComposePostService", Compression::Never),
    ("HomeTimelineService", Compression::Always),
    ("MediaService", Compression::LikeRequest),
    ("PostStorageService", Compression::Always),
    ("SocialGraphService", Compression::LikeRequest),
    ("TextService", Compression::LikeRequest),
    ("UniqueIdService", Compression::LikeRequest),
    ("UrlShortenService", Compression::LikeRequest),
    ("UserMentionService", Compression::LikeRequest),
    ("UserService", Compression::LikeRequest),
    ("UserTimelineService", Compression::LikeRequest),
];

/// The services that ComposePost calls send compressed arguments (T9+Cmp).
const COMPRESSING: &str = "ComposePostService";

/// Maximum number of nested calls of a process under way.
const PARALLEL: usize = 64;

/// The resources of handlers.
pub(crate) struct World {
    pub(crate) storage: Storage,
    clients: BTreeMap<&'static str, Client>,
    compressing: BTreeMap<&'static str, Client>,
    pool: ThreadPool,
    ids: AtomicU64,
    /// The key that signs Login's tokens.
    pub(crate) token_key: aws_lc_rs::hmac::Key,
}

/// One of several parallel tasks of a handler.
pub(crate) type Job<'j, T> = Box<dyn FnOnce() -> Result<T, HandlerError> + Send + 'j>;

impl World {
    pub(crate) fn new(site: &Site) -> Result<World, Box<dyn std::error::Error>> {
        let trust = TlsTrust::from_pem_file(&site.certificate, SERVER_NAME)?;
        let connect = |compress| {
            let config = ClientConfig {
                compress,
                max_connections: PARALLEL,
                ..ClientConfig::default()
            };
            let clients = SERVICES.iter().map(|(name, _)| {
                let address = site.address(name);
                let (settings, trust) = (Settings::default(), Some(trust.clone()));
                Client::new(address, settings, Protocol::Binary, trust, config.clone())
                    .map(|client| (*name, client))
            });
            clients.collect::<Result<BTreeMap<_, _>, _>>()
        };
        let random = aws_lc_rs::rand::SystemRandom::new();
        Ok(World {
            storage: Storage::new(&storage_config(site))?,
            clients: connect(false)?,
            compressing: connect(true)?,
            pool: rayon::ThreadPoolBuilder::new()
                .num_threads(PARALLEL)
                .build()?,
            ids: AtomicU64::new(0),
            token_key: aws_lc_rs::hmac::Key::generate(aws_lc_rs::hmac::HMAC_SHA256, &random)
                .map_err(|_| "the system has no random numbers")?,
        })
    }

    /// Calls a function of another service: T9 and T10.
    pub(crate) fn call<T: DeserializeOwned>(
        &self,
        caller: &str,
        function: &str,
        arguments: Value,
    ) -> Result<T, HandlerError> {
        let clients = match caller {
            COMPRESSING => &self.compressing,
            _ => &self.clients,
        };
        let service = function.split('.').next().unwrap_or_default();
        let unknown = || HandlerError::Internal(format!("there is no service {service}"));
        let client = clients.get(service).ok_or_else(unknown)?;
        let value = client.call(function, arguments.to_string().as_bytes());
        let value = value.map_err(|error| match error {
            CallError::Declared { field, body } => HandlerError::Declared {
                field,
                body: body.into_bytes(),
            },
            other => HandlerError::Internal(format!("{function}: {other}")),
        })?;
        match value.as_slice() {
            [] => from_json(b"null"),
            value => from_json(value),
        }
    }

    /// Runs tasks in parallel: the first on this thread, the others on further ones.
    pub(crate) fn parallel<T: Send>(&self, jobs: Vec<Job<'_, T>>) -> Result<Vec<T>, HandlerError> {
        let measured = trail::is_open();
        let begun = match measured {
            true => accelflow_runtime::thread_time(),
            false => Duration::ZERO,
        };
        let mut done: Vec<Option<_>> = Vec::new();
        done.resize_with(jobs.len(), || None);
        self.pool.in_place_scope(|scope| {
            let mut pairs = done.iter_mut().zip(jobs);
            let first = pairs.next();
            for (place, job) in pairs {
                scope.spawn(move |_| *place = Some(trail::collect(measured, job)));
            }
            if let Some((place, job)) = first {
                *place = Some(trail::collect(measured, job));
            }
        });
        let (mut values, mut chains) = (Vec::new(), Vec::new());
        for (value, own) in done.into_iter().flatten() {
            values.push(value);
            chains.extend(own);
        }
        trail::add_parallel(begun, chains);
        values.into_iter().collect()
    }

    /// Returns a new identifier. Upstream it consists of machine, time and counter; here of 43 bits
    /// of milliseconds since 1970 and a counter of 20 bits.
    pub(crate) fn unique_id(&self) -> i64 {
        let count = self.ids.fetch_add(1, Ordering::Relaxed) & 0xf_ffff;
        (now_ms() & 0x7ff_ffff_ffff) << 20 | count as i64
    }
}

fn storage_config(site: &Site) -> StorageConfig {
    StorageConfig {
        address: site.gateway,
        server_name: SERVER_NAME.to_owned(),
        roots: site.certificate.clone(),
        connections: PARALLEL,
        timeout: Duration::from_secs(10),
        execution: Execution::Inline,
    }
}

pub(crate) fn storage(site: &Site) -> Result<Storage, accelflow_storage::SetupError> {
    Storage::new(&storage_config(site))
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(now.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
}

/// The arguments of a request.
pub(crate) fn arguments<T: DeserializeOwned>(request: &Request<'_>) -> Result<T, HandlerError> {
    from_json(request.arguments)
}

pub(crate) fn from_json<T: DeserializeOwned>(text: &[u8]) -> Result<T, HandlerError> {
    serde_json::from_slice(text).map_err(|error| HandlerError::Internal(error.to_string()))
}

pub(crate) fn done() -> HandlerResult {
    Ok(Vec::new())
}

pub(crate) fn value(value: impl serde::Serialize) -> HandlerResult {
    serde_json::to_vec(&value).map_err(|error| HandlerError::Internal(error.to_string()))
}

/// `ErrorCode` of the interface.
const UNAUTHORIZED: i32 = 2;
const STORAGE: i32 = 4;
const HANDLER: i32 = 6;

/// The exception that all functions declare.
fn exception(code: i32, message: &str) -> HandlerError {
    HandlerError::Declared {
        field: "se".to_owned(),
        body: json!({"errorCode": code, "message": message})
            .to_string()
            .into_bytes(),
    }
}

pub(crate) fn unauthorized(message: &str) -> HandlerError {
    exception(UNAUTHORIZED, message)
}

pub(crate) fn refused(message: &str) -> HandlerError {
    exception(HANDLER, message)
}

pub(crate) fn stored<T>(done: Result<T, StorageError>) -> Result<T, HandlerError> {
    done.map_err(|error| exception(STORAGE, &error.to_string()))
}

type Function = fn(&World, &Request<'_>) -> HandlerResult;

const FUNCTIONS: [(&str, Function); 24] = [
    ("ComposePostService.ComposePost", compose::compose_post),
    ("HomeTimelineService.ReadHomeTimeline", timelines::read_home),
    (
        "HomeTimelineService.WriteHomeTimeline",
        timelines::write_home,
    ),
    ("MediaService.ComposeMedia", compose::compose_media),
    ("PostStorageService.ReadPost", posts::read_post),
    ("PostStorageService.ReadPosts", posts::read_posts),
    ("PostStorageService.StorePost", posts::store_post),
    ("SocialGraphService.Follow", graph::follow),
    (
        "SocialGraphService.FollowWithUsername",
        graph::follow_with_username,
    ),
    ("SocialGraphService.GetFollowees", graph::get_followees),
    ("SocialGraphService.GetFollowers", graph::get_followers),
    ("SocialGraphService.InsertUser", graph::insert_user),
    ("TextService.ComposeText", text::compose_text),
    (
        "UniqueIdService.ComposeUniqueId",
        compose::compose_unique_id,
    ),
    ("UrlShortenService.ComposeUrls", text::compose_urls),
    ("UrlShortenService.GetExtendedUrls", text::get_extended_urls),
    (
        "UserMentionService.ComposeUserMentions",
        text::compose_user_mentions,
    ),
    (
        "UserService.ComposeCreatorWithUserId",
        users::creator_with_user_id,
    ),
    (
        "UserService.ComposeCreatorWithUsername",
        users::creator_with_username,
    ),
    ("UserService.GetUserId", users::get_user_id),
    ("UserService.Login", users::login),
    ("UserService.RegisterUser", users::register),
    ("UserService.RegisterUserWithId", users::register_with_id),
    ("UserTimelineService.ReadUserTimeline", timelines::read_user),
];

const WRITE_USER_TIMELINE: (&str, Function) = (
    "UserTimelineService.WriteUserTimeline",
    timelines::write_user,
);

/// The functions that a service has handlers for.
pub(crate) fn functions(service: &str) -> impl Iterator<Item = (&'static str, Function)> {
    let prefix = format!("{service}.");
    let all = FUNCTIONS.into_iter().chain([WRITE_USER_TIMELINE]);
    all.filter(move |(name, _)| name.starts_with(&prefix))
}

/// The document of the user number `user` in the storage, whose password Login's requests know.
pub(crate) fn stored_user(user: u64) -> Result<String, Box<dyn std::error::Error>> {
    users::document(user).map_err(|_| "the password cannot be hashed".into())
}

/// Starts the server of one service.
pub(crate) fn start(
    site: &Site,
    world: &Arc<World>,
    service: &str,
    records: bool,
) -> Result<Running, Box<dyn std::error::Error>> {
    let known = SERVICES.iter().find(|(name, _)| *name == service);
    let (_, compression) = known.ok_or_else(|| format!("there is no service '{service}'"))?;
    let mut server = Server::new(Schema::social_network());
    server.set_config(Config {
        compression: *compression,
        ..Config::default()
    });
    server.set_tls(TlsIdentity::from_pem_files(
        Path::new(&site.certificate),
        Path::new(&site.key),
    )?);
    server.set_recording(records);
    for (name, function) in functions(service) {
        let world = world.clone();
        server.handle(name, move |request: &Request<'_>| function(&world, request))?;
    }
    Ok(server.start(site.address(service))?)
}
