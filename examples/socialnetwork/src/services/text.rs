//! The text of posts: mentions of users, and short forms of URLs.

use std::collections::BTreeSet;

use accelflow_serve::{HandlerError, HandlerResult, Request};
use accelflow_storage::StorageError;
use serde::Deserialize;
use serde_json::{Value, json};

use super::users::{COLLECTION, User};
use super::{Job, World, arguments, from_json, refused, stored, value};

const URLS: &str = "url-shorten";
const SHORT: &str = "http://short-url/";

#[derive(Deserialize)]
struct Text {
    req_id: i64,
    text: String,
    carrier: Value,
}

/// Shortens URLs and looks up mentioned users, in parallel.
pub(super) fn compose_text(world: &World, request: &Request<'_>) -> HandlerResult {
    let it: Text = arguments(request)?;
    let words = || it.text.split_whitespace();
    let urls: Vec<&str> = words()
        .filter(|word| word.starts_with("http://") || word.starts_with("https://"))
        .collect();
    let names: Vec<&str> = words().filter_map(|word| word.strip_prefix('@')).collect();
    let call = |function: &'static str, member: &str, list: &[&str]| -> Job<'_, Value> {
        let asked = json!({"req_id": it.req_id, member: list, "carrier": it.carrier});
        Box::new(move || world.call("TextService", function, asked))
    };
    let parts = world.parallel(vec![
        call("UrlShortenService.ComposeUrls", "urls", &urls),
        call(
            "UserMentionService.ComposeUserMentions",
            "usernames",
            &names,
        ),
    ])?;
    let [short, mentions] = <[Value; 2]>::try_from(parts).map_err(|_| {
        HandlerError::Internal("ComposeUrls or ComposeUserMentions has not answered".to_owned())
    })?;
    let mut text = it.text.clone();
    for url in short.as_array().into_iter().flatten() {
        if let (Some(long), Some(short)) =
            (url["expanded_url"].as_str(), url["shortened_url"].as_str())
        {
            text = text.replace(long, short);
        }
    }
    value(json!({"text": text, "user_mentions": mentions, "urls": short}))
}

#[derive(Deserialize)]
struct Urls {
    urls: Vec<String>,
}

/// Stores one document for all URLs of a request; a short URL is its key and a position in it.
pub(super) fn compose_urls(world: &World, request: &Request<'_>) -> HandlerResult {
    let it: Urls = arguments(request)?;
    let key = format!("{:x}", world.unique_id());
    let pairs = it.urls.iter().enumerate().map(|(place, url)| {
        json!({"shortened_url": format!("{SHORT}{key}-{place}"), "expanded_url": url})
    });
    let pairs: Vec<Value> = pairs.collect();
    if !pairs.is_empty() {
        let document = json!({"urls": it.urls}).to_string();
        stored(
            world
                .storage
                .write_compressed(URLS, &key, document.as_bytes()),
        )?;
    }
    value(pairs)
}

#[derive(Deserialize)]
struct ShortUrls {
    shortened_urls: Vec<String>,
}

pub(super) fn get_extended_urls(world: &World, request: &Request<'_>) -> HandlerResult {
    let it: ShortUrls = arguments(request)?;
    let long = it.shortened_urls.iter().map(|short| {
        let place = short
            .strip_prefix(SHORT)
            .and_then(|rest| rest.rsplit_once('-'));
        let place = place.and_then(|(key, place)| Some((key, place.parse::<usize>().ok()?)));
        let Some((key, place)) = place else {
            return Err(refused(&format!(
                "'{short}': must be a short URL of this site"
            )));
        };
        let kept: Urls = from_json(&stored(world.storage.read(URLS, key))?)?;
        let url = kept.urls.get(place).cloned();
        url.ok_or_else(|| refused(&format!("'{short}': must be a short URL of this site")))
    });
    value(long.collect::<Result<Vec<String>, _>>()?)
}

#[derive(Deserialize)]
struct Mentions {
    usernames: Vec<String>,
}

/// Returns the mentioned users that exist.
pub(super) fn compose_user_mentions(world: &World, request: &Request<'_>) -> HandlerResult {
    let it: Mentions = arguments(request)?;
    // A comma would be another key.
    let names: BTreeSet<&str> = it.usernames.iter().map(String::as_str).collect();
    let names: Vec<&str> = names
        .into_iter()
        .filter(|name| !name.is_empty() && !name.contains(','))
        .collect();
    let users = match names.as_slice() {
        [] => Vec::new(),
        [one] => find_one(world, one)?.into_iter().collect(),
        _ => match world.storage.read(COLLECTION, &names.join(",")) {
            Ok(documents) => from_json::<Vec<User>>(&documents)?,
            // Somebody is unknown: the others are still mentioned.
            Err(StorageError::NotFound { .. }) => {
                let found = names.iter().map(|name| find_one(world, name));
                found
                    .collect::<Result<Vec<_>, _>>()?
                    .into_iter()
                    .flatten()
                    .collect()
            }
            other => from_json(&stored(other)?)?,
        },
    };
    let mentions = users
        .iter()
        .map(|user| json!({"user_id": user.user_id, "username": user.username}));
    value(mentions.collect::<Vec<_>>())
}

fn find_one(world: &World, name: &str) -> Result<Option<User>, HandlerError> {
    match world.storage.read(COLLECTION, name) {
        Err(StorageError::NotFound { .. }) => Ok(None),
        other => Ok(Some(from_json(&stored(other)?)?)),
    }
}
