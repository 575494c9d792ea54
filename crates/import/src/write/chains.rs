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
    let errors = exceptions(item);
    // A message without the name of an encoding is not compressed.
    let compressed = item.response_compressed.among(item.count);
    let send = |entry: &str| match item.request_compressed.among(item.count) >= 0.5 {
        true => format!("{entry}+Cmp"),
        false => entry.to_owned(),
    };
    match item.class {
        Class::Rpc => Chain::of(&send("T9"))
            .drawn("T10", "exception", errors)
            .drawn("T10", "compressed", compressed)
            .waiting("T10", waits()),
        Class::Http if errors > 0.0 => Chain::from_own(&send("HttpCall"), Own::HttpCall)
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
    // Only a miss reads data that may be missing.
    let missing = exceptions(item) * item.count as f64 / item.misses as f64;
    let found = 1.0 - missing.min(1.0);
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
    // With `calls`, the waits hold if the called service is not simulated.
    let mut value = chain.value();
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
        let Repeats { odds, attempts } = repeats(item);
        let retry = json!({
            "odds": (odds * 1e9).round() / 1e9,
            "attempts": attempts,
            "backoff_us": us(pause_ns(item).max(0.0)),
        });
        value.insert("retry".to_owned(), retry);
    }
    let messages = sizes(&item.request_bytes).zip(sizes(&item.response_bytes));
    if let Some((request, response)) = messages {
        value.insert("sizes".to_owned(), json!([request, response]));
    }
    (Value::Object(value), own)
}

/// How often attempts of a call fail, and the largest number of attempts.
struct Repeats {
    odds: f64,
    attempts: u32,
}

/// The largest number of attempts that a file may have.
const MOST_ATTEMPTS: u32 = 64;
/// The largest share of calls that run out of attempts if no observed call did.
const NEVER: f64 = 1e-6;

/// The independent attempts that fail as often as those of `item`, and of which as many calls run
/// out as ended with an error. The last attempt of such a call failed, too.
fn repeats(item: &ItemStats) -> Repeats {
    let odds = share(item.failures + item.errors, item.failures + item.count);
    let ended = share(item.errors, item.count);
    let needed = match ended > 0.0 {
        true => (ended.ln() / odds.ln()).round(),
        false => (NEVER.ln() / odds.ln()).ceil(),
    };
    // The conversion takes the nearest number, and 0 for attempts that all fail.
    let attempts = (needed as u32).max(item.attempts).min(MOST_ATTEMPTS);
    Repeats { odds, attempts }
}

/// The share of calls that end the request with an error that the trace reports. Calls that run out
/// of attempts end it, too, and are left out.
fn exceptions(item: &ItemStats) -> f64 {
    let ended = share(item.errors, item.count);
    if item.failures == 0 {
        return ended;
    }
    let Repeats { odds, attempts } = repeats(item);
    let given_up = odds.powi(attempts as i32);
    match given_up < ended {
        true => (ended - given_up) / (1.0 - given_up),
        false => 0.0,
    }
}

/// The mean pause after a failed attempt in ns, if the attempt takes as long as an answered one, as
/// it does in a simulation. Negative if failed attempts are so short that no pause makes up for it.
pub(super) fn pause_ns(item: &ItemStats) -> f64 {
    match item.failures {
        0 => 0.0,
        failures => {
            (item.failed_ns + item.backoff_ns) / failures as f64 - item.wait_ns.mean.value()
        }
    }
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
