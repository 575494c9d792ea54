//! The collections of a storage gateway.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The kind of data that a collection (a named set of keys in a storage gateway) has under each
/// key: one document or a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Each key has one document, which a write replaces. A read of several keys, separated by
    /// commas, returns the JSON array of their documents, in the order of the keys. If one of these
    /// keys has no document, nothing is found.
    Documents,
    /// Like `Documents`, but a write to a key that already has a document is refused.
    UniqueDocuments,
    /// Each key has a list of JSON values without duplicates. A write adds a value to the lists of
    /// one or more keys, separated by commas; a list that has the value does not change. A read
    /// returns the newest items ([`Collection::max_items`]) of the list of one key as
    /// `{"items":[...]}`, newest first; the list is empty if nothing was added under the key.
    Lists,
}

/// The settings of one collection: a named set of keys, with their data, in a storage gateway's
/// cache and database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Collection {
    /// The collection's name in requests: 1 to 64 letters, digits, `-` and `_`.
    pub name: String,
    /// The kind of data under the keys of the collection.
    pub kind: Kind,
    /// The time for which the cache keeps data, in seconds: 1 to 2,592,000 (30 days). If a write
    /// cannot remove outdated data from the cache, readers may see those data for at most this
    /// time.
    pub cache_ttl_s: u64,
    /// Whether data are compressed on the way to and from the cache. Traces test this setting as
    /// the fact `c_compressed`. Default false.
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

/// The largest allowed value of [`Collection::max_items`], the number of list items that a read
/// returns.
pub const MOST_ITEMS: usize = 10_000;

/// The largest size of an item of a list ([`Kind::Lists`]): the bytes of its JSON text.
pub const MAX_ITEM_BYTES: usize = 1_024;

/// The largest number of keys in one read of documents, in one write of documents to the cache, or
/// in one write to lists in the database. Other requests have one key.
pub const MAX_KEYS: usize = 1_024;

/// The longest time that the cache keeps data: 30 days.
const MAX_TTL_S: u64 = 30 * 24 * 3_600;

/// The error of invalid settings of collections (named sets of keys in a storage gateway), or of an
/// invalid request to one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CollectionError {
    /// The name of a collection is not allowed. Holds the name.
    #[error("collection name = '{0}': must be 1 to 64 letters, digits, '-' and '_'")]
    Name(String),
    /// Two collections have the same name. Holds the name.
    #[error("collection name = '{0}': must differ from the names of the other collections")]
    Repeated(String),
    /// `cache_ttl_s`, the time to live in the cache, is out of its range.
    #[error("collection {name}: cache_ttl_s = {seconds}: must be from 1 to {MAX_TTL_S}")]
    Ttl {
        /// The name of the collection.
        name: String,
        /// The value of `cache_ttl_s` as it was given, in seconds.
        seconds: u64,
    },
    /// `max_items`, the number of items that a read of a list returns, is out of its range.
    #[error("collection {name}: max_items = {items}: must be from 1 to {MOST_ITEMS}")]
    Items {
        /// The name of the collection.
        name: String,
        /// The value of `max_items` as it was given.
        items: usize,
    },
    /// A request names a collection that the gateway does not have.
    #[error("collection = '{name}': must be one of {known}")]
    Unknown {
        /// The name of the collection in the request.
        name: String,
        /// The names of all collections of the gateway.
        known: String,
    },
    /// A request has an empty key.
    #[error(
        "collection {name}: key {index} of the request = '': must not be empty (commas separate \
         keys)"
    )]
    EmptyKey {
        /// The name of the collection.
        name: String,
        /// The index of the empty key in the request, counted from 0.
        index: usize,
    },
    /// A request has too many keys.
    #[error(
        "collection {name}: number of keys in the request = {keys}: must be at most {allowed} \
         (commas separate keys)"
    )]
    Keys {
        /// The name of the collection.
        name: String,
        /// The number of keys in the request.
        keys: usize,
        /// The largest number of keys in a request of this kind.
        allowed: usize,
    },
}

/// The collections of a storage gateway (named sets of keys) with their checked settings, ordered
/// by name.
#[derive(Clone, Debug, Default)]
pub struct Collections(BTreeMap<String, Collection>);

impl Collections {
    /// Checks the settings of the collections in `list`, and orders the collections by name.
    ///
    /// # Errors
    /// [`CollectionError::Name`], [`CollectionError::Ttl`], [`CollectionError::Items`] or
    /// [`CollectionError::Repeated`] for the first invalid setting.
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
                return Err(CollectionError::Repeated(name));
            }
        }
        Ok(Collections(collections))
    }

    /// Returns the collection called `name`.
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
        if keys.len() > allowed {
            return Err(CollectionError::Keys {
                name: self.name.clone(),
                keys: keys.len(),
                allowed,
            });
        }
        if let Some(index) = keys.iter().position(|key| key.is_empty()) {
            let name = self.name.clone();
            return Err(CollectionError::EmptyKey { name, index });
        }
        Ok(keys)
    }
}
