//! Realistic messages of SocialNetwork's eight services and of the calls that the services make.
//!
//! Contents follow DeathStarBench's load generator (commit 6ecb0970, wrk2/*.lua) and initial data:
//! 962 users (the socfb-Reed98 graph), posts of 256 random letters and digits with 1 to 6 mentions,
//! 1 to 6 links and 1 to 5 media. A message depends only on its method, the seed and the index of
//! the request. The request of a method, its response and the messages of nested calls have
//! consistent contents for the same seed and index.

mod post;
mod random;
mod sizes;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::error::AccelError;
use post::{Compose, USERS, carrier};
use random::Draw;

pub use sizes::{MESSAGE_SIZES, MessageSize};

/// One of the eight services of SocialNetwork (AccelFlow, section VI): its name, the method that
/// clients call, the methods that it calls itself, and the collection of documents that it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceMessages {
    /// The service's name in the paper, such as `CPost`.
    pub name: &'static str,
    /// The name of the method by which clients call the service, such as `ComposePost`.
    pub method: &'static str,
    /// The names of the methods of other SocialNetwork services that this service calls.
    pub nested: &'static [&'static str],
    /// The collection that the service reads or writes in the cache and the database; `None` if
    /// there is none.
    pub collection: Option<&'static str>,
}

/// The eight services of SocialNetwork, in the order of AccelFlow's Table IV.
pub const SERVICES: [ServiceMessages; 8] = [
    ServiceMessages {
        name: "CPost",
        method: "ComposePost",
        nested: &[
            "ComposeText",
            "ComposeMedia",
            "ComposeUniqueId",
            "ComposeCreatorWithUserId",
            "StorePost",
            "WriteUserTimeline",
            "WriteHomeTimeline",
        ],
        collection: None,
    },
    ServiceMessages {
        name: "ReadH",
        method: "ReadHomeTimeline",
        nested: &["ReadPosts"],
        collection: Some("home-timeline"),
    },
    ServiceMessages {
        name: "StoreP",
        method: "StorePost",
        nested: &[],
        collection: Some("post"),
    },
    ServiceMessages {
        name: "Follow",
        method: "FollowWithUsername",
        nested: &[],
        collection: Some("social-graph"),
    },
    ServiceMessages {
        name: "Login",
        method: "Login",
        nested: &[],
        collection: Some("user"),
    },
    ServiceMessages {
        name: "CUrls",
        method: "ComposeUrls",
        nested: &[],
        collection: Some("url-shorten"),
    },
    ServiceMessages {
        name: "UniqId",
        method: "ComposeUniqueId",
        nested: &[],
        collection: None,
    },
    ServiceMessages {
        name: "RegUsr",
        method: "RegisterUserWithId",
        nested: &["InsertUser"],
        collection: Some("user"),
    },
];

/// The names of the methods of SocialNetwork for which [`request`] and [`response`] make messages.
pub const METHODS: [&str; 17] = [
    "ComposePost",
    "ComposeText",
    "ComposeUrls",
    "ComposeUserMentions",
    "ComposeUniqueId",
    "ComposeMedia",
    "ComposeCreatorWithUserId",
    "StorePost",
    "ReadPosts",
    "WriteUserTimeline",
    "WriteHomeTimeline",
    "ReadHomeTimeline",
    "Login",
    "RegisterUserWithId",
    "InsertUser",
    "FollowWithUsername",
    "GetFollowers",
];

/// Posts on one page of a timeline (wrk2/read-home-timeline.lua).
const PAGE: u64 = 10;

/// The purposes of random numbers. Each (seed, index) has one stream per purpose.
#[derive(Clone, Copy)]
enum Purpose {
    Identifiers = 1,
    Compose = 2,
    Users = 3,
    Page = 4,
    Followers = 5,
    Token = 6,
}

fn draw(seed: u64, index: u64, purpose: Purpose) -> Draw {
    Draw::new(seed, index, purpose as u64)
}

fn compose(seed: u64, index: u64) -> Compose {
    Compose::new(&mut draw(seed, index, Purpose::Compose))
}

