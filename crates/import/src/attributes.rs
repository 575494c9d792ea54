//! The meaning of the attributes of spans. An attribute is found by its old or new name in
//! OpenTelemetry, or by its name in OpenTracing.

use std::num::IntErrorKind;

use crate::names::{Name, Names};
use crate::span::{Facts, Kind, Protocol, Store};
use crate::words::{access_of_words, store_of_word};

/// The value of an attribute. Nested and absent values count as none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Value {
    #[default]
    None,
    Text(String),
    Int(i64),
    Float(f64),
    Bool(bool),
}

/// The information of attributes beyond a span's facts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Said {
    pub(crate) facts: Facts,
    pub(crate) kind: Option<Kind>,
    /// The parameter of the sampler: of one that keeps a share of the requests, the share.
    sampler: Option<f64>,
    /// Whether the sampler keeps no certain share, such as one with a limited rate.
    varies: bool,
}

/// How many of the requests a sampler kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sampled {
    Share(f64),
    /// The sampler limits the rate of samples, so their share of the requests is not known.
    Limited,
}

impl Value {
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value as a whole number: a number, or the number in a text.
    pub(crate) fn int(&self) -> Option<i64> {
        match self {
            Value::Int(number) => Some(*number),
            Value::Float(number) if number.fract() == 0.0 && number.abs() < 9e15 => {
                Some(*number as i64)
            }
            Value::Text(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// The value as a whole number of any size; the largest one beyond 128 bits.
    pub(crate) fn wide(&self) -> Option<i128> {
        match self {
            // The conversion takes the nearest number.
            Value::Float(number) if number.fract() == 0.0 => Some(*number as i128),
            Value::Text(text) => match text.parse::<i128>() {
                Err(error) if *error.kind() == IntErrorKind::PosOverflow => Some(i128::MAX),
                number => number.ok(),
            },
            _ => self.int().map(i128::from),
        }
    }

    fn float(&self) -> Option<f64> {
        match self {
            Value::Float(number) => Some(*number),
            Value::Int(number) => Some(*number as f64),
            Value::Text(text) => text.parse().ok(),
            _ => None,
        }
    }

    fn truth(&self) -> Option<bool> {
        match self {
            Value::Bool(truth) => Some(*truth),
            Value::Int(number @ (0 | 1)) => Some(*number == 1),
            Value::Text(text) if ["true", "hit", "1"].contains(&text.as_str()) => Some(true),
            Value::Text(text) if ["false", "miss", "0"].contains(&text.as_str()) => Some(false),
            _ => None,
        }
    }

    /// Whether the value, the name of an encoding, is a compression.
    fn compression(&self) -> Option<bool> {
        let text = self.text()?;
        let known = ["gzip", "deflate", "br", "zstd", "snappy", "lz4"];
        Some(known.iter().any(|name| text.contains(name)))
    }

    fn bytes(&self) -> Option<u32> {
        self.int().and_then(|n| u32::try_from(n).ok())
    }
}

impl Said {
    /// How many of the requests were kept, if a sampler is described.
    pub(crate) fn sampled(&self) -> Option<Sampled> {
        match self.varies {
            true => Some(Sampled::Limited),
            false => self.sampler.map(Sampled::Share),
        }
    }

    /// Takes the attribute called `key` into account.
    pub(crate) fn add(&mut self, key: &str, value: &Value, names: &mut Names) {
        let facts = &mut self.facts;
        match key {
            "span.kind" => self.kind = value.text().and_then(kind),
            "sampler.param" => {
                let share = value.float().filter(|share| *share > 0.0 && *share <= 1.0);
                self.sampler = share.or(self.sampler);
            }
            "sampler.type" => {
                let kind = value.text().map(str::to_ascii_lowercase);
                self.varies =
                    kind.is_some_and(|kind| !["const", "probabilistic"].contains(&&*kind));
            }
            "accelflow.application" => facts.application = value.truth() == Some(true),
            "accelflow.detached" => facts.detached = value.truth() == Some(true),
            "error" => facts.error |= value.truth() == Some(true),
            "otel.status_code" => facts.error |= value.text() == Some("ERROR"),
            "error.type" | "exception.type" => facts.error |= value.text().is_some(),
            "cache.hit" | "cache_hit" | "db.cache.hit" | "cache.result" | "redis.hit" => {
                facts.hit = value.truth().or(facts.hit);
            }
            _ => {
                if !facts.protocol(key, value) && !facts.store(key, value) {
                    facts.message(key, value);
                    facts.other_side(key, value, names);
                }
            }
        }
    }
}

impl Facts {
    /// Whether `key` is about the protocol.
    fn protocol(&mut self, key: &str, value: &Value) -> bool {
        match key {
            "http.status_code" | "http.response.status_code" => {
                self.error |= value.int().is_some_and(|code| code >= 500);
                self.protocol.get_or_insert(Protocol::Http);
            }
            "rpc.grpc.status_code" | "rpc.response.status_code" | "grpc.status_code" => {
                let ok = value.int() == Some(0) || value.text() == Some("OK");
                self.error |= !ok;
                self.protocol = Some(Protocol::Rpc);
            }
            "component" => match value.text().map(str::to_ascii_lowercase).as_deref() {
                Some("grpc" | "thrift" | "dubbo") => self.protocol = Some(Protocol::Rpc),
                Some("http" | "net/http" | "nginx") => {
                    self.protocol.get_or_insert(Protocol::Http);
                }
                Some(name) => self.store = self.store.or(store_of_word(name)),
                None => {}
            },
            // Calls of an RPC system over HTTP have attributes of both.
            _ if key.starts_with("rpc.") || key.starts_with("thrift.") => {
                self.protocol = Some(Protocol::Rpc);
                return false;
            }
            _ if key.starts_with("http.") => {
                self.protocol.get_or_insert(Protocol::Http);
                return false;
            }
            _ if key.starts_with("messaging.") => {
                self.protocol = Some(Protocol::Messaging);
                return false;
            }
            _ => return false,
        }
        true
    }

    /// Whether `key` is about a cache or a database.
    fn store(&mut self, key: &str, value: &Value) -> bool {
        match key {
            "db.system" | "db.system.name" | "db.type" => {
                let name = value.text().unwrap_or_default();
                self.store = store_of_word(name).or(Some(Store::Database));
            }
            "db.operation" | "db.operation.name" | "db.redis.command" => {
                self.access = value.text().and_then(access_of_words).or(self.access);
            }
            "db.statement" | "db.query.text" => {
                let verb = value.text().and_then(|text| text.split_whitespace().next());
                self.access = self.access.or(verb.and_then(access_of_words));
            }
            _ => return false,
        }
        true
    }

    /// Sizes and encodings of messages.
    fn message(&mut self, key: &str, value: &Value) {
        match key {
            "http.request_content_length" | "http.request.body.size" | "rpc.request.size" => {
                self.request_bytes = value.bytes();
            }
            "http.response_content_length" | "http.response.body.size" | "rpc.response.size" => {
                self.response_bytes = value.bytes();
            }
            "http.request.header.content-encoding"
            | "http.request.header.content_encoding"
            | "rpc.grpc.request.metadata.grpc-encoding" => {
                self.request_compressed = value.compression();
            }
            "http.response.header.content-encoding"
            | "http.response.header.content_encoding"
            | "rpc.grpc.response.metadata.grpc-encoding" => {
                self.response_compressed = value.compression();
            }
            "accelflow.request.compressed" => self.request_compressed = value.truth(),
            "accelflow.response.compressed" => self.response_compressed = value.truth(),
            _ => {}
        }
    }

    /// The name of the other side.
    fn other_side(&mut self, key: &str, value: &Value, names: &mut Names) {
        let known = [
            "peer.service",
            "server.address",
            "net.peer.name",
            "db.name",
            "db.namespace",
            "messaging.destination.name",
        ];
        // `peer.service` is the name of a service; the others are only addresses of one.
        let better = key == "peer.service" || self.peer == Name::NONE;
        if known.contains(&key)
            && better
            && let Some(text) = value.text()
        {
            self.peer = names.of(text);
        }
    }
}

fn kind(text: &str) -> Option<Kind> {
    Some(match text.to_ascii_lowercase().as_str() {
        "server" | "consumer" => Kind::Server,
        "client" => Kind::Client,
        "producer" => Kind::Producer,
        "internal" => Kind::Internal,
        _ => return None,
    })
}
