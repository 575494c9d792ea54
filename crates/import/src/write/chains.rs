//! Conversion of a call in a shape (a sequence of calls) to a chain of traces.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::distributions::{sizes, us, wait};
use super::own_traces::Own;
use crate::analyse::{Class, ItemStats};
use crate::options::Options;

/// A chain that is being written.
#[derive(Debug)]
pub(super) struct Chain {
    entry: String,
    facts: Map<String, Value>,
    odds: Map<String, Value>,
    waits: Map<String, Value>,
    pub(super) own: Option<Own>,
}

impl Chain {
    fn of(entry: &str) -> Chain {
        Chain {
            entry: entry.to_owned(),
            facts: Map::new(),
            odds: Map::new(),
            waits: Map::new(),
            own: None,
        }
    }

    fn from_own(entry: &str, own: Own) -> Chain {
        Chain {
            own: Some(own),
            ..Chain::of(entry)
        }
    }

    /// A field that is 1 with this probability.
    fn drawn(mut self, trace: &str, field: &str, odds: f64) -> Chain {
        let empty = || Value::Object(Map::new());
        let likely = i64::from(odds >= 0.5);
        self.facts.entry(trace).or_insert_with(empty)[field] = json!(likely);
        if odds > 0.0 && odds < 1.0 {
            let odds = (odds * 1e9).round() / 1e9;
            self.odds.entry(trace).or_insert_with(empty)[field] = json!(odds);
        }
        self
    }

    fn waiting(mut self, trace: &str, wait: Value) -> Chain {
        self.waits.insert(trace.to_owned(), wait);
        self
    }

    /// The trace that begins the chain.
    pub(super) fn entry(&self) -> &str {
        &self.entry
    }

    fn value(self) -> Map<String, Value> {
        let mut value = Map::new();
        value.insert("trace".to_owned(), json!(self.entry));
        for (key, table) in [
            ("facts", self.facts),
            ("odds", self.odds),
            ("waits", self.waits),
        ] {
            if !table.is_empty() {
                value.insert(key.to_owned(), Value::Object(table));
            }
        }
        value
    }
}

/// The traces of `item`, with the odds of its branches and its waits.
pub(super) fn chain(item: &ItemStats, options: &Options) -> Chain {
    let waits = || wait(&item.wait_ns, options.waits);
    let errors = share(item.errors, item.count);
    let compressed = item.response_compressed.value().unwrap_or(0.0);
    let send = |entry: &str| match item.request_compressed.value() {
        Some(share) if share >= 0.5 => format!("{entry}+Cmp"),
        _ => entry.to_owned(),
    };
    match item.class {
        Class::Rpc => Chain::of(&send("T9"))
            .drawn("T10", "exception", errors)
            .drawn("T10", "compressed", compressed)
            .waiting("T10", waits()),
        Class::Http if item.errors > 0 => Chain::from_own(&send("HttpCall"), Own::HttpCall)
            .drawn("HttpAnswer", "exception", errors)
            .drawn("HttpAnswer", "compressed", compressed)
            .waiting("HttpAnswer", waits()),
        Class::Http => Chain::of(&send("T11"))
            .drawn("T12", "compressed", compressed)
            .waiting("T12", waits()),
        Class::CacheWrite | Class::DatabaseWrite | Class::Send => Chain::of(&send("T8"))
            .drawn("T7", "exception", errors)
            .waiting("T7", waits()),
        Class::DatabaseRead => Chain::from_own("DatabaseRead", Own::DatabaseRead)
            .drawn("DatabaseAnswer", "exception", errors)
            .drawn("DatabaseAnswer", "compressed", compressed)
            .waiting("DatabaseAnswer", waits()),
        Class::CacheRead => read(item, options, compressed),
    }
}

