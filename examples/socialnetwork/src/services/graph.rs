//! The social graph of followers.

use accelflow_serve::{HandlerError, HandlerResult, Request};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Job, World, arguments, done, from_json, now_ms, refused, stored, value};

pub(crate) const FOLLOWERS: &str = "followers";
pub(crate) const FOLLOWEES: &str = "followees";
const EDGE: &str = "edge";
const USER: &str = "graph-user";

#[derive(Deserialize)]
struct Edge {
    user_id: i64,
    followee_id: i64,
}

pub(super) fn follow(world: &World, request: &Request<'_>) -> HandlerResult {
    let it: Edge = arguments(request)?;
    add_edge(world, &it)?;
    done()
}

/// Three parallel writes: both lists in the database, and the edge in the cache.
fn add_edge(world: &World, it: &Edge) -> Result<(), HandlerError> {
    let (user, followee) = (it.user_id.to_string(), it.followee_id.to_string());
    if user == followee {
        return Err(refused("user_id and followee_id: must differ"));
    }
    let storage = &world.storage;
    let key = format!("{user}:{followee}");
    let since = json!({"since": now_ms()}).to_string();
    let write = |collection, key: &str, item: &str| -> Job<'_, ()> {
        let (key, item) = (key.to_owned(), item.to_owned());
        Box::new(move || stored(storage.write(collection, &key, item.as_bytes())))
    };
    world.parallel(vec![
        write(FOLLOWERS, &followee, &user),
        write(FOLLOWEES, &user, &followee),
        Box::new(move || stored(storage.cache(EDGE, &key, since.as_bytes()))),
    ])?;
    Ok(())
}

#[derive(Deserialize)]
struct Names {
    req_id: i64,
    user_usernmae: String,
    followee_username: String,
    carrier: Value,
}

pub(super) fn follow_with_username(world: &World, request: &Request<'_>) -> HandlerResult {
    let it: Names = arguments(request)?;
    let ask = |name: &str| -> Job<'_, i64> {
        let (req_id, carrier) = (it.req_id, &it.carrier);
        let asked = json!({"req_id": req_id, "username": name, "carrier": carrier});
        Box::new(move || world.call("SocialGraphService", "UserService.GetUserId", asked))
    };
    let ids = world.parallel(vec![ask(&it.user_usernmae), ask(&it.followee_username)])?;
    let [user_id, followee_id] = ids[..] else {
        return Err(HandlerError::Internal(
            "GetUserId has not answered for both users".to_owned(),
        ));
    };
    add_edge(
        world,
        &Edge {
            user_id,
            followee_id,
        },
    )?;
    done()
}

#[derive(Deserialize)]
struct User {
    user_id: i64,
}

#[derive(Deserialize)]
struct List {
    items: Vec<i64>,
}

pub(super) fn get_followers(world: &World, request: &Request<'_>) -> HandlerResult {
    list(world, FOLLOWERS, request)
}

pub(super) fn get_followees(world: &World, request: &Request<'_>) -> HandlerResult {
    list(world, FOLLOWEES, request)
}

fn list(world: &World, collection: &str, request: &Request<'_>) -> HandlerResult {
    let it: User = arguments(request)?;
    let list = stored(world.storage.read(collection, &it.user_id.to_string()))?;
    let list: List = from_json(&list)?;
    value(list.items)
}

pub(super) fn insert_user(world: &World, request: &Request<'_>) -> HandlerResult {
    let it: User = arguments(request)?;
    let document = json!({"user_id": it.user_id, "since": now_ms()}).to_string();
    let key = it.user_id.to_string();
    stored(world.storage.write(USER, &key, document.as_bytes()))?;
    done()
}