/// Returns the arguments of a realistic request to SocialNetwork's `method`, as a JSON object with
/// fields in the order of the interface. The contents depend only on `seed` and `index`, the index
/// of the request.
///
/// # Errors
/// `unknown_method` for a name that is not in [`METHODS`].
pub fn request(method: &str, seed: u64, index: u64) -> Result<Value, AccelError> {
    let mut ids = draw(seed, index, Purpose::Identifiers);
    let (req_id, post_id) = (ids.identifier(), ids.identifier());
    let carrier = carrier(&mut ids);
    let post = || compose(seed, index);
    let timestamp = timestamp(index);
    Ok(match method {
        "ComposePost" => post().request(req_id, carrier),
        "ComposeText" => json!({"req_id": req_id, "text": post().text(), "carrier": carrier}),
        "ComposeUrls" => {
            json!({"req_id": req_id, "urls": post().expanded_urls(), "carrier": carrier})
        }
        "ComposeUserMentions" => {
            json!({"req_id": req_id, "usernames": post().mentioned_names(), "carrier": carrier})
        }
        "ComposeUniqueId" => json!({"req_id": req_id, "post_type": 0, "carrier": carrier}),
        "ComposeMedia" => {
            let post = post();
            json!({"req_id": req_id, "media_types": post.media_types(),
                "media_ids": post.media_ids(), "carrier": carrier})
        }
        "ComposeCreatorWithUserId" => {
            let post = post();
            json!({"req_id": req_id, "user_id": post.user(), "username": post.username(),
                "carrier": carrier})
        }
        "StorePost" => {
            json!({"req_id": req_id, "post": post().stored(post_id, req_id, timestamp),
                "carrier": carrier})
        }
        "ReadPosts" => {
            json!({"req_id": req_id, "post_ids": page_ids(seed, index), "carrier": carrier})
        }
        "WriteUserTimeline" => json!({"req_id": req_id, "post_id": post_id,
            "user_id": post().user(), "timestamp": timestamp, "carrier": carrier}),
        "WriteHomeTimeline" => {
            let post = post();
            json!({"req_id": req_id, "post_id": post_id, "user_id": post.user(),
                "timestamp": timestamp, "user_mentions_id": post.mentioned_ids(),
                "carrier": carrier})
        }
        other => return user_request(other, seed, index, req_id, carrier),
    })
}

fn user_request(
    method: &str,
    seed: u64,
    index: u64,
    req_id: i64,
    carrier: Value,
) -> Result<Value, AccelError> {
    let mut users = draw(seed, index, Purpose::Users);
    let (user, other) = (users.between(0, USERS - 1), users.between(0, USERS - 1));
    let start = users.between(0, 100);
    let name = format!("username_{user}");
    Ok(match method {
        "ReadHomeTimeline" => json!({"req_id": req_id, "user_id": user, "start": start,
            "stop": start + PAGE, "carrier": carrier}),
        "Login" => json!({"req_id": req_id, "username": name,
            "password": format!("password_{user}"), "carrier": carrier}),
        "RegisterUserWithId" => json!({"req_id": req_id,
            "first_name": format!("first_name_{user}"), "last_name": format!("last_name_{user}"),
            "username": name, "password": format!("password_{user}"), "user_id": user,
            "carrier": carrier}),
        "InsertUser" | "GetFollowers" => {
            json!({"req_id": req_id, "user_id": user, "carrier": carrier})
        }
        "FollowWithUsername" => json!({"req_id": req_id, "user_usernmae": name,
            "followee_username": format!("username_{other}"), "carrier": carrier}),
        _ => return Err(unknown(method)),
    })
}

/// Returns a realistic successful response of SocialNetwork's `method` to the [`request`] with the
/// same `seed` and `index`. The response is a JSON object whose member `success` has the method's
/// result, or `{}` for a method that returns nothing.
///
/// # Errors
/// `unknown_method` for a name that is not in [`METHODS`].
pub fn response(method: &str, seed: u64, index: u64) -> Result<Value, AccelError> {
    let post = || compose(seed, index);
    let success = match method {
        "ComposePost" | "StorePost" | "WriteUserTimeline" | "WriteHomeTimeline"
        | "RegisterUserWithId" | "InsertUser" | "FollowWithUsername" => return Ok(json!({})),
        "ComposeText" => {
            let post = post();
            json!({"text": post.shortened_text(), "user_mentions": post.mentions(),
                "urls": post.urls()})
        }
        "ComposeUrls" => post().urls(),
        "ComposeUserMentions" => post().mentions(),
        "ComposeUniqueId" => {
            let mut ids = draw(seed, index, Purpose::Identifiers);
            ids.identifier();
            json!(ids.identifier())
        }
        "ComposeMedia" => post().media(),
        "ComposeCreatorWithUserId" => post().creator(),
        "ReadHomeTimeline" | "ReadPosts" => page(seed, index),
        "Login" => json!(token(seed, index)),
        "GetFollowers" => followers(seed, index),
        _ => return Err(unknown(method)),
    };
    Ok(json!({ "success": success }))
}

/// Returns the result, as a JSON object, of a SocialNetwork function that has thrown the exception
/// that its interface declares: a `ServiceException` with the error code `code` and the text
/// `message`.
pub fn service_exception(code: i32, message: &str) -> Value {
    json!({"se": {"errorCode": code, "message": message}})
}

/// A document of SocialNetwork in the cache or the database.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The collection of the database, or the key space of the cache, that has the document.
    pub collection: &'static str,
    /// The key of the document.
    pub key: String,
    /// The contents of the document.
    pub value: Value,
}

