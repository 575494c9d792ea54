//! The answers that a [`LoopbackPeer`](super::LoopbackPeer) gives to the requests of traces.

use accelflow_accel::Codec;
use accelflow_workload::services::Chain;

/// The responses that a [`LoopbackPeer`](crate::LoopbackPeer) gives in place of a cache, a
/// database, called services and HTTP servers: their contents, and the properties that traces test,
/// such as a cache hit. Answers to remote procedure calls have generated contents. Answers to reads
/// of data, and answers to HTTP requests, contain `document`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers {
    /// The seed from which the contents of messages are generated ([`accelflow_accel::messages`]).
    pub seed: u64,
    /// The index, counted from 0, of the message contents to use out of the sequence that `seed`
    /// generates.
    pub index: u64,
    /// The JSON document that all reads of cache and database return, and the body of all HTTP
    /// responses. Empty stands for `{}`.
    pub document: Vec<u8>,
    /// The cache's answer to every read.
    pub cache: CacheAnswer,
    /// The database's answer to every read.
    pub database: DatabaseAnswer,
    /// The text of the exception with which all writes fail; `None` if writes succeed.
    pub write_exception: Option<String>,
    /// The services' answer to every remote procedure call.
    pub rpc: RpcAnswer,
    /// The HTTP servers' answer to every request.
    pub http: HttpAnswer,
    /// The codec of all responses that are compressed.
    pub codec: Codec,
}

/// A loopback peer's answer to a read from the cache: hit or miss, compressed or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheAnswer {
    /// Whether the cache has data for the requested key (a cache hit).
    pub hit: bool,
    /// Whether the cached data are compressed.
    pub compressed: bool,
}

impl Default for CacheAnswer {
    /// A hit with uncompressed data.
    fn default() -> CacheAnswer {
        CacheAnswer {
            hit: true,
            compressed: false,
        }
    }
}

/// A loopback peer's answer to a read from the database: found or not, compressed or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatabaseAnswer {
    /// Whether the database has the document.
    pub found: bool,
    /// Whether the document is compressed.
    pub compressed: bool,
    /// Whether the cache keeps documents of the read document's collection in compressed form (the
    /// fact `c_compressed`).
    pub cache_compressed: bool,
}

impl Default for DatabaseAnswer {
    /// An uncompressed document for an uncompressed cache.
    fn default() -> DatabaseAnswer {
        DatabaseAnswer {
            found: true,
            compressed: false,
            cache_compressed: false,
        }
    }
}

/// A loopback peer's answer to a remote procedure call: a reply, compressed or not, or an
/// exception.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RpcAnswer {
    /// Whether the body of the reply is compressed. An exception never is.
    pub compressed: bool,
    /// The message of the `ServiceException` that the services throw; `None` if calls succeed.
    pub exception: Option<String>,
}

/// A loopback peer's answer to an HTTP request: the status, and whether the body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpAnswer {
    /// The HTTP status code of the response.
    pub status: u16,
    /// Whether the body of the response is compressed.
    pub compressed: bool,
}

impl Default for HttpAnswer {
    /// Status 200 with an uncompressed body.
    fn default() -> HttpAnswer {
        HttpAnswer {
            status: 200,
            compressed: false,
        }
    }
}

impl Answers {
    /// Creates the answers that make traces take the branches of `chain`, a chain of the paper's
    /// traces in a workload. `chain` states facts for this ([`Chain::fact`]), such as a cache hit.
    /// All other facts have the defaults of [`Answers`].
    pub fn for_chain(chain: &Chain) -> Answers {
        let fact = |trace: &str, field: &str| chain.fact(trace, field).map(|value| value != 0);
        let (cache, database) = (CacheAnswer::default(), DatabaseAnswer::default());
        let failure = |trace: &str| {
            fact(trace, "exception")
                .unwrap_or(false)
                .then(|| "refused".to_owned())
        };
        Answers {
            cache: CacheAnswer {
                hit: fact("T5", "hit").unwrap_or(cache.hit),
                compressed: fact("T5", "compressed").unwrap_or(cache.compressed),
            },
            database: DatabaseAnswer {
                found: fact("T6", "found").unwrap_or(database.found),
                compressed: fact("T6", "compressed").unwrap_or(database.compressed),
                cache_compressed: fact("T6", "c_compressed").unwrap_or(database.cache_compressed),
            },
            write_exception: failure("T7"),
            rpc: RpcAnswer {
                compressed: fact("T10", "compressed").unwrap_or(false),
                exception: failure("T10"),
            },
            http: HttpAnswer {
                compressed: fact("T12", "compressed").unwrap_or(false),
                ..HttpAnswer::default()
            },
            ..Answers::default()
        }
    }
}
