//! The storage of posts.

use accelflow_serve::{HandlerResult, Request};
use serde::Deserialize;
use serde_json::Value;

use super::{World, arguments, done, stored, value};

const COLLECTION: &str = "post";

#[derive(Deserialize)]
struct Store {
    post: Value,
}

pub(super) fn store_post(world: &World, request: &Request<'_>) -> HandlerResult {
    let it: Store = arguments(request)?;
    let key = it.post["post_id"].to_string();
    let document = it.post.to_string();
    stored(
        world
            .storage
            .write_compressed(COLLECTION, &key, document.as_bytes()),
    )?;
    done()
}

#[derive(Deserialize)]
struct One {
    post_id: i64,
}

pub(super) fn read_post(world: &World, request: &Request<'_>) -> HandlerResult {
    let it: One = arguments(request)?;
    stored(world.storage.read(COLLECTION, &it.post_id.to_string()))
}

#[derive(Deserialize)]
struct Several {
    post_ids: Vec<i64>,
}

/// Returns the posts in the order of their identifiers, with one read of the storage.
pub(super) fn read_posts(world: &World, request: &Request<'_>) -> HandlerResult {
    let it: Several = arguments(request)?;
    let keys: Vec<String> = it.post_ids.iter().map(i64::to_string).collect();
    match keys.as_slice() {
        [] => value(Vec::<Value>::new()),
        [one] => {
            let post = stored(world.storage.read(COLLECTION, one))?;
            Ok([b"[", &post[..], b"]"].concat())
        }
        _ => stored(world.storage.read(COLLECTION, &keys.join(","))),
    }
}
