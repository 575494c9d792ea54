//! One post of SocialNetwork: the source of the messages that compose, store and read the post.

use serde_json::{Value, json};

use super::random::Draw;

/// Users of the benchmark: the nodes of its social graph.
pub(super) const USERS: u64 = 962;
const TEXT_LETTERS: usize = 256;
const URL_LETTERS: usize = 64;
const SHORT_URL_LETTERS: usize = 10;

/// The contents of a post (wrk2/compose-post.lua).
pub(super) struct Compose {
    user: u64,
    body: String,
    mentioned: Vec<u64>,
    /// Shortened and expanded.
    links: Vec<(String, String)>,
    media: Vec<i64>,
}

impl Compose {
    pub(super) fn new(draw: &mut Draw) -> Compose {
        let user = draw.between(0, USERS - 1);
        let body = draw.letters(TEXT_LETTERS);
        let mentions = draw.between(1, 6);
        let links = draw.between(1, 6);
        let media = draw.between(1, 5);
        Compose {
            user,
            body,
            // Any user but the author.
            mentioned: (0..mentions)
                .map(|_| (user + draw.between(1, USERS - 1)) % USERS)
                .collect(),
            links: (0..links)
                .map(|_| {
                    let expanded = format!("http://{}", draw.letters(URL_LETTERS));
                    (
                        format!("http://short-url/{}", draw.letters(SHORT_URL_LETTERS)),
                        expanded,
                    )
                })
                .collect(),
            media: (0..media)
                .map(|_| draw.between(0, 999_999_999_999_999_999) as i64)
                .collect(),
        }
    }

    pub(super) fn user(&self) -> u64 {
        self.user
    }

    pub(super) fn username(&self) -> String {
        format!("username_{}", self.user)
    }

    pub(super) fn text(&self) -> String {
        self.text_with(self.links.iter().map(|(_, expanded)| expanded))
    }

    pub(super) fn shortened_text(&self) -> String {
        self.text_with(self.links.iter().map(|(short, _)| short))
    }

    fn text_with<'a>(&'a self, links: impl Iterator<Item = &'a String>) -> String {
        let mut text = self.body.clone();
        for user in &self.mentioned {
            text.push_str(&format!(" @username_{user}"));
        }
        for link in links {
            text.push(' ');
            text.push_str(link);
        }
        text
    }

    pub(super) fn request(&self, req_id: i64, carrier: Value) -> Value {
        json!({"req_id": req_id, "username": self.username(), "user_id": self.user,
            "text": self.text(), "media_ids": self.media_ids(), "media_types": self.media_types(),
            "post_type": 0, "carrier": carrier})
    }

    pub(super) fn stored(&self, post_id: i64, req_id: i64, timestamp: i64) -> Value {
        json!({"post_id": post_id, "creator": self.creator(), "req_id": req_id,
            "text": self.shortened_text(), "user_mentions": self.mentions(), "media": self.media(),
            "urls": self.urls(), "timestamp": timestamp, "post_type": 0})
    }

    pub(super) fn creator(&self) -> Value {
        json!({"user_id": self.user, "username": self.username()})
    }

    pub(super) fn mentioned_ids(&self) -> &[u64] {
        &self.mentioned
    }

    pub(super) fn mentioned_names(&self) -> Vec<String> {
        self.mentioned
            .iter()
            .map(|user| format!("username_{user}"))
            .collect()
    }

    pub(super) fn mentions(&self) -> Value {
        let mention = |user| json!({"user_id": user, "username": format!("username_{user}")});
        self.mentioned.iter().map(mention).collect()
    }

    pub(super) fn expanded_urls(&self) -> Vec<&str> {
        self.links.iter().map(|(_, expanded)| &**expanded).collect()
    }

    pub(super) fn first_short_url(&self) -> &str {
        self.links.first().map_or("", |(short, _)| short)
    }

    pub(super) fn urls(&self) -> Value {
        let link = |(short, expanded): &(String, String)| json!({"shortened_url": short, "expanded_url": expanded});
        self.links.iter().map(link).collect()
    }

    pub(super) fn media_ids(&self) -> &[i64] {
        &self.media
    }

    pub(super) fn media_types(&self) -> Vec<&'static str> {
        vec!["png"; self.media.len()]
    }

    pub(super) fn media(&self) -> Value {
        self.media
            .iter()
            .map(|id| json!({"media_id": id, "media_type": "png"}))
            .collect()
    }
}

/// The tracing context that travels with every call: one Jaeger `uber-trace-id`.
pub(super) fn carrier(draw: &mut Draw) -> Value {
    let (trace, span, parent) = (draw.next(), draw.next(), draw.next());
    json!({"uber-trace-id": format!("{trace:016x}:{span:016x}:{parent:016x}:1")})
}