/// A read of a cache. The calls after its misses decide which traces it takes.
fn read(item: &ItemStats, options: &Options, compressed: f64) -> Chain {
    let cache_wait = wait(&item.wait_ns, options.waits);
    let data_wait = || wait(&item.miss_wait_ns, options.waits);
    let said = item.hit.value().unwrap_or(1.0);
    if item.misses == 0 {
        // Nothing was read after a miss, but the paper's trace would read the database.
        return match said < 1.0 {
            true => Chain::from_own("CacheOnly", Own::CacheOnly)
                .drawn("CacheOnlyAnswer", "hit", said)
                .drawn("CacheOnlyAnswer", "compressed", compressed)
                .waiting("CacheOnlyAnswer", cache_wait),
            false => Chain::of("T4")
                .drawn("T5", "hit", 1.0)
                .drawn("T5", "compressed", compressed)
                .drawn("T6", "found", 1.0)
                .drawn("T6", "compressed", compressed)
                .drawn("T6", "c_compressed", compressed)
                .drawn("T7", "exception", 0.0)
                .waiting("T5", cache_wait),
        };
    }
    let hit = 1.0 - share(item.misses, item.count);
    let found = 1.0 - share(item.errors.min(item.misses), item.misses);
    if item.refills * 2 < item.misses {
        return Chain::from_own("ReadThrough", Own::ReadThrough)
            .drawn("ReadThroughCache", "hit", hit)
            .drawn("ReadThroughCache", "compressed", compressed)
            .drawn("ReadThroughData", "found", found)
            .drawn("ReadThroughData", "compressed", compressed)
            .waiting("ReadThroughCache", cache_wait)
            .waiting("ReadThroughData", data_wait());
    }
    Chain::of("T4")
        .drawn("T5", "hit", hit)
        .drawn("T5", "compressed", compressed)
        .drawn("T6", "found", found)
        .drawn("T6", "compressed", compressed)
        .drawn("T6", "c_compressed", compressed)
        .drawn("T7", "exception", 0.0)
        .waiting("T5", cache_wait)
        .waiting("T6", data_wait())
}

/// A chain in the form of the file: `times` equal ones at once, which call the service `calls` of
/// the file, if given.
pub(super) fn written(
    chain: Chain,
    item: &ItemStats,
    times: usize,
    calls: Option<&str>,
) -> (Value, Option<Own>) {
    let own = chain.own;
    let mut value = match calls {
        None => chain.value(),
        // The simulated response time takes the place of the wait.
        Some(_) => Chain {
            waits: Map::new(),
            ..chain
        }
        .value(),
    };
    if times > 1 {
        value.insert("times".to_owned(), json!(times));
    }
    if let Some(calls) = calls {
        value.insert("calls".to_owned(), json!(calls));
    }
    if item.detached {
        value.insert("detached".to_owned(), json!(true));
    }
    if item.failures > 0 {
        let tries = item.failures + item.count;
        let retry = json!({
            "odds": (share(item.failures, tries) * 1e9).round() / 1e9,
            "attempts": item.attempts.min(100),
            "backoff_us": us(item.backoff_ns.value()),
        });
        value.insert("retry".to_owned(), retry);
    }
    let messages = sizes(&item.request_bytes).zip(sizes(&item.response_bytes));
    if let Some((request, response)) = messages {
        value.insert("sizes".to_owned(), json!([request, response]));
    }
    (Value::Object(value), own)
}

/// The chains that receive a request and send its answer.
pub(super) struct Ends {
    pub(super) first: Value,
    pub(super) last: Value,
}

/// The ends of a path: by HTTP or by RPC, with the shares of messages that are compressed.
pub(super) fn ends(
    http: bool,
    compressed: (f64, f64),
    sizes: (Option<Value>, Option<Value>),
    own: &mut BTreeSet<Own>,
) -> Ends {
    let (receive, respond, respond_compressed) = match http {
        true => ("HttpReceive", "HttpRespond", "HttpRespond+Cmp"),
        false => ("T1", "T2", "T3"),
    };
    if http {
        own.insert(Own::HttpRequest);
    }
    let (request, response) = compressed;
    let mut first = Chain::of(receive)
        .drawn(receive, "compressed", request)
        .value();
    let mut last = Chain::of(if response >= 0.5 {
        respond_compressed
    } else {
        respond
    })
    .value();
    for (chain, sizes) in [(&mut first, sizes.0), (&mut last, sizes.1)] {
        if let Some(sizes) = sizes {
            chain.insert("sizes".to_owned(), sizes);
        }
    }
    Ends {
        first: Value::Object(first),
        last: Value::Object(last),
    }
}

fn share(part: u64, whole: u64) -> f64 {
    match whole {
        0 => 0.0,
        whole => part as f64 / whole as f64,
    }
}
