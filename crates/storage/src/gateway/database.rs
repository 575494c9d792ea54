//! The database: PostgreSQL.

use std::time::Duration;

use accelflow_accel::Limits;
use accelflow_accel::storage::Stored;
use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{NoTls, Row};

use super::error::StoreError;
use crate::collections::{Collection, Kind, MAX_ITEM_BYTES};
use crate::payload::{self, Joined};

/// A pool of connections to PostgreSQL.
#[derive(Clone)]
pub(crate) struct Database {
    pool: Pool,
    timeout: Duration,
    limits: Limits,
}

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS documents (
        collection text NOT NULL, key text NOT NULL,
        codec smallint NOT NULL, format smallint NOT NULL, data bytea NOT NULL,
        PRIMARY KEY (collection, key));
    CREATE TABLE IF NOT EXISTS items (
        number bigserial NOT NULL, collection text NOT NULL, key text NOT NULL,
        item bytea NOT NULL, PRIMARY KEY (collection, key, item));
    CREATE INDEX IF NOT EXISTS newest ON items (collection, key, number DESC);";

/// The documents, with the bytes of all of them, and without their data if that is more than `$3`.
const FIND: &str = "SELECT key, codec, format, CASE WHEN size <= $3 THEN data END, size FROM (
    SELECT key, codec, format, data, sum(octet_length(data)) OVER () AS size
    FROM documents WHERE collection = $1 AND key = ANY($2)) AS found";
const INSERT: &str = "INSERT INTO documents (collection, key, codec, format, data)
    VALUES ($1, $2, $3, $4, $5) ON CONFLICT (collection, key) DO ";
const NEWEST: &str =
    "SELECT item FROM items WHERE collection = $1 AND key = $2 ORDER BY number DESC LIMIT $3";
const ADD: &str = "INSERT INTO items (collection, key, item)
    SELECT $1, key, $3 FROM unnest($2::text[]) AS key ON CONFLICT DO NOTHING RETURNING key";

impl Database {
    /// Opens the pool, and creates the tables if they do not exist.
    pub(crate) async fn connect(
        url: &str,
        connections: usize,
        patience: Duration,
        limits: Limits,
    ) -> Result<Database, StoreError> {
        let config: tokio_postgres::Config = url.parse()?;
        let recycling_method = RecyclingMethod::Fast;
        let manager = Manager::from_config(config, NoTls, ManagerConfig { recycling_method });
        let pool = Pool::builder(manager)
            .max_size(connections)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(patience))
            .create_timeout(Some(patience))
            .recycle_timeout(Some(patience))
            .build()?;
        let client = pool.get().await?;
        timeout(patience, client.batch_execute(TABLES))
            .await
            .map_err(|_| StoreError::Slow("the database"))??;
        drop(client);
        Ok(Database {
            pool,
            timeout: patience,
            limits,
        })
    }

    /// The document, the array of documents or the list under `keys`.
    pub(crate) async fn find(
        &self,
        collection: &Collection,
        keys: &[&str],
    ) -> Result<Option<Stored>, StoreError> {
        let name = &collection.name;
        if collection.kind == Kind::Lists {
            let limit = collection.max_items as i64;
            let rows = self.query(NEWEST, &[name, &keys[0], &limit]).await?;
            let items = rows.iter().map(|row| row.try_get::<_, &[u8]>(0));
            let items: Result<Vec<&[u8]>, _> = items.collect();
            let list = payload::list(items?.into_iter());
            return Ok(Some(payload::json(list, false, &self.limits)?));
        }
        let most = payload::most_bytes(&self.limits) as i64;
        let rows = self.query(FIND, &[name, &keys, &most]).await?;
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            let of_key = |row: &&Row| row.try_get::<_, &str>(0).ok() == Some(*key);
            let Some(row) = rows.iter().find(of_key) else {
                return Ok(None);
            };
            found.push(row);
        }
        if let [row] = found[..] {
            return Ok(Some(self.document(row)?));
        }
        let mut joined = Joined::new(&self.limits);
        for row in found {
            joined.add(self.document(row)?)?;
        }
        Ok(Some(payload::json(joined.finish(), false, &self.limits)?))
    }

    /// The document in a row of [`FIND`], whose data is there if the size is allowed.
    fn document(&self, row: &Row) -> Result<Stored, StoreError> {
        let label = [row.try_get::<_, i16>(1)?, row.try_get::<_, i16>(2)?];
        let label = label.map(|byte| u8::try_from(byte).unwrap_or(u8::MAX));
        let size: i64 = row.try_get(4)?;
        payload::check_size(usize::try_from(size).unwrap_or(usize::MAX), &self.limits)?;
        let data: Vec<u8> = row.try_get(3)?;
        Ok(payload::stored(label, data)?)
    }

    /// Writes a document. It is committed when this returns `Ok`.
    pub(crate) async fn insert(
        &self,
        collection: &Collection,
        key: &str,
        data: &Stored,
    ) -> Result<(), StoreError> {
        let [codec, format] = payload::label(data).map(i16::from);
        let otherwise = match collection.kind {
            Kind::UniqueDocuments => "NOTHING",
            _ => "UPDATE SET codec = $3, format = $4, data = $5",
        };
        let statement = format!("{INSERT}{otherwise}");
        let values: [&(dyn ToSql + Sync); 5] =
            [&collection.name, &key, &codec, &format, &data.bytes];
        let client = self.pool.get().await?;
        let done = timeout(self.timeout, async {
            let prepared = client.prepare_cached(&statement).await?;
            client.execute(&prepared, &values).await
        });
        match self.settle(done.await, client)? {
            0 => Err(StoreError::Exists {
                collection: collection.name.clone(),
                key: key.to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// Adds an item to the lists of `keys`; returns the keys of those that did not have it.
    /// Everything is committed when this returns `Ok`.
    pub(crate) async fn add(
        &self,
        collection: &Collection,
        keys: &[&str],
        item: &[u8],
    ) -> Result<Vec<String>, StoreError> {
        if item.len() > MAX_ITEM_BYTES {
            return Err(StoreError::Item(item.len()));
        }
        let rows = self.query(ADD, &[&collection.name, &keys, &item]).await?;
        let keys: Result<Vec<String>, _> = rows.iter().map(|row| row.try_get(0)).collect();
        Ok(keys?)
    }

    async fn query(
        &self,
        statement: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, StoreError> {
        let client = self.pool.get().await?;
        let done = timeout(self.timeout, async {
            let prepared = client.prepare_cached(statement).await?;
            client.query(&prepared, values).await
        });
        self.settle(done.await, client)
    }

    /// Ends an operation. A connection on which the operation still runs is not used again.
    fn settle<T>(
        &self,
        done: Result<Result<T, tokio_postgres::Error>, tokio::time::error::Elapsed>,
        client: Object,
    ) -> Result<T, StoreError> {
        match done {
            Ok(done) => Ok(done?),
            Err(_) => {
                drop(Object::take(client));
                Err(StoreError::Slow("the database"))
            }
        }
    }
}