/// Returns the document in the cache or the database that a request to `service` reads or writes.
/// `seed` and `index` identify the request, as for [`request`]. `None` if `service` is not the
/// name of one of [`SERVICES`], such as `ReadH`, or if that service has no collection.
pub fn document(service: &str, seed: u64, index: u64) -> Option<Document> {
    let collection = SERVICES
        .iter()
        .find(|known| known.name == service)?
        .collection?;
    let mut users = draw(seed, index, Purpose::Users);
    let (user, other) = (users.between(0, USERS - 1), users.between(0, USERS - 1));
    let (key, value) = match service {
        "ReadH" => (user.to_string(), json!({"post_ids": page_ids(seed, index)})),
        "StoreP" => {
            let mut ids = draw(seed, index, Purpose::Identifiers);
            let (req_id, post_id) = (ids.identifier(), ids.identifier());
            let post = compose(seed, index).stored(post_id, req_id, timestamp(index));
            (post_id.to_string(), post)
        }
        "Follow" => {
            let edge = json!({"user_id": other, "timestamp": timestamp(index)});
            (
                user.to_string(),
                json!({"user_id": user, "followees": [edge]}),
            )
        }
        "CUrls" => {
            let post = compose(seed, index);
            (
                post.first_short_url().to_owned(),
                json!({"urls": post.urls()}),
            )
        }
        _ => (format!("username_{user}"), user_document(user, seed, index)),
    };
    Some(Document {
        collection,
        key,
        value,
    })
}

/// A user as the user service stores it, with a salted SHA-256 in hexadecimal.
fn user_document(user: u64, seed: u64, index: u64) -> Value {
    let mut token = draw(seed, index, Purpose::Token);
    let hash: String = (0..4).map(|_| format!("{:016x}", token.next())).collect();
    json!({"user_id": user, "first_name": format!("first_name_{user}"),
        "last_name": format!("last_name_{user}"), "username": format!("username_{user}"),
        "password_hashed": hash, "salt": token.letters(32)})
}

/// Post identifiers of a timeline page.
fn page_ids(seed: u64, index: u64) -> Vec<i64> {
    let mut page = draw(seed, index, Purpose::Page);
    (0..PAGE).map(|_| page.identifier()).collect()
}

fn page(seed: u64, index: u64) -> Value {
    let mut contents = draw(seed, index, Purpose::Page);
    let ids = page_ids(seed, index);
    let post = |id: &i64| {
        let mut stream = Draw::new(contents.next(), 0, Purpose::Compose as u64);
        let post = Compose::new(&mut stream);
        post.stored(*id, stream.identifier(), timestamp(index))
    };
    ids.iter().map(post).collect()
}

/// Followers of a user. Their number follows the degrees in socfb-Reed98 (962 nodes; median 29,
/// 90th percentile 87, 99th 157, maximum 313), interpolated linearly.
fn followers(seed: u64, index: u64) -> Value {
    const DEGREES: [(f64, f64); 5] = [
        (0.0, 1.0),
        (0.5, 29.0),
        (0.9, 87.0),
        (0.99, 157.0),
        (1.0, 313.0),
    ];
    let mut draw = draw(seed, index, Purpose::Followers);
    let rank = draw.unit();
    let upper = DEGREES
        .iter()
        .position(|(share, _)| rank < *share)
        .unwrap_or(DEGREES.len() - 1);
    let ((low, from), (high, to)) = (DEGREES[upper - 1], DEGREES[upper]);
    let degree = (from + (to - from) * (rank - low) / (high - low)).round() as u64;
    json!(
        (0..degree)
            .map(|_| draw.between(0, USERS - 1))
            .collect::<Vec<_>>()
    )
}

/// A token of the user service: a JSON Web Token for HS256, with a random signature.
fn token(seed: u64, index: u64) -> String {
    let user = draw(seed, index, Purpose::Users).between(0, USERS - 1);
    let header = URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256","typ":"JWT"}"#);
    let claims = json!({"user_id": user.to_string(), "username": format!("username_{user}"),
        "timestamp": (timestamp(index) / 1_000).to_string(), "ttl": 3600});
    let claims = URL_SAFE_NO_PAD.encode(claims.to_string());
    format!(
        "{header}.{claims}.{}",
        draw(seed, index, Purpose::Token).letters(43)
    )
}

/// Milliseconds since 1970: the minute in which the benchmark's published capture began, plus one
/// millisecond per message.
fn timestamp(index: u64) -> i64 {
    1_695_947_400_000_i64.wrapping_add((index & 0xffff_ffff) as i64)
}

fn unknown(method: &str) -> AccelError {
    AccelError::UnknownMethod {
        name: method.to_owned(),
        known: METHODS.join(", "),
    }
}
