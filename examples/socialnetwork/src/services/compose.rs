//! Composing posts: the identifier, the media, and the post as a whole.

use accelflow_serve::{HandlerError, HandlerResult, Request};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Job, World, arguments, done, now_ms, refused, value};

#[derive(Deserialize)]
struct Compose {
    req_id: i64,
    username: String,
    user_id: i64,
    text: String,
    media_ids: Vec<i64>,
    media_types: Vec<String>,
    post_type: i32,
    carrier: Value,
}

const CALLER: &str = "ComposePostService";

/// Four parallel calls make the parts of a post; three more store it and add it to timelines.
pub(super) fn compose_post(world: &World, request: &Request<'_>) -> HandlerResult {
    let it: Compose = arguments(request)?;
    let call = |function: &'static str, arguments: Value| -> Job<'_, Value> {
        Box::new(move || world.call(CALLER, function, arguments))
    };
    let (req_id, carrier) = (it.req_id, &it.carrier);
    let parts = world.parallel(vec![
        call(
            "TextService.ComposeText",
            json!({"req_id": req_id, "text": it.text, "carrier": carrier}),
        ),
        call(
            "MediaService.ComposeMedia",
            json!({"req_id": req_id, "media_types": it.media_types, "media_ids": it.media_ids,
                "carrier": carrier}),
        ),
        call(
            "UniqueIdService.ComposeUniqueId",
            json!({"req_id": req_id, "post_type": it.post_type, "carrier": carrier}),
        ),
        call(
            "UserService.ComposeCreatorWithUserId",
            json!({"req_id": req_id, "user_id": it.user_id, "username": it.username,
                "carrier": carrier}),
        ),
    ])?;
    let [text, media, post_id, creator] = <[Value; 4]>::try_from(parts).map_err(|_| {
        HandlerError::Internal(
            "a service that composes a part of the post has not answered".to_owned(),
        )
    })?;
    let timestamp = now_ms();
    let mentions = text["user_mentions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let mentioned: Vec<&Value> = mentions.iter().map(|mention| &mention["user_id"]).collect();
    let post = json!({"post_id": post_id, "creator": creator, "req_id": req_id,
        "text": text["text"], "user_mentions": mentions, "media": media, "urls": text["urls"],
        "timestamp": timestamp, "post_type": it.post_type});
    world.parallel(vec![
        call(
            "PostStorageService.StorePost",
            json!({"req_id": req_id, "post": post, "carrier": carrier}),
        ),
        call(
            "UserTimelineService.WriteUserTimeline",
            json!({"req_id": req_id, "post_id": post_id, "user_id": it.user_id,
                "timestamp": timestamp, "carrier": carrier}),
        ),
        call(
            "HomeTimelineService.WriteHomeTimeline",
            json!({"req_id": req_id, "post_id": post_id, "user_id": it.user_id,
                "timestamp": timestamp, "user_mentions_id": mentioned, "carrier": carrier}),
        ),
    ])?;
    done()
}

pub(super) fn compose_unique_id(world: &World, _: &Request<'_>) -> HandlerResult {
    value(world.unique_id())
}

#[derive(Deserialize)]
struct Media {
    media_types: Vec<String>,
    media_ids: Vec<i64>,
}

pub(super) fn compose_media(_: &World, request: &Request<'_>) -> HandlerResult {
    let it: Media = arguments(request)?;
    if it.media_types.len() != it.media_ids.len() {
        return Err(refused(
            "media_types and media_ids: must have the same length",
        ));
    }
    let pairs = it.media_ids.iter().zip(&it.media_types);
    let media = pairs.map(|(id, kind)| json!({"media_id": id, "media_type": kind}));
    value(media.collect::<Vec<_>>())
}
