//! Home timelines and user timelines.

use accelflow_serve::{HandlerError, HandlerResult, Request};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{World, arguments, done, from_json, refused, stored, value};

const HOME: &str = "home-timeline";
const USER: &str = "user-timeline";

#[derive(Deserialize)]
struct Read {
    req_id: i64,
    user_id: i64,
    start: i32,
    stop: i32,
    carrier: Value,
}

#[derive(Deserialize)]
struct Timeline {
    items: Vec<i64>,
}

pub(super) fn read_home(world: &World, request: &Request<'_>) -> HandlerResult {
    read(world, "HomeTimelineService", HOME, request)
}

pub(super) fn read_user(world: &World, request: &Request<'_>) -> HandlerResult {
    read(world, "UserTimelineService", USER, request)
}

/// Reads the identifiers from storage, then the posts from PostStorageService.
fn read(world: &World, service: &str, collection: &str, request: &Request<'_>) -> HandlerResult {
    let it: Read = arguments(request)?;
    let (Ok(start), Ok(stop)) = (usize::try_from(it.start), usize::try_from(it.stop)) else {
        return Err(refused("start and stop: must not be negative"));
    };
    let list = stored(world.storage.read(collection, &it.user_id.to_string()))?;
    let timeline: Timeline = from_json(&list)?;
    let length = stop.saturating_sub(start);
    let ids: Vec<i64> = timeline
        .items
        .into_iter()
        .skip(start)
        .take(length)
        .collect();
    let wanted = json!({"req_id": it.req_id, "post_ids": ids, "carrier": it.carrier});
    let posts: Value = world.call(service, "PostStorageService.ReadPosts", wanted)?;
    value(posts)
}

#[derive(Deserialize)]
struct Write {
    req_id: i64,
    post_id: i64,
    user_id: i64,
    #[serde(default)]
    user_mentions_id: Vec<i64>,
    carrier: Value,
}

/// Adds a post to the timelines of all followers and mentioned users, with one write.
pub(super) fn write_home(world: &World, request: &Request<'_>) -> HandlerResult {
    let it: Write = arguments(request)?;
    let asked = json!({"req_id": it.req_id, "user_id": it.user_id, "carrier": it.carrier});
    let function = "SocialGraphService.GetFollowers";
    let followers: Vec<i64> = world.call("HomeTimelineService", function, asked)?;
    let mut readers = followers;
    readers.extend(it.user_mentions_id);
    readers.sort_unstable();
    readers.dedup();
    append(world, HOME, &readers, it.post_id)?;
    done()
}

pub(super) fn write_user(world: &World, request: &Request<'_>) -> HandlerResult {
    let it: Write = arguments(request)?;
    append(world, USER, &[it.user_id], it.post_id)?;
    done()
}

fn append(
    world: &World,
    collection: &str,
    users: &[i64],
    post_id: i64,
) -> Result<(), HandlerError> {
    // A request names up to so many keys.
    for users in users.chunks(accelflow_storage::MAX_KEYS) {
        let keys: Vec<String> = users.iter().map(i64::to_string).collect();
        let item = post_id.to_string();
        stored(
            world
                .storage
                .write(collection, &keys.join(","), item.as_bytes()),
        )?;
    }
    Ok(())
}
