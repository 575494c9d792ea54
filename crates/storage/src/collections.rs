//! The collections of a gateway.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The kind of data under the keys of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Each key has a document, which a write replaces. A read of several keys, separated by
    /// commas, returns the JSON array of their documents.
    Documents,
    /// Like `Documents`, but a write to a key that already has a document is refused.
    UniqueDocuments,
    /// Each key has a list of JSON values without duplicates. A write adds its value to the lists
    /// of all its keys, separated by commas; a read returns `{"items":[...]}`, newest first.
    Lists,
}

/// The settings of a collection, a named set of keys in the gateway's cache and database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Collection {
    /// The collection's name in requests: 1 to 64 letters, digits, `-` and `_`.
    pub name: String,
    /// The kind of data under its keys.
    pub kind: Kind,
    /// The time for which the cache keeps data: 1 to 2,592,000 seconds (30 days). It also bounds
    /// the time for which readers may see outdated data after a failed invalidation.
    pub cache_ttl_s: u64,
    /// Whether data are compressed on the way to and from the cache. Traces read this as the fact
    /// `c_compressed`.
    #[serde(default)]
    pub cache_compressed: bool,
    /// The largest number of items of a list that a read returns, the newest first: 1 to
    /// [`MOST_ITEMS`]. Default 200.
    #[serde(default = "default_items")]
    pub max_items: usize,
}

fn default_items() -> usize {
    200
}

/// The largest value of [`Collection::max_items`].
pub const MOST_ITEMS: usize = 10_000;

/// The largest size of an item of a list, in bytes.
pub const MAX_ITEM_BYTES: usize = 1_024;

/// The largest number of keys of one request.
pub const MAX_KEYS: usize = 1_024;

/// The longest time that the cache keeps data: 30 days.
const MAX_TTL_S: u64 = 30 * 24 * 3_600;

/// The error of invalid settings of collections, or of an invalid request to a collection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CollectionError {
    /// A collection's name is invalid or used twice; the name.
    #[error("collection '{0}': a name must be unique, with 1 to 64 letters, digits, '-' and '_'")]
    Name(String),
    /// `cache_ttl_s`, the time to live in the cache, is out of its range.
    #[error("collection {name}: cache_ttl_s = {seconds}: must be from 1 to {MAX_TTL_S}")]
    Ttl {
        /// The name of the collection.
        name: String,
        /// The time as given, in seconds.
        seconds: u64,
    },
    /// `max_items` is out of its range.
    #[error("collection {name}: max_items = {items}: must be from 1 to {MOST_ITEMS}")]
    Items {
        /// The name of the collection.
        name: String,
        /// The value as given.
        items: usize,
    },
    /// A request names a collection that the gateway does not have.
    #[error("collection = '{name}': must be one of {known}")]
    Unknown {
        /// The name in the request.
        name: String,
        /// The names of all collections.
        known: String,
    },
    /// A request has too many keys, or none.
    #[error("collection {name}: {keys} keys in one request: must be from 1 to {allowed}")]
    Keys {
        /// The name of the collection.
        name: String,
        /// The number of keys.
        keys: usize,
        /// The largest number of keys.
        allowed: usize,
    },
}

/// The collections of a gateway with their checked settings, by name.
#[derive(Clone, Debug, Default)]
pub struct Collections(BTreeMap<String, Collection>);

impl Collections {
    /// Checks the settings of the collections in `list`, and orders them by name.
    ///
    /// # Errors
    /// [`CollectionError::Name`], [`CollectionError::Ttl`] or [`CollectionError::Items`] for the
    /// first invalid setting.
    pub fn new(list: Vec<Collection>) -> Result<Collections, CollectionError> {
        let mut collections = BTreeMap::new();
        for collection in list {
            let name = collection.name.clone();
            let letter =
                |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
            if !(1..=64).contains(&name.len()) || !name.chars().all(letter) {
                return Err(CollectionError::Name(name));
            }
            let seconds = collection.cache_ttl_s;
            if !(1..=MAX_TTL_S).contains(&seconds) {
                return Err(CollectionError::Ttl { name, seconds });
            }
            let items = collection.max_items;
            if !(1..=MOST_ITEMS).contains(&items) {
                return Err(CollectionError::Items { name, items });
            }
            if collections.insert(name.clone(), collection).is_some() {
                return Err(CollectionError::Name(name));
            }
        }
        Ok(Collections(collections))
    }

    /// Finds a collection by name.
    ///
    /// # Errors
    /// [`CollectionError::Unknown`] if no collection has the name.
    pub fn get(&self, name: &str) -> Result<&Collection, CollectionError> {
        self.0.get(name).ok_or_else(|| CollectionError::Unknown {
            name: name.to_owned(),
            known: self.0.keys().cloned().collect::<Vec<_>>().join(", "),
        })
    }
}

impl Collection {
    pub(crate) fn ttl(&self) -> Duration {
        Duration::from_secs(self.cache_ttl_s)
    }

    /// The keys of a request. A write of a document has one.
    pub(crate) fn keys<'k>(
        &self,
        text: &'k str,
        writes: bool,
    ) -> Result<Vec<&'k str>, CollectionError> {
        let keys: Vec<&str> = text.split(',').collect();
        let allowed = match (self.kind, writes) {
            (Kind::Lists, true) => MAX_KEYS,
            (Kind::Lists, false) | (_, true) => 1,
            (_, false) => MAX_KEYS,
        };
        if keys.len() > allowed || keys.iter().any(|key| key.is_empty()) {
            return Err(CollectionError::Keys {
                name: self.name.clone(),
                keys: keys.iter().filter(|key| !key.is_empty()).count(),
                allowed,
            });
        }
        Ok(keys)
    }
}
