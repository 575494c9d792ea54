//! Lists of words in the names of systems, statements and operations of spans. They tell caches
//! from databases, reads from writes, and clients from servers.

use crate::span::{Access, Kind, Store};

/// Systems that keep data in memory.
const CACHES: [&str; 9] = [
    "redis",
    "memcached",
    "memcache",
    "mmc",
    "valkey",
    "keydb",
    "hazelcast",
    "dragonfly",
    "elasticache",
];

/// Systems that keep data on disks.
const DATABASES: [&str; 17] = [
    "mongo",
    "mongodb",
    "mysql",
    "postgresql",
    "postgres",
    "mariadb",
    "sql",
    "jdbc",
    "sqlite",
    "cassandra",
    "dynamodb",
    "oracle",
    "mssql",
    "cockroachdb",
    "clickhouse",
    "couchdb",
    "hbase",
];

const READS: [&str; 30] = [
    "get",
    "gets",
    "mget",
    "hget",
    "hmget",
    "hgetall",
    "exists",
    "zrange",
    "zrevrange",
    "zscore",
    "zcard",
    "lrange",
    "llen",
    "smembers",
    "sismember",
    "scard",
    "keys",
    "scan",
    "ttl",
    "select",
    "find",
    "findone",
    "aggregate",
    "count",
    "distinct",
    "query",
    "read",
    "fetch",
    "lookup",
    "show",
];

const WRITES: [&str; 33] = [
    "set", "mset", "setex", "setnx", "hset", "hmset", "del", "delete", "unlink", "incr", "incrby",
    "decr", "expire", "lpush", "rpush", "lpop", "rpop", "sadd", "srem", "zadd", "zrem", "add",
    "insert", "update", "upsert", "replace", "put", "write", "remove", "append", "store", "commit",
    "create",
];

/// The words of `text`: parts at `_`, `-`, `.`, `/`, `:` and spaces, in small letters.
fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
}

/// The kind of store that the first known word of `text` names.
pub(crate) fn store_of_word(text: &str) -> Option<Store> {
    words(text).find_map(|word| {
        if CACHES.contains(&word.as_str()) {
            Some(Store::Cache)
        } else if DATABASES.contains(&word.as_str()) {
            Some(Store::Database)
        } else {
            None
        }
    })
}

/// Reading or writing, by the last known word of `text`; the object of the access mostly comes
/// before it.
pub(crate) fn access_of_words(text: &str) -> Option<Access> {
    let known = words(text).filter_map(|word| {
        if READS.contains(&word.as_str()) {
            Some(Access::Read)
        } else if WRITES.contains(&word.as_str()) {
            Some(Access::Write)
        } else {
            None
        }
    });
    known.last()
}

/// The kind that the last word of an operation's name indicates.
pub(crate) fn kind_of_name(text: &str) -> Option<Kind> {
    match words(text).last().as_deref() {
        Some("client") => Some(Kind::Client),
        Some("server") => Some(Kind::Server),
        _ => None,
    }
}
