//! The cache and the database behind a gateway, and the requests to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use accelflow_accel::storage::{Operation, StorageRequest, StorageResponse, Stored};
use accelflow_accel::{AccelError, Limits};

use super::cache::Cache;
use super::database::Database;
use super::error::StoreError;
use crate::collections::{Collection, Collections, Kind};
use crate::payload::{self};

/// Counts of the requests that a storage gateway has served: all requests by operation, reads that
/// hit the cache, and failures.
#[derive(Debug, Default)]
pub struct Counts {
    /// All requests, by [`Operation`].
    requests: [AtomicU64; 4],
    /// Reads of the cache that hit.
    hits: AtomicU64,
    /// Requests that failed in the cache or the database.
    failures: AtomicU64,
}

impl Counts {
    /// Returns the number of requests for `operation`, failed ones included.
    pub fn requests(&self, operation: Operation) -> u64 {
        self.requests[operation as usize].load(Ordering::Relaxed)
    }

    /// Returns the number of cache hits: read requests for which the cache had the data of all
    /// their keys.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// Returns the number of requests that the gateway refused, or that failed in the cache or the
    /// database. Writes that are committed but could not update the cache also count as failed.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }
}

/// Cache and database, as requests see them.
pub(super) struct Stores {
    pub(super) cache: Cache,
    pub(super) database: Database,
    pub(super) collections: Collections,
    pub(super) limits: Limits,
    pub(super) counts: Arc<Counts>,
}

impl Stores {
    /// Carries out a request; returns the frame that answers it.
    pub(super) async fn answer(&self, request: StorageRequest) -> Result<Vec<u8>, AccelError> {
        let operation = request.operation;
        let counts = &self.counts;
        counts.requests[operation as usize].fetch_add(1, Ordering::Relaxed);
        let encoded = match self.act(request).await {
            Ok(response) => {
                counts
                    .hits
                    .fetch_add(response.hit.into(), Ordering::Relaxed);
                response
                    .encode(&self.limits)
                    .map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        encoded.or_else(|why| {
            counts.failures.fetch_add(1, Ordering::Relaxed);
            failed(operation, why).encode(&self.limits)
        })
    }

    async fn act(&self, request: StorageRequest) -> Result<StorageResponse, StoreError> {
        let operation = request.operation;
        let done = StorageResponse::done(operation);
        let collection = self.collections.get(&request.collection)?;
        let keys = collection.keys(&request.key, operation == Operation::DbInsert)?;
        match operation {
            Operation::CacheGet => {
                let data = self.cache.get(collection, &keys).await?;
                Ok(StorageResponse {
                    hit: data.is_some(),
                    data,
                    ..done
                })
            }
            Operation::DbFind => {
                let data = self.database.find(collection, &keys).await?;
                Ok(StorageResponse {
                    found: data.is_some(),
                    cache_compressed: collection.cache_compressed,
                    data,
                    ..done
                })
            }
            Operation::CacheSet => {
                let data = request.data.ok_or(StoreError::NoData)?;
                self.cache.set(collection, &keys, data).await?;
                Ok(done)
            }
            Operation::DbInsert => {
                let data = request.data.ok_or(StoreError::NoData)?;
                self.write(collection, &keys, data).await?;
                Ok(done)
            }
        }
    }

    /// Writes to the database and only then touches the cache. If the cache fails, the write is
    /// still committed; the cache's entry is then outdated for at most its time to live.
    async fn write(
        &self,
        collection: &Collection,
        keys: &[&str],
        data: Stored,
    ) -> Result<(), StoreError> {
        let cached = match collection.kind {
            Kind::Lists => {
                let item = payload::item(payload::plain(data, &self.limits)?)?;
                let added = self.database.add(collection, keys, &item).await?;
                match added.is_empty() {
                    true => Ok(()),
                    false => self.cache.prepend(collection, &added, &item).await,
                }
            }
            Kind::Documents | Kind::UniqueDocuments => {
                self.database.insert(collection, keys[0], &data).await?;
                self.cache.forget(collection, keys[0]).await
            }
        };
        if cached.is_err() {
            self.counts.failures.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// The response to a failed operation: a miss for the cache, and not found for the database.
fn failed(operation: Operation, why: String) -> StorageResponse {
    StorageResponse {
        exception: Some(why),
        ..StorageResponse::done(operation)
    }
}
