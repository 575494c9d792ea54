//! Users: registration, login, and the creators of posts.

use accelflow_serve::{HandlerError, HandlerResult, Request};
use accelflow_storage::StorageError;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{World, arguments, done, from_json, now_ms, refused, stored, unauthorized, value};

pub(crate) const COLLECTION: &str = "user";

/// A user as stored.
#[derive(Serialize, Deserialize)]
pub(super) struct User {
    pub(super) user_id: i64,
    first_name: String,
    last_name: String,
    pub(super) username: String,
    /// Argon2id hash with parameters and salt (PHC string format).
    password_hashed: String,
}

/// Argon2id with 1 MiB and one pass. OWASP recommends 19 MiB and two, which would make Login and
/// RegisterUser a benchmark of Argon2; a site with real passwords must use those.
fn hasher() -> Result<Argon2<'static>, HandlerError> {
    let parameters = Params::new(1_024, 1, 1, None);
    let parameters = parameters.map_err(|error| HandlerError::Internal(error.to_string()))?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, parameters))
}

/// The document of the user number `user`.
pub(super) fn document(user: u64) -> Result<String, HandlerError> {
    let hashed = hasher()?.hash_password(format!("password_{user}").as_bytes());
    let hashed = hashed.map_err(|error| HandlerError::Internal(error.to_string()))?;
    let user = User {
        user_id: user as i64,
        first_name: format!("first_name_{user}"),
        last_name: format!("last_name_{user}"),
        username: format!("username_{user}"),
        password_hashed: hashed.to_string(),
    };
    serde_json::to_string(&user).map_err(|error| HandlerError::Internal(error.to_string()))
}

#[derive(Deserialize)]
struct Login {
    username: String,
    password: String,
}

/// Returns a JSON Web Token if the password is correct.
pub(super) fn login(world: &World, request: &Request<'_>) -> HandlerResult {
    let it: Login = arguments(request)?;
    let document = match world.storage.read(COLLECTION, &it.username) {
        // Whoever guesses does not learn which users there are.
        Err(StorageError::NotFound { .. }) => return Err(unauthorized("wrong name or password")),
        other => stored(other)?,
    };
    let user: User = from_json(&document)?;
    let hash = PasswordHash::new(&user.password_hashed);
    let hash = hash.map_err(|error| HandlerError::Internal(error.to_string()))?;
    if hasher()?
        .verify_password(it.password.as_bytes(), &hash)
        .is_err()
    {
        return Err(unauthorized("wrong name or password"));
    }
    value(token(world, &user))
}

fn token(world: &World, user: &User) -> String {
    let header = URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256","typ":"JWT"}"#);
    let claims = json!({"user_id": user.user_id.to_string(), "username": user.username,
        "timestamp": (now_ms() / 1_000).to_string(), "ttl": 3_600});
    let signed = format!("{header}.{}", URL_SAFE_NO_PAD.encode(claims.to_string()));
    let signature = hmac::sign(&world.token_key, signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

#[derive(Deserialize)]
struct Register {
    req_id: i64,
    first_name: String,
    last_name: String,
    username: String,
    password: String,
    user_id: Option<i64>,
    carrier: Value,
}

pub(super) fn register(world: &World, request: &Request<'_>) -> HandlerResult {
    let it: Register = arguments(request)?;
    let user_id = world.unique_id();
    insert(world, it, user_id)
}

pub(super) fn register_with_id(world: &World, request: &Request<'_>) -> HandlerResult {
    let it: Register = arguments(request)?;
    match it.user_id {
        Some(user_id) => insert(world, it, user_id),
        None => Err(refused("user_id: must be given")),
    }
}

/// Writes the user, which fails if the name exists, and registers it with the social graph.
fn insert(world: &World, it: Register, user_id: i64) -> HandlerResult {
    let hashed = hasher()?.hash_password(it.password.as_bytes());
    let hashed = hashed.map_err(|error| HandlerError::Internal(error.to_string()))?;
    let user = User {
        user_id,
        first_name: it.first_name,
        last_name: it.last_name,
        username: it.username,
        password_hashed: hashed.to_string(),
    };
    let document = value(&user)?;
    stored(world.storage.write(COLLECTION, &user.username, &document))?;
    let known = json!({"req_id": it.req_id, "user_id": user_id, "carrier": it.carrier});
    let () = world.call("UserService", "SocialGraphService.InsertUser", known)?;
    done()
}

#[derive(Deserialize)]
struct Named {
    #[serde(default)]
    user_id: i64,
    username: String,
}

pub(super) fn creator_with_user_id(_: &World, request: &Request<'_>) -> HandlerResult {
    let it: Named = arguments(request)?;
    value(json!({"user_id": it.user_id, "username": it.username}))
}

pub(super) fn creator_with_username(world: &World, request: &Request<'_>) -> HandlerResult {
    let it: Named = arguments(request)?;
    let user_id = find(world, &it.username)?.user_id;
    value(json!({"user_id": user_id, "username": it.username}))
}

pub(super) fn get_user_id(world: &World, request: &Request<'_>) -> HandlerResult {
    let it: Named = arguments(request)?;
    value(find(world, &it.username)?.user_id)
}

fn find(world: &World, username: &str) -> Result<User, HandlerError> {
    from_json(&stored(world.storage.read(COLLECTION, username))?)
}
