//! The database cache: Redis.

use std::time::Duration;

use accelflow_accel::Limits;
use accelflow_accel::storage::Stored;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{AsyncCommands, Client};

use super::error::StoreError;
use crate::collections::{Collection, Kind};
use crate::payload::{self, Joined};

/// A connection to Redis that requests share, and that is opened again when it breaks.
#[derive(Clone)]
pub(crate) struct Cache {
    redis: ConnectionManager,
    limits: Limits,
}

/// The end marker of every list, which distinguishes an empty list from a missing one.
const END: &[u8] = b"";

impl Cache {
    pub(crate) async fn connect(
        url: &str,
        timeout: Duration,
        limits: Limits,
    ) -> Result<Cache, StoreError> {
        let client = Client::open(url)?;
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(timeout))
            .set_response_timeout(Some(timeout))
            .set_number_of_retries(1);
        let redis = ConnectionManager::new_with_config(client, config).await?;
        Ok(Cache { redis, limits })
    }

    /// The data under all of `keys`; `None` unless the cache has all of them.
    pub(crate) async fn get(
        &self,
        collection: &Collection,
        keys: &[&str],
    ) -> Result<Option<Stored>, StoreError> {
        let mut redis = self.redis.clone();
        let compress = collection.cache_compressed;
        let names: Vec<String> = keys.iter().map(|key| name(collection, key)).collect();
        if collection.kind == Kind::Lists {
            let last = collection.max_items as isize - 1;
            let items: Vec<Vec<u8>> = redis.lrange(&names[0], 0, last).await?;
            if items.is_empty() {
                return Ok(None);
            }
            let items = items.iter().map(Vec::as_slice).filter(|item| *item != END);
            let list = payload::list(items);
            return Ok(Some(payload::json(list, compress, &self.limits)?));
        }
        if let [name] = &names[..] {
            let value: Option<Vec<u8>> = redis.get(name).await?;
            return Ok(value.map(payload::from_labelled).transpose()?);
        }
        self.check_sizes(&names).await?;
        let values: Vec<Option<Vec<u8>>> = redis.mget(&names).await?;
        let found: Option<Vec<Vec<u8>>> = values.into_iter().collect();
        let Some(found) = found else {
            return Ok(None);
        };
        let mut joined = Joined::new(&self.limits);
        for value in found {
            joined.add(payload::from_labelled(value)?)?;
        }
        let joined = joined.finish();
        Ok(Some(payload::json(joined, compress, &self.limits)?))
    }

    /// Refuses values that are too large together, before they are read. They may change until
    /// then, so this bounds the memory of usual requests alone; `Joined` bounds every response.
    async fn check_sizes(&self, names: &[String]) -> Result<(), StoreError> {
        let mut pipe = redis::pipe();
        for name in names {
            pipe.strlen(name);
        }
        let sizes: Vec<usize> = pipe.query_async(&mut self.redis.clone()).await?;
        Ok(payload::check_size(sizes.iter().sum(), &self.limits)?)
    }

    /// Stores data for the collection's time to live.
    pub(crate) async fn set(
        &self,
        collection: &Collection,
        keys: &[&str],
        data: Stored,
    ) -> Result<(), StoreError> {
        let mut pipe = redis::pipe();
        pipe.atomic();
        if collection.kind == Kind::Lists {
            let name = name(collection, keys[0]);
            let mut items = payload::items(&payload::plain(data, &self.limits)?)?;
            items.truncate(collection.max_items);
            items.push(END.to_vec());
            pipe.del(&name).ignore();
            pipe.rpush(&name, items).ignore();
            pipe.expire(&name, collection.cache_ttl_s as i64).ignore();
        } else {
            let documents = match keys {
                [_] => vec![data],
                _ => {
                    let text = payload::plain(data, &self.limits)?;
                    let split = payload::split(&text, keys.len())?.into_iter();
                    let plain = split.map(|text| payload::json(text, false, &self.limits));
                    plain.collect::<Result<_, _>>()?
                }
            };
            for (key, document) in keys.iter().zip(documents) {
                let value = payload::labelled(&document);
                let seconds = collection.ttl().as_secs();
                pipe.set_ex(name(collection, key), value, seconds).ignore();
            }
        }
        let () = pipe.query_async(&mut self.redis.clone()).await?;
        Ok(())
    }

    /// Drops a document that has changed in the database.
    pub(crate) async fn forget(
        &self,
        collection: &Collection,
        key: &str,
    ) -> Result<(), StoreError> {
        let () = self.redis.clone().del(name(collection, key)).await?;
        Ok(())
    }

    /// Adds an item to the lists that the cache has.
    pub(crate) async fn prepend(
        &self,
        collection: &Collection,
        keys: &[String],
        item: &[u8],
    ) -> Result<(), StoreError> {
        let mut pipe = redis::pipe();
        for key in keys {
            let name = name(collection, key);
            pipe.cmd("LPUSHX").arg(&name).arg(item).ignore();
            // One more for the end marker.
            pipe.ltrim(&name, 0, collection.max_items as isize).ignore();
        }
        let () = pipe.query_async(&mut self.redis.clone()).await?;
        Ok(())
    }
}

fn name(collection: &Collection, key: &str) -> String {
    format!("{}:{key}", collection.name)
}
